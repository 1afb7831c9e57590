"""What models were used for: hand-computed averages, unpriced requests, months of a zone."""

from zoneinfo import ZoneInfo

import msgspec
import pytest

from aggregates.times import Window, parse_instant
from projections.telemetry.usage import SLOT_US, Rightsizing, hour_start, rightsizing
from tests.support.facts import ANA, BEN, DAY, MINUTE, MONDAY, Log, project, reader, request

UTC = ZoneInfo("UTC")
RANGE = Window(MONDAY - 90 * DAY, MONDAY + DAY)


def shown(log: Log, zone: ZoneInfo = UTC, window: Window = RANGE) -> Rightsizing:
    return rightsizing(reader(project(log.facts), log.facts), ANA, window, zone)


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
    found = shown(log)
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
    log = Log().claim("s1")
    nothing = {"input_tokens": None, "output_tokens": None, "cost_usd_nano": None, "model": None}
    log.records("s1", request(MONDAY), request(MONDAY + 1, cost_usd_nano=None), request(MONDAY + 2, **nothing))
    sonnet, unnamed = shown(log).model_usage
    assert (sonnet.total_cost_usd, sonnet.unpriced_requests, sonnet.avg_input_tokens) == (None, 1, 100)
    assert sonnet.avg_cache_read_tokens is None
    assert (unnamed.model, unnamed.avg_total_tokens, unnamed.unmeasured_requests) == (None, None, 1)
    (month,) = shown(log).monthly_usage
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
    found = shown(log)
    models = {each.model: (each.request_count, each.avg_total_tokens) for each in found.model_usage}
    assert models == {"opus": (1, 15), "claude-sonnet-4-5": (1, 120)}
    assert [(each.request_count, each.total_tokens) for each in found.monthly_usage] == [(2, 135)]


def test_months_and_days_are_those_of_the_zone() -> None:
    """Half past midnight on New Year's Day in Berlin is still December in Greenwich."""
    at_us = parse_instant("2025-12-31T23:30:00Z")
    log = Log().claim("s1").records("s1", request(at_us), request(at_us - DAY), request(at_us - DAY + 1))
    in_utc = [(each.month, each.active_days) for each in shown(log).monthly_usage]
    in_berlin = [(each.month, each.active_days) for each in shown(log, ZoneInfo("Europe/Berlin")).monthly_usage]
    assert (in_utc, in_berlin) == ([("2025-12", 2)], [("2025-12", 1), ("2026-01", 1)])
    empty: dict[str, list[object]] = {"recommendations": [], "modelUsage": [], "monthlyUsage": []}
    assert msgspec.to_builtins(shown(log, window=Window(at_us + 1, at_us + DAY))) == empty
    assert msgspec.to_builtins(rightsizing(reader(project(log.facts), log.facts), BEN, RANGE, UTC)) == empty


@pytest.mark.parametrize(
    ("at", "zone", "start"),
    [
        ("2026-01-05T09:59:59Z", "UTC", "2026-01-05T09:00:00Z"),
        ("2026-01-05T09:59:59Z", "Asia/Kolkata", "2026-01-05T09:30:00Z"),
        ("2026-01-05T09:59:59Z", "Asia/Kathmandu", "2026-01-05T09:15:00Z"),
        ("2026-10-25T00:40:00Z", "Europe/Berlin", "2026-10-25T00:00:00Z"),
        ("2026-10-25T01:40:00Z", "Europe/Berlin", "2026-10-25T01:00:00Z"),  # the same hour on the clock, a second time
    ],
)
def test_an_hour_begins_when_the_clocks_of_its_zone_strike(at: str, zone: str, start: str) -> None:
    assert hour_start(parse_instant(at) // SLOT_US, ZoneInfo(zone)) == start
