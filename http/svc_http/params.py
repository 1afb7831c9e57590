"""Query parameters to values, or a 400 that says which one and why."""

import re
from collections.abc import Sequence
from datetime import date, tzinfo
from itertools import islice
from typing import Generic, TypeVar, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from werkzeug.datastructures import MultiDict

from aggregates.people.directory import Principal
from aggregates.times import (
    RANGE_DEFAULT_DAYS,
    DayRange,
    Period,
    RangeRefused,
    Window,
    WindowName,
    bare_date,
    buckets,
    calendar_windows,
    day_range,
    instant,
    iso,
    local_day_bounds,
    time_range,
    zone_named,
)
from svc_http.errors import bad_request, not_found
from svc_http.ports import Service

Query = MultiDict[str, str]


LIMIT_DEFAULT = 50


LIMIT_MAX = 500


OFFSET_MAX = 2**53


WINDOWS_SHOWN = 4
"""A sparkline has this many points; the last is the window asked for."""


WINDOW_NAMES: tuple[WindowName, ...] = get_args(WindowName)


_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")


_LOST_PLUS = re.compile(r"(T[0-9:.,]+) ([0-9]{2}:?[0-9]{2})")


def window_name(query: Query) -> WindowName:
    """The window asked for; the current week by default."""
    asked = query.get("window", "weekly")
    for name in WINDOW_NAMES:
        if asked == name:
            return name
    raise bad_request(f"window must be one of {', '.join(WINDOW_NAMES)}, not {asked!r}")


def windows(service: Service, caller: Principal, name: WindowName, count: int) -> tuple[Window, ...]:
    """The last windows of the caller's calendar, oldest first, up to the current one."""
    return calendar_windows(name, zone_of(service, caller), service.now_us(), count)


def zone_of(service: Service, caller: Principal) -> ZoneInfo:
    """The zone of the caller's profile; UTC unless one was set."""
    return zone_named(service.directory.timezone(caller.scope.developer_id))


def limit(query: Query, default: int = LIMIT_DEFAULT, most: int = LIMIT_MAX) -> int:
    """How many rows; 50 by default, clamped to 1-500, where the route has no other bounds."""
    return min(max(integer(query, "limit", default), 1), most)


def offset(query: Query) -> int:
    """How many rows to pass over; negative counts as 0."""
    return min(max(integer(query, "offset", 0), 0), OFFSET_MAX)


def integer(query: Query, name: str, default: int) -> int:
    """Digits with an optional sign. Raises `HttpError` 400 for anything else."""
    text = query.get(name)
    if text is None:
        return default
    if _INTEGER.fullmatch(text) is None:
        raise bad_request(f"{name} must be an integer, not {text[:40]!r}")
    return int(text)


def time(query: Query, name: str, local: ZoneInfo) -> int | None:
    """Microseconds of an ISO 8601 time, or of a bare date's local midnight; None where it was not sent."""
    text = time_text(query, name)
    if text is None:
        return None
    found = instant(text, local)
    if found is None:
        raise bad_request(
            f"{name} must be an ISO 8601 time or date of 1970 to 9998, like 2026-08-01T09:00:00Z or 2026-08-01"
        )
    return found


def day_asked(query: Query) -> date | None:
    """The day of `date`; None where it was not sent. Raises `HttpError` 400."""
    text = query.get("date")
    day = None if text is None else bare_date(text)
    if text is not None and day is None:
        raise bad_request(f"date must be a date of the years 1970 to 9998, like 2026-08-01, not {text[:40]!r}")
    return day


def time_text(query: Query, name: str) -> str | None:
    """A time as it was meant: a plus that was not percent-encoded arrives as a space."""
    text = query.get(name)
    return None if text is None else _LOST_PLUS.sub(r"\1+\2", text)


def path_id(text: str, what: str) -> UUID:
    """The id in a path. Raises `HttpError` 404: what is no id names nothing."""
    try:
        return UUID(text)
    except ValueError as error:
        raise not_found(f"no {what} {text[:40]!r}") from error


# The range of days that a request is about: exact microseconds or local dates, in a zone, and its echo.
#
# What a range is, and which forms go together, is decided by `aggregates.times.day_range`.

_INT_TEXT = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


_SHOWN = 40
"""How much of a wrong value an error repeats."""


class RangeEcho(msgspec.Struct, frozen=True, rename="camel"):
    """The accepted bounds, [from_us, to_us), and the zone whose days they are."""

    from_us: int
    to_us: int
    timezone: str


class AskedRange(msgspec.Struct, frozen=True):
    """The range of one request."""

    window: Window
    zone: ZoneInfo

    @property
    def echo(self) -> RangeEcho:
        """As the response repeats it: clients drop a section whose echo is not what they asked for."""
        return RangeEcho(self.window.start_us, self.window.end_us, self.zone.key)


