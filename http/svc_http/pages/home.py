"""The first page: the verdict, the next habit, what it cost, what is to be said, and what goes on."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response

from aggregates.event import Scope
from aggregates.judging.prompt import next_habit
from aggregates.scores.grades import Tally
from aggregates.times import US_PER_DAY, Window
from projections.cost import Cost, CostQuery, cost
from projections.reader import Reader
from projections.scores import skill, throttle
from projections.scores.score import tally
from projections.sub_sessions.goals import Wanted, goals
from svc_http.bodies import unauthorized
from svc_http.pages import charts
from svc_http.pages.charts import Bar
from svc_http.pages.cost import REQUESTS_MAX, cost_chart, cost_rows
from svc_http.pages.door import BySignIn, sign_in_of
from svc_http.pages.period import Drawn, Period, drawn, period_of
from svc_http.pages.rendering import rate
from svc_http.pages.settings import questions, stays
from svc_http.pages.words import number
from svc_http.routes.sub_sessions import answer_stream

UNDECIDED_SHOWN = 3
LIVE_SHOWN = 10


def _home(
    reader: Reader, scope: Scope, period: Period, parts: Drawn, zone: ZoneInfo, now_us: int
) -> tuple[Cost, Sequence[Tally], dict[str, Any]]:
    """The cost, the rate of each part of the time, and all that the page shows."""
    window, before = period.window, period.before
    lost = throttle.personal_throttle(reader, scope, window, REQUESTS_MAX)
    # A part of the requests is no match for all of the time before, which would cost as much again.
    is_whole = lost is not None and not lost.is_partial
    going_on = Wanted(outcome="going_on", window=Window(now_us - US_PER_DAY, 2**62))
    spent = cost(reader, scope, CostQuery(window, parts.unit, zone, dearest=0))
    bars = [tally(reader, scope, each) for each in parts.windows]
    found = {
        "now": tally(reader, scope, window),
        "bars": bars,
        "skill": skill.skill(reader, scope, "range", [window]),
        "cost": spent,
        "cost_before": before and cost(reader, scope, CostQuery(before, "outcome", zone, dearest=0)),
        "lost": lost,  # None where failures are too many for one read
        "lost_before": throttle.personal_throttle(reader, scope, before, REQUESTS_MAX) if before and is_whole else None,
        "undecided": goals(reader, scope, Wanted(window=window, outcome="undecided"), UNDECIDED_SHOWN),
        "live": goals(reader, scope, going_on, LIVE_SHOWN),
    }
    return spent, bars, found


async def home(call: BySignIn) -> Response:
    period, zone, now_us = await period_of(call), call.own_zone, call.service.now_us()
    parts = drawn(period, zone)
    spent, bars, found = await call.read(_home, period, parts, zone, now_us)
    rows = cost_rows(spent, parts, zone)
    return await call.show(
        "home.html",
        period=period,
        found=found,
        habit=next_habit(found["skill"].per_boolean, found["skill"].per_boolean_counts),
        drawn=parts,
        rows=rows,
        goals_chart=_goals_chart(bars, parts),
        cost_chart=cost_chart(rows, parts),
        questions=questions(call, at_home=True),
        this=call.sign_in.id,
        stays=stays(call),
    )


def _goals_chart(tallies: Sequence[Tally], parts: Drawn) -> Markup:
    bars = [
        Bar(
            label,
            (("reached", of.crushed), ("missed", of.decided - of.crushed), ("undecided", of.undecided)),
            f"{parts.named(label)}: {rate(of)}",
            href=f"/goals?{query}",
        )
        for label, query, of in zip(parts.labels, parts.queries, tallies, strict=True)
    ]
    return charts.bars(f"Goals by {parts.unit}: reached, not reached, undecided", bars, number)


async def live_stream(call: BySignIn) -> Response:
    def still_in() -> None:
        if sign_in_of(call.service, call.request) is None:
            raise unauthorized("this browser is no longer signed in")

    return await answer_stream(call, still_in)
