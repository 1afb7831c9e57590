"""What a range was spent on, against hand-computed figures: files and time."""

from collections.abc import Callable, Sequence

import pytest

from aggregates.capture.events import RecordsCaptured
from aggregates.event import Words
from aggregates.times import Window, iso
from projections.reader import Reader
from projections.scores.activity import TaskTimes, TouchedFile, files, task_time
from tests.support.facts import (
    ADD,
    ANA,
    DAY,
    FIX,
    HOUR,
    MINUTE,
    MONDAY,
    Log,
    Placed,
    edit,
    project,
    reader,
    request,
    shell,
)

TODAY = Window(MONDAY, MONDAY + 12 * HOUR)


def seen(log: Log) -> Reader:
    return reader(project(log.facts), log.facts)


def files_of(log: Log, window: Window = TODAY) -> list[TouchedFile]:
    return files(seen(log), ANA, window, 50, 0)


def times_of(log: Log, window: Window = TODAY) -> TaskTimes:
    return task_time(seen(log), ANA, window, 50, 0)


# --- files ----------------------------------------------------------------------------------------------------


def test_a_file_is_summed_over_turns_and_sub_sessions() -> None:
    """Edits and lines add up; the last touch is that of the tool call, not of the turn it was part of."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE), edit(MONDAY + 2 * MINUTE, path="src/cli.py"), shell(MONDAY + HOUR, "ls"))
    log.prompt("b", ADD, MONDAY + 2 * HOUR)
    log.records("b", edit(MONDAY + 2 * HOUR + MINUTE, added=3), request(MONDAY + 3 * HOUR))
    first, second = files_of(log)
    assert (first.path, first.sub_sessions, first.edits) == ("src/app.py", 2, 2)
    assert (first.lines_added, first.lines_removed, first.edits_without_lines) == (15, 2, 0)
    assert first.last_touched_at == iso(MONDAY + 2 * HOUR + MINUTE)
    assert (second.path, second.edits, second.last_touched_at) == ("src/cli.py", 1, iso(MONDAY + 2 * MINUTE))


def test_a_file_that_was_only_looked_at_comes_last() -> None:
    """With no edits and no lines, which is known."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    read = {"kind": "tool", "tool": "Read", "ok": True, "path": "README.md", "at_us": MONDAY + 3 * MINUTE}
    log.records("a", edit(MONDAY + MINUTE), read)
    assert [file.path for file in files_of(log)] == ["src/app.py", "README.md"]
    looked_at = files_of(log)[1]
    assert (looked_at.edits, looked_at.lines_added, looked_at.lines_removed) == (0, 0, 0)
    assert looked_at.last_touched_at == iso(MONDAY + 3 * MINUTE)


def test_an_edit_that_failed_changed_nothing() -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE, ok=False))
    (file,) = files_of(log)
    assert (file.edits, file.lines_added, file.edits_without_lines) == (0, 0, 0)


def test_lines_that_nobody_counted_are_unknown() -> None:
    """One edit without its lines leaves the file's sum open; the edits are counted all the same."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE))
    log.prompt("a", "Now the same for an empty header", MONDAY + 2 * MINUTE)
    log.records("a", edit(MONDAY + 3 * MINUTE, lines_added=None, lines_removed=None))
    (file,) = files_of(log)
    assert (file.edits, file.lines_added, file.lines_removed, file.edits_without_lines) == (2, None, None, 1)


def test_a_forgotten_path_is_null() -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE))
    db = project(log.facts)
    (file,) = files(reader(db, forgotten(log.facts)), ANA, TODAY, 50, 0)
    assert (file.path, file.edits, file.lines_added) == (None, 1, 12)
    (file,) = files(reader(db, []), ANA, TODAY, 50, 0)  # the fact cannot be read at all
    assert (file.path, file.edits) == (None, 1)


def forgotten(facts: Sequence[Placed]) -> list[Placed]:
    """The same log once its developer's key has been destroyed, as far as telemetry goes."""
    return [
        Placed(fact.position, without_words(fact.event)) if isinstance(fact.event, RecordsCaptured) else fact
        for fact in facts
    ]


def without_words(event: RecordsCaptured) -> RecordsCaptured:
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return RecordsCaptured(**(fields | {"words": Words(None)}))