def asked_range(service: Service, caller: Principal, query: Query) -> AskedRange:
    """The range of from_us and to_us, of date, or of from_date and to_date; today by default.

    Raises `HttpError` 400 for half a pair, two forms at once, an empty range, and what is no time, date or zone.
    """
    zone = asked_zone(service, caller, query)
    wanted = DayRange(
        from_us=_microseconds(query, "from_us"),
        to_us=_microseconds(query, "to_us"),
        date=_date(query, "date"),
        from_date=_date(query, "from_date"),
        to_date=_date(query, "to_date"),
    )
    found = day_range(wanted, zone, service.now_us())
    if isinstance(found, RangeRefused):
        raise bad_request(found.message)
    return AskedRange(found, zone)


def asked_zone(service: Service, caller: Principal, query: Query) -> ZoneInfo:
    """The zone of the request, else that of the caller's profile. Raises `HttpError` 400."""
    name = query.get("timezone")
    if name is None:
        return zone_of(service, caller)
    try:
        return zone_named(name.replace(" ", "+"))  # a plus that was not percent-encoded is a space: Etc/GMT+5
    except ValueError as error:
        raise bad_request(f"timezone: {error}, not {name[:_SHOWN]!r}") from error


def _microseconds(query: Query, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if _INT_TEXT.fullmatch(text) is None:
        raise bad_request(f"{name} must be an integer, microseconds since 1970 in UTC, not {text[:_SHOWN]!r}")
    return int(text)


def _date(query: Query, name: str) -> str | None:
    text = query.get(name)
    if text is not None and bare_date(text) is None:
        raise bad_request(f"{name} must be a date of the years 1970 to 9998, like 2026-08-01, not {text[:_SHOWN]!r}")
    return text


# The calendar periods of a trend: `from`, `to` and `period`.

POINTS_MAX = 1000
"""Of one trend: almost three years of days."""


PERIODS: tuple[Period, ...] = get_args(Period)


_P = TypeVar("_P")


class Trend(msgspec.Struct, Generic[_P], frozen=True, rename={"from_time": "from"}):
    """The range that was asked for, and its periods."""

    from_time: str
    to: str
    period: Period
    points: Sequence[_P]


class AskedPeriods(msgspec.Struct, frozen=True):
    """The range of a trend, and its periods in the caller's zone."""

    window: Window
    period: Period
    buckets: list[Window]

    def trend(self, points: Sequence[_P]) -> Trend[_P]:
        """The answer: what was asked for is repeated in it."""
        return Trend(iso(self.window.start_us), iso(self.window.end_us), self.period, points)


def asked_periods(service: Service, caller: Principal, query: Query) -> AskedPeriods:
    """Days of the last four weeks by default. Raises `HttpError` 400, also for more periods than a trend may have."""
    zone, period = zone_of(service, caller), _period(query)
    window = from_and_to(query, zone, service.now_us())
    found = list(islice(buckets(window, period, zone), POINTS_MAX + 1))
    if len(found) > POINTS_MAX:
        raise bad_request(
            f"the range has more than {POINTS_MAX} {period}s; ask for a shorter range, or for longer periods"
        )
    return AskedPeriods(window, period, found)


def _period(query: Query) -> Period:
    asked = query.get("period", "day")
    for name in PERIODS:
        if asked == name:
            return name
    raise bad_request(f"period must be one of {', '.join(PERIODS)}, not {asked[:40]!r}")


# The range that `from` and `to` name: times, or bare dates in a zone; a bare end includes its day.


def from_and_to(query: Query, zone: tzinfo, now_us: int, default_days: int = RANGE_DEFAULT_DAYS) -> Window:
    """Both or neither; the last days by default. Raises `HttpError` 400."""
    found = time_range(time_text(query, "from"), time_text(query, "to"), zone, now_us, default_days)
    if isinstance(found, RangeRefused):
        raise bad_request(found.message)
    return found


def from_until(query: Query, zone: tzinfo, now_us: int, default_us: int) -> Window:
    """Each may be left out: it is then so many microseconds ago, or now. Raises `HttpError` 400."""
    start_us = _moment(query, "from", zone, now_us - default_us)
    end_us = _moment(query, "to", zone, now_us)
    if start_us >= end_us:
        raise bad_request("to must lie after from; the range is empty as it stands")
    return Window(start_us, end_us)


def _moment(query: Query, name: str, zone: tzinfo, default_us: int) -> int:
    text = time_text(query, name)
    if text is None:
        return default_us
    day = bare_date(text) if name == "to" else None
    found = instant(text, zone) if day is None else local_day_bounds(day, zone).end_us
    if found is None:
        raise bad_request(
            f"{name} must be an ISO 8601 time or date of 1970 to 9998, like 2026-08-01T09:00:00Z or 2026-08-01"
        )
    return found
