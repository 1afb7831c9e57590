"""Sub-sessions in lists, one by itself with its prompts, and the naming of one."""

from typing import Annotated
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.commands import EditTitle, Refused
from aggregates.people import Principal
from projections.prompt_rows import prompt_rows
from projections.sub_session_detail import sub_session_detail
from projections.sub_sessions import realtime as realtime_rows
from projections.sub_sessions import resolve, rubric_item, rubric_items, rubric_items_in, speed_rows
from projections.sub_sessions import trivia as trivia_items
from svc_http.bodies import Request, read_json
from svc_http.errors import HttpError, bad_request, not_found, refusal
from svc_http.moments import from_and_to
from svc_http.params import limit, offset, path_id, time, window_name, windows, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply


class EditBody(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=60)]
    summary: Annotated[str, msgspec.Meta(max_length=240)] | None = None


_EDIT_DECODER = msgspec.json.Decoder(EditBody)


async def insight_sessions(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Graded sub-sessions, newest first."""
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, rubric_items, rows, skipped))


async def insight_rubric(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Graded sub-sessions of a range, the last four weeks by default."""
    window = from_and_to(request.args, zone_of(service, caller), service.now_us())
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, rubric_items_in, window, rows, skipped))


async def speed_sessions(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The scored sub-sessions of the window, newest first."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, speed_rows, window, rows, skipped))


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


async def detail(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """One sub-session, open or settled, under its present or any former id."""
    wanted = path_id(sub_session_id, "sub-session")
    found = await service.read(caller.scope, sub_session_detail, wanted)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)


async def prompts(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Its prompts in time order, each with its own rubric."""
    wanted = path_id(sub_session_id, "sub-session")
    rows, skipped = limit(request.args), offset(request.args)
    found = await service.read(caller.scope, prompt_rows, wanted, rows, skipped)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)


def no_sub_session(wanted: UUID) -> HttpError:
    """404: none of that id, or somebody else's."""
    return not_found(f"no sub-session {wanted} of yours")


async def edit(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Names a sub-session; answers it as it then stands, under its present id."""
    wanted = path_id(sub_session_id, "sub-session")
    body = await read_json(request, _EDIT_DECODER)
    if not body.title.strip():
        raise bad_request("title is blank; send 1 to 60 characters")
    turn_id = await service.read(caller.scope, resolve, wanted)
    if turn_id is None:
        raise no_sub_session(wanted)
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
