"""What a range was spent on, against hand-computed figures: files, time, and models."""

from typing import Any

import pytest

from aggregates.capture.events import RecordsCaptured
from aggregates.event import Words
from aggregates.times import Window, iso
from projections.reader import Reader
from projections.scores.activity import ModelTask, TaskTimes, TouchedFile, files, model_task, task_time
from tests.support.facts import ADD, ANA, FIX, MONDAY, Log, Placed, edit, project, reader, request, shell
from tests.support.stages import HOUR, MINUTE, SECOND
from tests.support.tables import each_of, table

TODAY = Window(MONDAY, MONDAY + 12 * HOUR)
LATER = Window(MONDAY + MINUTE, MONDAY + 24 * HOUR)
MORE = "Now the same for an empty header"
ASK = "what does src/app.py do?"
SONNET, HAIKU = "claude-sonnet-4-5", "claude-haiku-4-5"
UNTOLD: dict[str, Any] = {"lines_added": None, "lines_removed": None}


def seen(log: Log) -> Reader:
    return reader(project(log.facts), log.facts)


def files_of(log: Log, window: Window = TODAY) -> list[TouchedFile]:
    return files(seen(log), ANA, window, 50, 0)


def times_of(log: Log, window: Window = TODAY) -> TaskTimes:
    return task_time(seen(log), ANA, window, 50, 0)


def asked(*records: dict[str, Any]) -> Log:
    """A prompt of session `a`, and what was reported of it."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    return log.records("a", *records) if records else log


# --- files ----------------------------------------------------------------------------------------------------


def test_a_file_is_summed_over_turns_and_sub_sessions() -> None:
    """Edits and lines add up; the last touch is that of the tool call, not of the turn it was part of."""
    log = asked(edit(MONDAY + MINUTE), edit(MONDAY + 2 * MINUTE, path="src/cli.py"), shell(MONDAY + HOUR, "ls"))
    log.prompt("b", ADD, MONDAY + 2 * HOUR)
    log.records("b", edit(MONDAY + 2 * HOUR + MINUTE, added=3), request(MONDAY + 3 * HOUR))
    first, second = files_of(log)
    assert (first.path, first.sub_sessions, first.edits) == ("src/app.py", 2, 2)
    assert (first.lines_added, first.lines_removed, first.edits_without_lines) == (15, 2, 0)
    assert first.last_touched_at == iso(MONDAY + 2 * HOUR + MINUTE)
    assert (second.path, second.edits, second.last_touched_at) == ("src/cli.py", 1, iso(MONDAY + 2 * MINUTE))
    assert files_of(log, Window(MONDAY + 3 * HOUR, MONDAY + 12 * HOUR)) == []


def test_a_file_that_was_only_looked_at_comes_last() -> None:
    """With no edits and no lines, which is known."""
    read = {"kind": "tool", "tool": "Read", "ok": True, "path": "README.md", "at_us": MONDAY + 3 * MINUTE}
    first, looked_at = files_of(asked(edit(MONDAY + MINUTE), read))
    assert (first.path, looked_at.path, looked_at.edits) == ("src/app.py", "README.md", 0)
    assert (looked_at.lines_added, looked_at.last_touched_at) == (0, iso(MONDAY + 3 * MINUTE))


@pytest.mark.parametrize(
    ("first", "second", "figures"),
    [({"ok": False}, {"ok": False}, (0, 0, 0, 0)), ({}, UNTOLD, (2, None, None, 1))],
    ids=["an edit that failed changed nothing", "one edit without its lines leaves the sum open"],
)
def test_edits_of_two_turns(first: Any, second: Any, figures: tuple[int | None, ...]) -> None:
    log = asked(edit(MONDAY + MINUTE, **first))
    log.prompt("a", MORE, MONDAY + 2 * MINUTE)
    log.records("a", edit(MONDAY + 3 * MINUTE, **second))
    (file,) = files_of(log)
    assert (file.edits, file.lines_added, file.lines_removed, file.edits_without_lines) == figures


def test_a_forgotten_path_is_null() -> None:
    """Where telemetry's words are gone, and where the fact cannot be read at all."""
    log = asked(edit(MONDAY + MINUTE))
    db, (fact,) = project(log.facts), [each for each in log.facts if isinstance(each.event, RecordsCaptured)]
    fields = {name: getattr(fact.event, name) for name in fact.event.__struct_fields__}
    forgotten = Placed(fact.position, RecordsCaptured(**(fields | {"words": Words(None)})))
    for facts in ([forgotten], []):
        (file,) = files(reader(db, facts), ANA, TODAY, 50, 0)
        assert (file.path, file.edits, file.lines_added) == (None, 1, 12)


def test_overlapping_turns_are_both_looked_at_for_the_last_touch() -> None:
    """A turn that ends last is not always the one that touched last."""
    log = asked(edit(MONDAY + MINUTE), request(MONDAY + HOUR))
    log.prompt("b", ADD, MONDAY + 10 * MINUTE)
    log.records("b", edit(MONDAY + 20 * MINUTE))
    assert files_of(log)[0].last_touched_at == iso(MONDAY + 20 * MINUTE)


# --- time -----------------------------------------------------------------------------------------------------


def test_pauses_of_more_than_five_minutes_are_not_active() -> None:
    """Within a long turn its tool calls tell; between turns the prompts and the last answers do."""
    log = asked(*(edit(MONDAY + minutes * MINUTE) for minutes in (4, 8, 20)), request(MONDAY + 21 * MINUTE))
    log.prompt("a", MORE, MONDAY + 25 * MINUTE)
    log.records("a", request(MONDAY + 26 * MINUTE)).passes(MONDAY + 2 * HOUR)
    found = times_of(log)
    (task,) = found.items
    assert task.active_seconds == found.total_active_seconds == (8 + 1 + 4 + 1) * 60
    assert (task.started_at, task.ended_at) == (iso(MONDAY), iso(MONDAY + 26 * MINUTE))
    assert times_of(log, LATER).items == []


