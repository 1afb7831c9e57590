"""Telemetry read back: records with their attributes, pages, sums however counters are told, use of tools and turns."""

from collections.abc import Iterable
from itertools import permutations
from typing import Any, get_type_hints
from zoneinfo import ZoneInfo

import msgspec
import pytest
from msgspec.structs import replace

from aggregates.event import Event, Scope
from aggregates.telemetry.envelope import Signal
from aggregates.times import SLOT_US, Window, parse_instant
from projections.reader import Reader
from projections.scores.score import Breakdown
from projections.telemetry import records as telemetry, usage
from projections.telemetry.records import LogRow, Page
from tests.support.facts import ANA, BEN, DAY, HOUR, MINUTE, MONDAY, SECOND, Log, project, reader, request
from tests.support.otlp import add_logs, add_points, add_spans
from tests.support.tables import each_of, table

UTC = ZoneInfo("UTC")
WEEK = Window(MONDAY - DAY, MONDAY + 6 * DAY)


STRANGERS = (BEN, Scope(ANA.developer_id, ANA.developer_id))


def logged(*records: dict[str, Any], session: str | None = "s1") -> Log:
    """What a session's log told."""
    return add_logs(Log().claim("s1"), session, *records)


def read(log: Log) -> Reader:
    return reader(project(log.facts), log.facts)


def asked(
    limit: int = 100, offset: int = 0, session_id: str | None = None, window: Window = WEEK
) -> tuple[Window, int, int, str | None]:
    return window, limit, offset, session_id


def ids(page: Page[Any]) -> list[str]:
    return [record.source_event_id for record in page.records]


def answered(at_us: int, **fields: Any) -> dict[str, Any]:
    return request(at_us, name="api_request", **fields)


def tool(at_us: int, name: str = "Bash", **fields: Any) -> dict[str, Any]:
    return {"kind": "tool", "name": "tool_result", "tool": name, "at_us": at_us, **fields}


def counter(minute: int, value: float, temporality: str | None = "delta", **fields: Any) -> dict[str, Any]:
    usual = {"meaning": "input_tokens", "series": "s", "start_us": MONDAY, "value": value, "temporality": temporality}
    return {"at_us": MONDAY + minute * MINUTE, **(usual | fields)}


# --- records --------------------------------------------------------------------------------------------------


def test_a_log_record_as_it_was_received() -> None:
    """With the tokens of the request it reported, and its attributes out of the export; spans are read apart."""
    log = Log().claim("s1")
    attributes = {"event.name": "api_request", "input_tokens": 100}
    own = answered(MONDAY + SECOND, duration_ms=7, attributes=attributes)
    add_logs(log, "s1", {"at_us": MONDAY, "name": "note"}, own)
    add_logs(log, "s1", answered(MONDAY - SECOND, attributes={"x": 1}), forgotten=True)
    add_spans(log, "s1", {"at_us": MONDAY, "record_id": "span", "name": "llm_request", "attributes": {"x": 1}})
    shown, note, forgotten = telemetry.page(read(log), ANA, "logs", *asked()).records
    assert shown == LogRow(
        timestamp="2026-01-05T09:00:01Z",
        source_event_id=f"r-{MONDAY + SECOND}-1",
        event_name="api_request",
        session_id="s1",
        model="claude-sonnet-4-5",
        input_tokens=100,
        output_tokens=20,
        cache_read_tokens=None,
        cache_creation_tokens=None,
        cost_usd=0.01,
        cost_kind="reported",
        duration_ms=7,
        attributes_json='{"event.name":"api_request","input_tokens":100}',
    )
    assert (note.event_name, note.input_tokens, note.cost_usd, note.attributes_json) == ("note", None, None, "{}")
    assert (forgotten.attributes_json, forgotten.input_tokens) == (None, 100)
    (span,) = telemetry.page(read(log), ANA, "traces", *asked()).records
    assert (span.name, span.source_event_id, span.attributes_json) == ("llm_request", "span", '{"x":1}')


