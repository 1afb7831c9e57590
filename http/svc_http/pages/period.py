"""The one period of all pages: what was asked for, what it is called, where there are goals, and how it is drawn."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import msgspec
from werkzeug.datastructures import MultiDict

from aggregates import times
from aggregates.event import Scope, shaped
from aggregates.people.directory import Stay
from aggregates.times import INSTANT_MAX_US, Window, first_day, local_date, local_day_bounds, midnight_us
from projections.reader import Reader
from projections.sub_sessions.rows import first_and_last
from svc_http.params import ByKey, Query
from svc_http.records import USUAL, Asked, asked_of, day_of, last_days, month_told, told_as

BARS_MAX = 60
NAMES = ("days", "from", "to")  # the parameters of an address that say it
EVER = Window(0, INSTANT_MAX_US)
WEEKS_MAX = 53  # of a team so many are told, the last of what was asked for
Unit = Literal["day", "week", "month", "year"]
_Began = Callable[[Window], tuple[int | None, int | None]]


class Period(msgspec.Struct, frozen=True):
    window: Window
    query: str  # how an address asks for it
    name: str  # one of LAST_DAYS, `all`, a month as 2026-03, or `range`
    told: str  # as in "the last 30 days", "all time", "March", "3 to 9 March"; of a team the days of its whole weeks
    asked: str  # the same, but of a team what was asked for
    first: date
    last: date
    today: date
    months: list[tuple[str, str]]  # those with goals, the newest first: as an address has it, and its name
    since: str | None  # the day of the oldest goal; of a team, that on which its first member joined
    oldest_us: int | None
    newest_us: int | None
    near: tuple[str, str] | None  # where no goal began in it: a month that has some
    wrong: str | None = None  # why it is not the one that was asked for

    @property
    def before(self) -> Window | None:
        """The time of the same length before it; None where there is nothing before."""
        before, _ = times.equal_windows(self.window, 2)
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

    def named(self, label: str) -> str:
        return f"Week of {label}" if self.unit == "week" else label


async def period_of(call: ByKey, team: Sequence[Stay] = ()) -> Period:
    """The time that was asked for, up to today. Of a team it is whole weeks."""
    return await call.read(_period, team, call.query, call.own_zone, call.service.now_us())


def _period(reader: Reader, scope: Scope, team: Sequence[Stay], query: Query, zone: ZoneInfo, now_us: int) -> Period:
    began = partial(_first_and_last, reader, scope, team or [Stay(scope.developer_id, 0, INSTANT_MAX_US)])
    today, (oldest_us, newest_us) = local_date(now_us, zone), began(EVER)
    if team:  # the day of one goal would tell more than its week
        oldest_us = min(each.start_us for each in team)
    oldest, wrong = today if oldest_us is None else min(local_date(oldest_us, zone), today), None
    try:
        asked = asked_of(query, today, oldest)
        if not any(map(query.get, NAMES)) and began(asked.window(zone))[0] is None:
            asked = asked_of(MultiDict({"days": "all"}), today, oldest)
    except ValueError as error:
        wrong, asked = f"{error} Shown are the last {USUAL} days.", last_days(USUAL, today)
    shown = _whole_weeks(asked, today) if team else asked
    window = shown.window(zone)
    parts = {"from": str(asked.first), "to": str(asked.last)} if asked.name == "range" else {"days": asked.name}
    months = [*_months(began, zone, newest_us)]
    near = None
    if months and began(window)[0] is None:  # an earlier one rather than a later one
        near = _month(next((each for each in months if each < shown.first), months[-1]), today)
    return shaped(
        Period,
        asked,
        window=window,
        query=urlencode(parts),
        told=told_as(shown, today),
        asked=told_as(asked, today),
        today=today,
        months=[_month(each, today) for each in months],
        since=None if oldest_us is None else day_of(oldest, today.year),
        oldest_us=oldest_us,
        newest_us=newest_us,
        near=near,
        wrong=wrong,
    )


def _first_and_last(
    reader: Reader, scope: Scope, stays: Sequence[Stay], window: Window
) -> tuple[int | None, int | None]:
    found = list[int | None]()
    for stay in stays:
        days = Window(max(stay.start_us, window.start_us), min(stay.end_us, window.end_us))
        found += first_and_last(reader, Scope(scope.organization_id, stay.developer_id), days)
    known = [each for each in found if each is not None]
    return min(known, default=None), max(known, default=None)


def _whole_weeks(asked: Asked, today: date) -> Asked:
    last = min(date.fromordinal(first_day("week", asked.last, -1).toordinal() - 1), today)
    first = max(first_day("week", asked.first), first_day("week", last, WEEKS_MAX - 1))
    return Asked("range", first, last)


def _months(began: _Began, zone: ZoneInfo, newest_us: int | None) -> Iterator[date]:
    """Those in which a goal began, the newest first."""
    while newest_us is not None:
        month = local_date(newest_us, zone).replace(day=1)
        yield month
        _, newest_us = began(Window(0, midnight_us(month, zone)))


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
    size: times.Period = "day" if days <= BARS_MAX else "week" if days <= 7 * (BARS_MAX - 1) else "month"
    unit, whole = cast(Unit, size), [*times.buckets(window, size, zone)]
    if len(whole) > BARS_MAX:
        unit, whole = "year", _years(whole, zone)
    windows = [Window(max(each.start_us, window.start_us), min(each.end_us, window.end_us)) for each in whole]
    bounds = [(local_date(each.start_us, zone), local_date(each.end_us - 1, zone)) for each in windows]
    labels = [_label(unit, start, period.today.year) for start, _ in bounds]
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
    return day_of(start, this_year, "%b")
