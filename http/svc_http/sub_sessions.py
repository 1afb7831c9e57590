"""Sub-sessions in lists, and the naming of one."""

from typing import Annotated

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.commands import EditTitle, Refused
from aggregates.people import Principal
from projections.sub_sessions import realtime as realtime_rows
from projections.sub_sessions import resolve, rubric_item, rubric_items
from projections.sub_sessions import trivia as trivia_items
from svc_http.bodies import Request, read_json
from svc_http.errors import bad_request, not_found, refusal
from svc_http.params import limit, offset, path_id, time, window_name, windows, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply


class _EditBody(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=60)]
    summary: Annotated[str, msgspec.Meta(max_length=240)] | None = None


_EDIT_DECODER = msgspec.json.Decoder(_EditBody)


async def insight_sessions(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Graded sub-sessions, newest first."""
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, rubric_items, rows, skipped))


async def trivia(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What fell below the substance floor in the window, and why."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, trivia_items, window, rows, skipped))


async def realtime(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Sub-sessions as they stand now, newest first."""
    query = request.args
    from_us = time(query, "from", zone_of(service, caller))
    session_id = query.get("agent_session_id", query.get("claude_session_id"))
    rows, skipped = limit(query), offset(query)
    found = await service.read(caller.scope, realtime_rows, rows, skipped, from_us, session_id)
    return json_reply(found)


async def edit(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Names a sub-session; answers it as it then stands, under its present id."""
    wanted = path_id(sub_session_id, "sub-session")
    body = await read_json(request, _EDIT_DECODER)
    if not body.title.strip():
        raise bad_request("title is blank; send 1 to 60 characters")
    turn_id = await service.read(caller.scope, resolve, wanted)
    if turn_id is None:
        raise not_found(f"no sub-session {wanted} of yours")
    command = EditTitle(
        organization_id=caller.scope.organization_id,
        developer_id=caller.scope.developer_id,
        turn_id=turn_id,
        title=body.title,
        summary=body.summary,
    )
    reply = await service.send(command)
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    item = await service.read(caller.scope, rubric_item, wanted)
    if item is None:
        raise not_found(f"sub-session {wanted} is not there any more")
    return json_reply(item)
