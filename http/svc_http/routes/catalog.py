"""The model catalog: the snapshot for everybody who may see it, and its administration by the command line."""

from typing import Annotated
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.people.directory import Principal
from aggregates.prices.catalog import CatalogRecord, RevisionRecord, catalog_record
from aggregates.prices.decide import CatalogDocument, PublishCatalog, Published, Repriced, RepriceRequests
from aggregates.times import parse_instant
from svc_http.bodies import json_body
from svc_http.errors import HttpError, accepted, bad_request, json_reply
from svc_http.listener import ByKey, BySecret
from svc_http.params import LIMIT, limit
from svc_http.ports import NotRefreshed, Service

NO_SNAPSHOT = "no validated catalog snapshot"


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


async def snapshot(service: Service, request: Request) -> TrioResponse:
    served = service.catalog()
    return json_reply(NoSnapshot(), 503) if served is None else json_reply(catalog_record(served))


async def snapshot_by_key(service: Service, request: Request, caller: Principal) -> TrioResponse:
    return await snapshot(service, request)


async def revisions(service: Service, request: Request) -> TrioResponse:
    return json_reply(await service.catalog_revisions(limit(request.args)))


async def publish(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, PublishBody)
    reply = accepted(await service.change_catalog(PublishCatalog(document=body.document, source=body.source)))
    return json_reply(reply, 201 if getattr(reply, "changed", True) else 200)


async def refresh(service: Service, request: Request) -> TrioResponse:
    try:
        return json_reply(await service.refresh_catalog())
    except NotRefreshed as error:
        raise HttpError(502, str(error)) from error


async def reprice(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, RepriceBody)
    command = RepriceRequests(
        organization_id=body.organization_id, from_us=_instant("from", body.from_time), to_us=_instant("to", body.to)
    )
    return json_reply(accepted(await service.change_catalog(command)), 201)


def _instant(field: str, text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise bad_request(f"{error} - at `$.{field}`") from error


_SNAPSHOT = "The list prices of models; on the API with the internal secret, through intake with a key."
_SNAPSHOTS = {200: CatalogRecord, 503: NoSnapshot}
_CATALOG = "/v1/admin/control/catalog"
ROUTES = (
    ByKey("GET", "/v1/model-catalog", snapshot_by_key, _SNAPSHOT, _SNAPSHOTS, listeners="intake"),
    BySecret("GET", "/v1/model-catalog", snapshot, _SNAPSHOT, _SNAPSHOTS),
    BySecret(
        "GET",
        _CATALOG,
        revisions,
        "Stored revisions of the model catalog, newest first.",
        list[RevisionRecord],
        (LIMIT,),
    ),
    BySecret(
        "POST",
        _CATALOG,
        publish,
        "Publish a model catalog: 200 where the newest one says the same.",
        {201: Published, 200: Published},
        body=PublishBody,
    ),
    BySecret(
        "POST",
        f"{_CATALOG}/refresh",
        refresh,
        "Ask the source of prices now.",
        Published,
        refuses={502: "The source gave nothing that can be used."},
    ),
    BySecret(
        "POST",
        f"{_CATALOG}/reprice",
        reprice,
        "Price what has no price yet.",
        {201: Repriced},
        body=RepriceBody,
        refuses={404: "There is no such organization."},
    ),
)
