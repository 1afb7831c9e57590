"""What an agent's own telemetry adds to a session and its sub-session; records out of a stored export."""

import sqlite3
from typing import Any

import msgspec
from hypothesis import given, settings, strategies as st

from aggregates.telemetry.envelope import Signal
from aggregates.turns.turn import ModelUsage, Work
from projections.derive.sessions import session_turns
from projections.derive.sub_session_rows import ModelTotals, model_totals
from projections.telemetry.records import (
    Buckets,
    PointDistribution,
    Quantile,
    attributes_json,
    distribution,
    records_of,
)
from tests.support.facts import MINUTE, MONDAY, SECOND, Log, edit, project, request, tables
from tests.support.stages import turn_at, usage
from tests.support.tables import beside, each_of, table

PROMPT = "Fix the crash in src/parser.py when the input is empty, add a test and run pytest"


def _turn_work(db: sqlite3.Connection) -> Any:
    (turn,) = session_turns(db, "s1", 0)
    return turn.work


def _prompted() -> Log:
    log = Log()
    log.prompt("s1", PROMPT, MONDAY)
    return log


@table(
    ("written", "logged", "unpriced", "rows"),
    {
        "smaller": (3, 20, 0, [(3, 1, 4), (20, 0, 4)]),
        "equal": (20, 20, 0, [(20, 1, 4), (20, 0, 4)]),
        "larger": (900, 1, 1, [(900, 0, 3), (1, 1, 4)]),
    },
)
def test_a_request_told_by_the_log_and_by_the_transcript_counts_once_by_its_larger_account(
    written: int, logged: int, unpriced: int, rows: list[tuple[int, int, int]]
) -> None:
    """Of equal ones the log's, which tells the cost."""
    log = _prompted()
    log.records("s1", request(MONDAY + MINUTE, request_id="req-1", output_tokens=written, cost_usd_nano=None))
    log.records("s1", request(MONDAY + MINUTE + SECOND, request_id="req-1", output_tokens=logged, origin=0))
    db = project(log.facts)
    (usage,) = _turn_work(db).usage
    counted = usage.requests, usage.output_tokens, usage.unpriced_requests
    assert counted == (1, max(written, logged), unpriced)
    assert (
        db.execute("SELECT output_tokens, superseded, changed_position FROM requests ORDER BY at_us").fetchall() == rows
    )


@table(
    ("versions", "counts"),
    {"an older reader told more": ((1, 2), 7), "of one reader": ((1, 1), 900), "of the other source": ((2, 2), 900)},
)
def test_a_newer_reader_of_one_source_says_nothing_of_another(versions: tuple[int, int], counts: int) -> None:
    log = _prompted()
    for place, (tokens, version) in enumerate(zip((900, 7), versions, strict=True)):
        log.records("s1", request(MONDAY + place, request_id="req-1", output_tokens=tokens), version=version)
    log.records("s2", request(MONDAY + MINUTE, request_id="req-1", output_tokens=5, origin=0), version=3)
    db = project(log.facts, range(len(log.facts)))
    query = "SELECT output_tokens FROM requests WHERE superseded = 0"
    assert db.execute(query).fetchall() == [(counts,)]
    assert tables(db) == tables(project(log.facts))


def test_passes_count_beside_their_message_and_give_way_with_it() -> None:
    """What the agent's log says that a request cost holds its passes."""
    log, pieces = _prompted(), [{"record_id": f"request:m{end}", "request_id": "req-1"} for end in ("", "#1")]
    log.records("s1", *(request(MONDAY + MINUTE, **each) for each in pieces))
    assert _turn_work(project(log.facts)).usage[0].requests == 2
    log.records("s1", request(MONDAY + MINUTE + SECOND, request_id="req-1", origin=0))
    assert _turn_work(project(log.facts)).usage[0].requests == 1


def test_a_tool_call_told_twice_counts_once_and_with_its_details() -> None:
    """Telemetry without tool details knows the outcome only; the transcript knows the file."""
    log = _prompted()
    bare = {"kind": "tool", "tool": "Edit", "at_us": MONDAY + MINUTE, "ok": True, "call_id": "c", "origin": 0}
    log.records("s1", bare)
    log.records("s1", edit(MONDAY + 2 * MINUTE, added=12, call_id="c"))
    work = _turn_work(project(log.facts))
    assert (work.tool_calls, work.lines_added, len(work.files)) == (1, 12, 1)


