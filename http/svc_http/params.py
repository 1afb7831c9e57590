"""Query parameters to values, or a 400 that says which one and why."""

import re
from datetime import date
from typing import get_args
from uuid import UUID
from zoneinfo import ZoneInfo

from werkzeug.datastructures import MultiDict

from aggregates.people import Principal
from aggregates.times import bare_date
from aggregates.windows import Window, WindowName, calendar_windows, instant, zone_named
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
    return zone_named(service.directory.timezone(caller.scope.developer_id) or "UTC")


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