def test_a_metric_point_as_it_was_received() -> None:
    """A value, or the numbers of a distribution; a cumulative one is not differenced."""
    log = Log().claim("s1")
    histogram = {"count": "2", "sum": 3, "bucketCounts": ["1", "1"], "explicitBounds": [1]}
    add_points(
        log,
        "s1",
        counter(0, 5, "cumulative", unit="tokens", attributes={"type": "input"}),
        counter(1, 9, "cumulative"),
        {"at_us": MONDAY + 2 * MINUTE, "kind": "histogram", "body": histogram},
    )
    distributed, later, first = telemetry.page(read(log), ANA, "metrics", *asked()).records
    assert (first.name, first.kind, first.unit, first.temporality) == ("tokens", "sum", "tokens", "cumulative")
    assert (first.value, later.value, first.distribution, first.attributes_json) == (5, 9, None, '{"type":"input"}')
    assert (distributed.value, distributed.distribution is None) == (None, False)
    shown = msgspec.to_builtins(distributed.distribution)
    assert (shown["count"], shown["bucket_counts"]) == (2, [1, 1])


def test_pages_are_newest_first_and_do_not_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """An export is fetched once for all its records; a page ends early where its attributes are long."""
    log = add_logs(Log().claim("s1"), "s1", *({"at_us": MONDAY + n, "attributes": {"t": "x" * 9}} for n in range(5)))
    add_logs(log, "s1", {"at_us": MONDAY + 5, "attributes": {"t": "x" * 100}})
    events = {fact.position: fact.event for fact in log.facts}
    fetched: list[int] = []

    def fetch(positions: Iterable[int]) -> dict[int, Event]:
        fetched.extend(wanted := list(positions))
        return {position: events[position] for position in wanted}

    views = Reader(project(log.facts), fetch)
    named = [f"r-{MONDAY + 5}-0", *(f"r-{MONDAY + n}-{n}" for n in (4, 3, 2, 1, 0))]
    pages = [telemetry.page(views, ANA, "logs", *asked(limit=2, offset=offset)) for offset in (0, 2, 4)]
    assert [ids(page) for page in pages] == [named[:2], named[2:4], named[4:]]
    assert [page.has_more for page in pages] == [True, True, False]
    fetched.clear()
    whole = telemetry.page(views, ANA, "logs", *asked(limit=6))
    assert (ids(whole), whole.has_more, fetched) == (named, False, [3, 2])
    monkeypatch.setattr(telemetry, "PAGE_CHARACTERS_MAX", 50)
    first, second = (telemetry.page(views, ANA, "logs", *asked(offset=offset)) for offset in (0, 1))
    assert (ids(first), first.has_more, ids(second), second.has_more) == (named[:1], True, named[1:], False)


def test_only_the_range_the_session_and_the_scope_are_shown() -> None:
    """Half-open; records without a session are the developer's all the same; nobody else sees any."""
    log = Log().claim("s1").claim("s2")
    add_logs(log, "s1", {"at_us": MONDAY})
    add_logs(log, "s2", {"at_us": MONDAY + MINUTE})
    add_logs(log, None, {"at_us": MONDAY + 2 * MINUTE})
    views = read(log)
    assert [row.session_id for row in telemetry.page(views, ANA, "logs", *asked()).records] == [None, "s2", "s1"]
    assert [row.session_id for row in telemetry.page(views, ANA, "logs", *asked(session_id="s1")).records] == ["s1"]
    assert telemetry.page(views, ANA, "logs", *asked(session_id="s3")).records == []
    half = Window(MONDAY, MONDAY + MINUTE)
    assert [row.session_id for row in telemetry.page(views, ANA, "logs", *asked(window=half)).records] == ["s1"]
    for scope in STRANGERS:
        assert telemetry.page(views, scope, "logs", *asked()).records == []
        assert telemetry.page(views, scope, "logs", *asked(session_id="s1")).records == []
        assert telemetry.page(views, scope, "metrics", *asked(session_id="s1")).records == []


# --- sums -----------------------------------------------------------------------------------------------------


def sums(log: Log, signal: Signal, group_by: usage.GroupBy = "day", window: Window = WEEK) -> list[usage.RecordGroup]:
    return usage.stats(read(log), ANA, window, signal, group_by, UTC)


@table(
    "told",
    {
        "deltas": [counter(1, 5), counter(2, 4), counter(3, 0)],
        "a running total": [counter(1, 5, "cumulative"), counter(2, 9, "cumulative"), counter(3, 9, "cumulative")],
        "one started anew": [counter(1, 5, "cumulative"), counter(2, 4, "cumulative", start_us=MONDAY + 90 * SECOND)],
        "one that fell: it was started anew": [counter(1, 5, "cumulative"), counter(2, 4, "cumulative")],
        "two series": [counter(1, 5, "cumulative"), counter(2, 4, "cumulative", series="another")],
        "no start": [counter(1, 5, "cumulative", start_us=None), counter(2, 9, "cumulative", start_us=None)],
        "no temporality": [counter(1, 5, None), counter(2, 4, None)],
    },
)
def test_a_counter_gives_the_same_tokens_however_it_is_told(told: list[dict[str, Any]]) -> None:
    for order in permutations(told):
        log = Log().claim("s1")
        for draft in order:
            add_points(log, "s1", dict(draft))
        (group,) = sums(log, "metrics")
        assert (group.input_tokens, group.records) == (9, len(told))
        assert (group.output_tokens, group.cost_usd) == (None, None)


