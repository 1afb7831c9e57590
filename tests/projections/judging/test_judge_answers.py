"""A text model's word is a fact: it goes before the embedded judge's, below every person's, and in any order."""

from collections.abc import Sequence
from itertools import pairwise
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

ASK = "Fix the rounding in src/invoice.py: totals are off by a cent, run pytest when done"
MODEL = "model:m"


def worked(log: Log, session: str = "s", at_us: int = MONDAY, text: str = ASK) -> UUID:
    capture_id = log.prompt(session, text, at_us)
    log.records(session, request(at_us + SECOND), edit(at_us + 2 * SECOND))
    return capture_id


def says(
    log: Log, kind: Literal["rubric", "outcome"], *captures: UUID, session: str = "s", model: str = "m", **fields: Any
) -> None:
    """A model's answer, about the last of these captures or about all of them."""
    of_all = {"captures": captures} if kind == "outcome" else {}
    about: dict[str, Any] = {"agent_session_id": session, "capture_id": captures[-1], "model": model, **of_all}
    asked: dict[str, Any] = {"prompt_version": 1, "input_digest": b"d" * 16, "confidence": 0.9}
    owner: dict[str, Any] = {"organization_id": log.scope.organization_id, "developer_id": log.scope.developer_id}
    event = JudgeAnswered(received_at_us=log.now_us, kind=kind, **owner, **about, **asked, **fields)
    log.facts.append(Placed(len(log.facts) + 1, event))


def shown(log: Log) -> tuple[str | None, int, Detail, list[PromptDetail]]:
    """Intent, outcome, detail and prompts of the one sub-session."""
    db = project(log.facts)
    assert db.execute("SELECT * FROM failed").fetchall() == []
    ((intent, complete, detail),) = db.execute("SELECT intent, goal_complete, detail FROM sub_sessions").fetchall()
    prompts = [unpack(body, PromptDetail) for (body,) in db.execute("SELECT body FROM prompts ORDER BY at_us")]
    return intent, complete, unpack(detail, Detail), prompts


def test_a_rubric_of_a_model_counts() -> None:
    log = Log()
    capture_id = worked(log)
    says(log, "rubric", capture_id, intent="question", earned=("goal_explicit", "plan_first"))
    intent, _, _, (prompt,) = shown(log)
    assert intent == "question"
    assert (prompt.rubric.judge, prompt.rubric.earned, prompt.rubric.confidence) == (MODEL, ("goal_explicit",), 0.9)


def test_an_outcome_holds_for_just_those_turns() -> None:
    """Where the sub-session went on, the embedded judge speaks until the model was asked again."""
    log = Log()
    first = worked(log)
    says(log, "outcome", first, complete=False)
    second = worked(log, at_us=MONDAY + 2 * MINUTE, text="It is still off for negative totals, fix the rounding too")
    assert shown(log)[2].outcome.judge == "embedded/2"
    says(log, "outcome", first, second, complete=False)
    assert shown(log)[2].outcome.judge == MODEL


def test_a_command_stays_unjudged() -> None:
    """Whatever a model makes of it."""
    log = Log()
    says(log, "rubric", worked(log, text="/compact"), intent="feature", earned=("goal_explicit",))
    assert shown(log)[3][0].rubric.status == "skipped"


def test_the_later_answer_counts() -> None:
    log = Log()
    capture_id = worked(log)
    says(log, "rubric", capture_id, intent="question")
    says(log, "rubric", capture_id, model="other", intent="feature")
    assert shown(log)[0] == "feature"


def test_the_order_of_arrival_is_no_matter() -> None:
    """Answers before what they are about, one by one or together: the same tables."""
    log = Log()
    first = worked(log)
    says(log, "rubric", first, intent="plan")
    second = worked(log, at_us=MONDAY + 2 * MINUTE, text="It is still off for negative totals, fix the rounding too")
    says(log, "outcome", first, second, complete=False)
    says(log, "rubric", second, intent="feature", earned=("goal_explicit",))
    log.passes(MONDAY + 2 * HOUR)
    facts: list[Placed] = log.facts
    wanted = tables(project(facts))
    for order in (facts, facts[::-1], facts[3:] + facts[:3], [*facts, *facts]):
        assert tables(project(order, range(1, len(order)))) == wanted


