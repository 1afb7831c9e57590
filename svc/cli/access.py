"""How a command reaches the data: by holding the folder itself, or through the server that holds it.

Both ways offer the same few things, so a command need not know which one it got.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Protocol, TypeVar, cast

import httpx
import msgspec
import trio

from aggregates.command import Reply
from aggregates.decide import AnyCommand
from aggregates.people.shown import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    TeamMembershipRecord,
    TeamRecord,
)
from svc.app import open_service
from svc.limits import BUSY_TRIES, PAGE_RECORDS, POLL_SECONDS, REMOTE_TIMEOUT_SECONDS, RETRY_AFTER_SECONDS_MAX
from svc.log.folder import InUse, held, internal_secret, running
from svc.log.sqlite import EVENTS_FILE
from svc.service import RunningService
from svc.serving import KEY_START_CHARACTERS
from svc.settings import Settings
from svc.views.replay import Progress, build_in_thread
from svc.views.views import checked, new_file
from svc_http.ports import ReplayStatus
from svc_http.routes.people import DeveloperShown, KeyShown

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
        await build_in_thread(folder, path, progress)
        await service.projector.exchange(path)

    async def replay_status(self) -> ReplayStatus:
        """Of this process."""
        return self._service.replay_status()


class Remote:
    """A running server holds the folder."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

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


# What commands do with people, teams and keys: through the routes of administration, whoever holds the folder.

Kind = Literal["organizations", "developers", "memberships", "teams", "team-memberships", "keys"]


Call = Callable[..., Awaitable[httpx.Response]]
"""Asks a route of administration; raises where that refuses."""


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_R = TypeVar("_R")


_I = TypeVar("_I", bound=_Identified)


class Issued(msgspec.Struct, frozen=True):
    """A new key: its text, shown this once, and its record."""

    key: str
    record: KeyRecord


class People:
    """People are named by their id or, where that is the only one, by their name."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def listed(self, kind: Kind, record: type[_R], **filters: str) -> list[_R]:
        """Every record, page by page, narrowed by ids."""
        found: list[_R] = []
        while True:
            query = {"limit": PAGE_RECORDS, "offset": len(found), **filters}
            answer = await self._call("GET", f"/v1/admin/{kind}", params=query)
            page = msgspec.json.decode(answer.content, type=list[record])  # type: ignore[valid-type]
            found += page
            if len(page) < PAGE_RECORDS:
                return found

    async def create(self, kind: Kind, record: type[_R], **body: Any) -> _R:
        """A new record of this; what is None is left out."""
        answer = await self._call("POST", f"/v1/admin/{kind}", json=_sent(body))
        return msgspec.json.decode(answer.content, type=record)

    async def change(self, kind: Kind, wanted: str, record: type[_R], body: dict[str, Any]) -> _R:
        """The record after a change; here None is sent, as null."""
        answer = await self._call("PATCH", f"/v1/admin/{kind}/{wanted}", json=body)
        return msgspec.json.decode(answer.content, type=record)

    async def end(self, kind: Kind, wanted: str) -> None:
        """End a membership, a team, a stay or a key."""
        await self._call("DELETE", f"/v1/admin/{kind}/{wanted}")

    async def organization(self, named: str | None) -> OrganizationRecord:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = await self.listed("organizations", OrganizationRecord)
        return chosen("organization", known, [each.name for each in known], named)

    async def developer(self, named: str | None) -> DeveloperShown:
        """The one that was named; the only one where none was. Raises `NotFound`."""
        known = await self.listed("developers", DeveloperShown)
        return chosen("developer", known, [each.display_name for each in known], named)

    async def member(self, named: str | None, organization: str | None) -> MembershipRecord:
        """The current membership of the developer that was named; of the only member where none was."""
        if named is not None:
            return await self.membership(await self.developer(named), organization)
        everybody = await self.listed("developers", DeveloperShown)
        current = {each.developer_id for each in await self.listed("memberships", MembershipRecord) if each.active}
        members = [each for each in everybody if each.id in current]
        only = chosen("developer", members, [each.display_name for each in members], None)
        return await self.membership(only, organization)

    async def names(self) -> dict[str, str]:
        """The name of every developer, by id."""
        return {each.id: each.display_name for each in await self.listed("developers", DeveloperShown)}

    async def team(self, named: str) -> TeamRecord:
        """The one that was named; by name, those that are active. Raises `NotFound`."""
        known = await self.listed("teams", TeamRecord)
        return chosen("team", known, [each.name if each.active else "" for each in known], named)

    async def membership(self, developer: DeveloperRecord, organization: str | None) -> MembershipRecord:
        """The current membership of a developer, in the only organization or the one that was named."""
        known = await self.listed("memberships", MembershipRecord, developer_id=developer.id)
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

    async def key(self, named: str) -> KeyRecord:
        """The one with this id, or the only one that begins so. Raises `NotFound`."""
        known = await self.listed("keys", KeyRecord)
        found = [each for each in known if each.key_id == named.lower()] or [
            each for each in known if each.key_start == named[: len(each.key_start)] and not each.revoked
        ]
        if len(found) != 1:
            many = f"{len(found)} keys begin" if found else "no key has this id, and no active one begins"
            raise NotFound(f"{many} with {named[:KEY_START_CHARACTERS]!r}; `svc key list` shows those there are")
        return found[0]

    async def stay(self, team: TeamRecord, developer: DeveloperRecord) -> TeamMembershipRecord:
        """The current stay of a developer in a team. Raises `NotFound`."""
        known = await self.listed("team-memberships", TeamMembershipRecord, team_id=team.id, developer_id=developer.id)
        for each in known:
            if each.active:
                return each
        raise NotFound(f"{developer.display_name} is not in team {team.name}; `svc team members` shows who is")

    async def issue(self, **body: Any) -> Issued:
        """A new key."""
        shown = await self.create("keys", KeyShown, **body)
        record = msgspec.convert(msgspec.structs.asdict(shown), KeyRecord)
        return Issued(shown.key, record)


def _sent(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def chosen(what: str, known: Sequence[_I], names: Sequence[str], named: str | None) -> _I:
    """By id, else by name, else by name in whatever case; without either, the only one there is. Raises `NotFound`."""
    if named is None:
        if len(known) == 1:
            return known[0]
        how = " (--developer)" if what == "developer" else ""
        raise NotFound(f"there are {len(known)} {what}s; say which one{how}, by its name or id: {_some(names)}")
    found = (
        [each for each in known if each.id == named.lower()]
        or [each for each, name in zip(known, names, strict=True) if name == named]
        or [each for each, name in zip(known, names, strict=True) if name.casefold() == named.casefold()]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} {what}s are called {named!r}; use the id: {_some([each.id for each in found])}")
    raise NotFound(
        f"there is no {what} {named!r}; there is {_some(names)} (`svc {_COMMANDS[what]} list` shows their ids)"
    )


def _some(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    shown = [name for name in names if name]
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return (", ".join(shown[:NAMES_SHOWN]) or "none") + more


NAMES_SHOWN = 10
"""So many names stand in one sentence."""


_COMMANDS = {"organization": "org", "developer": "developer", "team": "team"}