@each_of([(5, 300.0), (6, 0.0)])
def test_an_answer_that_took_too_long_without_a_sign_is_a_pause(minutes: int, active: float) -> None:
    """A plugin alone tells when a prompt was sent and when its answer came, and nothing between."""
    log = Log()
    log.answer("a", log.prompt("a", FIX, MONDAY), "Fixed.", MONDAY + minutes * MINUTE)
    assert times_of(log).items[0].active_seconds == active


@each_of(["session_start", "session_end"])
def test_opening_or_leaving_a_session_is_no_activity(kind: str) -> None:
    left = {"kind": kind, "source": "resume", "at_us": MONDAY + 4 * MINUTE}
    assert [task.active_seconds for task in times_of(asked(left, request(MONDAY + 8 * MINUTE))).items] == [0.0]


def test_the_total_is_that_of_the_range_and_not_of_the_page() -> None:
    """Agents at work side by side count each for itself."""
    log = Log()
    for number in range(5):
        at_us = MONDAY + max(number - 1, 0) * HOUR  # the first two at once
        log.prompt(f"s{number}", f"Goal {number}: rename src/{number}.py", at_us)
        log.records(f"s{number}", request(at_us + MINUTE))
    found = task_time(seen(log), ANA, TODAY, 2, 1)
    assert [task.started_at for task in found.items] == [iso(MONDAY + 2 * HOUR), iso(MONDAY + HOUR)]
    assert found.total_active_seconds == 300.0


def test_a_task_that_still_goes_on_has_no_end_and_no_verdict() -> None:
    log = Log()
    log.works("a", MONDAY)
    (task,) = times_of(log).items
    assert (task.ended_at, task.crushed, task.intent_class) == (None, None, "bug_fix")
    (task,) = times_of(log.passes(MONDAY + HOUR)).items
    assert (task.ended_at, task.crushed, (task.title or "?") in FIX) == (iso(MONDAY + MINUTE), True, True)


# --- models ---------------------------------------------------------------------------------------------------


def pairs_of(log: Log) -> dict[tuple[str | None, str], ModelTask]:
    """All pairs of the day, by model and intent class."""
    return {(row.model, row.intent_class): row for row in model_task(seen(log), ANA, TODAY, 50, 0)}


def test_a_pair_of_model_and_intent() -> None:
    """Two fixes of which one worked, and a question: rates over what qualifies, sums of the model's own requests."""
    log = Log()
    log.works("a", MONDAY)
    log.works("b", MONDAY + HOUR, FIX.replace("parser", "reader"), ok=False)
    log.prompt("c", ASK, MONDAY + 2 * HOUR)
    log.records("c", request(MONDAY + 2 * HOUR + SECOND, model=HAIKU))
    pairs = pairs_of(log.passes(MONDAY + 5 * HOUR))
    assert list(pairs) == [(SONNET, "bug_fix"), (HAIKU, "question")]
    fixes = pairs[SONNET, "bug_fix"]
    assert (fixes.sub_sessions, fixes.qualifying, fixes.crushed, fixes.completion_rate) == (2, 2, 1, 50.0)
    assert (fixes.total_tokens, fixes.unreported_sub_sessions) == (240, 0)
    assert fixes.cost_usd == pytest.approx(0.02)


FIGURES: dict[str, tuple[list[dict[str, Any]], dict[str | None, tuple[object, ...]]]] = {
    "of two models each has its own tokens": (
        [request(MONDAY + SECOND), request(MONDAY + MINUTE, model=HAIKU, input_tokens=1, output_tokens=1)],
        {SONNET: (1, 120, 0.01, 0, 0), HAIKU: (1, 2, 0.01, 0, 0)},
    ),
    "a sum with an unpriced request is unknown": (
        [request(MONDAY + SECOND), request(MONDAY + MINUTE, cost_usd_nano=None)],
        {SONNET: (1, 240, None, 1, 0)},
    ),
    "no request was seen": ([], {None: (1, None, None, 0, 1)}),
    "a request of no named model has none": ([request(MONDAY + SECOND, model=None)], {None: (1, 120, 0.01, 0, 0)}),
}


@table(("records", "expected"), FIGURES)
def test_figures_of_one_that_goes_on(records: Any, expected: Any) -> None:
    """It qualifies for nothing, and a rate over nothing is unknown."""
    pairs = pairs_of(asked(*records))
    found = {
        model: (row.sub_sessions, row.total_tokens, row.cost_usd, row.unpriced_requests, row.unreported_sub_sessions)
        for (model, _), row in pairs.items()
    }
    assert found == expected
    assert {(row.qualifying, row.crushed, row.completion_rate) for row in pairs.values()} == {(0, 0, None)}


def test_an_answer_that_tells_only_its_cost_tells_no_tokens() -> None:
    log = Log()
    prompt_id = log.prompt("b", ASK, MONDAY)
    log.answer("b", prompt_id, "It serves.", MONDAY + MINUTE, model=HAIKU, cost_usd_nano=5_000_000)
    told = pairs_of(log)[HAIKU, "question"]
    assert (told.total_tokens, told.cost_usd, told.unreported_sub_sessions) == (None, 0.005, 1)


def test_what_nobody_can_classify_stands_under_its_own_name() -> None:
    log = Log()
    log.prompt("a", "ok", MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND)).passes(MONDAY + HOUR)
    assert [(pair, row.completion_rate) for pair, row in pairs_of(log).items()] == [((SONNET, "unclassified"), None)]