def test_overlapping_turns_are_both_looked_at_for_the_last_touch() -> None:
    """A turn that ends last is not always the one that touched last."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + MINUTE), request(MONDAY + HOUR))
    log.prompt("b", ADD, MONDAY + 10 * MINUTE)
    log.records("b", edit(MONDAY + 20 * MINUTE))
    assert files_of(log)[0].last_touched_at == iso(MONDAY + 20 * MINUTE)


# --- time -----------------------------------------------------------------------------------------------------


def test_pauses_of_more_than_five_minutes_are_not_active() -> None:
    """Within a long turn its tool calls tell; between turns the prompts and the last answers do."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records(
        "a",
        edit(MONDAY + 4 * MINUTE),
        edit(MONDAY + 8 * MINUTE),
        edit(MONDAY + 20 * MINUTE),  # twelve minutes of nothing
        request(MONDAY + 21 * MINUTE),
    )
    log.prompt("a", "Now the same for an empty header", MONDAY + 25 * MINUTE)
    log.records("a", request(MONDAY + 26 * MINUTE))
    log.passes(MONDAY + 2 * HOUR)
    found = times_of(log)
    (task,) = found.items
    assert task.active_seconds == (8 + 1 + 4 + 1) * 60
    assert found.total_active_seconds == task.active_seconds
    assert (task.started_at, task.ended_at) == (iso(MONDAY), iso(MONDAY + 26 * MINUTE))


@pytest.mark.parametrize(("minutes", "active"), [(5, 300.0), (6, 0.0)])
def test_an_answer_that_took_too_long_without_a_sign_is_a_pause(minutes: int, active: float) -> None:
    """A plugin alone tells when a prompt was sent and when its answer came, and nothing between."""
    log = Log()
    prompt_id = log.prompt("a", FIX, MONDAY)
    log.answer("a", prompt_id, "Fixed.", MONDAY + minutes * MINUTE)
    assert times_of(log).items[0].active_seconds == active


@pytest.mark.parametrize("kind", ["session_start", "session_end"])
def test_opening_or_leaving_a_session_is_no_activity(kind: str) -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", {"kind": kind, "source": "resume", "at_us": MONDAY + 4 * MINUTE}, request(MONDAY + 8 * MINUTE))
    assert [task.active_seconds for task in times_of(log).items] == [0.0]


def test_agents_at_work_side_by_side_count_each_for_itself() -> None:
    """The total is the sum over tasks, not the time on the clock."""
    log = Log()
    for session in ("a", "b"):
        log.prompt(session, FIX if session == "a" else ADD, MONDAY)
        log.records(session, request(MONDAY + 3 * MINUTE))
    assert times_of(log).total_active_seconds == 360.0


def test_the_total_is_that_of_the_range_and_not_of_the_page() -> None:
    log = Log()
    for number in range(5):
        log.prompt(f"s{number}", f"Goal {number}: rename src/{number}.py", MONDAY + number * HOUR)
        log.records(f"s{number}", request(MONDAY + number * HOUR + MINUTE))
    found = task_time(seen(log), ANA, TODAY, 2, 1)
    assert [task.started_at for task in found.items] == [iso(MONDAY + 3 * HOUR), iso(MONDAY + 2 * HOUR)]
    assert found.total_active_seconds == 300.0


def test_a_task_that_still_goes_on_has_no_end_and_no_verdict() -> None:
    log = Log()
    log.works("a", MONDAY)
    (task,) = times_of(log).items
    assert (task.ended_at, task.crushed, task.intent_class) == (None, None, "bug_fix")
    log.passes(MONDAY + HOUR)
    (task,) = times_of(log).items
    assert (task.ended_at, task.crushed) == (iso(MONDAY + MINUTE), True)
    assert task.title is not None
    assert task.title in FIX


# --- all ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [files_of, lambda log, window=TODAY: times_of(log, window).items])
def test_what_began_before_the_range_belongs_to_another(
    query: Callable[..., Sequence[object]],
) -> None:
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + 3 * MINUTE))
    assert len(query(log)) == 1
    assert query(log, Window(MONDAY + MINUTE, MONDAY + DAY)) == []
