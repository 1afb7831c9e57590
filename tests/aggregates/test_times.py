"""Times on the wire, the integers they become, and the windows, ranges and periods of a zone."""

from datetime import date
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from aggregates import times
from aggregates.times import Dates, Pair, Period, Window, iso, parse_instant
from tests.support.tables import beside, each_of

_NOON_US = 1_785_585_600_000_000
BERLIN = ZoneInfo("Europe/Berlin")


SPELLINGS = (
    *("2026-08-01T12:00:00Z", "2026-08-01T12:00:00", "2026-08-01 12:00:00", "2026-08-01T14:00:00+02:00"),
    *("2026-08-01T06:30:00-05:30", "2026-08-01T12:00:00.0000009Z", "2026-08-01t12:00:00z"),
)
NO_TIMES = (
    *("", "noon", "2026-13-01", "2026-08-01T25:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"),
    *("9999-12-31T23:00:00-14:00", "1785585600", "2026-08-01\x0012:00:00", "2026-08-01\ud80012:00:00"),
    *("２０２６-08-01", "2026-08-01T12:00:00+99:00"),
)


@pytest.mark.parametrize("text", SPELLINGS)
def test_one_instant_has_many_spellings(text: str) -> None:
    """Any offset is taken, none means UTC, and digits beyond microseconds are cut off."""
    assert parse_instant(text) == _NOON_US


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_or_out_of_bounds_is_refused(text: str) -> None:
    """A refusal is a ValueError whose sentence says what to write, or which years there are."""
    with pytest.raises(ValueError, match=r"like 2026-08-01T09:00:00Z|between 1970 and 9998"):
        parse_instant(text)


@each_of(
    [
        (0, "1970-01-01T00:00:00Z"),
        (_NOON_US, "2026-08-01T12:00:00Z"),
        (_NOON_US + 1, "2026-08-01T12:00:00.000001Z"),
        (_NOON_US + 500_000, "2026-08-01T12:00:00.500Z"),
    ]
)
def test_instants_are_written_in_utc_with_z(instant_us: int, text: str) -> None:
    assert iso(instant_us) == text
    assert parse_instant(text) == instant_us


@each_of(["20260801", "2026-W31-6", "2026-08-01T00:00:00", "1969-12-31", "9999-01-01", "x"])
def test_only_one_spelling_is_a_bare_date(text: str) -> None:
    """Dates of years that no capture can have are none either."""
    assert times.bare_date(text) is None
    assert times.bare_date("2026-08-01") == date(2026, 8, 1)


@each_of(
    [
        ("Europe/Berlin", date(2026, 3, 29), "2026-03-28T23:00:00Z"),
        ("Europe/Berlin", date(2026, 3, 30), "2026-03-29T22:00:00Z"),
        ("Africa/Cairo", date(2026, 4, 24), "2026-04-23T22:00:00Z"),  # 00:00 is skipped to 01:00
        ("America/Havana", date(2026, 11, 1), "2026-11-01T04:00:00Z"),  # 01:00 falls back to 00:00: the first one
    ]
)
def test_midnight_is_the_first_instant_of_a_local_day(zone: str, day: date, instant: str) -> None:
    """Also where midnight is skipped, or happens twice."""
    start_us = times.midnight_us(day, ZoneInfo(zone))
    assert iso(start_us) == instant
    assert times.local_date(start_us, ZoneInfo(zone)) == day
    assert times.local_date(start_us - 1, ZoneInfo(zone)) < day


@beside()
def test_windows_follow_the_local_calendar(told: str, edges: str) -> None:
    """Three windows, oldest first, each ending where the next begins, the last one holding now."""
    zone, name, now = told.split()
    windows = times.calendar_windows(name, ZoneInfo(zone), parse_instant(now), 3)  # type: ignore[arg-type]
    found = [*(window.start_us for window in windows), windows[-1].end_us]
    assert " ".join(iso(at_us)[5:16].removesuffix(":00") for at_us in found) == edges
    assert all(one.end_us == other.start_us for one, other in pairwise(windows))
    assert windows[-1].start_us <= parse_instant(now) < windows[-1].end_us


