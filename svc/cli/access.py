"""How a command reaches the data: by the routes of administration, in this process or in the server that holds it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

import httpx
import msgspec
import trio

from aggregates.decide import AnyCommand
from aggregates.event import Reply
from aggregates.people.directory import Developer, Key, Membership, Organization, Record, Team, TeamMembership
from svc.app import open_service
from svc.limits import BUSY_TRIES, PAGE_RECORDS, POLL_SECONDS, REMOTE_TIMEOUT_SECONDS, RETRY_AFTER_SECONDS_MAX
from svc.log.folder import FolderInUse, held, internal_secret, running
from svc.log.sqlite import EVENTS_FILE
from svc.settings import Settings
from svc.views.replay import Progress
from svc_http.ports import ReplayStatus
from svc_http.routes.people import KEY_START_CHARACTERS, DeveloperShown, KeyShown

T = TypeVar("T")
R = TypeVar("R", bound=Record)

Send = Callable[[AnyCommand], Awaitable[Reply]]

SHOWN_CHARACTERS = 80
"""Of an unexpected answer."""

NAMES_SHOWN = 10
"""So many names stand in one sentence."""

PATHS: dict[type, str] = {
    Organization: "/v1/admin/organizations",
    Developer: "/v1/admin/developers",
    DeveloperShown: "/v1/admin/developers",
    Membership: "/v1/admin/memberships",
    Team: "/v1/admin/teams",
    TeamMembership: "/v1/admin/team-memberships",
    Key: "/v1/admin/keys",
    KeyShown: "/v1/admin/keys",
}


class NotReached(Exception):
    """The data cannot be reached; the message says why and what to do."""


class NotFound(Exception):
    """What was named is not there, or is not the only one; the message says what to type instead."""


@asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator["Access"]:
    """Hold the folder, or talk to the server that does. Raises `NotReached`."""
    var = settings.var_path
    if not (var / EVENTS_FILE).exists():
        raise NotReached(f"{var} holds no data yet; run `svc init --var {var}` or `svc serve --var {var}` first")
    try:
        with held(var):
            async with open_service(settings) as service:
                # Here: the framework takes a third of a second to import.
                from svc_http.app import build_api

                # Cast: httpx and quart write the same ASGI in different types.
                transport = httpx.ASGITransport(app=cast(Any, build_api(service)))
                headers = {"X-Internal-Secret": service.settings.internal_secret}
                async with httpx.AsyncClient(transport=transport, base_url="http://svc", headers=headers) as client:
                    yield Access(client, 1, service.send)
        return
    except FolderInUse:
        server = running(var)
    if server is None:
        raise NotReached(f"another svc process holds {var} but serves nothing; wait until it is done")
    headers = {"X-Internal-Secret": internal_secret(var)}
    # The server's own certificate is no matter of trust: the address comes from the folder itself.
    async with httpx.AsyncClient(
        base_url=server.api, headers=headers, timeout=REMOTE_TIMEOUT_SECONDS, verify=False
    ) as client:
        yield Access(client)


class Access:
    """The routes of administration. People are named by their id or, where that is the only one, by their name."""

    def __init__(self, client: httpx.AsyncClient, tries: int = BUSY_TRIES, send: Send | None = None) -> None:
        """`tries`: how often a busy server is asked; `send`: without a route, which doubles the time of an import."""
        self._client = client
        self._tries = tries
        self._send = send

    async def admin(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """What a route answers. Raises `NotReached` where it refuses."""
        for left in reversed(range(self._tries)):
            try:
                answer = await self._client.request(method, path, **arguments)
            except httpx.HTTPError as error:
                raise NotReached(f"the running server does not answer: {error or type(error).__name__}") from error
            if not left or answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await trio.sleep(_pause_seconds(answer))
        return checked_answer(answer)

    async def ask(self, kind: type[T], method: str, path: str, **arguments: Any) -> T:
        """The JSON that a route answers, as a type."""
        answer = await self.admin(method, path, **arguments)
        return msgspec.json.decode(answer.content, type=kind)

    async def send(self, command: AnyCommand) -> Reply:
        """Have a developer's command carried out."""
        if self._send is not None:
            return await self._send(command)
        headers = {"Content-Type": "application/msgpack"}
        body = msgspec.msgpack.encode([command])
        answer = await self.admin("POST", "/v1/admin/control/capture", content=body, headers=headers)
        return msgspec.msgpack.decode(answer.content, type=list[Reply])[0]

    async def replay(self, rules_version: int | None, progress: Progress) -> None:
        """Have the views built anew, and follow it to its end."""
        wanted = {} if rules_version is None else {"rules": rules_version}
        status = await self.ask(ReplayStatus, "POST", "/v1/admin/control/replay", json=wanted)
        while status.state == "running":
            await trio.sleep(POLL_SECONDS)
            status = await self.replay_status()
            progress(status.done, status.of)
        if status.state == "failed":
            raise NotReached(status.message or "the replay failed; see the server's log")

    async def replay_status(self) -> ReplayStatus:
        """How far the newest replay is."""
        return await self.ask(ReplayStatus, "GET", "/v1/admin/control/replay")

    async def listed(self, kind: type[R], **filters: UUID) -> list[R]:
        """Every record of a kind, page by page, narrowed by ids."""
        found: list[R] = []
        while True:
            query = {"limit": PAGE_RECORDS, "offset": len(found)} | {name: str(each) for name, each in filters.items()}
            page = await self.ask(list[kind], "GET", PATHS[kind], params=query)  # type: ignore[valid-type]
            found += page
            if len(page) < PAGE_RECORDS:
                return found

    async def create(self, kind: type[R], **body: Any) -> R:
        """A new record; what is None is left out."""
        sent = {name: value for name, value in body.items() if value is not None}
        return await self.ask(kind, "POST", PATHS[kind], **_json(sent))

    async def change(self, known: Record, **body: Any) -> Record:
        """The record after a change; here None is sent, as null."""
        path = f"{PATHS[type(known)]}/{known.id}"
        return await self.ask(Developer if isinstance(known, Developer) else type(known), "PATCH", path, **_json(body))

    async def end(self, known: Record) -> None:
        """End a membership, a team, a period in a team or a key."""
        await self.admin("DELETE", f"{PATHS[type(known)]}/{known.id}")

    async def organization(self, named: str | None) -> Organization:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = await self.listed(Organization)
        return chosen("organization", known, [each.name for each in known], named)

    async def organizations(self, named: str | None) -> list[UUID]:
        """The one that was named, or every one. Raises `NotFound`."""
        known = await self.listed(Organization) if named is None else [await self.organization(named)]
        return [each.id for each in known]

    async def developers(self) -> list[DeveloperShown]:
        """Everybody, with how far each has come."""
        return await self.listed(DeveloperShown)

    async def developer(self, named: str | None) -> DeveloperShown:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = await self.developers()
        return chosen("developer", known, [each.display_name for each in known], named)

    async def names(self) -> dict[UUID, str]:
        """The name of every developer, by id."""
        return {each.id: each.display_name for each in await self.developers()}

    async def team(self, named: str) -> Team:
        """The one that was named; by name, those that are active. Raises `NotFound`."""
        known = await self.listed(Team)
        return chosen("team", known, [each.name if each.active else "" for each in known], named)

    async def member(self, named: str | None, organization: str | None) -> Membership:
        """The current membership of the developer that was named; of the only member where none was."""
        if named is not None:
            return await self.membership(await self.developer(named), organization)
        current = {each.developer_id for each in await self.listed(Membership) if each.active}
        members = [each for each in await self.developers() if each.id in current]
        only = chosen("developer", members, [each.display_name for each in members], None)
        return await self.membership(only, organization)

    async def membership(self, developer: Developer, organization: str | None) -> Membership:
        """The current membership of a developer, in the only organization or the one that was named."""
        known = await self.listed(Membership, developer_id=developer.id)
        current = [each for each in known if each.active]
        if organization is not None:
            wanted = (await self.organization(organization)).id
            current = [each for each in current if each.organization_id == wanted]
        if len(current) != 1:
            raise NotFound(
                f"{developer.display_name} has {len(current)} memberships there; say which by --organization"
                if current
                else f"{developer.display_name} is no member there; `svc member list` shows who is"
            )
        return current[0]

    async def team_membership(self, team: Team, developer: Developer) -> TeamMembership:
        """The current period of a developer in a team. Raises `NotFound`."""
        known = await self.listed(TeamMembership, team_id=team.id, developer_id=developer.id)
        for each in known:
            if each.active:
                return each
        raise NotFound(f"{developer.display_name} is not in team {team.name}; `svc team members` shows who is")

    async def key(self, named: str) -> Key:
        """The one with this id, or the only one that begins so. Raises `NotFound`."""
        known = await self.listed(Key)
        found = [each for each in known if str(each.id) == named.lower()] or [
            each for each in known if each.key_start == named[: len(each.key_start)] and not each.revoked
        ]
        if len(found) != 1:
            many = f"{len(found)} keys begin" if found else "no key has this id, and no active one begins"
            raise NotFound(f"{many} with {named[:KEY_START_CHARACTERS]!r}; `svc key list` shows those there are")
        return found[0]


