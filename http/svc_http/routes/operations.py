"""`/v1/admin/control/*`: how the command line works through a running server, since only one process may write."""

from typing import Annotated, Literal

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.command import Reply
from aggregates.decide import AnyCommand, ForgetDeveloper
from aggregates.event import Scope
from aggregates.people.directory import principal
from svc_http.bodies import read_json, read_msgpack
from svc_http.errors import HttpError, bad_request, json_reply, not_found
from svc_http.ports import Service, UnknownRules
from svc_http.routes.catalog import NoSnapshot


class ReplayBody(msgspec.Struct):
    rules: Annotated[int, msgspec.Meta(ge=1, le=2**31)] | None = None


_COMMANDS_DECODER = msgspec.msgpack.Decoder(list[AnyCommand])


_REPLAY_DECODER = msgspec.json.Decoder(ReplayBody)


async def capture(service: Service, request: Request) -> TrioResponse:
    """Carries the commands out in their order; 200 with a reply for each, in msgpack.

    Where the service cannot take one, the answer is 503 and the batch is sent again: commands are idempotent.
    """
    commands = await read_msgpack(request, _COMMANDS_DECODER)
    for command in commands:
        _check_scope(service, command)
    replies: list[Reply] = [await service.send(command) for command in commands]
    return TrioResponse(msgspec.msgpack.encode(replies), 200, content_type="application/msgpack")


def _check_scope(service: Service, command: AnyCommand) -> None:
    if isinstance(command, ForgetDeveloper):
        return  # mostly it is somebody who has left
    if principal(service.directory, Scope(command.organization_id, command.developer_id)) is None:
        raise bad_request(
            f"developer {command.developer_id} is no current member of organization {command.organization_id}; "
            "nothing was stored"
        )


async def start_replay(service: Service, request: Request) -> TrioResponse:
    """202 with the state of the replay that now runs, under these rules or the newest."""
    body = await read_json(request, _REPLAY_DECODER)
    try:
        status = await service.start_replay(body.rules)
    except UnknownRules as error:
        raise not_found(str(error)) from error
    return json_reply(status, 202)


async def replay_status(service: Service, request: Request) -> TrioResponse:
    """How far the last replay has come."""
    return json_reply(service.replay_status())


async def status(service: Service, request: Request) -> TrioResponse:
    """200 with a picture of the server, whatever state it is in."""
    return json_reply(await service.status())


# Whether the service lives, and whether it is ready.

_STORE_REASON = "event store unavailable"


class Health(msgspec.Struct):
    status: Literal["ok"] = "ok"


class NotReady(msgspec.Struct):
    reason: str
    status: Literal["unavailable"] = "unavailable"


async def intake_health(service: Service, request: Request) -> TrioResponse:
    """Plain text, and never a Retry-After: agents' exporters look at nothing else."""
    if await service.store_is_writable():
        return TrioResponse(b"ok", 200, content_type="text/plain")
    return TrioResponse(_STORE_REASON.encode(), 503, content_type="text/plain")


async def api_health(service: Service, request: Request) -> TrioResponse:
    """The process answers and its store takes events."""
    if not await service.store_is_writable():
        raise HttpError(503, _STORE_REASON)
    return json_reply(Health())


async def ready(service: Service, request: Request) -> TrioResponse:
    """Ready is: the store takes events, and prices are there."""
    if not await service.store_is_writable():
        return json_reply(NotReady(_STORE_REASON), 503)
    if service.catalog() is None:
        return json_reply(NoSnapshot(), 503)
    return json_reply(Health())


# `GET /metrics`: what was counted and measured, for Prometheus. No label holds an id or anybody's words.


async def metrics(service: Service, request: Request) -> TrioResponse:
    """In the text format that the Accept header prefers."""
    text, media = service.metrics(request.headers.get("Accept", ""))
    return TrioResponse(text, 200, content_type=media)
