"""The days by which the archive is laid out: those of UTC."""

from datetime import date

from aggregates.times import INSTANT_MAX_US, US_PER_DAY
from aggregates.windows import Window

_FIRST_DAY = date(1970, 1, 1).toordinal()


def day_of(at_us: int) -> str:
    """YYYY-MM-DD. A time that no calendar of ours knows stands on the first day, or on the last."""
    return date.fromordinal(_FIRST_DAY + min(max(at_us, 0), INSTANT_MAX_US) // US_PER_DAY).isoformat()


def days_of(window: Window) -> tuple[str, str]:
    """The first and the last day that a window touches."""
    return day_of(window.start_us), day_of(window.end_us - 1)
