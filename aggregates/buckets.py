"""Calendar periods of a range: the buckets of a trend, whether anything lies in them or not."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta, tzinfo
from typing import Literal, TypeVar

from aggregates.times import local_date, midnight_us
from aggregates.windows import Window

Period = Literal["day", "week", "month"]
"""A calendar day, week (from Monday) or month."""

_T = TypeVar("_T")


def buckets(window: Window, period: Period, zone: tzinfo) -> Iterator[Window]:
    """The periods that have a part in the range, in time order, each whole: the first may begin before the range."""
    day = _first_day(period, local_date(window.start_us, zone))
    start_us = midnight_us(day, zone)
    while start_us < window.end_us:
        day = _first_day(period, day + timedelta(days=1 if period == "day" else 7 if period == "week" else 31))
        end_us = midnight_us(day, zone)
        yield Window(start_us, end_us)
        start_us = end_us


def _first_day(period: Period, day: date) -> date:
    """The first day of the period that holds a day."""
    match period:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)


def sorted_into(shelves: Sequence[Window], placed: Iterable[tuple[int, _T]]) -> list[list[_T]]:
    """What happened in each of some neighbouring periods, given when; all of it lies in one of them."""
    starts = [shelf.start_us for shelf in shelves]
    found: list[list[_T]] = [[] for _ in shelves]
    for at_us, what in placed:
        found[bisect_right(starts, at_us) - 1].append(what)
    return found