def test_a_running_total_counts_from_where_it_stood_before_the_range() -> None:
    """Counters of other things are counted as records alone."""
    log = add_points(Log().claim("s1"), "s1", counter(0, 50, "cumulative"), counter(10, 57, "cumulative"))
    add_points(log, "s1", counter(11, 0.25, meaning="cost_usd"), counter(12, 3, meaning="commits", series="c"))
    add_points(log, "s1", counter(13, 2.0, meaning="output_tokens", series="o"))
    (group,) = sums(log, "metrics", window=Window(MONDAY + MINUTE, MONDAY + HOUR))
    assert (group.records, group.input_tokens, group.output_tokens, group.cost_usd) == (4, 7, 2, 0.25)


def test_logs_bring_the_tokens_of_their_requests_once() -> None:
    """Not those of one that a span tells of, too; not those of failed ones."""
    log = logged(answered(MONDAY, request_id="r"), tool(MONDAY + 1), {"kind": "error", "at_us": MONDAY + 2})
    add_spans(log, "s1", answered(MONDAY + 3, request_id="r"))
    (of_logs,), (of_spans,) = sums(log, "logs"), sums(log, "traces")
    assert (of_logs.records, of_spans.records) == (3, 1)
    assert (of_logs.input_tokens or 0) + (of_spans.input_tokens or 0) == 100


NOTHING: dict[str, Any] = dict.fromkeys(("input_tokens", "output_tokens", "cost_usd_nano"))


def test_sums_with_something_unknown_in_them_say_so() -> None:
    """An unpriced request makes the cost unknown; tokens are unknown where a request told none, or there was none."""
    log = logged(answered(MONDAY), answered(MONDAY + 1, cost_usd_nano=None), answered(MONDAY + 2, **NOTHING))
    add_logs(log.claim("s2"), "s2", answered(MONDAY + 3, **NOTHING))
    groups = sums(add_logs(log, None, tool(MONDAY + 4)), "logs", "session_id")
    assert [(g.key, g.input_tokens, g.cost_usd, g.unpriced_requests, g.unmeasured_requests) for g in groups] == [
        ("s1", None, None, 2, 1),
        ("s2", None, None, 1, 1),
        (None, None, None, 0, 0),
    ]


@each_of(
    [
        ("day", "UTC", ["2026-01-05", "2026-01-06"]),
        ("day", "Asia/Kolkata", ["2026-01-05", "2026-01-06"]),
        ("day", "Pacific/Auckland", ["2026-01-05", "2026-01-06"]),
        ("hour", "UTC", ["2026-01-05T09:00:00Z", "2026-01-06T00:00:00Z"]),
        ("hour", "Asia/Kolkata", ["2026-01-05T08:30:00Z", "2026-01-05T23:30:00Z"]),
        ("session_id", "UTC", ["s1", None]),
    ]
)
def test_groups(group_by: usage.GroupBy, zone: str, keys: list[str | None]) -> None:
    """In order; only where there was a record; days and hours are those of the zone."""
    log = add_logs(logged({"at_us": MONDAY}, {"at_us": MONDAY + MINUTE}), None, {"at_us": MONDAY + 15 * HOUR})
    groups = usage.stats(read(log), ANA, WEEK, "logs", group_by, ZoneInfo(zone))
    assert [(group.key, group.records) for group in groups] == list(zip(keys, [2, 1], strict=True))
    assert usage.stats(read(log), BEN, WEEK, "logs", group_by, ZoneInfo(zone)) == []


# --- use ------------------------------------------------------------------------------------------------------


