"""The first page of whoever is scored: three sentences, weeks, costs, and what goes on today."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

from markupsafe import Markup
from quart import Response

from aggregates.scores.grades import Tally
from aggregates.times import US_PER_DAY, Window, calendar_windows, local_date, midnight_us
from projections.prices import Spent, spent_in
from projections.scores.score import tally
from projections.scores.skill import InsightSummary, insight_summary, skill
from projections.sub_sessions.listing import Wanted, goals
from projections.sub_sessions.rows import NANO, newest_us
from svc_http.bodies import HttpError, unauthorized
from svc_http.pages import charts
from svc_http.pages.door import BySignIn, cookie_name, sign_in_by
from svc_http.pages.mine import questions, stays
from svc_http.pages.rendering import rate
from svc_http.pages.words import counted, number, short_day, usd
from svc_http.routes.events import answer_stream
from svc_http.routing import Routes

PERIODS = {"7": "7 days", "30": "30 days", "90": "90 days", "all": "all time"}
PERIOD_DEFAULT = "30"
WEEKS = {"7": 2, "30": 5, "90": 13, "all": 26}
"""So many weeks are drawn of each time: those that it touches; of all time the last half year."""
LIVE_SHOWN = 10
HABIT_PROMPTS_MIN = 5  # a next habit is named from so many prompts on: fewer tell nothing about anybody's habits
routes = Routes()


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


def period_or_month(call: BySignIn, shown: Mapping[str, str] = PERIODS) -> tuple[str, Window, dict[str, str]]:
    """As `period_of`, or a calendar month like 2026-10, the one that runs up to today; and what may be chosen."""
    zone, now_us, name = call.own_zone, call.service.now_us(), call.query.get("days", "")
    tomorrow_us = midnight_us(local_date(now_us, zone) + timedelta(days=1), zone)
    months, choices = {}, dict(shown)
    for each in calendar_windows("monthly", zone, now_us, 2):
        first = local_date(each.start_us, zone)
        months[f"{first:%Y-%m}"] = Window(each.start_us, min(each.end_us, tomorrow_us))
        choices[f"{first:%Y-%m}"] = f"{first:%B}"
    return (name, months[name], choices) if name in months else (*period_of(call, shown), choices)


def days_of(call: BySignIn, window: Window) -> list[Window]:
    """Its days, the last 90 of them at most."""
    zone = call.own_zone
    last = local_date(window.end_us - 1, zone)
    count = min(90, (last - local_date(max(window.start_us, window.end_us - 90 * US_PER_DAY), zone)).days + 1)
    starts = [midnight_us(last - timedelta(days=back), zone) for back in range(count - 1, -2, -1)]
    return [Window(start, end) for start, end in pairwise(starts)]


@routes("GET /", "Home.")
async def home(call: BySignIn) -> Response:
    (name, window), zone, now_us = period_of(call), call.own_zone, call.service.now_us()
    weeks, days = call.windows("weekly", WEEKS[name]), days_of(call, window)
    going_on = Wanted(outcome="live", window=Window(now_us - US_PER_DAY, 2**62))
    (*by_week, now), grades, shown, spent, live, newest = await call.read(
        lambda reader, scope: (
            [tally(reader, scope, each) for each in (*weeks, window)],
            insight_summary(reader, scope, "weekly", weeks),
            skill(reader, scope, "weekly", [window]),
            spent_in(reader, scope, days),
            goals(reader, scope, going_on, LIVE_SHOWN, 0),
            newest_us(reader, scope),
        )
    )
    labels = [short_day(each.start_us, zone) for each in weeks]
    return await call.show(
        "home.html",
        period=name,
        periods=PERIODS,
        now=now,
        weeks=by_week,
        grades=grades,
        skill=shown,
        spent=spent,
        live=live,
        newest_us=newest,
        total=sum(spent, Spent()),
        labels=labels,
        habit=shown.worst_pillar if shown.sample_count >= HABIT_PROMPTS_MIN else None,
        goals_chart=goals_chart(by_week, labels),
        grade_chart=charts.dots("Average prompt grade by week", _grade_dots(grades, labels), 100),
        cost_chart=cost_chart(spent, [short_day(each.start_us, zone) for each in days]),
        days=days,
        questions=questions(call, at_home=True),
        this=call.sign_in.id,
        stays=stays(call),
        month_empty=name != "all" and not now.total and newest is not None,
    )


def goals_chart(weeks: Sequence[Tally], labels: Sequence[str]) -> Markup:
    bars = [
        charts.Bar(
            label,
            (("reached", of.crushed), ("missed", of.decided - of.crushed), ("undecided", of.undecided)),
            f"Week of {label}: {rate(of)}",
        )
        for label, of in zip(labels, weeks, strict=True)
    ]
    return charts.bars("Goals by week: reached, and the others", bars, number)


def _grade_dots(grades: InsightSummary, labels: Sequence[str]) -> list[charts.Dot]:
    return [
        charts.Dot(
            label,
            each.apg,
            each.interval,
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


@routes("GET /live", "What changes, as server-sent events.")
async def live_stream(call: BySignIn) -> Response:
    """The event stream of the API, for a browser that signed in."""
    cookie = call.request.cookies.get(cookie_name(call.request), "")

    def still_in() -> None:
        if sign_in_by(call.service, cookie) is None:
            raise unauthorized("this browser is no longer signed in")

    return await answer_stream(call, still_in)
