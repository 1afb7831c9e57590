"""What teams see of themselves: members only."""

from uuid import UUID
from zoneinfo import ZoneInfo

from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.people.directory import Developer, Directory, Principal, Stay, Team, stays_in
from aggregates.reports.prose import NarrativeRequest
from aggregates.times import calendar_windows, local_date, local_day_bounds
from projections.prices.spending import Asked, team_cost
from projections.reports.days import team_day, team_summary
from svc_http.errors import bad_request, json_reply, not_found
from svc_http.listener import ByKey
from svc_http.params import (
    DATE,
    SHOWN_CHARACTERS,
    TZ,
    WINDOW,
    Parameter,
    Query,
    day_asked,
    language_asked,
    text_parameter,
    tz_asked,
)
from svc_http.ports import Service

UTC = ZoneInfo("UTC")
TEAM_ID = Parameter("team_id", {"type": "string", "format": "uuid"}, "One of the caller's teams.", required=True)
NO_TEAM = {404: "The caller is in no active team of that id."}
_LANG = text_parameter("lang", "`ko` for Korean; English for any other. By default that of the profile.")


async def cost(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What the team spent in the current window, and in the one before, by those who were members on each day."""
    query = request.args
    wanted, name, zone = team_id(query), WINDOW.read(query), tz_asked(query, UTC)
    team = team_of(service, caller, wanted)
    windows = calendar_windows(name, zone, service.now_us(), 2)
    previous, current = (Asked(each, stays_in(service.directory, team, each, zone)) for each in windows)
    before, now = await service.team_spending(caller.scope, (previous, current))
    return json_reply(team_cost(_names(service.directory, current.stays), now, before))


async def daily_summary(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """One day of the team: counts always, a narrative where a text model wrote one."""
    query = request.args
    wanted, zone = team_id(query), tz_asked(query, UTC)
    team, day = team_of(service, caller, wanted), day_asked(query) or local_date(service.now_us(), zone)
    language = language_asked(service, caller, query.get("lang"))
    stays = stays_in(service.directory, team, local_day_bounds(day, zone), zone)
    found = await service.read(caller.scope, team_day, stays, labels=service.narrates(caller.scope.organization_id))
    date = day.isoformat()
    narrative = await service.narrate(
        NarrativeRequest("team", caller.scope, str(wanted), date, zone.key, language, found.work)
    )
    return json_reply(team_summary(wanted, date, zone.key, language, found, narrative))


def team_id(query: Query) -> UUID:
    text = query.get("team_id")
    if text is None:
        raise bad_request("team_id is missing; send the id of one of your teams")
    try:
        return UUID(text)
    except ValueError as error:
        raise bad_request(f"team_id must be a UUID, not {text[:SHOWN_CHARACTERS]!r}") from error


def team_of(service: Service, caller: Principal, wanted: UUID) -> Team:
    """The team, where the caller belongs to it now and it is active. Raises `HttpError` 404."""
    for team in service.directory.teams_of(caller.scope):
        if team.team_id == wanted:
            return team
    raise not_found(f"no team {wanted} of yours")


def _names(directory: Directory, stays: tuple[Stay, ...]) -> dict[UUID, str]:
    known = {stay.developer_id: directory.get(Developer, stay.developer_id) for stay in stays}
    return {developer_id: developer.display_name for developer_id, developer in known.items() if developer is not None}


ROUTES = (
    ByKey("GET", "/v1/team/cost", cost, "What a team spent.", team_cost, (TEAM_ID, WINDOW, TZ), refuses=NO_TEAM),
    ByKey(
        "GET",
        "/v1/team/daily-summary",
        daily_summary,
        "What a team did in one day: counts, and a narrative where a text model wrote one.",
        team_summary,
        (TEAM_ID, DATE, _LANG, TZ),
        refuses=NO_TEAM,
    ),
)
