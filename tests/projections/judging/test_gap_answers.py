"""A text model's word on a boundary is a fact: it counts in place of the embedded judge's, and below every person's."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from aggregates.judging import boundary
from aggregates.reading.verdicts import Bounds
from aggregates.sub_sessions.arcs import Arc
from projections.judging.unjudged import unsure_of
from projections.reader import unpack
from tests.support.facts import HOUR, MINUTE, MONDAY, SECOND, Log, Placed, edit, project, request, tables

FIX = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"
MORE = "Also return an empty list in src/parser.py when the file is missing"
OTHER = "New task: write a README section about the export command and its flags, then list the open tickets"


def worked(log: Log, text: str, minute: int, path: str = "src/parser.py", session: str = "s") -> UUID:
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
    first, second = worked(log, FIX, 0), worked(log, MORE, 2)
    assert openings(log) == ["start"]
    log.answers_gap("s", first, second, boundary=True)
    _, opened = arcs(log)
    assert opened.opened_by == "topic"
    assert opened.shift is not None
    assert (opened.shift.judge, opened.shift.confidence) == ("model:m", 0.9)
    assert opened.shift.evidence[0].position == len(log.facts)


def test_an_answer_holds_for_the_gap_that_was_asked_about() -> None:
    log = Log()
    first, second = worked(log, FIX, 0), worked(log, MORE, 4)
    log.answers_gap("s", first, second, boundary=True)
    assert openings(log) == ["start", "topic"]
    worked(log, "Also mention the empty file in src/parser.py in the docstring", 2)
    assert openings(log) == ["start"]


def test_the_order_of_arrival_is_no_matter() -> None:
    """An answer before its prompts, between them, long after them, twice: the same tables."""
    log = Log()
    first, second, third = worked(log, FIX, 0), worked(log, MORE, 2), worked(log, OTHER, 4, "README.md")
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
    worked(log, FIX, 0)
    second = worked(log, "Then look at how the export command reads its flags", 2, "src/export.py")
    worked(log, "/compact", 3)
    third = worked(log, "Make the list command print totals and sort by name", 30, "src/export.py")
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
