"""`GET /v1/score_v3/sub-sessions/<id>/explain`: why a sub-session is what it is."""

from quart_trio.wrappers import TrioResponse

from aggregates.people import Principal
from projections.explain import explanation
from svc_http.bodies import Request
from svc_http.params import path_id
from svc_http.ports import Service
from svc_http.replies import json_reply
from svc_http.sub_sessions import no_sub_session


async def explain(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Every part of the conclusion, for people and for programs."""
    wanted = path_id(sub_session_id, "sub-session")
    found = await service.read(caller.scope, explanation, wanted, service.settings.rules_version)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)
