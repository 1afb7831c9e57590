"""Query parameters: how the description shows each, and how it is read; a wrong one is a 400 that names it."""

import re
from collections.abc import Sequence
from datetime import date, tzinfo
from itertools import islice
from typing import Any, Generic, Literal, TypeVar, get_args
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from werkzeug.datastructures import MultiDict

from aggregates.judging.evidence import Language, language_of
from aggregates.people.directory import Developer, Principal
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
from svc_http.errors import HttpError, bad_request, not_found
from svc_http.ports import Service

Query = MultiDict[str, str]
Schema = dict[str, Any]
_C = TypeVar("_C", bound=str)
_P = TypeVar("_P")
LIMIT_MAX = 500
OFFSET_MAX = 2**53
POINTS_MAX = 1000
"""Of one trend: almost three years of days."""

SHOWN_CHARACTERS = 40
"""How much of a wrong value an error repeats."""

YEARS = r"^(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-"
"""How a time or date of the years 1970 to 9998 begins; further ones are refused."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
_LOST_PLUS = re.compile(r"(T[0-9:.,]+) ([0-9]{2}:?[0-9]{2})")


# --- kinds of parameters --------------------------------------------------------------------------------------


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of the query, or a header that means something."""

    name: str
    schema: Schema
    about: str
    required: bool = False
    place: Literal["query", "header"] = "query"


class Clamped(Parameter, frozen=True, kw_only=True):
    """An integer; one beyond the bounds counts as the bound."""

    default: int
    least: int
    most: int

    def read(self, query: Query) -> int:
        return min(max(integer(query, self.name, self.default), self.least), self.most)


class Choice(Parameter, Generic[_C], frozen=True, kw_only=True):
    """One word of a closed list."""

    words: tuple[_C, ...]
    default: _C

    def read(self, query: Query) -> _C:
        text = query.get(self.name, self.default)
        for word in self.words:
            if text == word:
                return word
        raise bad_request(f"{self.name} must be one of {', '.join(self.words)}, not {text[:SHOWN_CHARACTERS]!r}")


def clamped(name: str, default: int, most: int, about: str) -> Clamped:
    about = f"{about}; clamped to 1-{most}."
    return Clamped(name, {"type": "integer", "default": default}, about, default=default, least=1, most=most)


def choice(name: str, words: tuple[_C, ...], default: _C, about: str) -> Choice[_C]:
    schema = {"type": "string", "enum": list(words), "default": default}
    return Choice(name, schema, about, words=words, default=default)


def integer(query: Query, name: str, default: int) -> int:
    """Digits with an optional sign."""
    text = query.get(name)
    if text is None:
        return default
    if _INTEGER.fullmatch(text) is None:
        raise bad_request(f"{name} must be an integer, not {text[:SHOWN_CHARACTERS]!r}")
    return int(text)


def page(query: Query) -> tuple[int, int]:
    """How many rows, and how many to pass over."""
    return limit(query), offset(query)


def limit(query: Query) -> int:
    return LIMIT.read(query)


def offset(query: Query) -> int:
    return OFFSET.read(query)


def path_id(text: str, what: str) -> UUID:
    """The id in a path. Raises `HttpError` 404: what is no id names nothing."""
    try:
        return UUID(text)
    except ValueError as error:
        raise not_found(f"no {what} {text[:SHOWN_CHARACTERS]!r}") from error


# --- zones, and what else the caller's profile says -----------------------------------------------------------


def zone_of(service: Service, caller: Principal) -> ZoneInfo:
    """The zone of the caller's profile; UTC unless one was set."""
    return zone_named(service.directory.timezone(caller.scope.developer_id))


def language_asked(service: Service, caller: Principal, asked: str | None = None) -> Language:
    """The language asked for, else that of the caller's profile."""
    developer = service.directory.get(Developer, caller.scope.developer_id)
    return language_of(asked or (None if developer is None else developer.language))


def asked_zone(service: Service, caller: Principal, query: Query) -> ZoneInfo:
    """The zone of `timezone`, else that of the caller's profile."""
    name = query.get("timezone")
    return zone_of(service, caller) if name is None else _zone("timezone", name)


def tz_asked(query: Query, default: ZoneInfo) -> ZoneInfo:
    """The zone of `tz`; the default where it is missing or blank."""
    name = query.get("tz", "").strip()
    return _zone("tz", name) if name else default


def _zone(parameter: str, name: str) -> ZoneInfo:
    try:
        return zone_named(name.replace(" ", "+"))  # a plus that was not percent-encoded is a space: Etc/GMT+5
    except ValueError as error:
        raise bad_request(f"{parameter}: {error}, not {name[:SHOWN_CHARACTERS]!r}") from error


# --- times ----------------------------------------------------------------------------------------------------


def time(query: Query, name: str, local: ZoneInfo) -> int | None:
    """Microseconds of an ISO 8601 time, or of a bare date's local midnight; None where it was not sent."""
    text = _time_text(query, name)
    if text is None:
        return None
    found = instant(text, local)
    if found is None:
        raise _no_time(name)
    return found


def day_asked(query: Query) -> date | None:
    """The day of `date`; None where it was not sent."""
    text = _date(query, "date")
    return None if text is None else bare_date(text)


def windows(service: Service, caller: Principal, name: WindowName, count: int) -> tuple[Window, ...]:
    """The last windows of the caller's calendar, oldest first, up to the current one."""
    return calendar_windows(name, zone_of(service, caller), service.now_us(), count)


def current_window(service: Service, caller: Principal, query: Query) -> Window:
    """The current window of the length asked for."""
    (window,) = windows(service, caller, WINDOW.read(query), 1)
    return window