def _json(body: object) -> dict[str, Any]:
    """JSON of ids too, which httpx cannot write."""
    return {"content": msgspec.json.encode(body), "headers": {"Content-Type": "application/json"}}


# --- answers ------------------------------------------------------------------------------------------------


def checked_answer(answer: httpx.Response) -> httpx.Response:
    """The answer of a route, unless it is an error, or none of svc. Raises `NotReached`, which says what came."""
    kind = answer.headers.get("Content-Type", "no content type")
    by_svc = not kind.startswith("text/html")
    if answer.is_success and by_svc:
        return answer
    reason = _reason(answer) if by_svc else None
    if reason is not None:
        raise NotReached(f"refused: {reason.removeprefix('$: ').removeprefix('$.')}")
    asked = answer.request
    raise NotReached(
        f"{asked.method} {asked.url} was answered with {answer.status_code} and {_beginning(answer)!r} ({kind}), which "
        "is not from svc: see whether a proxy or another program stands there"
    )


class _Refusal(msgspec.Struct):
    message: str | None = None
    reason: str | None = None


def _reason(answer: httpx.Response) -> str | None:
    """What a route of svc says of an error; None where the answer is of another program."""
    try:
        said = msgspec.json.decode(answer.content, type=_Refusal)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return said.message or said.reason


