"""How a command reaches the data: by holding the folder itself, or through the server that holds it.

Both ways offer the same few things, so a command need not know which one it got.
"""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

import httpx
import msgspec
import trio

from aggregates.commands import AnyCommand, Reply
from svc.app import open_service
from svc.catalog_access import CatalogAccess, LocalCatalog, RemoteCatalog
from svc.event_log import EVENTS_FILE
from svc.folder import InUse, held, running
from svc.limits import BUSY_TRIES, POLL_SECONDS, REMOTE_TIMEOUT_SECONDS, RETRY_AFTER_SECONDS_MAX
from svc.rebuilding import build_in_child
from svc.replay import Progress
from svc.rules import checked
from svc.secrets_file import internal_secret
from svc.service import RunningService
from svc.settings import Settings
from svc.views import new_file
from svc_http.server_shown import ReplayStatus

SHOWN_CHARACTERS = 80
"""Of an answer that nobody expected."""


class NotReached(Exception):
    """The data cannot be reached; the message says why and what to do."""


class NotFound(Exception):
    """What was named is not there, or is not the only one; the message says what to type instead."""


class Access(Protocol):
    """What commands do with the data."""

    async def send(self, command: AnyCommand) -> Reply: ...

    async def replay(self, rules_version: int | None, progress: Progress) -> None: ...

    async def replay_status(self) -> ReplayStatus:
        """How far the newest replay has come, whoever asked for it."""

    async def admin(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Ask a route of administration, whichever process answers it. Raises `NotReached` where it refuses."""

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

    async def admin(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """By the very routes that a server has, without a socket: so both ways do the same."""
        # Here: most commands ask no route, and the framework takes a third of a second to import.
        from svc_http.app import build_api

        # Cast: httpx and quart write the same ASGI in different types.
        transport = httpx.ASGITransport(app=cast(Any, build_api(self._service)))
        headers = {"X-Internal-Secret": self._service.settings.internal_secret}
        async with httpx.AsyncClient(transport=transport, base_url="http://svc", headers=headers) as client:
            return checked_answer(await client.request(method, path, **arguments))

    async def send(self, command: AnyCommand) -> Reply:
        return await self._service.send(command)

    async def replay(self, rules_version: int | None, progress: Progress) -> None:
        """Build beside the serving file, then move the pointer; the next start serves from the new one."""
        service, folder = self._service, self._settings.var_path
        path = new_file(folder, checked(rules_version))
        try:
            await build_in_child(progress, {"--var": folder, "--build": path})
        except subprocess.CalledProcessError as error:
            raise NotReached(f"the build stopped with exit code {error.returncode}") from error
        await service.projector.exchange(path)

    async def replay_status(self) -> ReplayStatus:
        """Of this process."""
        return self._service.replay_status()


class Remote:
    """A running server holds the folder."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @property
    def catalog(self) -> CatalogAccess:
        return RemoteCatalog(self._call)

    async def admin(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """By the running server."""
        return await self._call(method, path, **arguments)

    async def send(self, command: AnyCommand) -> Reply:
        """Waits where the server has too much to do: an import may take its time."""
        headers = {"Content-Type": "application/msgpack"}
        body = msgspec.msgpack.encode([command])
        answer = await self._call("POST", "/v1/admin/control/capture", content=body, headers=headers)
        return msgspec.msgpack.decode(answer.content, type=list[Reply])[0]

    async def replay(self, rules_version: int | None, progress: Progress) -> None:
        """Ask the server to build, and follow it."""
        wanted = {} if rules_version is None else {"rules": rules_version}
        await self._call("POST", "/v1/admin/control/replay", json=wanted)
        while True:
            status = await self.replay_status()
            progress(status.done, status.of)
            if status.state == "failed":
                raise NotReached(status.message or "the replay failed; see the server's log")
            if status.state != "running":
                return
            await trio.sleep(POLL_SECONDS)

    async def replay_status(self) -> ReplayStatus:
        """Of the server."""
        answer = await self._call("GET", "/v1/admin/control/replay")
        return msgspec.json.decode(answer.content, type=ReplayStatus)

    async def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        for _ in range(BUSY_TRIES):
            try:
                answer = await self._client.request(method, path, **arguments)
            except httpx.HTTPError as error:
                raise NotReached(f"the running server does not answer: {error or type(error).__name__}") from error
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await trio.sleep(_pause_seconds(answer))
        return checked_answer(answer)


def checked_answer(answer: httpx.Response) -> httpx.Response:
    """The answer of a route, unless it is an error, or none of svc. Raises `NotReached`, which says what came."""
    by_svc = not answer.headers.get("Content-Type", "").startswith("text/html")
    if answer.is_success and by_svc:
        return answer
    reason = _reason(answer) if by_svc else None
    if reason is not None:
        raise NotReached(f"refused: {reason.removeprefix('$: ').removeprefix('$.')}")
    asked = answer.request
    kind = answer.headers.get("Content-Type", "no content type")
    raise NotReached(
        f"{asked.method} {asked.url} was answered with {answer.status_code} and {_beginning(answer)!r} ({kind}), which "
        "is not from svc: see whether a proxy or another program stands there"
    )


def _reason(answer: httpx.Response) -> str | None:
    """What a route of svc says of an error; None where it is somebody else's answer."""
    try:
        said = msgspec.json.decode(answer.content, type=_Refusal)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return said.message or said.reason


class _Refusal(msgspec.Struct):
    message: str | None = None
    reason: str | None = None


def _beginning(answer: httpx.Response) -> str:
    """On one line."""
    words = " ".join(answer.content[: 4 * SHOWN_CHARACTERS].decode(errors="replace").split())
    return words[:SHOWN_CHARACTERS] + ("…" if len(words) > SHOWN_CHARACTERS else "")


def _pause_seconds(answer: httpx.Response) -> float:
    """How long a busy server asks to be left alone; a proxy may say it in another way, which counts as nothing said."""
    wanted = answer.headers.get("Retry-After", "")
    return min(float(wanted), RETRY_AFTER_SECONDS_MAX) if wanted.isdecimal() else POLL_SECONDS
