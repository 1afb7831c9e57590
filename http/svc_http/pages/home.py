"""The first page of whoever is scored: three sentences, weeks, costs, and what goes on today."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

import msgspec
from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.scores.grades import Tally
from aggregates.times import US_PER_DAY, Window, calendar_windows, local_date, midnight_us
from projections.prices.goals import spent_in
from projections.prices.spending import Spent
from projections.reader import Reader
from projections.scores.score import tally
from projections.scores.skill import InsightSummary, Skill, insight_summary, skill
from projections.sub_sessions.goals import GoalPage, Wanted, goals, newest_us
from projections.sub_sessions.rows import NANO
from svc_http.bodies import HttpError
from svc_http.pages import charts
from svc_http.pages.door import BySignIn
from svc_http.pages.mine import questions, stays
from svc_http.pages.rates import Rate
from svc_http.pages.words import counted, number, short_day, usd
from svc_http.routing import Routes

PERIODS = {"7": "7 days", "30": "30 days", "90": "90 days", "all": "all time"}
PERIOD_DEFAULT = "30"
WEEKS = {"7": 2, "30": 5, "90": 13, "all": 26}
"""So many weeks are drawn of each time: those that it touches; of all time the last half year."""
LIVE_SHOWN = 10
HABIT_PROMPTS_MIN = 5  # a next habit is named from so many prompts on: fewer tell nothing about anybody's habits
routes = Routes()


class Look(msgspec.Struct, frozen=True):
    """What the page is made of, read at one moment."""

    tally: Tally
    weeks: list[Tally]
    grades: InsightSummary
    skill: Skill
    spent: list[Spent]
    live: GoalPage
    newest_us: int | None


def period_of(call: BySignIn, shown: Collection[str] = PERIODS) -> tuple[str, Window]:
    """The asked-for days, today among them, in the developer's zone. Raises `HttpError` 400."""
    name = call.query.get("days", PERIOD_DEFAULT)
    if name not in shown:
        raise HttpError(400, f"days must be one of {', '.join(shown)}")
    zone, now_us = call.own_zone, call.service.now_us()
    today = local_date(now_us, zone)
    end_us = midnight_us(today + timedelta(days=1), zone)
    if name == "all":
        return name, Window(0, end_us)
    return name, Window(midnight_us(today - timedelta(days=int(name) - 1), zone), end_us)


def months_of(call: BySignIn) -> dict[str, tuple[str, Window]]:
    """The calendar month before and the one that runs, up to today: by name, as in 2026-10, its label and its days."""
    zone, now_us = call.own_zone, call.service.now_us()
    tomorrow_us = midnight_us(local_date(now_us, zone) + timedelta(days=1), zone)
    months = calendar_windows("monthly", zone, now_us, 2)
    windows = [Window(each.start_us, min(each.end_us, tomorrow_us)) for each in months]
    firsts = [local_date(each.start_us, zone) for each in windows]
    return {f"{first:%Y-%m}": (f"{first:%B}", window) for first, window in zip(firsts, windows, strict=True)}


def period_or_month(call: BySignIn, shown: Mapping[str, str] = PERIODS) -> tuple[str, Window, dict[str, str]]:
    """As `period_of`, or a calendar month; and what may be chosen, each with its label. Raises `HttpError` 400."""
    months = months_of(call)
    choices = {**shown, **{name: label for name, (label, _) in months.items()}}
    name = call.query.get("days", "")
    return (name, months[name][1], choices) if name in months else (*period_of(call, shown), choices)


def days_of(call: BySignIn, window: Window) -> list[Window]:
    """Its days, the last 90 of them at most."""
    zone = call.own_zone
    last = local_date(window.end_us - 1, zone)
    count = min(90, (last - local_date(max(window.start_us, window.end_us - 90 * US_PER_DAY), zone)).days + 1)
    starts = [midnight_us(last - timedelta(days=back), zone) for back in range(count - 1, -2, -1)]
    return [Window(start, end) for start, end in pairwise(starts)]


def _look(
    reader: Reader, scope: Scope, window: Window, weeks: Sequence[Window], days: Sequence[Window], now_us: int
) -> Look:
    return Look(
        tally=tally(reader, scope, window),
        weeks=[tally(reader, scope, each) for each in weeks],
        grades=insight_summary(reader, scope, "weekly", weeks),
        skill=skill(reader, scope, "weekly", [window]),
        spent=spent_in(reader, scope, days),
        live=goals(reader, scope, Wanted(outcome="live", window=Window(now_us - US_PER_DAY, 2**62)), LIVE_SHOWN, 0),
        newest_us=newest_us(reader, scope),
    )


@routes("GET /", "Home.")
async def home(call: BySignIn) -> Response:
    name, window = period_of(call)
    weeks, days = call.windows("weekly", WEEKS[name]), days_of(call, window)
    found = await call.read(_look, window, weeks, days, call.service.now_us())
    zone = call.own_zone
    labels = [short_day(each.start_us, zone) for each in weeks]
    return await call.show(
        "home.html",
        period=name,
        periods=PERIODS,
        found=found,
        rate=Rate(found.tally),
        weeks=list(map(Rate, found.weeks)),
        total=sum(found.spent, Spent()),
        labels=labels,
        habit=found.skill.worst_pillar if found.skill.sample_count >= HABIT_PROMPTS_MIN else None,
        goals_chart=charts.bars("Goals by week: reached, and the others", goal_bars(found.weeks, labels), number),
        grade_chart=charts.dots("Average prompt grade by week", _grade_dots(found.grades, labels), 100),
        cost_chart=cost_chart(found.spent, [short_day(each.start_us, zone) for each in days]),
        days=days,
        questions=questions(call, at_home=True),
        this=call.sign_in.id,
        stays=stays(call),
        month_empty=name != "all" and not found.tally.total and found.newest_us is not None,
    )


def goal_bars(weeks: Sequence[Tally], labels: Sequence[str]) -> list[charts.Bar]:
    rates = list(map(Rate, weeks))
    return [
        charts.Bar(
            label,
            (("reached", rate.reached), ("missed", rate.decided - rate.reached), ("undecided", rate.undecided)),
            f"Week of {label}: {rate.sentence}",
        )
        for label, rate in zip(labels, rates, strict=True)
    ]


def _grade_dots(grades: InsightSummary, labels: Sequence[str]) -> list[charts.Dot]:
    return [
        charts.Dot(
            label,
            each.apg,
            None if each.interval is None else each.interval.low,
            None if each.interval is None else each.interval.high,
            f"Week of {label}: {each.apg or 0:.0f} of 100 over {counted(each.sample_count, 'prompt')}",
        )
        for label, each in zip(labels, grades.points, strict=True)
    ]


def cost_chart(spent: Sequence[Spent], labels: Sequence[str]) -> Markup:
    """What has a price; a hatched cap where some requests have none."""
    bars = [
        charts.Bar(
            label,
            (("priced", each.cost_usd_nano),),
            f"{label}: {usd(each.cost_usd_nano / NANO)} for {counted(each.requests - each.unpriced, 'request')}"
            + (f"; {number(each.unpriced)} more without a price" if each.unpriced else ""),
            each.unpriced > 0,
        )
        for label, each in zip(labels, spent, strict=True)
    ]
    return charts.bars("Cost by day", bars, lambda top: usd(top / NANO))
