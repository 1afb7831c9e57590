"""What teams see of themselves: what they spent, how their days and weeks came out, what held them up; members only."""

from collections.abc import Sequence
from datetime import tzinfo
from uuid import UUID
from zoneinfo import ZoneInfo

from aggregates import times
from aggregates.judging.prompt import language_of
from aggregates.people.directory import Developer, Organization, Team, stays_in
from aggregates.reports.prose import Narration, NarrativeRequest
from aggregates.times import Window
from projections.prices import TeamCost, TeamWindow, team_cost
from projections.reports import TeamSummary, team_day, team_summary, withheld
from projections.scores import throttle
from projections.teams import TeamTrend, team_trend
from svc_http import params
from svc_http.bodies import HttpError
from svc_http.params import ByKey
from svc_http.routes.scores import TZ_OFFSET, offset_zone, periods_in
from svc_http.routing import Routes

UTC = ZoneInfo("UTC")
TEAM_ID = params.Parameter("team_id", {"type": "string", "format": "uuid"}, "One of the caller's teams.", required=True)
_LANG = params.text_parameter("lang", "`ko` for Korean; English for any other. By default that of the profile.")
_SUMMARY = "What a team did in one day: counts, and a narrative where a text model wrote one."
routes = Routes()


@routes("GET /v1/intelligence/throttle/team", "What it cost a team.", (TEAM_ID, *params.FROM_TO, TZ_OFFSET))
async def throttle_of_team(call: ByKey) -> throttle.ThrottleImpact:
    """Those who were in a team of the caller on each day together, naming nobody; who left since is among them."""
    zone = offset_zone(call.query)
    window, team = call.from_and_to(zone), asked_team(call)
    stays = stays_in(call.service.directory, team, window, zone)
    return await call.read(throttle.team_throttle, stays, window)


@routes("GET /v1/team/cost", "What a team spent.", (TEAM_ID, params.WINDOW, params.TZ))
async def cost_of_team(call: ByKey) -> TeamCost:
    name, zone, team = params.WINDOW.read(call.query), call.asked_tz(UTC), asked_team(call)
    return await spent_by_team(call, team, times.calendar_windows(name, zone, call.service.now_us(), 2), zone)


@routes("GET /v1/team/trend", "What a team did and spent week by week.", (TEAM_ID, *params.FROM_TO, params.TZ))
async def trend(call: ByKey) -> TeamTrend:
    zone, team = call.asked_tz(UTC), asked_team(call)
    return await trend_of(call, team, call.from_and_to(zone), zone)


async def trend_of(call: ByKey, team: Team, window: Window, zone: ZoneInfo) -> TeamTrend:
    directory, weeks = call.service.directory, periods_in(window, "week", zone)
    stays = [stays_in(directory, team, each, zone) for each in weeks]
    minimum = organization_of(call).team_minimum
    return await call.read(team_trend, team.team_id, weeks, stays, zone, minimum)


async def spent_by_team(call: ByKey, team: Team, windows: Sequence[Window], zone: tzinfo) -> TeamCost:
    directory = call.service.directory
    previous, current = (TeamWindow(each, stays_in(directory, team, each, zone)) for each in windows)
    before, now = await call.service.team_spending(call.scope, (previous, current))
    developers = (directory.get(Developer, each.developer_id) for each in current.stays)
    return team_cost({each.id: each.display_name for each in developers if each is not None}, now, before)


@routes("GET /v1/team/daily-summary", _SUMMARY, (TEAM_ID, params.DATE, _LANG, params.TZ))
async def daily_summary(call: ByKey) -> TeamSummary:
    service, zone, team = call.service, call.asked_tz(UTC), asked_team(call)
    # The contract's defaults, whatever the zone and whoever asks: what is answered is the whole team's.
    day, language = call.asked_day() or times.local_date(service.now_us(), UTC), language_of(call.query.get("lang"))
    date = day.isoformat()
    stays = stays_in(service.directory, team, times.local_day_bounds(day, zone), zone)
    found, work = await call.read(team_day, stays, labels=service.narrates(call.scope.organization_id))
    reason, told = withheld(found, organization_of(call).team_minimum), Narration("withheld")
    if reason is None:
        asked = NarrativeRequest("team", call.scope, str(team.team_id), date, zone.key, language, work)
        told = await service.narrate(asked)
    return team_summary(team.team_id, date, zone.key, language, found, reason, told)


def asked_team(call: ByKey) -> Team:
    text = call.query.get("team_id")
    if text is None:
        raise HttpError(400, "team_id is missing; send the id of one of your teams")
    return team_of(call, params.id_sent("team_id", text))


def organization_of(call: ByKey) -> Organization:
    found = call.service.directory.get(Organization, call.scope.organization_id)
    assert found is not None, "a caller's organization is there"
    return found


def team_of(call: ByKey, wanted: UUID) -> Team:
    """The team, where the caller belongs to it now and it is active. Raises `HttpError` 404."""
    for team in call.service.directory.teams_of(call.scope):
        if team.team_id == wanted:
            return team
    raise HttpError(404, f"no team {wanted} of yours")
