"""The model catalog: the snapshot for everybody who may see it, and its administration by the command line."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.prices.catalog import CatalogRecord, RevisionRecord, catalog_record
from aggregates.prices.decide import CatalogDocument, PublishCatalog, Published, Repriced, RepriceRequests
from aggregates.times import parse_instant
from svc_http.bodies import HttpError, accepted, bad_request, json_reply
from svc_http.params import LIMIT, ByKey, BySecret
from svc_http.ports import NotRefreshed, Service
from svc_http.routing import Routes

NO_SNAPSHOT = "no validated catalog snapshot"
_SNAPSHOT = "The list prices of models; on the API with the internal secret, through intake with a key."
_PUBLISH = "Publish a model catalog: 200 where the newest one says the same."
routes = Routes()


class NoSnapshot(msgspec.Struct):
    """The contract's body of a 503: there are no prices."""

    reason: str = NO_SNAPSHOT
    status: str = "unavailable"


class PublishBody(msgspec.Struct):
    document: CatalogDocument
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern=r"\S")] = "upload"


class RepriceBody(msgspec.Struct, rename={"from_time": "from"}):
    organization_id: UUID
    from_time: str
    to: str


_SNAPSHOTS = {200: CatalogRecord, 503: NoSnapshot}


@routes("GET /v1/model-catalog", _SNAPSHOT, answers=_SNAPSHOTS, listeners="intake")
async def snapshot_by_key(call: ByKey) -> TrioResponse:
    return _snapshot(call.service)


@routes("GET /v1/model-catalog", _SNAPSHOT, answers=_SNAPSHOTS)
async def snapshot(call: BySecret) -> TrioResponse:
    return _snapshot(call.service)


def _snapshot(service: Service) -> TrioResponse:
    served = service.catalog()
    return json_reply(NoSnapshot(), 503) if served is None else json_reply(catalog_record(served))


@routes("GET /v1/admin/control/catalog", "Stored revisions of the model catalog, newest first.", (LIMIT,))
async def revisions(call: BySecret) -> Sequence[RevisionRecord]:
    return await call.service.catalog_revisions(LIMIT.read(call.query))


@routes("POST /v1/admin/control/catalog", _PUBLISH, answers={201: Published, 200: Published})
async def publish(call: BySecret, body: PublishBody) -> TrioResponse:
    command = PublishCatalog(document=body.document, source=body.source)
    reply = accepted(await call.service.change_catalog(command))
    return json_reply(reply, 201 if getattr(reply, "changed", True) else 200)


_NO_SOURCE = {502: "The source gave nothing that can be used."}


@routes("POST /v1/admin/control/catalog/refresh", "Ask the source of prices now.", refuses=_NO_SOURCE)
async def refresh(call: BySecret) -> Published:
    try:
        return await call.service.refresh_catalog()
    except NotRefreshed as error:
        raise HttpError(502, str(error)) from error


_NO_ORGANIZATION = {404: "There is no such organization."}


@routes(
    "POST /v1/admin/control/catalog/reprice",
    "Price what has no price yet.",
    answers=Repriced,
    status=201,
    refuses=_NO_ORGANIZATION,
)
async def reprice(call: BySecret, body: RepriceBody) -> object:
    command = RepriceRequests(
        organization_id=body.organization_id, from_us=_instant("from", body.from_time), to_us=_instant("to", body.to)
    )
    return accepted(await call.service.change_catalog(command))


def _instant(field: str, text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise bad_request(f"{error} - at `$.{field}`") from error
