"""The range that `from` and `to` name: times, or bare dates in a zone; a bare end includes its day."""

from datetime import tzinfo

from aggregates.times import bare_date
from aggregates.windows import RANGE_DEFAULT_DAYS, RangeRefused, Window, instant, local_day_bounds, time_range
from svc_http.errors import bad_request
from svc_http.params import Query, time_text


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
