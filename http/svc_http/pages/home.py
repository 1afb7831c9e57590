"""The first page: the verdict, the next habit, what it cost, what is to be said, and what goes on."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.scores.grades import Tally
from aggregates.times import US_PER_DAY, Window, bare_date, midnight_us
from projections.cost import Cost, CostGroup, CostQuery, cost
from projections.reader import Reader
from projections.scores import skill
from projections.scores.score import tally
from projections.scores.throttle import ThrottleSummary, personal_throttle
from projections.sub_sessions.goals import Goals, Order, Wanted, goals
from svc_http.bodies import unauthorized
from svc_http.pages import charts
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn, cookie_name, sign_in_by
from svc_http.pages.habits import next_habit
from svc_http.pages.mine import questions, stays
from svc_http.pages.period import Drawn, Period, drawn, period_of
from svc_http.pages.rendering import rate
from svc_http.pages.words import counted, number, usd
from svc_http.routes.sub_sessions import answer_stream
from svc_http.routing import Routes

UNDECIDED_SHOWN = 3
LIVE_SHOWN = 10
routes = Routes()


class _Home(NamedTuple):
    now: Tally
    bars: list[Tally]
    skill: skill.Skill
    grade: skill.InsightSummary
    cost: Cost
    cost_before: Cost | None
    lost: ThrottleSummary | None  # None where the time holds more requests than one read may look at
    lost_before: ThrottleSummary | None
    undecided: Goals
    live: Goals


def _home(reader: Reader, scope: Scope, period: Period, parts: Drawn, zone: ZoneInfo, now_us: int) -> _Home:
    window, before = period.window, period.before
    unit = "month" if parts.unit == "year" else parts.unit
    going_on = Wanted(outcome="going_on", window=Window(now_us - US_PER_DAY, 2**62))
    return _Home(
        now=tally(reader, scope, window),
        bars=[tally(reader, scope, each) for each in parts.windows],
        skill=skill.skill(reader, scope, "range", [window]),
        grade=skill.insight_summary(reader, scope, "range", [window]),
        cost=cost(reader, scope, CostQuery(window, unit, zone)),
        cost_before=None if before is None else cost(reader, scope, CostQuery(before, "month", zone)),
        lost=_lost(reader, scope, window),
        lost_before=None if before is None else _lost(reader, scope, before),
        undecided=goals(reader, scope, Wanted(window=window, outcome="undecided"), Order(), UNDECIDED_SHOWN),
        live=goals(reader, scope, going_on, Order(), LIVE_SHOWN),
    )


def _lost(reader: Reader, scope: Scope, window: Window) -> ThrottleSummary | None:
    found = personal_throttle(reader, scope, window)
    return None if found is None else found.summary


@routes("GET /", "Home.")
async def home(call: BySignIn) -> Response:
    (_, asked), zone, now_us = await period_of(call), call.own_zone, call.service.now_us()
    period: Period = asked["period"]
    parts = drawn(period, zone)
    found = await call.read(partial(_home, period=period, parts=parts, zone=zone, now_us=now_us))
    spent = _in_bars(found.cost.groups, parts, zone)
    return await call.show(
        "home.html",
        **asked,
        found=found,
        habit=next_habit(found.skill),
        drawn=parts,
        spent=spent,
        goals_chart=_goals_chart(found.bars, parts),
        cost_chart=_cost_chart(spent, parts),
        questions=questions(call, at_home=True),
        this=call.sign_in.id,
        stays=stays(call),
    )


class _Spent(NamedTuple):
    """Of one bar."""

    cost_usd: float
    requests: int
    unpriced_requests: int


def _in_bars(groups: Sequence[CostGroup], parts: Drawn, zone: ZoneInfo) -> list[_Spent]:
    """What the goals of each bar cost. Nothing where they are too many for one read."""
    starts, found = [each.start_us for each in parts.windows], [_Spent(0, 0, 0)] * len(parts.windows)
    for group in groups:
        day = bare_date(group.key or "")
        assert day is not None, "asked for by day, week or month"
        # A week or a month may begin before the time that is shown.
        place = max(bisect_right(starts, midnight_us(day, zone)) - 1, 0)
        before = found[place]
        found[place] = _Spent(
            before.cost_usd + (group.known_cost_usd or 0),
            before.requests + (group.requests or 0),
            before.unpriced_requests + (group.unpriced_requests or 0),
        )
    return found


def _goals_chart(tallies: Sequence[Tally], parts: Drawn) -> Markup:
    bars = [
        Bar(
            label,
            (("reached", of.crushed), ("missed", of.decided - of.crushed), ("undecided", of.undecided)),
            f"{_of(parts, label)}: {rate(of)}",
            href=f"/goals?{query}",
        )
        for label, query, of in zip(parts.labels, parts.queries, tallies, strict=True)
    ]
    return charts.bars(f"Goals by {parts.unit}: reached, not reached, undecided", bars, number)


def _cost_chart(spent: Sequence[_Spent], parts: Drawn) -> Markup:
    """What has a price; a hatched cap where some requests have none."""
    bars = [
        Bar(
            label,
            (("priced", each.cost_usd),),
            f"{_of(parts, label)}: {usd(each.cost_usd)} for {counted(each.requests, 'request')}"
            + (f", {number(each.unpriced_requests)} of them without a price" if each.unpriced_requests else ""),
            each.unpriced_requests > 0,
            f"/goals?{query}&sort=cost",
        )
        for label, query, each in zip(parts.labels, parts.queries, spent, strict=True)
    ]
    return charts.bars(f"Cost by {parts.unit}", bars, usd)


def _of(parts: Drawn, label: str) -> str:
    return f"Week of {label}" if parts.unit == "week" else label


@routes("GET /live", "What changes, as server-sent events.")
async def live_stream(call: BySignIn) -> Response:
    cookie = call.request.cookies.get(cookie_name(call.request), "")

    def still_in() -> None:
        if sign_in_by(call.service, cookie) is None:
            raise unauthorized("this browser is no longer signed in")

    return await answer_stream(call, still_in)
