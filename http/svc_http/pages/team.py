"""The page Team: what a team did, week by week, what its members spent, and one's own place among nameless peers."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response

from aggregates.people import directory as records
from aggregates.scores import grades
from aggregates.times import Window, local_date
from projections.scores.score import peer_comparison, tally
from projections.scores.throttle import team_throttle
from projections.teams import TeamWeek
from svc_http.pages import charts, rendering
from svc_http.pages.charts import Bar
from svc_http.pages.door import BySignIn
from svc_http.pages.period import EVER, Period, period_of
from svc_http.pages.words import STATES, counted, number
from svc_http.records import Asked, day_of, told_as
from svc_http.routes.teams import organization_of, spent_by_team, team_of, trend_of
from svc_http.routing import path_id

REQUESTS_MAX = 30_000  # of the newest of all members, so that nobody waits for the page; the API looks at more


async def team(call: BySignIn) -> Response:
    directory = call.service.directory
    wanted, teams = call.query.get("team"), directory.teams_of(call.scope)
    chosen = next(iter(teams), None) if wanted is None else team_of(call, path_id(wanted, "team_id"))
    stays = () if chosen is None else records.stays_in(directory, chosen, EVER, call.own_zone)
    period = await period_of(call, stays)
    times, before_told = _compared(period, call.own_zone)
    organization = organization_of(call)
    members = [each for each in directory.all(records.Membership) if each.active and each.role == "owner"]
    owners = [directory.name_of(each.developer_id) for each in members if each.organization_id == organization.id]
    return await call.show(
        "organization/team.html",
        period=period,
        team=chosen,
        owners=owners,
        minimum=organization.team_minimum,
        states=STATES,
        told=rendering.text_of("lead"),
        before_told=before_told,
        **({} if chosen is None else await _of_team(call, chosen, times)),
        **await _of_peers(call, times),
    )


def _compared(period: Period, zone: ZoneInfo) -> tuple[Sequence[Window], str | None]:
    """Beside the same weekdays of as many weeks before, and what these are called; None where nothing was there."""
    window = period.window
    first, last = local_date(window.start_us, zone), local_date(window.end_us - 1, zone)
    back = timedelta(weeks=(last - first).days // 7 + 1)
    asked = Asked("range", first - back, last - back)
    before = asked.window(zone) if asked.first.year >= 1970 else Window(0, 0)
    is_there = period.oldest_us is not None and period.oldest_us < before.end_us
    return (before, window), told_as(asked, period.today) if is_there else None


async def _of_team(call: BySignIn, chosen: records.Team, times: Sequence[Window]) -> dict[str, Any]:
    directory, zone, window = call.service.directory, call.own_zone, times[-1]
    trend = await trend_of(call, chosen, window, zone)
    stays = records.stays_in(directory, chosen, window, zone)
    cost = await spent_by_team(call, chosen, times, zone)
    members = [each for each in directory.all(records.TeamMembership) if each.team_id == chosen.id]
    present = {each.developer_id for each in members if each.active}
    this_year = local_date(call.service.now_us(), zone).year
    labels = [day_of(each.week_start, this_year, "%b") for each in trend.weeks]
    return {
        "present": present,
        "members": [each for each in cost.members if each.developer_id in present or each.request_count != 0],
        "trend": trend,
        "weeks": [*zip(labels, trend.weeks, strict=True)],
        "chart": _chart(labels, trend.weeks),
        "cost": cost,
        "impact": await call.read(team_throttle, stays, window, REQUESTS_MAX),
    }


def _chart(labels: Sequence[str], weeks: Sequence[TeamWeek]) -> Markup:
    """How work came out, as far as it is told; what is not told, goes on or does not count is grey."""
    bars = []
    for label, week in zip(labels, weeks, strict=True):
        reached, undecided = week.reached or 0, week.undecided or 0
        missed = (week.not_reached or 0) + (week.repeated or 0)
        rest = (week.begun or 0) - reached - undecided - missed
        told = f", {number(reached)} reached, {number(missed)} not, {number(undecided)} undecided"
        is_told = week.begun and week.reached is not None
        about = f"Week of {label}: {counted(week.begun or 0, 'goal')} begun{told if is_told else ''}"
        bars.append(
            Bar(label, (("reached", reached), ("missed", missed), ("undecided", undecided), ("s4", rest)), about)
        )
    return charts.bars("Goals of the team by week", bars, number)


# --- one's own place: beside one's past, and nameless peers --------------------------------------------------------


async def _of_peers(call: BySignIn, times: Sequence[Window]) -> dict[str, Any]:
    window, cohort = times[-1], grades.cohort_of(call.service.directory, call.scope)
    before, now = await call.read(lambda reader, scope: [tally(reader, scope, each) for each in times])
    # The days of a period are the same until midnight, so looking at them again is no further range.
    admitted = call.service.peer_ranges.admits(call.scope.developer_id, window, call.service.now_us())
    found = await call.read(peer_comparison, cohort, window, call.own_zone) if admitted else None
    return {
        "now": now,
        "before": before,
        "cohort": len(cohort),
        "found": found,
        "place": None if found is None else _place(found),
        "peers_min": grades.PEERS_MIN,
        "ranges_max": grades.PEER_RANGES_MAX,
    }


def _place(found: grades.Comparison) -> Markup | None:
    peers, fits = found.distribution, found.interval
    if peers is None:
        return None
    mine = None if found.my_score is None or fits is None else (fits.low, found.my_score, fits.high)
    about = f"Half of the group lies between {peers.p25:.0f} and {peers.p75:.0f} percent, the middle at {peers.p50:.0f}"
    yours = "" if mine is None else f"; yours is {mine[1]:.0f}, likely {mine[0]:.0f} to {mine[2]:.0f}"
    return charts.place(about + yours, (peers.p25, peers.p50, peers.p75), mine)