@each_of(
    [
        (None, None, ("2026-07-04T12:00:00Z", "2026-08-01T12:00:00Z")),
        ("2026-07-01", "2026-07-02", ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
        ("2026-03-29", "2026-03-29", ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")),
        ("2026-07-01T00:00:00", "2026-07-01T01:00:00Z", ("2026-07-01T00:00:00Z", "2026-07-01T01:00:00Z")),
        ("2026-07-01T02:00:00+02:00", "2026-07-01", ("2026-07-01T00:00:00Z", "2026-07-01T22:00:00Z")),
    ]
)
def test_a_range_is_half_open_and_a_bare_end_includes_its_day(
    start: str | None, end: str | None, expected: tuple[str, str]
) -> None:
    """Dates are days of the zone; times without an offset are UTC; nothing means the last 28 days."""
    found = times.time_range(start, end, BERLIN, _NOON_US)
    assert (iso(found.start_us), iso(found.end_us)) == expected


@each_of(["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"])
def test_a_zone_is_named_as_the_tz_database_names_it(name: str) -> None:
    assert times.zone_named(name).key == name


NO_ZONES = (
    *("", " ", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/../UTC", "UTC\0", "\ud800"),
    *("localtime", "posixrules", "Factory", "right/UTC", "posix/Europe/Berlin"),
)
"""The last ones say something else on every machine, or nothing at all."""


@pytest.mark.parametrize("name", NO_ZONES)
def test_what_names_no_zone_is_refused(name: str) -> None:
    """No path, folder or file outside the database is ever opened."""
    with pytest.raises(ValueError, match="like Europe/Berlin or UTC"):
        times.zone_named(name)


@beside()
def test_a_range_that_cannot_be_served_says_why(start: str | None, end: str | None, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        times.time_range(start, end, BERLIN, _NOON_US)


NO_PAIR = (None, None)
FIRST, SECOND = date(2026, 7, 1), date(2026, 7, 2)
Asked = tuple[Pair, date | None, Dates]


@each_of(
    [
        ((NO_PAIR, None, NO_PAIR), ("2026-07-31T22:00:00Z", "2026-08-01T22:00:00Z")),
        ((NO_PAIR, FIRST, NO_PAIR), ("2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z")),
        ((NO_PAIR, None, (FIRST, SECOND)), ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
        (((0, 1_000_000), None, NO_PAIR), ("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z")),
    ]
)
def test_days_are_named_exactly_or_by_dates(asked: Asked, expected: tuple[str, str]) -> None:
    """Microseconds are taken as they are; dates are days of the zone; nothing means today."""
    found = times.day_range(*asked, BERLIN, _NOON_US)
    assert (iso(found.start_us), iso(found.end_us)) == expected


@each_of(
    [
        (((1, None), None, NO_PAIR), "go together"),
        (((None, 1), None, NO_PAIR), "go together"),
        (((1, 1), None, NO_PAIR), "^to_us must lie after from_us"),
        (((-1, 1), None, NO_PAIR), "between 1970 and 9998"),
        (((1, 2), FIRST, NO_PAIR), "not two of them"),
        (((1, 2), None, (FIRST, FIRST)), "not two of them"),
        ((NO_PAIR, FIRST, (FIRST, None)), "not two of them"),
        ((NO_PAIR, None, (FIRST, None)), "go together"),
        ((NO_PAIR, None, (SECOND, FIRST)), "to_date must lie after from_date"),
    ]
)
def test_days_named_wrongly_are_refused(asked: Asked, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        times.day_range(*asked, BERLIN, _NOON_US)


DAY_US = 86_400_000_000
ZONES = ["UTC", "Europe/Berlin", "Africa/Cairo", "America/Havana", "Pacific/Kiritimati", "Australia/Lord_Howe"]


def starts(window: Window, period: Period, zone: ZoneInfo = BERLIN) -> list[str]:
    return [iso(each.start_us) for each in times.buckets(window, period, zone)]


@each_of(
    [
        ("day", ["2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"]),
        ("week", ["2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"]),
        ("month", ["2026-02-28T23:00:00Z"]),
    ]
)
def test_whole_periods_of_the_zone(period: Period, expected: list[str]) -> None:
    """Over the night in which clocks change; the first may begin before the range."""
    window = Window(parse_instant("2026-03-28T10:00:00Z"), parse_instant("2026-03-31T00:00:00+02:00") + 1)
    assert starts(window, period) == expected


@given(
    start_us=st.integers(0, 60 * 365 * DAY_US),
    length_us=st.integers(1, 400 * DAY_US),
    period=st.sampled_from(["day", "week", "month"]),
    zone=st.sampled_from(ZONES),
)
def test_every_moment_lies_in_one_period(start_us: int, length_us: int, period: Period, zone: str) -> None:
    """They follow each other without a gap, and none of them lies outside of the range."""
    window = Window(start_us, start_us + length_us)
    found = list(times.buckets(window, period, ZoneInfo(zone)))
    assert found[0].start_us <= window.start_us < found[0].end_us
    assert found[-1].start_us < window.end_us <= found[-1].end_us
    assert all(one.end_us == other.start_us for one, other in pairwise(found))
    last_us = window.end_us - 1
    shelves = times.sorted_into(found, [(start_us, "first"), (last_us, "last")])
    assert (shelves[0][0], shelves[-1][-1]) == ("first", "last")
