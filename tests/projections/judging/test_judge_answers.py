"""A text model's word is a fact: it goes before the embedded judge's, below every person's, and in any order."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

import pytest

from aggregates.judging import boundary
from aggregates.judging.rubric import JudgeAnswered
from aggregates.reading.verdicts import Bounds
from aggregates.sub_sessions.arcs import Arc
from projections.derive.sub_session_rows import Detail, PromptDetail
from projections.reader import unpack
from projections.sub_sessions.unjudged import unsure_of
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, Placed, edit, project, request, tables

FIX = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"
MORE = "Also return an empty list in src/parser.py when the file is missing"
OTHER = "New task: write a README section about the export command and its flags, then list the open tickets"


def edited(log: Log, text: str, minute: int, path: str = "src/parser.py") -> UUID:
    at_us = MONDAY + minute * MINUTE
    capture_id = log.prompt("s", text, at_us)
    log.records("s", request(at_us + SECOND), edit(at_us + 2 * SECOND, path=path))
    return capture_id


def says(log: Log, kind: Literal["rubric", "outcome"], *captures: UUID, model: str = "m", **fields: Any) -> None:
    """A model's answer, about the last of these captures or about all of them."""
    of_all = {"captures": captures} if kind == "outcome" else {}
    about: dict[str, Any] = {"agent_session_id": "s", "capture_id": captures[-1], "model": model, **of_all}
    asked: dict[str, Any] = {"prompt_version": 1, "input_digest": b"d" * 16, "confidence": 0.9}
    owner: dict[str, Any] = {"organization_id": log.scope.organization_id, "developer_id": log.scope.developer_id}
    event = JudgeAnswered(received_at_us=log.now_us, kind=kind, **owner, **about, **asked, **fields)
    log.facts.append(Placed(len(log.facts) + 1, event))


def test_the_later_answer_counts_and_an_outcome_holds_for_just_those_turns() -> None:
    """Where the sub-session went on, the embedded judge speaks until the model was asked again."""
    log = Log()
    first = edited(log, FIX, 0)
    says(log, "rubric", first, intent="question")
    says(log, "rubric", first, model="other", intent="feature", earned=("goal_explicit",))
    says(log, "outcome", first, complete=False)
    second = edited(log, "It still crashes for an empty file in src/parser.py, fix that too", 2)
    for judge in ("embedded/2", "model:m"):
        db = project(log.facts)
        ((intent, detail),) = db.execute("SELECT intent, detail FROM sub_sessions").fetchall()
        body = unpack(db.execute("SELECT body FROM prompts ORDER BY at_us").fetchone()[0], PromptDetail)
        assert (intent, body.rubric.judge, body.rubric.earned) == ("feature", "model:other", ("goal_explicit",))
        assert unpack(detail, Detail).outcome.judge == judge
        says(log, "outcome", first, second, complete=False)


def test_the_order_of_arrival_is_no_matter() -> None:
    """Answers before what they are about, between them, long after, one by one or together, twice: the same tables."""
    log = Log()
    first = edited(log, FIX, 0)
    says(log, "rubric", first, intent="plan")
    second, third = edited(log, MORE, 2), edited(log, OTHER, 4, "README.md")
    says(log, "outcome", first, complete=False)
    log.answers_gap("s", first, second, boundary=True)
    log.answers_gap("s", second, third, boundary=False)
    log.passes(MONDAY + 2 * HOUR)
    facts: Sequence[Placed] = log.facts
    db = project(facts)
    _, opened = [unpack(row[0], Arc) for row in db.execute("SELECT body FROM arcs ORDER BY started_us")]
    assert opened.opened_by == "topic"
    assert opened.shift is not None
    assert (opened.shift.judge, opened.shift.confidence) == ("model:m", 0.9)
    wanted = tables(db)
    for order in (facts, facts[::-1], [*facts[3:], *facts[:3]], [*facts, *facts]):
        assert tables(project(order, range(1, len(order)))) == wanted


def test_only_what_is_unsure_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least sure first; not what a person spoke of, nor what cannot shift."""
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds())
    log = Log()
    edited(log, FIX, 0)
    second = edited(log, "Then look at how the export command reads its flags", 2, "src/export.py")
    edited(log, "/compact", 3)
    third = edited(log, "Make the list command print totals and sort by name", 30, "src/export.py")
    log.passes(MONDAY + 2 * HOUR)

    def asked() -> dict[UUID, float]:
        db = project(log.facts)
        return {gap.turn.capture_id: gap.chance for gap in unsure_of(db, "s")[0]}

    found = asked()
    assert set(found) == {second, third}
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds(false_up_to=max(found.values()) - 0.001))
    assert len(asked()) == 1
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds())
    for capture_id in found:
        log.corrects_gap("s", capture_id, boundary=False)
    assert asked() == {}
