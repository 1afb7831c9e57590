"""What a range was spent on, against hand-computed figures: files, time, models, best prompts."""

from collections.abc import Callable, Sequence

import pytest

from aggregates.events import PromptCaptured, RecordsCaptured
from aggregates.times import iso
from aggregates.windows import Window
from aggregates.words import Words
from projections.activity import TaskTimes, TouchedFile, files, task_time
from projections.model_tasks import ModelTask, model_task
from projections.reader import Reader
from projections.top_prompts import PREVIEW_CHARS_MAX, TopPrompt, top_prompts
from tests.support.facts import (
    ANA,
    BEN,
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    SECOND,
    Log,
    Placed,
    edit,
    project,
    reader,
    request,
    shell,
)

TODAY = Window(MONDAY, MONDAY + 12 * HOUR)
FIX = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."
ADD = "Add a --json flag to src/cli.py and a test for it"
ASK = "what does src/app.py do?"
FIX_SCORE = 100 * 5 / 6
"""All but the cause is in it."""
SONNET, HAIKU = "claude-sonnet-4-5", "claude-haiku-4-5"


def worked(log: Log, session: str, at_us: int, ask: str = FIX, *, ok: bool = True) -> None:
    """One goal within a minute: asked, edited, checked; done or not."""
    log.prompt(session, ask, at_us, cwd_digest=7)
    log.records(
        session,
        request(at_us + 10 * SECOND),
        edit(at_us + 20 * SECOND, path=f"src/{session}.py"),
        shell(at_us + MINUTE, "pytest -q", ok=ok),
    )


def seen(log: Log) -> Reader:
    """The views of these facts."""
    return reader(project(log.facts), log.facts)


def files_of(log: Log, window: Window = TODAY) -> list[TouchedFile]:
    """All files of the day."""
    return files(seen(log), ANA, window, 50, 0)


def times_of(log: Log, window: Window = TODAY) -> TaskTimes:
    """All tasks of the day."""
    return task_time(seen(log), ANA, window, 50, 0)


def pairs_of(log: Log) -> dict[tuple[str | None, str], ModelTask]:
    """All pairs of the day, by model and intent class."""
    return {(row.model, row.intent_class): row for row in model_task(seen(log), ANA, TODAY, 50, 0)}


def top_of(log: Log) -> list[TopPrompt]:
    """All graded prompts of the day."""
    return top_prompts(seen(log), ANA, TODAY, 50, 0)


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
    """The file was looked at."""
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
    """Its numbers stay."""
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
    """The event as the vault then opens it."""
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
    """It bridges no pause."""
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
    """Newest first, a page at a time."""
    log = Log()
    for number in range(5):
        log.prompt(f"s{number}", f"Goal {number}: rename src/{number}.py", MONDAY + number * HOUR)
        log.records(f"s{number}", request(MONDAY + number * HOUR + MINUTE))
    found = task_time(seen(log), ANA, TODAY, 2, 1)
    assert [task.started_at for task in found.items] == [iso(MONDAY + 3 * HOUR), iso(MONDAY + 2 * HOUR)]
    assert found.total_active_seconds == 300.0


def test_a_task_that_still_goes_on_has_no_end_and_no_verdict() -> None:
    """Both come when it settles."""
    log = Log()
    worked(log, "a", MONDAY)
    (task,) = times_of(log).items
    assert (task.ended_at, task.crushed, task.intent_class) == (None, None, "bug_fix")
    log.passes(MONDAY + HOUR)
    (task,) = times_of(log).items
    assert (task.ended_at, task.crushed) == (iso(MONDAY + MINUTE), True)
    assert task.title is not None
    assert task.title in FIX


# --- models ---------------------------------------------------------------------------------------------------


def test_a_pair_of_model_and_intent() -> None:
    """Two fixes of which one worked, and a question: rates over what qualifies, sums of the model's own requests."""
    log = Log()
    worked(log, "a", MONDAY)
    worked(log, "b", MONDAY + HOUR, FIX.replace("parser", "reader"), ok=False)
    log.prompt("c", ASK, MONDAY + 2 * HOUR)
    log.records("c", request(MONDAY + 2 * HOUR + SECOND, model=HAIKU))
    log.passes(MONDAY + 5 * HOUR)
    pairs = pairs_of(log)
    assert list(pairs) == [(SONNET, "bug_fix"), (HAIKU, "question")]
    fixes = pairs[SONNET, "bug_fix"]
    assert (fixes.sub_sessions, fixes.qualifying, fixes.crushed, fixes.completion_rate) == (2, 2, 1, 50.0)
    assert (fixes.total_tokens, fixes.unreported_sub_sessions) == (240, 0)
    assert fixes.cost_usd == pytest.approx(0.02)


def test_a_sub_session_counts_for_each_model_that_worked_on_it() -> None:
    """But its tokens and its cost are shared out by request."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records(
        "a", request(MONDAY + SECOND), request(MONDAY + 2 * SECOND, model=HAIKU, input_tokens=1, output_tokens=1)
    )
    pairs = pairs_of(log)
    assert [pairs[model, "bug_fix"].sub_sessions for model in (SONNET, HAIKU)] == [1, 1]
    assert [pairs[model, "bug_fix"].total_tokens for model in (SONNET, HAIKU)] == [120, 2]


def test_a_rate_over_nothing_is_unknown() -> None:
    """What still goes on, or fell below the floor, qualifies for nothing."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND))
    (pair,) = pairs_of(log).values()
    assert (pair.sub_sessions, pair.qualifying, pair.crushed, pair.completion_rate) == (1, 0, 0, None)


