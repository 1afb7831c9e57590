"""Requests and their parameters: how the description shows each, how it is read, and the 400 that names a wrong one."""

import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, tzinfo
from functools import cache
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, Self, TypeVar, get_args
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from quart import Request
from werkzeug.datastructures import MultiDict

from aggregates import times
from aggregates.event import Scope
from aggregates.judging.prompt import Language, language_of
from aggregates.people.directory import Developer
from aggregates.people.entry import Principal
from aggregates.times import Window
from projections.reader import Reader
from svc_http.bodies import Body, HttpError
from svc_http.ports import Service

Query = MultiDict[str, str]
Schema = dict[str, Any]
_C = TypeVar("_C", bound=str)
_P = ParamSpec("_P")
_T = TypeVar("_T")
LIMIT_MAX = 500
OFFSET_MAX = 2**53
SHOWN_CHARACTERS = 40  # how much of a wrong value an error repeats
YEARS = r"^(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])-"
"""How a time or date of the years 1970 to 9998 begins; further ones are refused."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
_LOST_PLUS = re.compile(r"(T[0-9:.,]+) ([0-9]{2}:?[0-9]{2})")


@contextmanager
def refusing(prefix: str = "") -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise HttpError(400, f"{prefix}{error}") from None


# --- requests, by who may send them, and what they ask ---------------------------------------------------------


class _Asking(msgspec.Struct, frozen=True, kw_only=True):
    asked: Query | None = None  # in place of what the address asks


class Call(_Asking, frozen=True):
    service: Service
    request: Request
    body: Body

    @property
    def query(self) -> Query:
        return self.request.args if self.asked is None else self.asked

    def asking(self, values: Mapping[str, object]) -> Self:
        """The same call with these values for its query; one that is None is not asked."""
        texts = {
            name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for name, value in values.items()
            if value is not None
        }
        return msgspec.structs.replace(self, asked=MultiDict(texts))

    def page(self) -> tuple[int, int]:
        return LIMIT.read(self.query), OFFSET.read(self.query)

    def time(self, name: str, zone: tzinfo) -> int | None:
        """Microseconds of an ISO 8601 time, or of a bare date in the zone: its midnight, or for `to` its end."""
        text = self._time_text(name)
        with refusing():
            return None if text is None else times.instant(text, zone, name, is_end=name == "to")

    def _time_text(self, name: str) -> str | None:
        """A time as it was meant: in an address a plus that was not percent-encoded arrives as a space."""
        text = self.query.get(name)
        return text if text is None or self.asked is not None else _LOST_PLUS.sub(r"\1+\2", text)

    def asked_day(self) -> date | None:
        return day_sent("date", self.query["date"]) if "date" in self.query else None

    def asked_tz(self, default: ZoneInfo) -> ZoneInfo:
        """The zone of `tz`; the default where it is missing or blank. An unencoded plus comes as a space: Etc/GMT 5."""
        name = self.query.get("tz", "").strip()
        return zone_sent("tz", name, "+") if name else default

    def from_and_to(self, zone: tzinfo, default_days: int = times.RANGE_DEFAULT_DAYS) -> Window:
        """Both or neither; the last days by default."""
        with refusing():
            sent = self._time_text("from"), self._time_text("to")
            return times.time_range(*sent, zone, self.service.now_us(), default_days)

    def from_until(self, zone: tzinfo, default_us: int) -> Window:
        """Each may be left out: it is then so many microseconds ago, or now."""
        now_us, start_us, end_us = self.service.now_us(), self.time("from", zone), self.time("to", zone)
        window = Window(now_us - default_us if start_us is None else start_us, now_us if end_us is None else end_us)
        if window.start_us >= window.end_us:
            raise HttpError(400, "to must lie after from; the range is empty as it stands")
        return window


class BySecret(Call, frozen=True):
    """A request that bears the internal secret, and speaks for nobody else."""


class ByKey(Call, frozen=True):
    """A request of a developer for their own data."""

    caller: Principal

    @property
    def scope(self) -> Scope:
        return self.caller.scope

    @property
    def own_zone(self) -> ZoneInfo:
        return times.zone_named(self.service.directory.timezone(self.scope.developer_id))

    def read(
        self, query: Callable[Concatenate[Reader, Scope, _P], _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Coroutine[Any, Any, _T]:
        return self.service.read(self.scope, query, *args, **kwargs)

    @property
    def profile(self) -> Developer | None:
        return self.service.directory.get(Developer, self.scope.developer_id)

    def language(self, asked: str | None = None) -> Language:
        return language_of(asked or (None if self.profile is None else self.profile.language))

    def asked_zone(self) -> ZoneInfo:
        name = self.query.get("timezone")
        return self.own_zone if name is None else zone_sent("timezone", name, "+")

    def own_range(self) -> Window:
        """Of `from` and `to`, in the caller's own zone."""
        return self.from_and_to(self.own_zone)

    def windows(self, name: times.WindowName, count: int) -> tuple[Window, ...]:
        return times.calendar_windows(name, self.own_zone, self.service.now_us(), count)

    def asked_windows(self, count: int) -> tuple[times.AskedWindow, tuple[Window, ...]]:
        """What was asked for: a range and those of its length before it, or the last windows of the calendar."""
        query = self.query
        ranged = "from" in query or "to" in query
        if ranged or query.get("window") == "range":
            if not ranged or query.get("window", "range") != "range":
                raise HttpError(400, "send either window, or from and to; not both, and not one half")
            return "range", times.equal_windows(self.own_range(), count)
        name = WINDOW.read(query)
        return name, self.windows(name, count)

    def asked_range(self) -> "tuple[Window, RangeEcho]":
        """The range of from_us and to_us, of date, or of from_date and to_date; today by default."""
        zone, query = self.asked_zone(), self.query
        hint = "; send microseconds since 1970 in UTC"
        exact = integer(query, "from_us", hint), integer(query, "to_us", hint)
        names = ("date", "from_date", "to_date")
        day, first, last = (day_sent(name, query[name]) if name in query else None for name in names)
        with refusing():
            window = times.day_range(exact, day, (first, last), zone, self.service.now_us())
            return window, RangeEcho(window.start_us, window.end_us, zone.key)