def test_tools_failures_models_and_hours_of_a_range() -> None:
    """A call told by a log record and by a span is one call."""
    log = Log().claim("s1")
    add_logs(
        log,
        "s1",
        tool(MONDAY, ok=True, duration_ms=10, call_id="c"),
        tool(MONDAY + 1, ok=False, duration_ms=40),
        tool(MONDAY + 2),
        tool(MONDAY + 3, "Read"),
        answered(MONDAY + HOUR),
        answered(MONDAY + 2 * HOUR, model="haiku", cost_usd_nano=None),
        {"kind": "error", "at_us": MONDAY, "status_code": 529, "model": "haiku"},
        {"kind": "error", "at_us": MONDAY + 1, "status_code": 529, "model": "haiku"},
        {"kind": "error", "at_us": MONDAY + 2},
    )
    add_spans(log, "s1", tool(MONDAY + 4, ok=True, duration_ms=20, call_id="c"))
    add_logs(log, None, tool(MONDAY + 5, "Read"))
    found = usage.analytics(read(log), ANA, WEEK, ZoneInfo("Europe/Berlin"))
    tools = [(each.name, each.calls, each.errors, each.median_ms) for each in found.tools]
    assert tools == [("Bash", 3, 1, 30.0), ("Read", 2, 0, None)]
    assert [(each.status_code, each.model, each.count) for each in found.errors] == [(529, "haiku", 2), (None, None, 1)]
    models = [(each.model, each.requests, each.input_tokens, each.cost_usd) for each in found.models]
    assert models == [("claude-sonnet-4-5", 1, 100, 0.01), ("haiku", 1, 100, None)]
    assert [each.hour for each in found.active_hours] == list(range(24))
    assert [each.hour for each in found.active_hours if each.requests] == [11, 12]
    nobodys = usage.analytics(read(log), BEN, WEEK, UTC)
    assert (nobodys.tools, nobodys.errors, nobodys.models) == ([], [], [])


def test_single_turns_by_the_prompt_that_they_name() -> None:
    """In the order asked for, each once; a prompt that nothing named has zeros and nulls."""
    log = Log().claim("s1")
    first = answered(MONDAY, prompt_id="p1", cache_read_tokens=3), answered(MONDAY + 1, prompt_id="p1")
    failed = {"kind": "error", "at_us": MONDAY + 4, "prompt_id": "p1"}
    calls = tool(MONDAY + 2, prompt_id="p1", ok=False), tool(MONDAY + 3, prompt_id="p1")
    unpriced = answered(MONDAY + 5, prompt_id="p2", cost_usd_nano=None)
    views = read(add_logs(log, "s1", *first, *calls, failed, unpriced, answered(MONDAY + 6)))
    counts = {name: 0 for name, kind in get_type_hints(usage.TurnUse).items() if kind is int}
    nothing = usage.TurnUse(prompt_id="nobody's", tokens=None, cost_usd=None, **counts)
    told = {"prompt_id": "p1", "requests": 2, "tools": 2, "tokens": Breakdown(200, 40, 3, 0), "cost_usd": 0.02}
    one = replace(nothing, **told, errors=1, tool_errors=1)
    two = replace(nothing, prompt_id="p2", requests=1, tokens=Breakdown(100, 20, 0, 0), unpriced_requests=1)
    assert usage.per_turn(views, ANA, "s1", ["nobody's", "p2", "p1", "p2"]) == [nothing, two, one]
    for scope, session in ((BEN, "s1"), (ANA, "s2")):
        assert usage.per_turn(views, scope, session, ["p1"]) == [replace(nothing, prompt_id="p1")]


# --- what models were used for -------------------------------------------------------------------------------------


RANGE = Window(MONDAY - 90 * DAY, MONDAY + DAY)


def used(log: Log, zone: ZoneInfo = UTC, window: Window = RANGE, scope: Scope = ANA) -> usage.Rightsizing:
    return usage.rightsizing(read(log), scope, window, zone)


def test_averages_of_each_model_and_sums_of_each_month() -> None:
    """Failed requests used nothing; one told twice counts once."""
    log = Log().claim("s1")
    log.records(
        "s1",
        request(MONDAY - 7 * DAY, input_tokens=300, output_tokens=40, cache_read_tokens=1000, cache_write_tokens=60),
        request(MONDAY, request_id="r", origin=0),
        request(MONDAY + MINUTE, request_id="r", output_tokens=1),
        request(MONDAY + 2 * MINUTE, model="haiku", cost_usd_nano=1_000_000),
        {"kind": "error", "at_us": MONDAY, "model": "opus"},
    )
    found = used(log)
    assert [(each.model, each.request_count) for each in found.model_usage] == [("claude-sonnet-4-5", 2), ("haiku", 1)]
    sonnet = found.model_usage[0]
    assert (sonnet.avg_input_tokens, sonnet.avg_output_tokens) == (200, 30)
    assert (sonnet.avg_cache_read_tokens, sonnet.avg_cache_creation_tokens) == (1000, 60)
    assert sonnet.avg_total_tokens == (300 + 40 + 1000 + 60 + 120) / 2
    assert sonnet.total_cost_usd == pytest.approx(0.02)
    assert sonnet.unpriced_requests == 0
    months = [(each.month, each.request_count, each.total_tokens, each.active_days) for each in found.monthly_usage]
    assert months == [("2025-12", 1, 1400, 1), ("2026-01", 2, 240, 1)]
    assert found.monthly_usage[1].total_cost_usd == pytest.approx(0.011)


