"""Calendar periods: they cover a range without a gap, in any zone."""

from datetime import UTC
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.times import Period, Window, buckets, iso, parse_instant, sorted_into

BERLIN = ZoneInfo("Europe/Berlin")
DAY_US = 86_400_000_000
ZONES = ["UTC", "Europe/Berlin", "Africa/Cairo", "America/Havana", "Pacific/Kiritimati", "Australia/Lord_Howe"]


def starts(window: Window, period: Period, zone: ZoneInfo = BERLIN) -> list[str]:
    """When each period begins."""
    return [iso(each.start_us) for each in buckets(window, period, zone)]


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ("day", ["2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"]),
        ("week", ["2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"]),
        ("month", ["2026-02-28T23:00:00Z"]),
    ],
)
def test_whole_periods_of_the_zone(period: Period, expected: list[str]) -> None:
    """Over the night in which clocks change; the first may begin before the range."""
    window = Window(parse_instant("2026-03-28T10:00:00Z"), parse_instant("2026-03-31T00:00:00+02:00") + 1)
    assert starts(window, period) == expected


def test_a_range_that_ends_at_midnight_has_no_part_in_the_next_day() -> None:
    """Half-open."""
    window = Window(parse_instant("2026-01-01"), parse_instant("2026-02-01"))
    assert len(list(buckets(window, "day", UTC))) == 31
    assert len(list(buckets(window, "month", UTC))) == 1


@given(
    start_us=st.integers(0, 60 * 365 * DAY_US),
    length_us=st.integers(1, 400 * DAY_US),
    period=st.sampled_from(["day", "week", "month"]),
    zone=st.sampled_from(ZONES),
)
def test_every_moment_lies_in_one_period(start_us: int, length_us: int, period: Period, zone: str) -> None:
    """They follow each other without a gap, and none of them lies outside of the range."""
    window = Window(start_us, start_us + length_us)
    found = list(buckets(window, period, ZoneInfo(zone)))
    assert found[0].start_us <= window.start_us < found[0].end_us
    assert found[-1].start_us < window.end_us <= found[-1].end_us
    assert all(one.end_us == other.start_us for one, other in pairwise(found))
    last_us = window.end_us - 1
    shelves = sorted_into(found, [(start_us, "first"), (last_us, "last")])
    assert (shelves[0][0], shelves[-1][-1]) == ("first", "last")
