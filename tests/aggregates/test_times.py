"""Times on the wire and the integers they become."""

from datetime import date
from zoneinfo import ZoneInfo

import pytest

from aggregates.times import bare_date, iso, local_date, midnight_us, parse_instant

_NOON_US = 1_785_585_600_000_000


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-01T12:00:00Z",
        "2026-08-01T12:00:00",
        "2026-08-01 12:00:00",
        "2026-08-01T14:00:00+02:00",
        "2026-08-01T06:30:00-05:30",
        "2026-08-01T12:00:00.0000009Z",
        "2026-08-01t12:00:00z",
    ],
)
def test_one_instant_has_many_spellings(text: str) -> None:
    """Any offset is taken, none means UTC, and digits beyond microseconds are cut off."""
    assert parse_instant(text) == _NOON_US


def test_a_bare_date_is_midnight_utc() -> None:
    """Where no zone is at hand, a date is its first instant in UTC."""
    assert parse_instant("2026-08-01") == parse_instant("2026-08-01T00:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "2026-13-01",
        "2026-08-01T25:00:00Z",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:00:00-14:00",
        "1785585600",
        "2026-08-01\x0012:00:00",
        "2026-08-01\ud80012:00:00",
        "２０２６-08-01",
        "2026-08-01T12:00:00+99:00",
    ],
)
def test_what_is_no_time_or_out_of_bounds_is_refused(text: str) -> None:
    """A refusal is a ValueError whose sentence says what to write, or which years there are."""
    with pytest.raises(ValueError, match=r"like 2026-08-01T09:00:00Z|between 1970 and 9998"):
        parse_instant(text)


@pytest.mark.parametrize(
    ("instant_us", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (_NOON_US, "2026-08-01T12:00:00Z"),
        (_NOON_US + 1, "2026-08-01T12:00:00.000001Z"),
        (_NOON_US + 500_000, "2026-08-01T12:00:00.500Z"),
    ],
)
def test_instants_are_written_in_utc_with_z(instant_us: int, text: str) -> None:
    """What is written can be read back to the microsecond."""
    assert iso(instant_us) == text
    assert parse_instant(text) == instant_us


@pytest.mark.parametrize("text", ["20260801", "2026-W31-6", "2026-08-01T00:00:00", "1969-12-31", "9999-01-01", "x"])
def test_only_one_spelling_is_a_bare_date(text: str) -> None:
    """Dates of years that no capture can have are none either."""
    assert bare_date(text) is None
    assert bare_date("2026-08-01") == date(2026, 8, 1)


@pytest.mark.parametrize(
    ("zone", "day", "instant"),
    [
        ("Europe/Berlin", date(2026, 3, 29), "2026-03-28T23:00:00Z"),
        ("Europe/Berlin", date(2026, 3, 30), "2026-03-29T22:00:00Z"),
        ("Africa/Cairo", date(2026, 4, 24), "2026-04-23T22:00:00Z"),  # 00:00 is skipped to 01:00
        ("America/Havana", date(2026, 11, 1), "2026-11-01T04:00:00Z"),  # 01:00 falls back to 00:00: the first one
    ],
)
def test_midnight_is_the_first_instant_of_a_local_day(zone: str, day: date, instant: str) -> None:
    """Also where midnight is skipped, or happens twice."""
    start_us = midnight_us(day, ZoneInfo(zone))
    assert iso(start_us) == instant
    assert local_date(start_us, ZoneInfo(zone)) == day
    assert local_date(start_us - 1, ZoneInfo(zone)) < day
