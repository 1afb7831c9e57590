"""Calendar windows and ranges: half-open, [start, end), with the midnights of the caller's zone."""

import re
from datetime import date, timedelta, tzinfo
from itertools import pairwise
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from aggregates.times import US_PER_DAY, bare_date, bounded, local_date, midnight_us, parse_instant

WindowName = Literal["daily", "weekly", "monthly"]
"""The current calendar day, week (from Monday) or month."""

RANGE_DEFAULT_DAYS = 28
"""How far back a range reaches where the request names none."""

_MONTHS = 12
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)


class Window(msgspec.Struct, frozen=True):
    """From `start_us` up to, but without, `end_us`."""

    start_us: int
    end_us: int


class RangeRefused(msgspec.Struct, frozen=True):
    """A range that cannot be served, and the sentence that says why."""

    message: str


def zone_named(name: str) -> ZoneInfo:
    """The time zone of an IANA name. Raises `ValueError` with a sentence where there is none of that name."""
    try:
        if _ZONE_NAME.fullmatch(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a folder, as "Europe"
        pass
    raise ValueError("a time zone must be an IANA name, like Europe/Berlin or UTC")


def calendar_windows(name: WindowName, zone: ZoneInfo, now_us: int, count: int) -> tuple[Window, ...]:
    """The last `count` windows, oldest first; the last one holds `now_us`.

    Days are as long as the zone makes them: 23 or 25 hours where the clocks change.
    """
    today = local_date(now_us, zone)
    starts = [_start(name, today, back) for back in range(count - 1, -2, -1)]
    edges = [midnight_us(day, zone) for day in starts]
    return tuple(Window(start, end) for start, end in pairwise(edges))


def _start(name: WindowName, today: date, back: int) -> date:
    """The first day of the window that lies `back` windows before today's."""
    match name:
        case "daily":
            return today - timedelta(days=back)
        case "weekly":
            return today - timedelta(days=today.weekday() + 7 * back)
        case "monthly":
            year, month = divmod(today.year * _MONTHS + today.month - 1 - back, _MONTHS)
            return date(year, month + 1, 1)


def local_day_bounds(day: date, zone: tzinfo) -> Window:
    """From the midnight that starts a day to the one that ends it."""
    return Window(midnight_us(day, zone), midnight_us(day + timedelta(days=1), zone))


def time_range(
    start: str | None, end: str | None, zone: tzinfo, now_us: int, default_days: int = RANGE_DEFAULT_DAYS
) -> Window | RangeRefused:
    """The range of `from` and `to`: times or bare dates, both or neither; the last days by default.

    A bare start is that day's first instant; a bare end includes that day.
    """
    if start is None and end is None:
        return Window(now_us - default_days * US_PER_DAY, now_us)
    if start is None or end is None:
        return RangeRefused("from and to go together; send both, or neither for the default range")
    start_us = instant(start, zone)
    if start_us is None:
        return RangeRefused(_NO_TIME.format("from"))
    end_us = _range_end(end, zone)
    if end_us is None:
        return RangeRefused(_NO_TIME.format("to"))
    return _not_empty(start_us, end_us, "from", "to")


_NO_TIME = "{} must be an ISO 8601 time or date of 1970 to 9998, like 2026-08-01T09:00:00Z or 2026-08-01"


def instant(text: str, zone: tzinfo) -> int | None:
    """Microseconds of a time, or of the local midnight of a bare date; None where it is neither."""
    try:
        day = bare_date(text)
        return parse_instant(text) if day is None else midnight_us(day, zone)
    except ValueError:
        return None


def _range_end(text: str, zone: tzinfo) -> int | None:
    day = bare_date(text)
    return instant(text, zone) if day is None else local_day_bounds(day, zone).end_us


def _not_empty(start_us: int, end_us: int, start_name: str, end_name: str) -> Window | RangeRefused:
    if start_us >= end_us:
        return RangeRefused(f"{end_name} must lie after {start_name}")
    return Window(start_us, end_us)


class DayRange(msgspec.Struct, frozen=True, kw_only=True):
    """The two forms of naming a range of days: exact microseconds, or local dates. None is absent."""

    from_us: int | None = None
    to_us: int | None = None
    date: str | None = None
    from_date: str | None = None
    to_date: str | None = None
    """This day is included."""


def day_range(wanted: DayRange, zone: ZoneInfo, now_us: int) -> Window | RangeRefused:
    """The range of from_us and to_us, of date, or of from_date and to_date; today by default."""
    exact = (wanted.from_us, wanted.to_us)
    dates = (wanted.from_date, wanted.to_date)
    forms = [any(part is not None for part in form) for form in (exact, dates, (wanted.date,))]
    if sum(forms) > 1:
        return RangeRefused("send one of from_us and to_us, from_date and to_date, or date; not two of them")
    if forms[0]:
        return _exact_range(*exact)
    if forms[1]:
        return _date_range(*dates, zone)
    if wanted.date is None:
        return local_day_bounds(local_date(now_us, zone), zone)
    return _date_range(wanted.date, wanted.date, zone)


def _exact_range(from_us: int | None, to_us: int | None) -> Window | RangeRefused:
    if from_us is None or to_us is None:
        return RangeRefused("from_us and to_us go together; send both")
    try:
        return _not_empty(bounded(from_us), bounded(to_us), "from_us", "to_us")
    except ValueError as error:
        return RangeRefused(f"from_us and to_us: {error}")


def _date_range(first: str | None, last: str | None, zone: ZoneInfo) -> Window | RangeRefused:
    if first is None or last is None:
        return RangeRefused("from_date and to_date go together; send both")
    first_day, last_day = bare_date(first), bare_date(last)
    if first_day is None or last_day is None:
        return RangeRefused("a date must look like 2026-08-01")
    start_us, end_us = midnight_us(first_day, zone), local_day_bounds(last_day, zone).end_us
    return _not_empty(start_us, end_us, "from_date", "to_date")
