"""The calendar periods of a trend: `from`, `to` and `period`."""

from collections.abc import Sequence
from itertools import islice
from typing import Generic, TypeVar, get_args

import msgspec

from aggregates.buckets import Period, buckets
from aggregates.people import Principal
from aggregates.times import iso
from aggregates.windows import Window
from svc_http.errors import bad_request
from svc_http.moments import from_and_to
from svc_http.params import Query, zone_of
from svc_http.ports import Service

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