def test_what_was_not_told_is_null_beside_a_count() -> None:
    """One unpriced request makes a cost unknown; one that told no tokens lowers no average."""
    untold = request(MONDAY + 2, **NOTHING, model=None)
    found = used(Log().claim("s1").records("s1", request(MONDAY), request(MONDAY + 1, cost_usd_nano=None), untold))
    sonnet, unnamed = found.model_usage
    assert (sonnet.total_cost_usd, sonnet.unpriced_requests, sonnet.avg_input_tokens) == (None, 1, 100)
    assert sonnet.avg_cache_read_tokens is None
    assert (unnamed.model, unnamed.avg_total_tokens, unnamed.unmeasured_requests) == (None, None, 1)
    (month,) = found.monthly_usage
    assert (month.total_cost_usd, month.unpriced_requests, month.unmeasured_requests) == (None, 2, 1)
    assert (month.input_tokens, month.total_tokens) == (None, None)


def test_what_only_a_response_capture_tells_counts_at_the_time_of_its_prompt() -> None:
    """Beside the requests of telemetry; not where a request log covers the turn."""
    log = Log()
    told = {"model": "opus", "input_tokens": 10, "output_tokens": 5, "cost_usd_nano": 2_000_000}
    for minute, name in ((0, "p1"), (2, "p2")):
        prompt = log.prompt("s1", f"Add test {name}.", MONDAY + minute * MINUTE, host_prompt_id=name)
        log.answer("s1", prompt, "Done.", MONDAY + (minute + 1) * MINUTE, **told)
    log.records("s1", request(MONDAY + 3 * MINUTE, prompt_id="p2"))
    found = used(log)
    models = {each.model: (each.request_count, each.avg_total_tokens) for each in found.model_usage}
    assert models == {"opus": (1, 15), "claude-sonnet-4-5": (1, 120)}
    assert [(each.request_count, each.total_tokens) for each in found.monthly_usage] == [(2, 135)]


def test_months_and_days_are_those_of_the_zone() -> None:
    """Half past midnight on New Year's Day in Berlin is still December in Greenwich."""
    at_us = parse_instant("2025-12-31T23:30:00Z")
    log = Log().claim("s1").records("s1", request(at_us), request(at_us - DAY), request(at_us - DAY + 1))
    in_utc = [(each.month, each.active_days) for each in used(log).monthly_usage]
    in_berlin = [(each.month, each.active_days) for each in used(log, ZoneInfo("Europe/Berlin")).monthly_usage]
    assert (in_utc, in_berlin) == ([("2025-12", 2)], [("2025-12", 1), ("2026-01", 1)])
    empty: dict[str, list[object]] = {"recommendations": [], "modelUsage": [], "monthlyUsage": []}
    assert msgspec.to_builtins(used(log, window=Window(at_us + 1, at_us + DAY))) == empty
    assert msgspec.to_builtins(used(log, scope=BEN)) == empty


@each_of(
    [
        ("2026-01-05T09:59:59Z", "UTC", "2026-01-05T09:00:00Z"),
        ("2026-01-05T09:59:59Z", "Asia/Kolkata", "2026-01-05T09:30:00Z"),
        ("2026-01-05T09:59:59Z", "Asia/Kathmandu", "2026-01-05T09:15:00Z"),
        ("2026-10-25T00:40:00Z", "Europe/Berlin", "2026-10-25T00:00:00Z"),
        ("2026-10-25T01:40:00Z", "Europe/Berlin", "2026-10-25T01:00:00Z"),  # the same hour on the clock, a second time
    ]
)
def test_an_hour_begins_when_the_clocks_of_its_zone_strike(at: str, zone: str, start: str) -> None:
    assert usage.hour_start(parse_instant(at) // SLOT_US, ZoneInfo(zone)) == start
