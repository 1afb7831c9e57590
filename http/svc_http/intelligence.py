"""What throttling cost, and what each model was used for."""

from datetime import timedelta, timezone
from uuid import UUID

from quart_trio.wrappers import TrioResponse

from aggregates.directory import Directory
from aggregates.people import Principal
from aggregates.people_records import TeamMembership
from aggregates.scope import Scope
from aggregates.times import US_PER_DAY
from projections.model_usage import rightsizing as usage_of_models
from projections.throttle import personal_throttle, team_throttle
from svc_http.bodies import Request
from svc_http.errors import HttpError, bad_request, not_found
from svc_http.moments import from_and_to, from_until
from svc_http.params import Query, integer, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply

OFFSET_MINUTES = (-12 * 60, 14 * 60)
"""The zones there are, in minutes east of UTC, both included."""
RIGHTSIZING_DAYS = 90


async def throttle(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The caller's own; whole, or 503."""
    window = from_and_to(request.args, _offset_zone(request.args), service.now_us())
    found = await service.read(caller.scope, personal_throttle, window)
    if found is None:
        # Trying again would not help, so there is no Retry-After.
        raise HttpError(503, "the range holds more requests than one read may look at; ask for a shorter range")
    return json_reply(found)


async def throttle_of_team(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The members of a team of the caller together, naming nobody."""
    team_id = _team_id(request.args)
    window = from_and_to(request.args, _offset_zone(request.args), service.now_us())
    if all(team.team_id != team_id for team in service.directory.teams_of(caller.scope)):
        raise not_found(f"no team {team_id} of yours")
    members = _members(service.directory, caller.scope.organization_id, team_id)
    return json_reply(await service.read(caller.scope, team_throttle, members, window))


async def rightsizing(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What each model was used for, and each month."""
    zone = zone_of(service, caller)
    window = from_until(request.args, zone, service.now_us(), RIGHTSIZING_DAYS * US_PER_DAY)
    return json_reply(await service.read(caller.scope, usage_of_models, window, zone))


def _offset_zone(query: Query) -> timezone:
    minutes = integer(query, "tz_offset", 0)
    least, most = OFFSET_MINUTES
    if not least <= minutes <= most:
        raise bad_request(f"tz_offset must be minutes east of UTC, from {least} to {most}")
    return timezone(timedelta(minutes=minutes))


def _team_id(query: Query) -> UUID:
    text = query.get("team_id")
    if text is None:
        raise bad_request("team_id is missing; send the id of one of your teams")
    try:
        return UUID(text)
    except ValueError as error:
        raise bad_request(f"team_id must be a UUID, not {text[:40]!r}") from error


def _members(directory: Directory, organization_id: UUID, team_id: UUID) -> list[Scope]:
    """Who belongs to the team and to the organization now."""
    stays = (stay for stay in directory.all(TeamMembership) if stay.team_id == team_id and stay.ended_at_us is None)
    scopes = (Scope(organization_id, stay.developer_id) for stay in stays)
    return sorted(
        {scope for scope in scopes if directory.membership(scope) is not None},
        key=lambda scope: scope.developer_id,
    )