class RangeEcho(msgspec.Struct, frozen=True, rename="camel"):
    """The accepted bounds, [from_us, to_us), and the zone whose days they are."""

    # Clients drop a section whose echo is not what they asked for.
    from_us: int
    to_us: int
    timezone: str


# --- texts that both queries and bodies carry ------------------------------------------------------------------


@cache
def zone_names() -> Sequence[str]:
    """Those that this machine knows."""
    return sorted(filter(times.is_zone_name, available_timezones()))


def zone_sent(name: str, text: str, lost_plus: str = " ") -> ZoneInfo:
    """A zone. `lost_plus`: what a space may have been. Raises `HttpError` 400."""
    try:
        return times.zone_named(text.replace(" ", lost_plus))
    except ValueError as error:
        raise HttpError(400, f"{name}: {error}, not {text[:SHOWN_CHARACTERS]!r}") from error


def time_sent(name: str, text: str) -> int:
    try:
        return times.parse_instant(text)
    except ValueError as error:
        why = f"{name} must be an ISO 8601 time of the years 1970 to 9998, like 2026-08-01T09:00:00Z"
        raise HttpError(400, why) from error


def id_sent(name: str, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise HttpError(400, f"{name} must be a UUID, not {text[:SHOWN_CHARACTERS]!r}") from error


def day_sent(name: str, text: str) -> date:
    day = times.bare_date(text)
    if day is None:
        shown = text[:SHOWN_CHARACTERS]
        raise HttpError(400, f"{name} must be a date of the years 1970 to 9998, like 2026-08-01, not {shown!r}")
    return day


# --- kinds of parameters --------------------------------------------------------------------------------------


class Parameter(msgspec.Struct, frozen=True):
    name: str
    schema: Schema
    about: str
    required: bool = False
    place: Literal["query", "header"] = "query"


class Clamped(Parameter, frozen=True):
    """An integer; one beyond the bounds counts as the bound."""

    least: int = 1
    most: int = 1

    def read(self, query: Query) -> int:
        value = integer(query, self.name)
        return min(max(self.schema["default"] if value is None else value, self.least), self.most)


class Choice(Parameter, Generic[_C], frozen=True):
    def read(self, query: Query) -> _C:
        words: list[_C] = self.schema["enum"]
        return one_of(self.name, query.get(self.name, self.schema["default"]), words)


def clamped(name: str, default: int, most: int, about: str) -> Clamped:
    return Clamped(name, {"type": "integer", "default": default}, f"{about}; clamped to 1-{most}.", most=most)


def choice(name: str, words: tuple[_C, ...], default: _C, about: str) -> Choice[_C]:
    return Choice(name, {"type": "string", "enum": list(words), "default": default}, about)


def text_parameter(name: str, about: str) -> Parameter:
    return Parameter(name, {"type": "string"}, about)


def one_of(name: str, text: str, words: Collection[_C]) -> _C:
    """Raises `HttpError` 400 for any other word."""
    for word in words:
        if word == text:
            return word
    raise HttpError(400, f"{name} must be one of {', '.join(words)}, not {text[:SHOWN_CHARACTERS]!r}")


def any_of(query: Query, name: str, words: Collection[_C]) -> _C | None:
    """None where it was not sent, or empty."""
    return one_of(name, query[name], words) if query.get(name) else None


def integer(query: Query, name: str, hint: str = "") -> int | None:
    """Digits with an optional sign; None where it was not sent."""
    text = query.get(name)
    if text is None:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise HttpError(400, f"{name} must be an integer, not {text[:SHOWN_CHARACTERS]!r}{hint}")
    return int(text)


# --- the parameters that routes share -------------------------------------------------------------------------

_IN_YEARS: Schema = {"type": "string", "pattern": YEARS, "description": "Of the years 1970 to 9998."}
_TIME: Schema = _IN_YEARS | {"anyOf": [{"format": "date-time"}, {"format": "date"}]}
_DATE: Schema = _IN_YEARS | {"format": "date"}
_ZONE: Schema = {"$ref": "#/components/schemas/Timezone"}
_ABOUT = "The calendar window, in the zone of the caller's profile."
WINDOW: Choice[times.WindowName] = choice("window", get_args(times.WindowName), "weekly", _ABOUT)
_ABOUT = "The calendar window; `range` where `from` and `to` are sent."
ASKED_WINDOW: Choice[times.AskedWindow] = choice("window", get_args(times.AskedWindow), "weekly", _ABOUT)
PERIOD: Choice[times.Period] = choice("period", get_args(times.Period), "day", "The length of one point.")
LIMIT = clamped("limit", 50, LIMIT_MAX, "How many rows")
_ABOUT = "How many rows to pass over; a negative one is 0."
OFFSET = Clamped("offset", {"type": "integer", "default": 0}, _ABOUT, least=0, most=OFFSET_MAX)
PAGE = (LIMIT, OFFSET)
FROM_TO = (
    Parameter("from", _TIME, "The first moment; goes together with `to`. The last 28 days by default."),
    Parameter("to", _TIME, "The first moment after the range; a bare date includes its day."),
)
WINDOW_OR_RANGE = (
    ASKED_WINDOW,
    Parameter("from", _TIME, "The first moment of a range, in place of a window; goes together with `to`."),
    FROM_TO[1],
)
SINCE = Parameter("from", _TIME, "What began, or was detected, from this moment on.")
TIMEZONE = Parameter("timezone", _ZONE, "An IANA zone; that of the caller's profile by default.")
TZ = Parameter("tz", {"anyOf": [_ZONE, {"const": ""}]}, "An IANA zone; blank is as not sent.")
DATE = Parameter("date", _DATE, "A day; today by default.")
RANGE = (
    Parameter("from_us", {"type": "integer"}, "Microseconds since 1970, UTC; goes together with `to_us`."),
    Parameter("to_us", {"type": "integer"}, "The first microsecond after the range."),
    Parameter("date", _DATE, "One day, in place of a pair; today by default."),
    Parameter("from_date", _DATE, "The first day; goes together with `to_date`."),
    Parameter("to_date", _DATE, "The last day, included."),
    TIMEZONE,
)


def until_now(first: str) -> tuple[Parameter, Parameter]:
    """`from` and `to` of `from_until`, with the default of the first."""
    return (
        Parameter("from", _TIME, f"The first moment; {first} by default."),
        Parameter("to", _TIME, "The first moment after the range; now by default."),
    )


# --- what a query is asked by ---------------------------------------------------------------------------------


class Arguments(NamedTuple):
    """Parameters, and the arguments of a query that they become."""

    parameters: tuple[Parameter, ...]
    read: Callable[[ByKey], tuple[object, ...]]


PAGED = Arguments(PAGE, ByKey.page)
IN_WINDOW = Arguments((WINDOW,), lambda call: call.windows(WINDOW.read(call.query), 1))
