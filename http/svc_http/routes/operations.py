"""`/v1/admin/control/*` for the command line, since only one process may write; the model catalog, and health."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope, shaped
from aggregates.people.entry import principal
from aggregates.prices import catalog
from aggregates.retained import ForgetOrdered
from aggregates.telemetry.batches import Sender
from svc_http.bodies import ErrorBody, HttpError, accepted, json_reply
from svc_http.params import LIMIT, ByKey, BySecret, Call, time_sent
from svc_http.ports import ReplayStatus, Service, Status
from svc_http.routes.capture import ImportBody, Imported, imported
from svc_http.routing import Plain, Routes

_TEXT = Plain("text/plain", {"type": "string"})
_CONTROL = "/v1/admin/control"
routes = Routes()


@routes(f"GET {_CONTROL}/status", "The running server.")
async def status(call: BySecret) -> Status:
    return await call.service.status()


class ImportFor(ImportBody, kw_only=True):
    organization_id: UUID
    developer_id: UUID


@routes(f"POST {_CONTROL}/import", "Import what the command line has read of a developer's session files.")
async def import_for(call: BySecret, body: ImportFor) -> Imported:
    scope = Scope(body.organization_id, body.developer_id)
    if principal(call.service.directory, scope) is None:
        who = f"developer {scope.developer_id} is no current member of organization {scope.organization_id}"
        raise HttpError(400, f"{who}; nothing was stored")
    return await imported(call, Sender(scope, body.source, call.service.digester(scope)), body)


class ForgetBody(msgspec.Struct):
    organization_id: UUID
    developer_id: UUID


@routes(f"POST {_CONTROL}/forget", "Order that the texts of a developer be destroyed, who may have left.", status=204)
async def forget(call: BySecret, body: ForgetBody) -> None:
    accepted(await call.service.send(shaped(ForgetOrdered, body)))


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
    reply = accepted(await call.service.change_catalog(shaped(catalog.PublishCatalog, body)))
    return json_reply(reply, 201 if getattr(reply, "changed", True) else 200)


@routes(f"POST {_CONTROL}/catalog/refresh", "Ask the source of prices now.")
async def refresh(call: BySecret) -> catalog.Published:
    return await call.service.refresh_catalog()


@routes(f"POST {_CONTROL}/catalog/reprice", "Price what has no price yet.", answers=catalog.Repriced, status=201)
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
