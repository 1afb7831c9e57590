"""Times on the wire are ISO 8601 in UTC; inside they are integer microseconds since 1970 (wire.md)."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import count, pairwise
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

US_PER_SECOND = 1_000_000
US_PER_MINUTE = 60 * US_PER_SECOND
SLOT_US = 15 * US_PER_MINUTE  # zones differ from UTC by whole quarters: none lies in two hours, or days, of any
UNTIMED_US = 100_000  # what is told without times stands in its order, and takes less than any work does
US_PER_DAY = 86_400 * US_PER_SECOND
INSTANT_MIN_US = 0
INSTANT_MAX_US = 253_370_764_800 * US_PER_SECOND
"""The last whole year that a calendar can still add a window to: 9999-01-01."""
_YEAR_MIN, _YEAR_MAX = 1970, 9998
_EPOCH = datetime(_YEAR_MIN, 1, 1)
_ONE_US = timedelta(microseconds=1)
_ISO_CHARACTERS = re.compile(r"[-+0-9TWZtz:., ]+", re.ASCII)
"""`datetime.fromisoformat` lets any character at all stand between the day and the time."""


def parse_instant(text: str) -> int:
    """Microseconds of an ISO 8601 time, in UTC where it has no offset; further digits are cut. Raises `ValueError`."""
    try:
        moment = datetime.fromisoformat(text.upper() if _ISO_CHARACTERS.fullmatch(text) else "")
    except ValueError:
        raise ValueError("a time must be ISO 8601, like 2026-08-01T09:00:00Z") from None
    offset = moment.utcoffset() or timedelta()
    return bounded((moment.replace(tzinfo=None) - _EPOCH - offset) // _ONE_US)


def bounded(instant_us: int) -> int:
    """The instant itself; raises `ValueError` where it lies before 1970 or after 9998."""
    if not INSTANT_MIN_US <= instant_us < INSTANT_MAX_US:
        raise ValueError("a time must lie between 1970 and 9998")
    return instant_us


def bare_date(text: str) -> date | None:
    """The day, where the text is YYYY-MM-DD with a year from 1970 to 9998; None for everything else."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text and _YEAR_MIN <= day.year <= _YEAR_MAX else None


def iso(instant_us: int) -> str:
    """ISO 8601 in UTC with `Z`; a fraction has three or six digits, and is left out where it is zero."""
    moment = _EPOCH + timedelta(microseconds=instant_us)
    whole_ms = moment.microsecond % 1000 == 0
    return moment.isoformat(timespec="milliseconds" if moment.microsecond and whole_ms else "auto") + "Z"


def local_date(instant_us: int, zone: tzinfo) -> date:
    utc = (_EPOCH + timedelta(microseconds=instant_us)).replace(tzinfo=UTC)
    return utc.astimezone(zone).date()


def midnight_us(day: date, zone: tzinfo) -> int:
    """The first instant of a day in a zone; where clocks skip midnight, the moment they skip it."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    offset = midnight.utcoffset() or timedelta()
    return (midnight.replace(tzinfo=None) - _EPOCH - offset) // _ONE_US


WindowName = Literal["daily", "weekly", "monthly"]  # the current calendar day, week (from Monday) or month
AskedWindow = Literal["daily", "weekly", "monthly", "range"]  # a calendar window, or any range
Period = Literal["day", "week", "month"]
RANGE_DEFAULT_DAYS = 28  # how far back a range reaches where the request names none
_NO_IANA_NAME = re.compile(r"(?:right|posix)/|(?:localtime|posixrules|Factory)\Z")
"""What a machine's own files of zones hold besides: they mean something else on every machine."""
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)


class Window(msgspec.Struct, frozen=True):
    """From `start_us` up to, but without, `end_us`."""

    start_us: int
    end_us: int


def is_zone_name(name: str) -> bool:
    """Whether this may be an IANA name; not whether there is such a zone."""
    return _ZONE_NAME.fullmatch(name) is not None and not _NO_IANA_NAME.match(name)


