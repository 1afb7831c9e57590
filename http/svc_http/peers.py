"""How the caller's completion rate compares with that of the caller's teams."""

from zoneinfo import ZoneInfo

from quart_trio.wrappers import TrioResponse

from aggregates.peers import cohort_of
from aggregates.people import Principal
from projections.peers import peer_comparison
from svc_http.bodies import Request
from svc_http.moments import from_and_to
from svc_http.params import Query, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply
from svc_http.team import zone_asked


async def comparison(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The cohort is that of the caller's active teams; nobody chooses it."""
    zone = _zone(service, caller, request.args)
    window = from_and_to(request.args, zone, service.now_us())
    cohort = cohort_of(service.directory, caller.scope)
    return json_reply(await service.read(caller.scope, peer_comparison, cohort, window, zone))


def _zone(service: Service, caller: Principal, query: Query) -> ZoneInfo:
    """The zone of `tz`, else that of the caller's profile. Raises `HttpError` 400."""
    return zone_asked(query) if query.get("tz", "").strip() else zone_of(service, caller)
