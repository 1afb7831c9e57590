"""The one period of all pages: what was asked for, what it is called, where there are goals, and how it is drawn."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import msgspec
from werkzeug.datastructures import MultiDict

from aggregates import times
from aggregates.event import Scope
from aggregates.times import (
    INSTANT_MAX_US,
    Window,
    buckets,
    equal_windows,
    local_date,
    local_day_bounds,
    midnight_us,
)
from projections.reader import Reader
from projections.scores.score import first_and_last
from svc_http.params import ByKey, Query
from svc_http.records import USUAL, asked_of, day_of, last_days, month_told, short_day_of, told_as

BARS_MAX = 60
NAMES = ("days", "from", "to")
"""The parameters of an address that say it."""
_EVER = Window(0, INSTANT_MAX_US)
Unit = Literal["day", "week", "month", "year"]


class Period(msgspec.Struct, frozen=True):
    window: Window
    query: str  # how an address asks for it
    name: str  # one of LAST_DAYS, `all`, a month as 2026-03, or `range`
    told: str  # as in "the last 30 days", "all time", "March", "3 to 9 March"
    first: date
    last: date
    today: date
    months: list[tuple[str, str]]  # those with goals, the newest first: as an address has it, and its name
    since: str | None  # the day of the oldest goal
    oldest_us: int | None
    newest_us: int | None
    near: tuple[str, str] | None  # where no goal began in it: a month that has some
    wrong: str | None = None  # why it is not the one that was asked for

    @property
    def before(self) -> Window | None:
        """The time of the same length before it; None where there is nothing before."""
        before, _ = equal_windows(self.window, 2)
        return before if self.oldest_us is not None and self.oldest_us < before.end_us else None

    @property
    def length(self) -> int:
        return (self.last - self.first).days + 1


class Drawn(NamedTuple):
    """The parts of a period as a chart has them, at most 60, cut to the period; and what a link asks for."""

    unit: Unit
    windows: Sequence[Window]
    labels: Sequence[str]
    queries: Sequence[str]


async def period_of(call: ByKey) -> tuple[Window, dict[str, Any]]:
    """The time that was asked for, up to today; and what the page shows of it."""
    found = await call.read(_period, call.query, call.own_zone, call.service.now_us())
    return found.window, {"period": found}


def _period(reader: Reader, scope: Scope, query: Query, zone: ZoneInfo, now_us: int) -> Period:
    today, (oldest_us, newest_us) = local_date(now_us, zone), first_and_last(reader, scope, _EVER)
    oldest, wrong = today if oldest_us is None else min(local_date(oldest_us, zone), today), None
    try:
        asked = asked_of(query, today, oldest)
        if not any(map(query.get, NAMES)) and first_and_last(reader, scope, asked.window(zone))[0] is None:
            asked = asked_of(MultiDict({"days": "all"}), today, oldest)
    except ValueError as error:
        wrong, asked = f"{error} Shown are the last {USUAL} days.", last_days(USUAL, today)
    window = asked.window(zone)
    parts = {"from": str(asked.first), "to": str(asked.last)} if asked.name == "range" else {"days": asked.name}
    near = _near(reader, scope, window)
    months = _months(reader, scope, zone, newest_us)
    return Period(
        window=window,
        query=urlencode(parts),
        name=asked.name,
        told=told_as(asked, today),
        first=asked.first,
        last=asked.last,
        today=today,
        months=[_month(each, today) for each in months],
        since=None if oldest_us is None else day_of(oldest, today.year),
        oldest_us=oldest_us,
        newest_us=newest_us,
        near=None if near is None else _month(local_date(near, zone), today),
        wrong=wrong,
    )


def _months(reader: Reader, scope: Scope, zone: ZoneInfo, newest_us: int | None) -> Iterator[date]:
    """Those in which a goal began, the newest first."""
    while newest_us is not None:
        month = local_date(newest_us, zone).replace(day=1)
        yield month
        _, newest_us = first_and_last(reader, scope, Window(0, midnight_us(month, zone)))


def _near(reader: Reader, scope: Scope, window: Window) -> int | None:
    """Where no goal began in the window: the goal next to it, an earlier one rather than a later one."""
    if first_and_last(reader, scope, window)[0] is not None:
        return None
    _, before_us = first_and_last(reader, scope, Window(0, window.start_us))
    return first_and_last(reader, scope, Window(window.end_us, INSTANT_MAX_US))[0] if before_us is None else before_us


def _month(day: date, today: date) -> tuple[str, str]:
    return f"{day:%Y-%m}", month_told(day, today)


def drawn(period: Period, zone: ZoneInfo) -> Drawn:
    """By day, week, month or year, whichever gives few enough bars; of all time from goal to goal."""
    first, last = period.first, period.last
    if period.oldest_us is not None and period.newest_us is not None:
        first = max(first, min(local_date(period.oldest_us, zone), last))
        last = min(last, local_date(period.newest_us, zone)) if period.name == "all" else last
    window = Window(midnight_us(first, zone), local_day_bounds(last, zone).end_us)
    days = (last - first).days + 1
    unit: times.Period = "day" if days <= BARS_MAX else "week" if days <= 7 * (BARS_MAX - 1) else "month"
    whole = [*buckets(window, unit, zone)]
    if len(whole) > BARS_MAX:
        return _drawn("year", _years(whole, zone), window, zone, period.today.year)
    return _drawn(unit, whole, window, zone, period.today.year)


def _drawn(unit: Unit, whole: Sequence[Window], window: Window, zone: ZoneInfo, this_year: int) -> Drawn:
    windows = [Window(max(each.start_us, window.start_us), min(each.end_us, window.end_us)) for each in whole]
    bounds = [(local_date(each.start_us, zone), local_date(each.end_us - 1, zone)) for each in windows]
    labels = [_label(unit, start, this_year) for start, _ in bounds]
    return Drawn(unit, windows, labels, [urlencode({"from": start, "to": end}) for start, end in bounds])


def _years(months: Sequence[Window], zone: ZoneInfo) -> list[Window]:
    starts = [each.start_us for each in months if local_date(each.start_us, zone).month == 1]
    edges = sorted({months[0].start_us, *starts, months[-1].end_us})
    return [Window(start, end) for start, end in pairwise(edges)]


def _label(unit: Unit, start: date, this_year: int) -> str:
    if unit == "year":
        return f"{start.year}"
    if unit == "month":
        return f"{start:%b}" if start.year == this_year else f"{start:%b %Y}"
    return short_day_of(start, this_year)
