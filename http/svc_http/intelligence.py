"""What throttling cost, and what each model was used for."""

from datetime import timedelta, timezone

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from aggregates.stays import stays_in
from aggregates.times import US_PER_DAY
from projections.model_usage import rightsizing as usage_of_models
from projections.throttle import personal_throttle, team_throttle
from svc_http.bodies import Request
from svc_http.errors import HttpError, bad_request
from svc_http.moments import from_and_to, from_until
from svc_http.params import Query, integer, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply
from svc_http.team import team_id, team_of

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
    """Those who were in a team of the caller on each day together, naming nobody; who left since is among them."""
    wanted, zone = team_id(request.args), _offset_zone(request.args)
    window = from_and_to(request.args, zone, service.now_us())
    stays = stays_in(service.directory, team_of(service, caller, wanted), window, zone)
    return json_reply(await service.read(caller.scope, team_throttle, stays, window))


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
