"""`/v1/admin/control/*`: how the command line works through a running server, since only one process may write."""

from typing import Annotated, Literal

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.decide import AnyCommand, ForgetDeveloper
from aggregates.event import Reply, Scope
from aggregates.people.directory import principal
from svc_http.bodies import json_body, read_msgpack
from svc_http.errors import ErrorBody, HttpError, bad_request, json_reply, not_found
from svc_http.listener import BySecret, Plain, Public
from svc_http.ports import ReplayStatus, Service, Status, UnknownRules
from svc_http.routes.catalog import NoSnapshot


class ReplayBody(msgspec.Struct):
    rules: Annotated[int, msgspec.Meta(ge=1, le=2**31)] | None = None


_COMMANDS_DECODER = msgspec.msgpack.Decoder(list[AnyCommand])
_COMMANDS = Plain("application/msgpack", {})
_TEXT = Plain("text/plain", {"type": "string"})


async def capture(service: Service, request: Request) -> TrioResponse:
    """A reply for each; after a 503 the whole batch is sent again, since commands are idempotent."""
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
    body = await json_body(request, ReplayBody)
    try:
        status = await service.start_replay(body.rules)
    except UnknownRules as error:
        raise not_found(str(error)) from error
    return json_reply(status, 202)


async def replay_status(service: Service, request: Request) -> TrioResponse:
    return json_reply(service.replay_status())


async def status(service: Service, request: Request) -> TrioResponse:
    return json_reply(await service.status())


# --- whether the service lives, and whether it is ready --------------------------------------------------------

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
    if not await service.store_is_writable():
        raise HttpError(503, _STORE_REASON)
    return json_reply(Health())


async def ready(service: Service, request: Request) -> TrioResponse:
    if not await service.store_is_writable():
        return json_reply(NotReady(_STORE_REASON), 503)
    if service.catalog() is None:
        return json_reply(NoSnapshot(), 503)
    return json_reply(Health())


async def metrics(service: Service, request: Request) -> TrioResponse:
    text, media = service.metrics(request.headers.get("Accept", ""))
    return TrioResponse(text, 200, content_type=media)


_CONTROL = "/v1/admin/control"
_HEALTH = "Whether the event store takes events; plain text on intake, JSON on the API."
_HEALTHS = {200: (_TEXT, Health), 503: (_TEXT, ErrorBody)}
ROUTES = (
    Public("GET", "/health", intake_health, _HEALTH, _HEALTHS, listeners="intake"),
    Public("GET", "/health", api_health, _HEALTH, _HEALTHS),
    Public(
        "GET",
        "/health/ready",
        ready,
        "Whether the service is ready: the store takes events, and there are list prices.",
        {200: Health, 503: NotReady},
    ),
    Public("GET", "/metrics", metrics, "Counters and gauges of the process, for Prometheus.", _TEXT),
    BySecret("GET", f"{_CONTROL}/status", status, "The running server.", Status),
    BySecret(
        "POST", f"{_CONTROL}/capture", capture, "Carry out commands of the command line.", _COMMANDS, body=_COMMANDS
    ),
    BySecret(
        "POST",
        f"{_CONTROL}/replay",
        start_replay,
        "Build the scores anew from the log.",
        {202: ReplayStatus},
        body=ReplayBody,
        refuses={404: "There is no such rule set."},
    ),
    BySecret("GET", f"{_CONTROL}/replay", replay_status, "How far the newest replay has come.", ReplayStatus),
)