def zone_named(name: str) -> ZoneInfo:
    """The time zone of an IANA name. Raises `ValueError` with a sentence where there is none of that name."""
    try:
        if is_zone_name(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a folder, as "Europe"
        pass
    raise ValueError("a time zone must be an IANA name, like Europe/Berlin or UTC")


def calendar_windows(name: WindowName, zone: ZoneInfo, now_us: int, wanted: int) -> tuple[Window, ...]:
    """The last windows, oldest first; the last one holds `now_us`. Days may have 23 or 25 hours."""
    today = local_date(now_us, zone)
    edges = [midnight_us(first_day(name, today, back), zone) for back in range(wanted - 1, -2, -1)]
    return tuple(Window(start, end) for start, end in pairwise(edges))


def equal_windows(last: Window, wanted: int) -> tuple[Window, ...]:
    """Windows of the length of the last one, oldest first, each up to the next; none begins before 1970."""
    length = last.end_us - last.start_us
    edges = [max(0, last.start_us - back * length) for back in range(wanted - 1, -1, -1)]
    return tuple(Window(start, end) for start, end in pairwise((*edges, last.end_us)))


def first_day(length: WindowName | Period, day: date, back: int = 0) -> date:
    """Of the day, week or month that holds a day, or of one so many before."""
    match length:
        case "daily" | "day":
            return day - timedelta(days=back)
        case "weekly" | "week":
            return day - timedelta(days=day.weekday() + 7 * back)
        case "monthly" | "month":
            year, month = divmod(day.year * 12 + day.month - 1 - back, 12)
            return date(year, month + 1, 1)


def local_day_bounds(day: date, zone: tzinfo) -> Window:
    return Window(midnight_us(day, zone), midnight_us(day + timedelta(days=1), zone))


def time_range(
    start: str | None, end: str | None, zone: tzinfo, now_us: int, default_days: int = RANGE_DEFAULT_DAYS
) -> Window:
    """The range of `from` and `to`, both or neither: times, or bare dates, of which the end is included.

    Raises `ValueError` with a sentence.
    """
    if start is None and end is None:
        return Window(now_us - default_days * US_PER_DAY, now_us)
    if start is None or end is None:
        raise ValueError("from and to go together; send both, or neither for the default range")
    return _not_empty(instant(start, zone, "from"), instant(end, zone, "to", is_end=True), "from", "to")


def instant(text: str, zone: tzinfo, name: str, *, is_end: bool = False) -> int:
    """Microseconds of a time, or of a bare date: its local midnight, or its end. The `ValueError` calls it by name."""
    try:
        day = bare_date(text)
        if day is None:
            return parse_instant(text)
        return local_day_bounds(day, zone).end_us if is_end else midnight_us(day, zone)
    except ValueError:
        example = "2026-08-01T09:00:00Z or 2026-08-01"
        raise ValueError(f"{name} must be an ISO 8601 time or date of 1970 to 9998, like {example}") from None


def _not_empty(start_us: int, end_us: int, start_name: str, end_name: str) -> Window:
    if start_us >= end_us:
        raise ValueError(f"{end_name} must lie after {start_name}")
    return Window(start_us, end_us)


Pair = tuple[int | None, int | None]
Dates = tuple[date | None, date | None]


def day_range(exact: Pair, day: date | None, dates: Dates, zone: ZoneInfo, now_us: int) -> Window:
    """The range of from_us and to_us, of date, or of from_date and to_date; today by default. Raises `ValueError`."""
    if sum(any(part is not None for part in form) for form in (exact, (day,), dates)) > 1:
        raise ValueError("send one of from_us and to_us, from_date and to_date, or date; not two of them")
    if exact != (None, None):
        first_us, last_us = exact
        if first_us is None or last_us is None:
            raise ValueError("from_us and to_us go together; send both")
        try:
            bounds = bounded(first_us), bounded(last_us)
        except ValueError as error:
            raise ValueError(f"from_us and to_us: {error}") from None
        return _not_empty(*bounds, "from_us", "to_us")
    if dates != (None, None):
        first, last = dates
        if first is None or last is None:
            raise ValueError("from_date and to_date go together; send both")
        return _not_empty(midnight_us(first, zone), local_day_bounds(last, zone).end_us, "from_date", "to_date")
    return local_day_bounds(day or local_date(now_us, zone), zone)


_T = TypeVar("_T")


def buckets(window: Window, period: Period, zone: tzinfo) -> Iterator[Window]:
    """The periods that have a part in the range, in time order, each whole: the first may begin before the range."""
    first = local_date(window.start_us, zone)
    edges = (midnight_us(first_day(period, first, -number), zone) for number in count())
    for start_us, end_us in pairwise(edges):
        if start_us >= window.end_us:
            return
        yield Window(start_us, end_us)


def sorted_into(shelves: Sequence[Window], placed: Iterable[tuple[int, _T]]) -> list[list[_T]]:
    """What happened in each of some neighbouring periods, given when; all of it lies in one of them."""
    starts = [shelf.start_us for shelf in shelves]
    found: list[list[_T]] = [[] for _ in shelves]
    for at_us, what in placed:
        found[bisect_right(starts, at_us) - 1].append(what)
    return found


def bursts(times: Sequence[int], least: int, within_us: int) -> list[range]:
    """Which of these times, in order, lie in a window with enough others; windows that share one are one burst."""
    found: list[range] = []
    near = (start for start in range(len(times) - least + 1) if times[start + least - 1] - times[start] <= within_us)
    for start, stop in ((start, start + least) for start in near):
        if found and start < found[-1].stop:
            found[-1] = range(found[-1].start, stop)
        else:
            found.append(range(start, stop))
    return found
