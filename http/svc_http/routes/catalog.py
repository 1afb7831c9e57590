"""The model catalog: the snapshot for everybody who may see it, and its administration by the command line."""

from typing import Annotated
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.command import Refused
from aggregates.people.directory import Principal
from aggregates.prices.catalog import catalog_record
from aggregates.prices.decide import CatalogDocument, PublishCatalog, RepriceRequests
from aggregates.times import parse_instant
from svc_http.bodies import read_json
from svc_http.errors import HttpError, bad_request, json_reply, refusal
from svc_http.params import limit
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


_PUBLISH_DECODER = msgspec.json.Decoder(PublishBody)
_REPRICE_DECODER = msgspec.json.Decoder(RepriceBody)


async def snapshot(service: Service, request: Request) -> TrioResponse:
    """The newest valid snapshot, the same for every caller; 503 where there is none."""
    served = service.catalog()
    return json_reply(NoSnapshot(), 503) if served is None else json_reply(catalog_record(served))


async def snapshot_by_key(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The same through intake."""
    return await snapshot(service, request)


async def revisions(service: Service, request: Request) -> TrioResponse:
    """Every stored revision, the newest first, without its prices."""
    return json_reply(await service.catalog_revisions(limit(request.args)))


async def publish(service: Service, request: Request) -> TrioResponse:
    """201 with the new revision; 200 where the newest valid one already says the same."""
    body = await read_json(request, _PUBLISH_DECODER)
    reply = await service.change_catalog(PublishCatalog(document=body.document, source=body.source))
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return json_reply(reply, 201 if getattr(reply, "changed", True) else 200)


async def refresh(service: Service, request: Request) -> TrioResponse:
    """200 with the revision that holds the source's newest prices; 502 where it gave none that can be used."""
    try:
        return json_reply(await service.refresh_catalog())
    except NotRefreshed as error:
        raise HttpError(502, str(error)) from error


async def reprice(service: Service, request: Request) -> TrioResponse:
    """201 with the revision by which an organization's unpriced requests are priced."""
    body = await read_json(request, _REPRICE_DECODER)
    command = RepriceRequests(
        organization_id=body.organization_id, from_us=_instant("from", body.from_time), to_us=_instant("to", body.to)
    )
    reply = await service.change_catalog(command)
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return json_reply(reply, 201)


def _instant(field: str, text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise bad_request(f"{error} - at `$.{field}`") from error
