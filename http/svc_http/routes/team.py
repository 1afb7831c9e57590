"""What teams see of themselves: members only."""

from uuid import UUID
from zoneinfo import ZoneInfo

from aggregates.people.directory import Developer, Directory, Stay, Team, stays_in
from aggregates.reports.prose import NarrativeRequest
from aggregates.times import calendar_windows, local_date, local_day_bounds
from projections.prices.spending import Asked, TeamCost, team_cost
from projections.reports.days import TeamSummary, team_day, team_summary
from svc_http.bodies import bad_request, not_found
from svc_http.params import (
    DATE,
    SHOWN_CHARACTERS,
    TZ,
    WINDOW,
    ByKey,
    Parameter,
    Query,
    day_asked,
    language_asked,
    text_parameter,
    tz_asked,
)
from svc_http.routing import Routes

UTC = ZoneInfo("UTC")
TEAM_ID = Parameter("team_id", {"type": "string", "format": "uuid"}, "One of the caller's teams.", required=True)
NO_TEAM = {404: "The caller is in no active team of that id."}
_LANG = text_parameter("lang", "`ko` for Korean; English for any other. By default that of the profile.")
_SUMMARY = "What a team did in one day: counts, and a narrative where a text model wrote one."
routes = Routes()


@routes("GET /v1/team/cost", "What a team spent.", (TEAM_ID, WINDOW, TZ), refuses=NO_TEAM)
async def cost(call: ByKey) -> TeamCost:
    """What the team spent in the current window, and in the one before, by those who were members on each day."""
    wanted, name, zone = team_id(call.query), WINDOW.read(call.query), tz_asked(call.query, UTC)
    team, directory = team_of(call, wanted), call.service.directory
    windows = calendar_windows(name, zone, call.service.now_us(), 2)
    previous, current = (Asked(each, stays_in(directory, team, each, zone)) for each in windows)
    before, now = await call.service.team_spending(call.scope, (previous, current))
    return team_cost(_names(directory, current.stays), now, before)


@routes("GET /v1/team/daily-summary", _SUMMARY, (TEAM_ID, DATE, _LANG, TZ), refuses=NO_TEAM)
async def daily_summary(call: ByKey) -> TeamSummary:
    """One day of the team: counts always, a narrative where a text model wrote one."""
    service, query = call.service, call.query
    wanted, zone = team_id(query), tz_asked(query, UTC)
    team, day = team_of(call, wanted), day_asked(query) or local_date(service.now_us(), zone)
    language, date = language_asked(call, query.get("lang")), day.isoformat()
    stays = stays_in(service.directory, team, local_day_bounds(day, zone), zone)
    found = await call.read(team_day, stays, labels=service.narrates(call.scope.organization_id))
    narrative = await service.narrate(
        NarrativeRequest("team", call.scope, str(wanted), date, zone.key, language, found.work)
    )
    return team_summary(wanted, date, zone.key, language, found, narrative)


def team_id(query: Query) -> UUID:
    text = query.get("team_id")
    if text is None:
        raise bad_request("team_id is missing; send the id of one of your teams")
    try:
        return UUID(text)
    except ValueError as error:
        raise bad_request(f"team_id must be a UUID, not {text[:SHOWN_CHARACTERS]!r}") from error


def team_of(call: ByKey, wanted: UUID) -> Team:
    """The team, where the caller belongs to it now and it is active. Raises `HttpError` 404."""
    for team in call.service.directory.teams_of(call.scope):
        if team.team_id == wanted:
            return team
    raise not_found(f"no team {wanted} of yours")


def _names(directory: Directory, stays: tuple[Stay, ...]) -> dict[UUID, str]:
    known = {stay.developer_id: directory.get(Developer, stay.developer_id) for stay in stays}
    return {developer_id: developer.display_name for developer_id, developer in known.items() if developer is not None}