def _beginning(answer: httpx.Response) -> str:
    """On one line."""
    words = " ".join(answer.content[: 4 * SHOWN_CHARACTERS].decode(errors="replace").split())
    return words[:SHOWN_CHARACTERS] + ("…" if len(words) > SHOWN_CHARACTERS else "")


def _pause_seconds(answer: httpx.Response) -> float:
    """How long a busy server asks to be left alone; a proxy may say it in another way, which counts as nothing said."""
    wanted = answer.headers.get("Retry-After", "")
    return min(float(wanted), RETRY_AFTER_SECONDS_MAX) if wanted.isdecimal() else POLL_SECONDS


# --- names ------------------------------------------------------------------------------------------------


class _Identified(Protocol):
    @property
    def id(self) -> object: ...


_I = TypeVar("_I", bound=_Identified)
_COMMANDS = {"organization": "org", "developer": "developer", "team": "team"}


def chosen(what: str, known: Sequence[_I], names: Sequence[str], named: str | None) -> _I:
    """By id, else by name, else by name in any case; without either, the only one there is. Raises `NotFound`."""
    if named is None:
        if len(known) == 1:
            return known[0]
        how = " (--developer)" if what == "developer" else ""
        raise NotFound(f"there are {len(known)} {what}s; say which one{how}, by its name or id: {_some(names)}")

    def matching(matches: Callable[[_I, str], bool]) -> list[_I]:
        return [each for each, name in zip(known, names, strict=True) if matches(each, name)]

    found = (
        matching(lambda each, _: str(each.id) == named.lower())
        or matching(lambda _, name: name == named)
        or matching(lambda _, name: name.casefold() == named.casefold())
    )
    if len(found) == 1:
        return found[0]
    if found:
        ids = _some([str(each.id) for each in found])
        raise NotFound(f"{len(found)} {what}s are called {named!r}; use the id: {ids}")
    raise NotFound(
        f"there is no {what} {named!r}; there is {_some(names)} (`svc {_COMMANDS[what]} list` shows their ids)"
    )


def _some(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    shown = [name for name in names if name]
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return (", ".join(shown[:NAMES_SHOWN]) or "none") + more
