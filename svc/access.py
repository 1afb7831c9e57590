"""How a command reaches the data: by holding the folder itself, or through the server that holds it.

Both ways offer the same few things, so a command need not know which one it got.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar
from uuid import UUID

import httpx
import msgspec
import trio

from aggregates.commands import AnyCommand, Reply
from aggregates.people import KeyRecord, MembershipRecord, PeopleRefused, RevokeKey
from svc import replay
from svc.app import open_service
from svc.catalog_access import CatalogAccess, LocalCatalog, RemoteCatalog
from svc.event_log import EVENTS_FILE
from svc.folder import InUse, held, running
from svc.limits import BUSY_TRIES, PAGE_RECORDS, POLL_SECONDS, REMOTE_TIMEOUT_SECONDS
from svc.rules import checked
from svc.secrets_file import internal_secret, new_key
from svc.service import RunningService
from svc.settings import Settings
from svc.setup import issue_key
from svc.views import new_file
from svc_http.server_shown import ReplayStatus

_R = TypeVar("_R")


class NotReached(Exception):
    """The data cannot be reached; the message says why and what to do."""


class Issued(msgspec.Struct, frozen=True):
    """A new key: its text, shown this once, and its record."""

    key: str
    record: KeyRecord


class Access(Protocol):
    """What commands do with the data."""

    async def send(self, command: AnyCommand) -> Reply: ...

    async def keys(self) -> list[KeyRecord]: ...

    async def issue(self, developer_id: UUID | None, prefix: str, name: str | None) -> Issued:
        """A new key of a developer, by default of the only owner."""

    async def revoke(self, key_id: UUID) -> None: ...

    async def developers(self) -> dict[UUID, UUID]:
        """Every current member, and the organization of each."""

    async def replay(self, rules_version: int | None, progress: replay.Progress) -> None: ...

    @property
    def catalog(self) -> CatalogAccess: ...


@asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator[Access]:
    """Hold the folder, or talk to the server that does. Raises `NotReached`."""
    var = settings.var_path
    if not (var / EVENTS_FILE).exists():
        raise NotReached(f"{var} holds no data yet; run `svc init --var {var}` or `svc serve --var {var}` first")
    try:
        with held(var):
            async with open_service(settings) as service:
                yield Local(service, settings)
        return
    except InUse:
        server = running(var)
    if server is None:
        raise NotReached(f"another svc process holds {var} but serves nothing; wait until it is done")
    headers = {"X-Internal-Secret": internal_secret(var)}
    # The server's own certificate is no matter of trust: the address comes from the folder itself.
    async with httpx.AsyncClient(
        base_url=server.api, headers=headers, timeout=REMOTE_TIMEOUT_SECONDS, verify=False
    ) as client:
        yield Remote(client)


class Local:
    """The folder is held by this process."""

    def __init__(self, service: RunningService, settings: Settings) -> None:
        self._service = service
        self._settings = settings

    @property
    def catalog(self) -> CatalogAccess:
        return LocalCatalog(self._service)

    async def send(self, command: AnyCommand) -> Reply:
        return await self._service.send(command)

    async def keys(self) -> list[KeyRecord]:
        return self._service.directory.keys()

    async def issue(self, developer_id: UUID | None, prefix: str, name: str | None) -> Issued:
        members = await self.developers()
        chosen = _only(members) if developer_id is None else developer_id
        if chosen not in members:
            raise NotReached(f"{chosen} is no current member; `svc key list` shows who has keys")
        key = new_key(prefix)
        command = issue_key(members[chosen], chosen, key, name)
        reply = await self._service.administer(command)
        if isinstance(reply, PeopleRefused):
            raise NotReached(reply.message)
        record = next(each for each in await self.keys() if each.key_id == str(command.credential_id))
        return Issued(key, record)

    async def revoke(self, key_id: UUID) -> None:
        reply = await self._service.administer(RevokeKey(credential_id=key_id))
        if isinstance(reply, PeopleRefused):
            raise NotReached(reply.message)

    async def developers(self) -> dict[UUID, UUID]:
        return {
            UUID(each.developer_id): UUID(each.organization_id)
            for each in self._service.directory.memberships()
            if each.active
        }

    async def replay(self, rules_version: int | None, progress: replay.Progress) -> None:
        """Build beside the serving file, then move the pointer; the next start serves from the new one."""
        service, folder = self._service, self._settings.var_path
        path = new_file(folder, checked(rules_version))
        await trio.to_thread.run_sync(
            lambda: replay.build(path, service.store, service.vault.digester, progress), abandon_on_cancel=True
        )
        await service.projector.exchange(path)


class Remote:
    """A running server holds the folder."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @property
    def catalog(self) -> CatalogAccess:
        return RemoteCatalog(self._call)

    async def send(self, command: AnyCommand) -> Reply:
        """Waits where the server has too much to do: an import may take its time."""
        headers = {"Content-Type": "application/msgpack"}
        body = msgspec.msgpack.encode([command])
        answer = await self._call("POST", "/v1/admin/control/capture", content=body, headers=headers)
        return msgspec.msgpack.decode(answer.content, type=list[Reply])[0]

    async def keys(self) -> list[KeyRecord]:
        return [record async for record in self._listed("/v1/admin/keys", KeyRecord)]

    async def issue(self, developer_id: UUID | None, prefix: str, name: str | None) -> Issued:
        members = await self.developers()
        chosen = _only(members) if developer_id is None else developer_id
        wanted = {"developer_id": str(chosen), "organization_id": str(members.get(chosen)), "prefix": prefix}
        answer = await self._call("POST", "/v1/admin/keys", json=wanted | ({"name": name} if name else {}))
        return Issued(answer.json()["key"], msgspec.json.decode(answer.content, type=KeyRecord))

    async def revoke(self, key_id: UUID) -> None:
        await self._call("DELETE", f"/v1/admin/keys/{key_id}")

    async def developers(self) -> dict[UUID, UUID]:
        return {
            UUID(each.developer_id): UUID(each.organization_id)
            async for each in self._listed("/v1/admin/memberships", MembershipRecord)
            if each.active
        }

    async def replay(self, rules_version: int | None, progress: replay.Progress) -> None:
        """Ask the server to build, and follow it."""
        wanted = {} if rules_version is None else {"rules": rules_version}
        await self._call("POST", "/v1/admin/control/replay", json=wanted)
        while True:
            answer = await self._call("GET", "/v1/admin/control/replay")
            status = msgspec.json.decode(answer.content, type=ReplayStatus)
            progress(status.done, status.of)
            if status.state == "failed":
                raise NotReached(status.message or "the replay failed; see the server's log")
            if status.state != "running":
                return
            await trio.sleep(POLL_SECONDS)

    async def _listed(self, path: str, kind: type[_R]) -> AsyncIterator[_R]:
        """Every record of a listing, page by page."""
        offset = 0
        while True:
            answer = await self._call("GET", path, params={"limit": PAGE_RECORDS, "offset": offset})
            page = msgspec.json.decode(answer.content, type=list[kind])  # type: ignore[valid-type]
            for record in page:
                yield record
            if len(page) < PAGE_RECORDS:
                return
            offset += PAGE_RECORDS

    async def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        for _ in range(BUSY_TRIES):
            try:
                answer = await self._client.request(method, path, **arguments)
            except httpx.HTTPError as error:
                raise NotReached(f"the running server does not answer: {error or type(error).__name__}") from error
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await trio.sleep(float(answer.headers.get("Retry-After", POLL_SECONDS)))
        if answer.is_error:
            said = answer.json()
            raise NotReached(f"the running server refused: {said.get('message') or said.get('reason')}")
        return answer


def _only(members: dict[UUID, UUID]) -> UUID:
    if len(members) != 1:
        raise NotReached(f"there are {len(members)} developers; say which one with --developer ID")
    return next(iter(members))