FIX = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"
MORE = "Also return an empty list in src/parser.py when the file is missing"
THEN = "Also mention the empty file in src/parser.py in the docstring"
OTHER = "New task: write a README section about the export command and its flags, then list the open tickets"


def edited(log: Log, text: str, minute: int, path: str = "src/parser.py", session: str = "s") -> UUID:
    at_us = MONDAY + minute * MINUTE
    capture_id = log.prompt(session, text, at_us)
    log.records(session, request(at_us + SECOND), edit(at_us + 2 * SECOND, path=path))
    return capture_id


def arcs(log: Log) -> list[Arc]:
    db = project(log.facts)
    assert db.execute("SELECT * FROM failed").fetchall() == []
    return [unpack(row[0], Arc) for row in db.execute("SELECT body FROM arcs ORDER BY started_us")]


def openings(log: Log) -> list[str]:
    return [arc.opened_by for arc in arcs(log)]


def test_a_model_sees_a_boundary() -> None:
    """Where the embedded judge saw none; the verdict names it, and the place of the answer in the log."""
    log = Log()
    first, second = edited(log, FIX, 0), edited(log, MORE, 2)
    assert openings(log) == ["start"]
    log.answers_gap("s", first, second, boundary=True)
    _, opened = arcs(log)
    assert opened.opened_by == "topic"
    assert opened.shift is not None
    assert (opened.shift.judge, opened.shift.confidence) == ("model:m", 0.9)
    assert opened.shift.evidence[0].position == len(log.facts)


def test_an_answer_holds_for_the_gap_that_was_asked_about() -> None:
    log = Log()
    first, second = edited(log, FIX, 0), edited(log, MORE, 4)
    log.answers_gap("s", first, second, boundary=True)
    assert openings(log) == ["start", "topic"]
    edited(log, THEN, 2)
    assert openings(log) == ["start"]


def test_an_answer_about_more_than_the_prompt_before_it_says_nothing_of_the_gap() -> None:
    """Its capture was joined, or the prompts before it were cut, since the model was asked."""
    log = Log()
    captures = [edited(log, text, 2 * minute) for minute, text in enumerate((FIX, MORE, THEN, f"{MORE} too"))]
    for before, after in pairwise(captures):
        further = captures[-1] if before == captures[0] else captures[0]
        log.answers_gap("s", before, after, boundary=True, captures=(before, further))
    assert openings(log) == ["start"]


def test_answers_on_gaps_come_in_any_order() -> None:
    """An answer before its prompts, between them, long after them, twice: the same tables."""
    log = Log()
    first, second, third = edited(log, FIX, 0), edited(log, MORE, 2), edited(log, OTHER, 4, "README.md")
    log.answers_gap("s", first, second, boundary=True)
    log.answers_gap("s", second, third, boundary=False)
    log.passes(MONDAY + 2 * HOUR)
    facts: Sequence[Placed] = log.facts
    wanted = tables(project(facts))
    assert len(wanted["sub_sessions"]) == 2
    for order in (facts, facts[::-1], [*facts[8:], *facts[:8]], [*facts, *facts]):
        assert tables(project(order, range(1, len(order)))) == wanted


def test_only_what_is_unsure_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least sure first; not what a person spoke of, nor what cannot shift."""
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds())
    log = Log()
    edited(log, FIX, 0)
    second = edited(log, "Then look at how the export command reads its flags", 2, "src/export.py")
    edited(log, "/compact", 3)
    third = edited(log, "Make the list command print totals and sort by name", 30, "src/export.py")
    db = project(log.facts)
    found = {gap.turn.capture_id: gap for (name,) in db.execute("SELECT sub_session_id FROM sub_sessions") for gap in
             unsure_of(db, name)[0]}  # fmt: skip
    assert set(found) == {second, third}
    likely = max(gap.chance for gap in found.values())
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds(false_up_to=likely - 0.001))
    names = db.execute("SELECT sub_session_id FROM sub_sessions").fetchall()
    assert len([gap for (name,) in names for gap in unsure_of(db, name)[0]]) == 1
    monkeypatch.setattr(boundary, "BOUNDARY_BOUNDS", Bounds())
    for capture_id in found:
        log.corrects_gap("s", capture_id, boundary=False)
    spoken = project(log.facts)
    names = spoken.execute("SELECT sub_session_id FROM sub_sessions").fetchall()
    assert [gap for (name,) in names for gap in unsure_of(spoken, name)[0]] == []
