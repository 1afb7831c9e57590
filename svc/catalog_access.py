"""What commands do with the catalog, on a folder they hold or through the server that holds it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar
from uuid import UUID

import httpx
import msgspec

from aggregates.catalog_decide import (
    CatalogDocument,
    CatalogRefused,
    CatalogReply,
    PublishCatalog,
    Published,
    Repriced,
    RepriceRequests,
)
from aggregates.catalog_shown import CatalogRecord, RevisionRecord, catalog_record
from aggregates.times import iso
from svc.service import RunningService

_T = TypeVar("_T")
_CONTROL = "/v1/admin/control/catalog"

Call = Callable[..., Awaitable[httpx.Response]]
"""Sends a request to the running server; raises where that refuses."""


class NotDone(Exception):
    """The catalog was not changed or cannot be shown; the message says why and what to do."""


class CatalogAccess(Protocol):
    """The same few things, whoever holds the folder."""

    async def document(self) -> CatalogRecord:
        """What is served."""

    async def revisions(self, limit: int) -> list[RevisionRecord]: ...

    async def publish(self, document: CatalogDocument, source: str) -> Published: ...

    async def refresh(self) -> Published: ...

    async def reprice(self, organization_id: UUID, from_us: int, to_us: int) -> Repriced: ...

    async def organizations(self) -> list[UUID]: ...


class LocalCatalog:
    """The folder is held by this process."""

    def __init__(self, service: RunningService) -> None:
        self._service = service

    async def document(self) -> CatalogRecord:
        """What a server over this folder would serve."""
        served = self._service.catalog()
        if served is None:
            raise NotDone("there is no validated catalog snapshot yet; `svc catalog refresh` publishes one")
        return catalog_record(served)

    async def revisions(self, limit: int) -> list[RevisionRecord]:
        """The newest first."""
        return list(await self._service.catalog_revisions(limit))

    async def publish(self, document: CatalogDocument, source: str) -> Published:
        """Make it the newest revision."""
        reply = await self._service.change_catalog(PublishCatalog(document=document, source=source))
        return _done(reply, Published)

    async def refresh(self) -> Published:
        """Ask the source that the settings name."""
        return await self._service.refresh_catalog()

    async def reprice(self, organization_id: UUID, from_us: int, to_us: int) -> Repriced:
        """Order it for one organization."""
        command = RepriceRequests(organization_id=organization_id, from_us=from_us, to_us=to_us)
        return _done(await self._service.change_catalog(command), Repriced)

    async def organizations(self) -> list[UUID]:
        """Every one there is."""
        return [UUID(each.organization_id) for each in self._service.directory.organizations()]


class RemoteCatalog:
    """A running server holds the folder."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def document(self) -> CatalogRecord:
        """What it serves."""
        return await self._decoded(CatalogRecord, "GET", "/v1/model-catalog")

    async def revisions(self, limit: int) -> list[RevisionRecord]:
        """The newest first."""
        return await self._decoded(list[RevisionRecord], "GET", _CONTROL, params={"limit": limit})

    async def publish(self, document: CatalogDocument, source: str) -> Published:
        """Make it the newest revision."""
        body = msgspec.json.encode({"document": document, "source": source})
        headers = {"Content-Type": "application/json"}
        return await self._decoded(Published, "POST", _CONTROL, content=body, headers=headers)

    async def refresh(self) -> Published:
        """Ask the source that the server's settings name."""
        return await self._decoded(Published, "POST", f"{_CONTROL}/refresh")

    async def reprice(self, organization_id: UUID, from_us: int, to_us: int) -> Repriced:
        """Order it for one organization."""
        body = {"organization_id": str(organization_id), "from": iso(from_us), "to": iso(to_us)}
        return await self._decoded(Repriced, "POST", f"{_CONTROL}/reprice", json=body)

    async def organizations(self) -> list[UUID]:
        """Every one there is."""
        answer = await self._call("GET", "/v1/admin/organizations", params={"limit": 500})
        return [UUID(each["organization_id"]) for each in answer.json()]

    async def _decoded(self, kind: type[_T], method: str, path: str, **arguments: Any) -> _T:
        answer = await self._call(method, path, **arguments)
        return msgspec.json.decode(answer.content, type=kind)


def _done(reply: CatalogReply, kind: type[_T]) -> _T:
    if isinstance(reply, CatalogRefused):
        raise NotDone(reply.message)
    assert isinstance(reply, kind), reply
    return reply
