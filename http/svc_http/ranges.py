"""The range of days that a request is about: exact microseconds or local dates, in a zone, and its echo.

What a range is, and which forms go together, is decided by `aggregates.windows.day_range`.
"""

import re
from zoneinfo import ZoneInfo

import msgspec

from aggregates.people import Principal
from aggregates.times import bare_date
from aggregates.windows import DayRange, RangeRefused, Window, day_range, zone_named
from svc_http.errors import bad_request
from svc_http.params import Query, zone_of
from svc_http.ports import Service

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
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
    if _INTEGER.fullmatch(text) is None:
        raise bad_request(f"{name} must be an integer, microseconds since 1970 in UTC, not {text[:_SHOWN]!r}")
    return int(text)


def _date(query: Query, name: str) -> str | None:
    text = query.get(name)
    if text is not None and bare_date(text) is None:
        raise bad_request(f"{name} must be a date of the years 1970 to 9998, like 2026-08-01, not {text[:_SHOWN]!r}")
    return text
