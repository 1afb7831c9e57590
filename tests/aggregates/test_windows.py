"""Calendar windows and ranges over changes of the clock."""

from zoneinfo import ZoneInfo

import pytest

from aggregates.times import (
    DayRange,
    Window,
    WindowName,
    calendar_windows,
    day_range,
    iso,
    local_date,
    local_day_bounds,
    parse_instant,
    time_range,
    zone_named,
)

_BERLIN = ZoneInfo("Europe/Berlin")
_NOW_US = parse_instant("2026-08-01T12:00:00Z")
_HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("zone", "name", "now", "edges"),
    [
        ("Africa/Cairo", "daily", "2026-04-24T10:00:00Z",  # midnight is skipped: the day starts at 01:00
         ["2026-04-21T22:00:00Z", "2026-04-22T22:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"]),
        ("America/Sao_Paulo", "monthly", "2018-11-30T12:00:00Z",  # midnight was skipped on 4 November
         ["2018-09-01T03:00:00Z", "2018-10-01T03:00:00Z", "2018-11-01T03:00:00Z", "2018-12-01T02:00:00Z"]),
        ("UTC", "daily", "2026-08-01T00:00:00Z",
         ["2026-07-30T00:00:00Z", "2026-07-31T00:00:00Z", "2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z"]),
        ("UTC", "weekly", "2026-08-02T23:59:59Z",
         ["2026-07-13T00:00:00Z", "2026-07-20T00:00:00Z", "2026-07-27T00:00:00Z", "2026-08-03T00:00:00Z"]),
        ("UTC", "weekly", "2026-08-03T00:00:00Z",
         ["2026-07-20T00:00:00Z", "2026-07-27T00:00:00Z", "2026-08-03T00:00:00Z", "2026-08-10T00:00:00Z"]),
        ("UTC", "monthly", "2026-01-31T10:00:00Z",
         ["2025-11-01T00:00:00Z", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"]),
        ("Europe/Berlin", "daily", "2026-03-29T12:00:00Z",  # spring forward: 23 hours
         ["2026-03-26T23:00:00Z", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"]),
        ("Europe/Berlin", "weekly", "2026-10-26T12:00:00Z",  # the week before ended with 25 hours
         ["2026-10-11T22:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z", "2026-11-01T23:00:00Z"]),
        ("America/New_York", "daily", "2026-11-01T23:30:00Z",  # fall back: 25 hours
         ["2026-10-30T04:00:00Z", "2026-10-31T04:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"]),
        ("America/New_York", "monthly", "2026-03-31T23:30:00Z",
         ["2026-01-01T05:00:00Z", "2026-02-01T05:00:00Z", "2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z"]),
        ("Australia/Lord_Howe", "daily", "2026-10-04T03:00:00Z",  # a change of half an hour
         ["2026-10-01T13:30:00Z", "2026-10-02T13:30:00Z", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z"]),
    ],
)  # fmt: skip
def test_windows_follow_the_local_calendar(zone: str, name: WindowName, now: str, edges: list[str]) -> None:
    """Three windows, oldest first, each ending where the next begins, the last one holding now."""
    windows = calendar_windows(name, ZoneInfo(zone), parse_instant(now), 3)
    assert [iso(window.start_us) for window in windows] == edges[:-1]
    assert [iso(window.end_us) for window in windows] == edges[1:]
    assert windows[-1].start_us <= parse_instant(now) < windows[-1].end_us


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-03-30", 24), ("2026-10-25", 25)])
def test_a_local_day_is_as_long_as_its_zone_makes_it(day: str, hours: int) -> None:
    """Days are never taken to have 24 hours."""
    noon_us = parse_instant(day + "T12:00:00Z")
    bounds = local_day_bounds(local_date(noon_us, _BERLIN), _BERLIN)
    assert bounds.end_us - bounds.start_us == hours * _HOUR_US


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, ("2026-07-04T12:00:00Z", "2026-08-01T12:00:00Z")),
        ("2026-07-01", "2026-07-02", ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
        ("2026-03-29", "2026-03-29", ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")),
        ("2026-07-01T00:00:00", "2026-07-01T01:00:00Z", ("2026-07-01T00:00:00Z", "2026-07-01T01:00:00Z")),
        ("2026-07-01T02:00:00+02:00", "2026-07-01", ("2026-07-01T00:00:00Z", "2026-07-01T22:00:00Z")),
    ],
)
def test_a_range_is_half_open_and_a_bare_end_includes_its_day(
    start: str | None, end: str | None, expected: tuple[str, str]
) -> None:
    """Dates are days of the zone; times without an offset are UTC; nothing means the last 28 days."""
    found = time_range(start, end, _BERLIN, _NOW_US)
    assert (iso(found.start_us), iso(found.end_us)) == expected


def test_a_route_may_have_a_default_range_of_its_own() -> None:
    """It ends now and has that many days of 24 hours."""
    assert time_range(None, None, _BERLIN, _NOW_US, 1) == Window(_NOW_US - 24 * _HOUR_US, _NOW_US)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"])
def test_a_zone_is_named_as_the_tz_database_names_it(name: str) -> None:
    assert zone_named(name).key == name


NO_ZONES = (
    *("", " ", "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "Europe", "Europe/../UTC", "UTC\0", "\ud800"),
    *("localtime", "posixrules", "Factory", "right/UTC", "posix/Europe/Berlin"),
)
"""The last ones say something else on every machine, or nothing at all."""


@pytest.mark.parametrize("name", NO_ZONES)
def test_what_names_no_zone_is_refused(name: str) -> None:
    """No path, folder or file outside the database is ever opened."""
    with pytest.raises(ValueError, match="like Europe/Berlin or UTC"):
        zone_named(name)


@pytest.mark.parametrize(
    ("start", "end", "word"),
    [
        ("2026-07-01", None, "together"),
        (None, "2026-07-01", "together"),
        ("yesterday", "2026-07-01", "from must be"),
        ("2026-07-01", "9999-12-31", "to must be"),
        ("2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z", "after"),
        ("2026-07-02", "2026-07-01", "after"),
    ],
)
def test_a_range_that_cannot_be_served_says_why(start: str | None, end: str | None, word: str) -> None:
    """Half a pair, what is no time, and an empty range are refused."""
    with pytest.raises(ValueError, match=word):
        time_range(start, end, _BERLIN, _NOW_US)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (DayRange(), ("2026-07-31T22:00:00Z", "2026-08-01T22:00:00Z")),
        (DayRange(date="2026-07-01"), ("2026-06-30T22:00:00Z", "2026-07-01T22:00:00Z")),
        (DayRange(from_date="2026-07-01", to_date="2026-07-02"), ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
        (DayRange(from_us=0, to_us=1_000_000), ("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z")),
    ],
)
def test_days_are_named_exactly_or_by_dates(wanted: DayRange, expected: tuple[str, str]) -> None:
    """Microseconds are taken as they are; dates are days of the zone; nothing means today."""
    found = day_range(wanted, _BERLIN, _NOW_US)
    assert (iso(found.start_us), iso(found.end_us)) == expected


@pytest.mark.parametrize(
    "wanted",
    [
        DayRange(from_us=1),
        DayRange(to_us=1),
        DayRange(from_us=1, to_us=1),
        DayRange(from_us=-1, to_us=1),
        DayRange(from_us=1, to_us=2, date="2026-07-01"),
        DayRange(from_us=1, to_us=2, from_date="2026-07-01", to_date="2026-07-01"),
        DayRange(from_date="2026-07-01"),
        DayRange(from_date="2026-07-02", to_date="2026-07-01"),
        DayRange(date="1.7.2026"),
    ],
)
def test_days_named_wrongly_are_refused(wanted: DayRange) -> None:
    """Half a pair, two forms at once, an empty range, and what is no date."""
    with pytest.raises(ValueError, match=r"together|after|not two|between|look like"):
        day_range(wanted, _BERLIN, _NOW_US)