def test_a_sum_with_an_unpriced_request_is_unknown() -> None:
    """Beside how many there are; the tokens are known all the same."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND), request(MONDAY + 2 * SECOND, cost_usd_nano=None))
    (pair,) = pairs_of(log).values()
    assert (pair.cost_usd, pair.unpriced_requests, pair.total_tokens) == (None, 1, 240)


def test_tokens_that_nobody_reported_are_unknown() -> None:
    """No request seen: no model, no tokens, no cost. An answer that tells only its cost: no tokens."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    prompt_id = log.prompt("b", ASK, MONDAY + HOUR)
    log.answer("b", prompt_id, "It serves.", MONDAY + HOUR + MINUTE, model=HAIKU, cost_usd_nano=5_000_000)
    pairs = pairs_of(log)
    unseen = pairs[None, "bug_fix"]
    assert (unseen.total_tokens, unseen.cost_usd, unseen.unreported_sub_sessions) == (None, None, 1)
    told = pairs[HAIKU, "question"]
    assert (told.total_tokens, told.cost_usd, told.unreported_sub_sessions) == (None, 0.005, 1)


def test_a_request_of_no_named_model_has_none() -> None:
    """`unknown` is no model's name on the wire."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND, model=None))
    pair = pairs_of(log)[None, "bug_fix"]
    assert pair.total_tokens == 120
    assert pair.cost_usd == pytest.approx(0.01)


def test_what_nobody_can_classify_stands_under_its_own_name() -> None:
    """A pair of its own, which never qualifies."""
    log = Log()
    log.prompt("a", "ok", MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND))
    log.passes(MONDAY + HOUR)
    assert [(pair, row.completion_rate) for pair, row in pairs_of(log).items()] == [((SONNET, "unclassified"), None)]


# --- prompts --------------------------------------------------------------------------------------------------


def test_the_best_prompt_comes_first() -> None:
    """By standing score; its grade is the letter of that score."""
    log = Log()
    worked(log, "good", MONDAY)
    worked(log, "poor", MONDAY + HOUR, "the parser is broken, please fix it")
    log.passes(MONDAY + 3 * HOUR)
    best, worst = top_of(log)
    assert (best.agent_session_id, best.preview, best.submitted_at) == ("good", FIX, iso(MONDAY))
    assert best.prompt_id in {str(f.event.prompt_id) for f in log.facts if isinstance(f.event, PromptCaptured)}
    assert (best.intent_class, best.crushed) == ("bug_fix", True)
    assert best.score > worst.score
    assert (best.score, best.grade) == (FIX_SCORE, "B+")


def test_a_prompt_belongs_to_the_range_by_its_own_time() -> None:
    """Also where its sub-session started before; and open sub-sessions have no verdict yet."""
    log = Log()
    log.prompt("a", FIX, MONDAY - MINUTE)
    log.records("a", edit(MONDAY - SECOND))
    log.prompt("a", "Also handle a header without rows in src/parser.py", MONDAY + MINUTE)
    log.records("a", edit(MONDAY + 2 * MINUTE))
    (only,) = top_of(log)
    assert (only.submitted_at, only.crushed) == (iso(MONDAY + MINUTE), None)
    assert only.prompt_id != only.sub_session_id


def test_of_equal_scores_the_prompt_that_reached_them_comes_first() -> None:
    """What follows in a sub-session stands where it stands because of it; newer sub-sessions come before older ones."""
    log = Log()
    for session, at_us in (("old", MONDAY), ("new", MONDAY + HOUR)):
        worked(log, session, at_us)
        log.prompt(session, "Also handle a header without rows in src/parser.py", at_us + 2 * MINUTE)
        log.records(session, edit(at_us + 3 * MINUTE, path=f"src/{session}.py"))
    found = [(prompt.score, prompt.agent_session_id, prompt.preview == FIX) for prompt in top_of(log)]
    assert found == [
        (FIX_SCORE, "new", True),
        (FIX_SCORE, "new", False),
        (FIX_SCORE, "old", True),
        (FIX_SCORE, "old", False),
    ]


def test_a_preview_is_one_short_line() -> None:
    """However long the prompt is, and whatever it is laid out like."""
    log = Log()
    log.prompt("a", FIX + "\n\n" + "Details follow.  \n" * 200, MONDAY)
    log.records("a", edit(MONDAY + SECOND))
    (only,) = top_of(log)
    assert only.preview is not None
    assert only.preview.startswith(FIX + " Details")
    assert (len(only.preview), "\n" in only.preview) == (PREVIEW_CHARS_MAX, False)


def test_a_forgotten_prompt_has_no_preview() -> None:
    """Its grade stays."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + SECOND))
    (only,) = top_prompts(reader(project(log.facts), []), ANA, TODAY, 50, 0)
    assert (only.preview, only.score) == (None, FIX_SCORE)


# --- all ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [files_of, lambda log, window=TODAY: times_of(log, window).items])
def test_what_began_before_the_range_belongs_to_another(
    query: Callable[..., Sequence[object]],
) -> None:
    """Also where it went on into it."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", edit(MONDAY + 3 * MINUTE))
    assert len(query(log)) == 1
    assert query(log, Window(MONDAY + MINUTE, MONDAY + DAY)) == []


def test_nobody_sees_a_colleagues_range() -> None:
    """Nor is there anything where nothing was done."""
    log = Log()
    log.prompt("a", FIX, MONDAY)
    log.records("a", request(MONDAY + SECOND), edit(MONDAY + 2 * SECOND))
    for read, scope in ((seen(log), BEN), (seen(Log()), ANA)):
        assert files(read, scope, TODAY, 50, 0) == []
        assert model_task(read, scope, TODAY, 50, 0) == []
        assert top_prompts(read, scope, TODAY, 50, 0) == []
        assert task_time(read, scope, TODAY, 50, 0) == TaskTimes([], 0.0)
