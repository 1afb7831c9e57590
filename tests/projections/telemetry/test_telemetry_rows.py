"""What an agent's own telemetry adds to a session, and what its sub-session keeps of it: requests, lines, files."""

import sqlite3
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.turns.turn import ModelUsage, Work
from projections.derive.sessions import session_turns
from projections.derive.sub_session_rows import ModelTotals, model_totals
from tests.support.facts import MINUTE, MONDAY, SECOND, Log, edit, project, request, tables
from tests.support.stages import turn_at, usage
from tests.support.tables import table

PROMPT = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"


def _turn_work(db: sqlite3.Connection) -> Any:
    (turn,) = session_turns(db, "s1", 0)
    return turn.work


def _prompted() -> Log:
    log = Log()
    log.prompt("s1", PROMPT, MONDAY)
    return log


def test_a_request_told_by_the_log_and_by_the_transcript_counts_once_and_as_the_log_says() -> None:
    """The transcript's output tokens are often too small."""
    log = _prompted()
    log.records("s1", request(MONDAY + MINUTE, request_id="req-1", output_tokens=3, cost_usd_nano=None))
    log.records("s1", request(MONDAY + MINUTE + SECOND, request_id="req-1", output_tokens=20, origin=0))
    db = project(log.facts)
    (usage,) = _turn_work(db).usage
    assert (usage.requests, usage.output_tokens, usage.unpriced_requests) == (1, 20, 0)
    rows = db.execute("SELECT output_tokens, superseded, changed_position FROM requests ORDER BY at_us").fetchall()
    assert rows == [(3, 1, 4), (20, 0, 4)]


def test_a_tool_call_told_twice_counts_once_and_with_its_details() -> None:
    """Telemetry without tool details knows the outcome only; the transcript knows the file."""
    log = _prompted()
    log.records(
        "s1", {"kind": "tool", "tool": "Edit", "at_us": MONDAY + MINUTE, "ok": True, "call_id": "c", "origin": 0}
    )
    log.records("s1", edit(MONDAY + 2 * MINUTE, added=12, call_id="c"))
    work = _turn_work(project(log.facts))
    assert (work.tool_calls, work.lines_added, len(work.files)) == (1, 12, 1)


@pytest.mark.parametrize(
    ("told", "added"),
    [
        ([(1, 5.0, "delta", 0), (2, 4.0, "delta", 0)], 9),
        ([(1, 5.0, "cumulative", 0), (2, 9.0, "cumulative", 0)], 9),
        ([(1, 5.0, "cumulative", 0), (2, 4.0, "cumulative", 60)], 9),  # started anew
        ([(1, 5.0, "cumulative", 0), (2, 4.0, "cumulative", 0)], 9),  # fell: started anew, too
        ([(2, 9.0, "cumulative", 0), (1, 5.0, "cumulative", 0)], 9),  # arrived late
    ],
)
def test_a_counter_of_lines_counts_the_same_however_it_is_told(told: Any, added: int) -> None:
    """As deltas, as a cumulative series, after a restart, out of order."""
    log = _prompted()
    for minute, value, temporality, start in told:
        log.lines("s1", MONDAY + minute * MINUTE, value, temporality=temporality, start_us=start)
    assert _turn_work(project(log.facts, range(9))).lines_added == added


def test_a_counter_of_lines_counts_nothing_where_a_tool_call_told_its_lines() -> None:
    """The counter arrives every minute, the tool call when it is done: the call is the better witness."""
    log = _prompted()
    log.lines("s1", MONDAY + MINUTE, 40)
    assert _turn_work(project(log.facts)).lines_added == 40
    log.records("s1", edit(MONDAY + 2 * MINUTE, added=12))
    assert _turn_work(project(log.facts, range(9))).lines_added == 12


def test_records_are_kept_as_received_even_where_they_name_no_session() -> None:
    log = _prompted()
    log.records(None, {"kind": "other", "name": "note", "at_us": MONDAY, "origin": 0}, request(MONDAY, origin=1))
    db = project(log.facts)
    shown = db.execute("SELECT signal, agent_session_id, name, kind, origin FROM telemetry_records ORDER BY origin")
    assert shown.fetchall() == [("logs", None, "note", "other", 0), ("logs", None, None, "request", 1)]
    assert db.execute("SELECT count(*) FROM requests").fetchone() == (1,)
    assert _turn_work(db).usage == ()


