"""What commands do with people, teams and keys: through the routes of administration, whoever holds the folder."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import httpx
import msgspec

from aggregates.people import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    TeamMembershipRecord,
    TeamRecord,
)
from svc.access import NotFound
from svc.limits import PAGE_RECORDS
from svc.setup import KEY_START_CHARACTERS
from svc_http.admin import DeveloperShown, KeyShown

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