def from_and_to(query: Query, zone: tzinfo, now_us: int, default_days: int = RANGE_DEFAULT_DAYS) -> Window:
    """Both or neither; the last days by default."""
    found = time_range(_time_text(query, "from"), _time_text(query, "to"), zone, now_us, default_days)
    if isinstance(found, RangeRefused):
        raise bad_request(found.message)
    return found


def from_until(query: Query, zone: tzinfo, now_us: int, default_us: int) -> Window:
    """Each may be left out: it is then so many microseconds ago, or now."""
    start_us = _moment(query, "from", zone, now_us - default_us)
    end_us = _moment(query, "to", zone, now_us)
    if start_us >= end_us:
        raise bad_request("to must lie after from; the range is empty as it stands")
    return Window(start_us, end_us)


def _moment(query: Query, name: str, zone: tzinfo, default_us: int) -> int:
    text = _time_text(query, name)
    if text is None:
        return default_us
    day = bare_date(text) if name == "to" else None
    found = instant(text, zone) if day is None else local_day_bounds(day, zone).end_us
    if found is None:
        raise _no_time(name)
    return found


def _time_text(query: Query, name: str) -> str | None:
    """A time as it was meant: a plus that was not percent-encoded arrives as a space."""
    text = query.get(name)
    return None if text is None else _LOST_PLUS.sub(r"\1+\2", text)


def _no_time(name: str) -> HttpError:
    return bad_request(
        f"{name} must be an ISO 8601 time or date of 1970 to 9998, like 2026-08-01T09:00:00Z or 2026-08-01"
    )


def _date(query: Query, name: str) -> str | None:
    text = query.get(name)
    if text is not None and bare_date(text) is None:
        shown = text[:SHOWN_CHARACTERS]
        raise bad_request(f"{name} must be a date of the years 1970 to 9998, like 2026-08-01, not {shown!r}")
    return text


# --- a range of days, and its echo ----------------------------------------------------------------------------


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
    """The range of from_us and to_us, of date, or of from_date and to_date; today by default."""
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


def _microseconds(query: Query, name: str) -> int | None:
    if name not in query:
        return None
    try:
        return integer(query, name, 0)
    except HttpError as error:
        raise bad_request(f"{error.message}; send microseconds since 1970 in UTC") from error


# --- the calendar periods of a trend --------------------------------------------------------------------------


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
        """The answer repeats what was asked for."""
        return Trend(iso(self.window.start_us), iso(self.window.end_us), self.period, points)


def asked_periods(service: Service, caller: Principal, query: Query) -> AskedPeriods:
    """Days of the last four weeks by default."""
    zone, period = zone_of(service, caller), PERIOD.read(query)
    window = from_and_to(query, zone, service.now_us())
    found = list(islice(buckets(window, period, zone), POINTS_MAX + 1))
    if len(found) > POINTS_MAX:
        raise bad_request(
            f"the range has more than {POINTS_MAX} {period}s; ask for a shorter range, or for longer periods"
        )
    return AskedPeriods(window, period, found)


# --- the parameters that routes share -------------------------------------------------------------------------

_TEXT: Schema = {"type": "string"}
_MICROSECONDS: Schema = {"type": "integer"}
_IN_YEARS: Schema = {"type": "string", "pattern": YEARS, "description": "Of the years 1970 to 9998."}
_TIME: Schema = _IN_YEARS | {"anyOf": [{"format": "date-time"}, {"format": "date"}]}
_DATE: Schema = _IN_YEARS | {"format": "date"}
_ZONE: Schema = {"$ref": "#/components/schemas/Timezone"}
WINDOW: Choice[WindowName] = choice(
    "window", get_args(WindowName), "weekly", "The calendar window, in the zone of the caller's profile."
)
PERIOD: Choice[Period] = choice("period", get_args(Period), "day", "The length of one point.")
LIMIT = clamped("limit", 50, LIMIT_MAX, "How many rows")
OFFSET = Clamped(
    "offset",
    {"type": "integer", "default": 0},
    "How many rows to pass over; a negative one is 0.",
    default=0,
    least=0,
    most=OFFSET_MAX,
)
PAGE = (LIMIT, OFFSET)
FROM_TO = (
    Parameter("from", _TIME, "The first moment; goes together with `to`. The last 28 days by default."),
    Parameter("to", _TIME, "The first moment after the range; a bare date includes its day."),
)
SINCE = Parameter("from", _TIME, "What began, or was detected, from this moment on.")
TIMEZONE = Parameter("timezone", _ZONE, "An IANA zone; that of the caller's profile by default.")
TZ = Parameter("tz", {"anyOf": [_ZONE, {"const": ""}]}, "An IANA zone; blank is as not sent.")
DATE = Parameter("date", _DATE, "A day; today by default.")
RANGE = (
    Parameter("from_us", _MICROSECONDS, "Microseconds since 1970, UTC; goes together with `to_us`."),
    Parameter("to_us", _MICROSECONDS, "The first microsecond after the range."),
    Parameter("date", _DATE, "One day, in place of a pair; today by default."),
    Parameter("from_date", _DATE, "The first day; goes together with `to_date`."),
    Parameter("to_date", _DATE, "The last day, included."),
    TIMEZONE,
)


def text_parameter(name: str, about: str) -> Parameter:
    return Parameter(name, _TEXT, about)


def until_now(first: str) -> tuple[Parameter, Parameter]:
    """`from` and `to` of `from_until`, with the default of the first."""
    return (
        Parameter("from", _TIME, f"The first moment; {first} by default."),
        Parameter("to", _TIME, "The first moment after the range; now by default."),
    )
