"""Times on the wire are ISO 8601 in UTC; inside they are integer microseconds since 1970 (wire.md)."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

US_PER_SECOND = 1_000_000
US_PER_DAY = 86_400 * US_PER_SECOND

INSTANT_MIN_US = 0
"""1970-01-01; nothing that an agent did lies before it."""
INSTANT_MAX_US = 253_370_764_800 * US_PER_SECOND
"""The last whole year that a calendar can still add a window to: 9999-01-01."""

_YEAR_MIN, _YEAR_MAX = 1970, 9998
_EPOCH = datetime(_YEAR_MIN, 1, 1)
_ONE_US = timedelta(microseconds=1)
_ISO_CHARACTERS = re.compile(r"[-+0-9TWZtz:., ]+", re.ASCII)
"""`datetime.fromisoformat` lets any character at all stand between the day and the time."""


def parse_instant(text: str) -> int:
    """Microseconds of an ISO 8601 time with any offset; without one, and for a bare date, UTC.

    Digits beyond microseconds are cut off. Raises `ValueError` where it is no such time, or out of bounds.
    """
    try:
        moment = datetime.fromisoformat(text if _ISO_CHARACTERS.fullmatch(text) else "")
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
    """The day that the calendar of the zone shows at an instant."""
    utc = (_EPOCH + timedelta(microseconds=instant_us)).replace(tzinfo=UTC)
    return utc.astimezone(zone).date()


def midnight_us(day: date, zone: tzinfo) -> int:
    """The first instant of a day in a zone; where clocks skip midnight, the moment they skip it."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    offset = midnight.utcoffset() or timedelta()
    return (midnight.replace(tzinfo=None) - _EPOCH - offset) // _ONE_US