@table(
    "told",
    {
        "as deltas": [(1, 5.0, "delta", 0), (2, 4.0, "delta", 0)],
        "as a running total": [(1, 5.0, "cumulative", 0), (2, 9.0, "cumulative", 0)],
        "as one started anew": [(1, 5.0, "cumulative", 0), (2, 4.0, "cumulative", 60)],
        "as one that fell: started anew, too": [(1, 5.0, "cumulative", 0), (2, 4.0, "cumulative", 0)],
        "as one that arrived late": [(2, 9.0, "cumulative", 0), (1, 5.0, "cumulative", 0)],
    },
)
def test_a_counter_of_lines_counts_the_same_however_it_is_told(told: Any) -> None:
    log = _prompted()
    for minute, value, temporality, start in told:
        log.lines("s1", MONDAY + minute * MINUTE, value, temporality=temporality, start_us=start)
    assert _turn_work(project(log.facts, range(9))).lines_added == 9


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
@settings(max_examples=20)
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
        "one token": ([usage("opus", output_tokens=1)], [ModelTotals("opus", 1, output_tokens=1, reported=True)]),
        "none in one turn": (
            [usage("opus"), usage("opus", output_tokens=1)],
            [ModelTotals("opus", 2, output_tokens=1)],
        ),
        "tokens of all kinds; a model that nobody named has no name": (
            [usage("unknown", unpriced_requests=1), ModelUsage("opus", 2, 3, 4, 5, 6, 7, 0, 1)],
            [ModelTotals(None, 1, unpriced_requests=1), ModelTotals("opus", 2, 3, 4, 5, 6, 7, 0, 1, reported=True)],
        ),
    },
)
def test_models_are_added_up_over_turns(usages: list[ModelUsage], totals: list[ModelTotals]) -> None:
    """No request goes without a token: a model of which a turn told none did not report them."""
    assert model_totals([turn_at(number, work=Work(usage=(each,))) for number, each in enumerate(usages)]) == totals


# --- records out of a stored export, whatever exporters write -------------------------------------------------


def found(document: object, signal: Signal = "logs") -> list[Any]:
    return [msgspec.json.decode(each) for each in records_of(json(document), signal)]


def json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def test_records_come_in_the_order_of_the_document() -> None:
    """Over resources, scopes and, for points, metrics of every kind; one that makes no sense keeps its place."""
    one, two, three = ({"n": number} for number in (1, 2, 3))
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [one]}, {"logRecords": [two]}]}, {"scopeLogs": [
        {"logRecords": [None, 7, three]}]}]}  # fmt: skip
    assert found(logs) == [one, two, None, 7, three]
    assert found({"resourceSpans": [{"scopeSpans": [{"spans": [one, two]}]}]}, "traces") == [one, two]
    metrics = [{"name": "a", "sum": {"dataPoints": [one]}}, {"name": "b", "summary": {"dataPoints": [two, three]}}]
    assert found({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}, "metrics") == [one, two, three]


@each_of(["", "null", "[]", "7", "{", '{"resourceLogs": {}}', '{"resourceLogs": [null]}'])
def test_what_is_no_export_holds_no_records(export: str) -> None:
    assert records_of(export, "logs") == []


@beside()
def test_values_are_shown_without_their_wrapping(value: object, shown: object) -> None:
    """As OTLP has them, with the quirks of its exporters; of two attributes of one name the later."""
    pairs = [{"key": "a", "value": {"intValue": 1}}, {"key": "a", "value": value}, {"value": {}}]
    told = attributes_json(json({"attributes": pairs}).encode())
    assert msgspec.json.decode(told or "") == {"a": shown, "": None}


def test_distributions() -> None:
    """Of a histogram, an exponential histogram and a summary; 64-bit integers are numbers or texts."""
    histogram = _distribution(
        {"count": "3", "sum": 6.5, "min": 1, "max": 4, "bucketCounts": ["1", 2], "explicitBounds": [2]}
    )
    assert (histogram.count, histogram.sum, histogram.min, histogram.max) == (3, 6.5, 1.0, 4.0)
    assert (histogram.bucket_counts, histogram.explicit_bounds, histogram.quantiles) == ([1, 2], [2.0], None)
    exponential = _distribution(
        {"count": 2, "scale": 1, "zeroCount": "1", "positive": {"offset": 2, "bucketCounts": [1]}}
    )
    assert (exponential.scale, exponential.zero_count, exponential.sum) == (1, 1, None)
    assert (exponential.positive, exponential.negative) == (Buckets(2, [1]), None)
    summary = _distribution({"count": 2, "sum": 3, "quantileValues": [{"value": 1}, {"quantile": 1, "value": "NaN"}]})
    assert summary.quantiles == [Quantile(0.0, 1.0), Quantile(1.0, 0.0)]


def _distribution(point: dict[str, Any]) -> PointDistribution:
    found = distribution(json(point).encode())
    assert found is not None
    return found


_NAMES = [
    "resourceLogs", "scopeLogs", "logRecords", "attributes", "key", "value", "arrayValue", "values", "intValue",
    "kvlistValue", "positive", "bucketCounts", "quantileValues", "count",
]  # fmt: skip
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_nothing_that_is_stored_breaks_a_read(document: Any) -> None:
    """What no decoder takes any more is shown as absent."""
    record = {"attributes": document, "positive": document, "quantileValues": document}
    for each in [*records_of(json(document), "logs"), json(record).encode()]:
        attributes_json(each)
        distribution(each)
    assert (attributes_json(b"7"), distribution(b'{"attributes":7}')) == (None, None)
