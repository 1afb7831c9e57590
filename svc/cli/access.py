"""How a command reaches the data: by the routes of administration, in this process or in the server that holds it."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from aggregates.event import Mendable
from svc.cli import Found
from svc.log.folder import SOCKET, FolderInUse, held, internal_secret, socket_path
from svc.outward import reason_in
from svc.settings import Settings

if TYPE_CHECKING:
    import httpx


REMOTE_TIMEOUT_SECONDS = 60.0  # how long a command waits for one answer of the running server
PAGE_RECORDS = 500  # records a command asks the running server for at once; the most a listing gives
BUSY, BUSY_TRIES, BUSY_SECONDS = 503, 12, 5.0  # so often a command asks a busy server, each so long after the last
REPLAY, FORGET = "/v1/admin/control/replay", "/v1/admin/control/forget"
NAMES_SHOWN = 10  # so many names stand in one sentence


class NotReached(Mendable):
    """The data cannot be reached; the message says why and what to do."""


class NotFound(Mendable):
    """What was named is not there, or is not the only one; the message says what to type instead."""


@contextlib.asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator["Access"]:
    """Hold the folder, or talk to the server that does. Raises `NotReached`."""
    import httpx  # late, as all that takes long to import: a list of commands, and help, wait for none of it

    from svc.log.opening import holds_data

    var = settings.var_path
    if not holds_data(settings.place) and not (var / SOCKET).exists():
        raise NotReached(f"{var} holds no data yet; run `svc init --var {var}` or `svc serve --var {var}` first")
    try:
        with held(var):
            from svc.service import open_service  # late: a running server has all of it loaded
            from svc_http.app import build_api

            async with open_service(settings) as service:
                # Cast: httpx and quart write the same ASGI in different types.
                transport = httpx.ASGITransport(app=cast(Any, build_api(service)))
                headers = {"X-Internal-Secret": service.settings.internal_secret}
                async with httpx.AsyncClient(transport=transport, base_url="http://svc", headers=headers) as client:
                    yield Access(client, 1)
        return
    except FolderInUse:
        if not (var / SOCKET).exists():
            raise NotReached(f"another svc process holds {var} but serves nothing; wait until it is done") from None
    # Never over TCP: after a crash anybody may listen on the server's port.
    with socket_path(var) as path:
        async with httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=path, verify=False),
            base_url="http://localhost",
            headers={"X-Internal-Secret": internal_secret(var)},
            timeout=REMOTE_TIMEOUT_SECONDS,
        ) as client:
            yield Access(client)


class Access:
    """The routes of administration. People are named by their id or, where that is the only one, by their name."""

    def __init__(self, client: "httpx.AsyncClient", tries: int = BUSY_TRIES) -> None:
        """`tries`: how often a busy server is asked."""
        self._client = client
        self._tries = tries

    async def answered(self, method: str, path: str, **arguments: Any) -> "httpx.Response":
        """What a route answers, whatever its status. Raises `NotReached`."""
        import httpx

        try:
            return await self._client.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise NotReached(f"the running server does not answer: {error or type(error).__name__}") from error

    async def admin(self, method: str, path: str, **arguments: Any) -> "httpx.Response":
        """What a route answers. Raises `NotReached` where it refuses."""
        import trio

        for left in reversed(range(self._tries)):
            answer = await self.answered(method, path, **arguments)
            if answer.is_success:
                return answer
            if answer.status_code != BUSY or not left:
                break
            await trio.sleep(BUSY_SECONDS)
        reason = reason_in(answer.content) or f"{method} {path} is answered with {answer.status_code}"
        raise NotReached(f"refused: {reason.removeprefix('$: ').removeprefix('$.')}")

    async def ask(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """The JSON that a route answers; a body is sent as JSON."""
        answer = await self.admin(method, path, params=query, json=msgspec.to_builtins(body))
        return msgspec.json.decode(answer.content or b"null")

    async def listed(self, kind: str, **ids: str | None) -> list[Found]:
        """Every record of a kind, page by page, narrowed by the ids that are given."""
        wanted = {name: each for name, each in ids.items() if each is not None}
        found: list[Found] = []
        while True:
            page = await self.ask("GET", f"/v1/admin/{kind}s", limit=PAGE_RECORDS, offset=len(found), **wanted)
            found += page
            if len(page) < PAGE_RECORDS:
                return found

    async def create(self, kind: str, **body: Any) -> Found:
        """A new record; what is None is left out."""
        sent = {name: value for name, value in body.items() if value is not None}
        return cast(Found, await self.ask("POST", f"/v1/admin/{kind}s", sent))

    async def change(self, kind: str, known: Found, **body: Any) -> Found:
        """The record after a change; here None is sent, as null."""
        return cast(Found, await self.ask("PATCH", f"/v1/admin/{kind}s/{known['id']}", body))

    async def end(self, kind: str, known: Found) -> None:
        await self.ask("DELETE", f"/v1/admin/{kind}s/{known['id']}")

    async def find(self, kind: str, named: str | None) -> Found:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = await self.listed(kind)  # what has ended is named by its id only
        names = {
            each["id"]: (each.get("display_name") or each["name"]) if each.get("active", True) else "" for each in known
        }
        wanted = chosen(kind, names, named)
        return next(each for each in known if each["id"] == wanted)

    async def id_of(self, kind: str, named: str | None) -> str | None:
        """The id of the one that was named; None where none was. Raises `NotFound`."""
        return None if named is None else (await self.find(kind, named))["id"]

    async def organizations(self, named: str | None) -> list[str]:
        """The one that was named, or every one. Raises `NotFound`."""
        found = await self.id_of("organization", named)
        return [each["id"] for each in await self.listed("organization")] if found is None else [found]

    async def names(self) -> dict[str, str]:
        return {each["id"]: each["display_name"] for each in await self.listed("developer")}

    async def member(self, named: str | None, organization: str | None) -> Found:
        """The current membership of the developer that was named; of the only member where none was."""
        scope, names = await self.id_of("organization", organization), await self.names()
        current = [each for each in await self.listed("membership", organization_id=scope) if each["active"]]
        members = {each["developer_id"]: names[each["developer_id"]] for each in current}
        whose = chosen("developer", members if named is None else names, named)
        found = [each for each in current if each["developer_id"] == whose]
        if len(found) == 1:
            return found[0]
        raise NotFound(
            f"{names[whose]} has {len(found)} memberships there; say which by --organization"
            if found
            else f"{names[whose]} is no member there; `svc member list` shows who is"
        )


def chosen(what: str, names: Mapping[str, str], named: str | None) -> str:
    """By id, else by name, else by name in any case; without either, the only one there is. Raises `NotFound`."""
    if named is None:
        if len(names) == 1:
            return next(iter(names))
        which = "which one (--developer)" if what == "developer" else "which one"
        raise NotFound(f"there are {len(names)} {what}s; say {which}, by its name or id: {_some(names.values())}")
    found = (
        [each for each in names if each == named.lower()]
        or [each for each, name in names.items() if name == named]
        or [each for each, name in names.items() if name.casefold() == named.casefold()]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} {what}s are called {named!r}; use the id: {_some(found)}")
    command = "org" if what == "organization" else what
    there = f"there is {_some(names.values())} (`svc {command} list` shows their ids)"
    raise NotFound(f"there is no {what} {named!r}; {there}")


def _some(names: Iterable[str]) -> str:
    shown = [name for name in names if name]
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return (", ".join(shown[:NAMES_SHOWN]) or "none") + more
