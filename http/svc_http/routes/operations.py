"""`/v1/admin/control/*`: how the command line works through a running server, since only one process may write."""

from typing import Annotated, Literal

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.command import Reply
from aggregates.decide import AnyCommand, ForgetDeveloper
from aggregates.event import Scope
from aggregates.people.directory import principal
from svc_http.bodies import ErrorBody, HttpError, bad_request, json_reply, not_found, read_msgpack
from svc_http.params import BySecret, Call
from svc_http.ports import ReplayStatus, Service, Status, UnknownRules
from svc_http.routes.catalog import NoSnapshot
from svc_http.routing import Plain, Routes

_COMMANDS_DECODER = msgspec.msgpack.Decoder(list[AnyCommand])
_COMMANDS = Plain("application/msgpack", {})
_TEXT = Plain("text/plain", {"type": "string"})
_CONTROL = "/v1/admin/control"
routes = Routes()


@routes(f"GET {_CONTROL}/status", "The running server.")
async def status(call: BySecret) -> Status:
    return await call.service.status()


@routes(f"POST {_CONTROL}/capture", "Carry out commands of the command line.", answers=_COMMANDS, body=_COMMANDS)
async def capture(call: BySecret) -> TrioResponse:
    """A reply for each; after a 503 the whole batch is sent again, since commands are idempotent."""
    commands = await read_msgpack(call.request, _COMMANDS_DECODER)
    for command in commands:
        _check_scope(call.service, command)
    replies: list[Reply] = [await call.service.send(command) for command in commands]
    return TrioResponse(msgspec.msgpack.encode(replies), 200, content_type="application/msgpack")


def _check_scope(service: Service, command: AnyCommand) -> None:
    if isinstance(command, ForgetDeveloper):
        return  # mostly it is somebody who has left
    if principal(service.directory, Scope(command.organization_id, command.developer_id)) is None:
        raise bad_request(
            f"developer {command.developer_id} is no current member of organization {command.organization_id}; "
            "nothing was stored"
        )


class ReplayBody(msgspec.Struct):
    rules: Annotated[int, msgspec.Meta(ge=1, le=2**31)] | None = None


_NO_RULES = {404: "There is no such rule set."}


@routes(f"POST {_CONTROL}/replay", "Build the scores anew from the log.", status=202, refuses=_NO_RULES)
async def start_replay(call: BySecret, body: ReplayBody) -> ReplayStatus:
    try:
        return await call.service.start_replay(body.rules)
    except UnknownRules as error:
        raise not_found(str(error)) from error


@routes(f"GET {_CONTROL}/replay", "How far the newest replay has come.")
async def replay_status(call: BySecret) -> ReplayStatus:
    return call.service.replay_status()


# --- whether the service lives, and whether it is ready --------------------------------------------------------

_STORE_REASON = "event store unavailable"


class Health(msgspec.Struct):
    status: Literal["ok"] = "ok"


class NotReady(msgspec.Struct):
    reason: str
    status: Literal["unavailable"] = "unavailable"


_HEALTH = "Whether the event store takes events; plain text on intake, JSON on the API."
_HEALTHS = {200: (_TEXT, Health), 503: (_TEXT, ErrorBody)}
_READY = "Whether the service is ready: the store takes events, and there are list prices."


@routes("GET /health", _HEALTH, answers=_HEALTHS, listeners="intake")
async def intake_health(call: Call) -> TrioResponse:
    """Plain text, and never a Retry-After: agents' exporters look at nothing else."""
    if await call.service.store_is_writable():
        return TrioResponse(b"ok", 200, content_type="text/plain")
    return TrioResponse(_STORE_REASON.encode(), 503, content_type="text/plain")


@routes("GET /health", _HEALTH, answers=_HEALTHS)
async def api_health(call: Call) -> Health:
    if not await call.service.store_is_writable():
        raise HttpError(503, _STORE_REASON)
    return Health()


@routes("GET /health/ready", _READY, answers={200: Health, 503: NotReady})
async def ready(call: Call) -> TrioResponse:
    if not await call.service.store_is_writable():
        return json_reply(NotReady(_STORE_REASON), 503)
    if call.service.catalog() is None:
        return json_reply(NoSnapshot(), 503)
    return json_reply(Health())


@routes("GET /metrics", "Counters and gauges of the process, for Prometheus.", answers=_TEXT)
async def metrics(call: Call) -> TrioResponse:
    text, media = call.service.metrics(call.request.headers.get("Accept", ""))
    return TrioResponse(text, 200, content_type=media)