# --- reports that nothing names, as Codex's and Gemini's ------------------------------------------------------------


def test_an_unnamed_request_of_the_log_and_one_of_the_transcript_with_the_same_tokens_are_one() -> None:
    """As often as one of them tells of it: two alike in each are two. Those far apart are two."""
    log = _prompted()
    for minute in (1, 2):
        log.records("s1", request(MONDAY + minute * MINUTE, output_tokens=20, origin=0))
        log.records("s1", request(MONDAY + minute * MINUTE + SECOND, output_tokens=20))
    log.records("s1", request(MONDAY + 2 * MINUTE + 2 * SECOND, output_tokens=21))
    log.records("s1", request(MONDAY + 30 * MINUTE, output_tokens=21, origin=0))
    assert _turn_work(project(log.facts)).usage[0].requests == 4


def test_an_unnamed_call_told_twice_counts_once_and_two_alike_calls_twice() -> None:
    log = _prompted()
    call = {"kind": "tool", "tool": "run_shell_command", "ok": True, "input_digest": 7}
    for second in (1, 20):
        log.records("s1", {**call, "at_us": MONDAY + second * SECOND, "origin": 0})
        log.records("s1", {**call, "at_us": MONDAY + (second + 1) * SECOND})
    assert _turn_work(project(log.facts)).tool_calls == 2


@given(st.permutations(range(6)), st.lists(st.integers(0, 6), max_size=4))
@settings(max_examples=40)
def test_pairs_do_not_depend_on_the_order_in_which_reports_come(order: list[int], cuts: list[int]) -> None:
    """A report that comes late may be the partner of one that had another."""
    log = _prompted()
    for second, told in ((0, {}), (50, {"origin": 0}), (110, {}), (170, {"origin": 0}), (200, {}), (900, {})):
        log.records("s1", request(MONDAY + MINUTE + second * SECOND, output_tokens=20, **told))
    claim, prompt, *reports = log.facts
    shuffled = [claim, prompt, *(reports[place] for place in order)]
    assert tables(project(shuffled, cuts)) == tables(project(log.facts))


# --- what sub-sessions add up of their turns ------------------------------------------------------------------


def test_files_are_added_up_over_turns() -> None:
    """Edits in a turn that told no changed line stand apart; so does the last moment of whoever touched the file."""
    log = Log()
    for minute, added in ((0, 3), (2, 0), (4, 0)):
        log.prompt("s1", f"go on with part {minute}", MONDAY + minute * MINUTE, cwd_digest=7)
        log.records("s1", edit(MONDAY + minute * MINUTE + SECOND, added=added, lines_removed=0))
    columns = "edits, lines_added, lines_removed, edits_without_lines, seen_us"
    found = project(log.facts).execute(f"SELECT {columns} FROM sub_session_files").fetchall()
    assert found == [(3, 3, 0, 2, MONDAY + 4 * MINUTE + SECOND)]


@table(
    ("usages", "totals"),
    {
        "no request: nothing was reported of nobody": ([], [ModelTotals(None)]),
        "one token": ([usage("opus", output_tokens=1)], [ModelTotals("opus", 1, 1, True)]),
        "none in one turn": ([usage("opus"), usage("opus", output_tokens=1)], [ModelTotals("opus", 2, 1)]),
        "tokens of all kinds; a model that nobody named has no name": (
            [usage("unknown", unpriced_requests=1), ModelUsage("opus", 2, 3, 4, 5, 6, 7, 0, 1)],
            [ModelTotals(None, 1, unpriced_requests=1), ModelTotals("opus", 2, 18, True, 7, 0, 1)],
        ),
    },
)
def test_models_are_added_up_over_turns(usages: list[ModelUsage], totals: list[ModelTotals]) -> None:
    """No request goes without a token: a model of which a turn told none did not report them."""
    assert model_totals(turn_at(number, work=Work(usage=(each,))) for number, each in enumerate(usages)) == totals
