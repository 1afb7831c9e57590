"""`/v1/admin/control/*` for the command line, since only one process may write; the model catalog, and health."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.decide import ForgetDeveloper, SentCommand
from aggregates.event import Reply, Scope
from aggregates.people.entry import principal
from aggregates.prices import catalog
from svc_http.bodies import ErrorBody, HttpError, accepted, json_reply
from svc_http.params import LIMIT, ByKey, BySecret, Call, time_sent
from svc_http.ports import ReplayStatus, Service, Status
from svc_http.routing import Plain, Routes

_COMMANDS_DECODER = msgspec.msgpack.Decoder(list[SentCommand])
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
    commands = await call.body.msgpack(_COMMANDS_DECODER)
    for command in commands:
        if isinstance(command, ForgetDeveloper):
            continue  # mostly it is somebody who has left
        if principal(call.service.directory, Scope(command.organization_id, command.developer_id)) is None:
            who = f"developer {command.developer_id} is no current member of organization {command.organization_id}"
            raise HttpError(400, f"{who}; nothing was stored")
    replies: list[Reply] = [await call.service.send(command) for command in commands]
    return TrioResponse(msgspec.msgpack.encode(replies), 200, content_type="application/msgpack")


@routes(f"POST {_CONTROL}/replay", "Build the scores anew.", status=202)
async def start_replay(call: BySecret) -> ReplayStatus:
    return call.service.start_replay()


@routes(f"GET {_CONTROL}/replay", "How far the newest replay has come.")
async def replay_status(call: BySecret) -> ReplayStatus:
    return call.service.replay_status()


# --- the model catalog ----------------------------------------------------------------------------------------

_SNAPSHOT = "The list prices of models; on the API with the internal secret, through intake with a key."
_PUBLISH = "Publish a model catalog: 200 where the newest one says the same."


class NotReady(msgspec.Struct):
    reason: str
    status: Literal["unavailable"] = "unavailable"


class PublishBody(msgspec.Struct):
    document: catalog.CatalogDocument
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern=r"\S")] = "upload"


class RepriceBody(msgspec.Struct, rename={"from_time": "from"}):
    organization_id: UUID
    from_time: str
    to: str


_SNAPSHOTS, _NO_SNAPSHOT = {200: catalog.CatalogRecord, 503: NotReady}, NotReady("no validated catalog snapshot")


@routes("GET /v1/model-catalog", _SNAPSHOT, answers=_SNAPSHOTS, listeners="intake")
async def snapshot_by_key(call: ByKey) -> TrioResponse:
    return _snapshot(call.service)


@routes("GET /v1/model-catalog", _SNAPSHOT, answers=_SNAPSHOTS)
async def snapshot(call: BySecret) -> TrioResponse:
    return _snapshot(call.service)


def _snapshot(service: Service) -> TrioResponse:
    served = service.catalog()
    return json_reply(_NO_SNAPSHOT, 503) if served is None else json_reply(catalog.catalog_record(served))


@routes(f"GET {_CONTROL}/catalog", "Stored revisions of the model catalog, newest first.", (LIMIT,))
async def revisions(call: BySecret) -> Sequence[catalog.RevisionRecord]:
    return await call.service.catalog_revisions(LIMIT.read(call.query))


@routes(f"POST {_CONTROL}/catalog", _PUBLISH, answers={201: catalog.Published, 200: catalog.Published})
async def publish(call: BySecret, body: PublishBody) -> TrioResponse:
    command = catalog.PublishCatalog(document=body.document, source=body.source)
    reply = accepted(await call.service.change_catalog(command))
    return json_reply(reply, 201 if getattr(reply, "changed", True) else 200)


@routes(f"POST {_CONTROL}/catalog/refresh", "Ask the source of prices now.", refuses={502: "It gave nothing usable."})
async def refresh(call: BySecret) -> catalog.Published:
    return await call.service.refresh_catalog()


_REPRICE, _NO_ORGANIZATION = "Price what has no price yet.", {404: "There is no such organization."}


@routes(f"POST {_CONTROL}/catalog/reprice", _REPRICE, answers=catalog.Repriced, status=201, refuses=_NO_ORGANIZATION)
async def reprice(call: BySecret, body: RepriceBody) -> object:
    from_us, to_us = time_sent("$.from", body.from_time), time_sent("$.to", body.to)
    command = catalog.RequestsRepriced(organization_id=body.organization_id, from_us=from_us, to_us=to_us)
    return accepted(await call.service.change_catalog(command))


# --- whether the service lives, and whether it is ready --------------------------------------------------------

_STORE_REASON = "event store unavailable"


class Health(msgspec.Struct):
    status: Literal["ok"] = "ok"


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
        return json_reply(_NO_SNAPSHOT, 503)
    return json_reply(Health())


@routes("GET /metrics", "Counters and gauges of the process, for Prometheus.", answers=_TEXT)
async def metrics(call: Call) -> TrioResponse:
    text, media = call.service.metrics(call.request.headers.get("Accept", ""))
    return TrioResponse(text, 200, content_type=media)
