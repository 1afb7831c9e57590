"""`/v1/admin/*`: organizations, developers, memberships, teams and keys, by the internal secret."""

import secrets
import uuid
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated, Literal, TypeVar
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.people.commands import (
    KEPT_FOR_GOOD,
    RETENTION_DAYS_MAX,
    AddTeamMember,
    ChangeDeveloper,
    ChangeMembership,
    ChangeOrganization,
    CreateDeveloper,
    CreateOrganization,
    CreateTeam,
    EndMembership,
    EndTeam,
    IssueKey,
    PeopleCommand,
    RemoveTeamMember,
    RevokeKey,
    StartMembership,
)
from aggregates.people.decide import PeopleRefused
from aggregates.people.directory import Directory
from aggregates.people.records import Developer
from aggregates.people.shown import DeveloperRecord, KeyRecord, Record
from aggregates.times import parse_instant
from projections.facts.prompts import Activation
from svc_http.bodies import read_json
from svc_http.errors import HttpError, bad_request, json_reply, no_content, not_found, refusal
from svc_http.listener import Open
from svc_http.params import limit, offset, path_id
from svc_http.ports import Service

_R = TypeVar("_R", bound=msgspec.Struct)

KEY_BYTES = 32
KEY_START_CHARACTERS = 12

_Role = Literal["owner", "member"]
_Schedules = tuple[Literal["daily", "weekly", "monthly"], ...]


class OrganizationBody(msgspec.Struct):
    name: str


_Days = Annotated[int, msgspec.Meta(ge=1, le=RETENTION_DAYS_MAX)]


class OrganizationChange(msgspec.Struct):
    """A retention of null is kept for good from now on; null anywhere else, and what is absent, stays as it was."""

    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: _Days | msgspec.UnsetType | None = msgspec.UNSET
    retention_days_text: _Days | msgspec.UnsetType | None = msgspec.UNSET


class DeveloperBody(msgspec.Struct):
    display_name: str
    timezone: str | None = None
    language: str | None = None
    report_schedules: _Schedules | None = None


class DeveloperChange(msgspec.Struct):
    """What is absent or null stays as it was."""

    display_name: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: _Schedules | None = None


class MembershipBody(msgspec.Struct):
    organization_id: UUID
    developer_id: UUID
    role: _Role = "member"


class MembershipChange(msgspec.Struct):
    role: _Role


class TeamBody(msgspec.Struct):
    organization_id: UUID
    name: str


class TeamMembershipBody(msgspec.Struct):
    team_id: UUID
    developer_id: UUID


class KeyBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    name: str | None = None
    prefix: Literal["svc", "gck", "svc_", "gck_"] = "svc"
    expires_at: str | None = None


class DeveloperShown(DeveloperRecord, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    activation: Activation


class KeyShown(KeyRecord, frozen=True, kw_only=True):
    """A new key, with its text, this once."""

    key: str


_ORGANIZATION = msgspec.json.Decoder(OrganizationBody)
_ORGANIZATION_CHANGE = msgspec.json.Decoder(OrganizationChange)
_DEVELOPER = msgspec.json.Decoder(DeveloperBody)
_DEVELOPER_CHANGE = msgspec.json.Decoder(DeveloperChange)
_MEMBERSHIP = msgspec.json.Decoder(MembershipBody)
_MEMBERSHIP_CHANGE = msgspec.json.Decoder(MembershipChange)
_TEAM = msgspec.json.Decoder(TeamBody)
_TEAM_MEMBERSHIP = msgspec.json.Decoder(TeamMembershipBody)
_KEY = msgspec.json.Decoder(KeyBody)

# --- lists ------------------------------------------------------------------------------------------------


_FILTERS = ("organization_id", "developer_id", "team_id")


def _listing(records: Callable[[Directory], Sequence[msgspec.Struct]]) -> Open:
    """The route of a list, in the order of creation, with filters on the ids that its records carry."""

    async def handler(service: Service, request: Request) -> TrioResponse:
        return json_reply(_page(request, records(service.directory)))

    return handler


def _page(request: Request, records: Sequence[_R]) -> list[_R]:
    query = request.args
    wanted = [(name, query[name]) for name in _FILTERS if name in query]
    kept = [each for each in records if all(getattr(each, name, None) == value for name, value in wanted)]
    first = offset(query)
    return kept[first : first + limit(query)]


list_organizations = _listing(Directory.organizations)
list_memberships = _listing(Directory.memberships)
list_teams = _listing(Directory.teams)
list_team_memberships = _listing(Directory.team_memberships)
list_keys = _listing(Directory.keys)


async def list_developers(service: Service, request: Request) -> TrioResponse:
    """Every developer, with how far they have come: waiting, key_configured or first_prompt."""
    states = await service.activation()
    shown = [
        DeveloperShown(**msgspec.structs.asdict(each), activation=states.get(UUID(each.developer_id), "waiting"))
        for each in _page(request, service.directory.developers())
    ]
    return json_reply(shown)


# --- creating ---------------------------------------------------------------------------------------------


async def _carried_out(service: Service, command: PeopleCommand) -> Record:
    reply = await service.administer(command)
    if isinstance(reply, PeopleRefused):
        raise refusal(reply.reason, reply.message)
    return reply


async def create_organization(service: Service, request: Request) -> TrioResponse:
    """201 with the record."""
    body = await read_json(request, _ORGANIZATION)
    command = CreateOrganization(organization_id=uuid.uuid4(), name=body.name)
    return json_reply(await _carried_out(service, command), 201)


async def create_developer(service: Service, request: Request) -> TrioResponse:
    """201 with the record; display_name is needed, the rest of the profile may come along."""
    body = await read_json(request, _DEVELOPER)
    command = CreateDeveloper(
        developer_id=uuid.uuid4(),
        display_name=body.display_name,
        timezone=body.timezone,
        language=body.language,
        report_schedules=body.report_schedules,
    )
    return json_reply(await _carried_out(service, command), 201)


async def create_membership(service: Service, request: Request) -> TrioResponse:
    """201 with the record; a former member is taken in again under the same id."""
    body = await read_json(request, _MEMBERSHIP)
    command = StartMembership(organization_id=body.organization_id, developer_id=body.developer_id, role=body.role)
    return json_reply(await _carried_out(service, command), 201)


async def create_team(service: Service, request: Request) -> TrioResponse:
    """201 with the record."""
    body = await read_json(request, _TEAM)
    command = CreateTeam(team_id=uuid.uuid4(), organization_id=body.organization_id, name=body.name)
    return json_reply(await _carried_out(service, command), 201)


async def create_team_membership(service: Service, request: Request) -> TrioResponse:
    """201 with the record of the stay."""
    body = await read_json(request, _TEAM_MEMBERSHIP)
    _check_developer(service, body.developer_id)
    command = AddTeamMember(team_membership_id=uuid.uuid4(), team_id=body.team_id, developer_id=body.developer_id)
    return json_reply(await _carried_out(service, command), 201)


async def create_key(service: Service, request: Request) -> TrioResponse:
    """201 with the record and, this once, the key itself."""
    body = await read_json(request, _KEY)
    _check_developer(service, body.developer_id)
    organization_id = body.organization_id or _only_organization(service, body.developer_id)
    key = f"{body.prefix.rstrip('_')}_{secrets.token_urlsafe(KEY_BYTES)}"
    command = IssueKey(
        credential_id=uuid.uuid4(),
        organization_id=organization_id,
        developer_id=body.developer_id,
        key_digest=sha256(key.encode()).hexdigest(),
        key_start=key[:KEY_START_CHARACTERS],
        name=body.name,
        expires_at_us=_expiry(body.expires_at),
    )
    record = await _carried_out(service, command)
    return json_reply(KeyShown(**msgspec.structs.asdict(record), key=key), 201)


def _check_developer(service: Service, developer_id: UUID) -> None:
    if service.directory.get(Developer, developer_id) is None:
        raise not_found(f"no developer {developer_id}")


def _only_organization(service: Service, developer_id: UUID) -> UUID:
    current = [
        each.organization_id
        for each in service.directory.memberships()
        if each.active and each.developer_id == str(developer_id)
    ]
    if len(current) != 1:
        raise HttpError(
            409, f"developer {developer_id} belongs to {len(current)} organizations; say which by organization_id"
        )
    return UUID(current[0])


def _expiry(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError as error:
        raise bad_request(
            "expires_at must be an ISO 8601 time of the years 1970 to 9998, like 2027-01-01T00:00:00Z"
        ) from error


# --- changing ---------------------------------------------------------------------------------------------


async def change_organization(service: Service, request: Request, organization_id: str) -> TrioResponse:
    """200 with the record; what is absent stays as it was."""
    wanted = path_id(organization_id, "organization")
    body = await read_json(request, _ORGANIZATION_CHANGE)
    command = ChangeOrganization(
        organization_id=wanted,
        name=body.name,
        text_leaves=body.text_leaves,
        redaction=body.redaction,
        retention_days_telemetry=_days(body.retention_days_telemetry),
        retention_days_text=_days(body.retention_days_text),
    )
    return json_reply(await _carried_out(service, command))


def _days(sent: int | msgspec.UnsetType | None) -> int | None:
    """As the command has it, for which None is what stays as it was."""
    match sent:
        case msgspec.UNSET:
            return None
        case None:
            return KEPT_FOR_GOOD
        case _:
            return sent


async def change_developer(service: Service, request: Request, developer_id: str) -> TrioResponse:
    """200 with the record; what is absent or null stays as it was."""
    wanted = path_id(developer_id, "developer")
    body = await read_json(request, _DEVELOPER_CHANGE)
    command = ChangeDeveloper(developer_id=wanted, **msgspec.structs.asdict(body))
    return json_reply(await _carried_out(service, command))


async def change_membership(service: Service, request: Request, membership_id: str) -> TrioResponse:
    """200 with the record."""
    wanted = path_id(membership_id, "membership")
    body = await read_json(request, _MEMBERSHIP_CHANGE)
    command = ChangeMembership(membership_id=wanted, role=body.role)
    return json_reply(await _carried_out(service, command))


# --- ending -----------------------------------------------------------------------------------------------


async def end_membership(service: Service, request: Request, membership_id: str) -> TrioResponse:
    """204; the member's keys for the organization open nothing from now on."""
    await _carried_out(service, EndMembership(membership_id=path_id(membership_id, "membership")))
    return no_content()


async def end_team(service: Service, request: Request, team_id: str) -> TrioResponse:
    """204; the team is inactive."""
    await _carried_out(service, EndTeam(team_id=path_id(team_id, "team")))
    return no_content()


async def end_team_membership(service: Service, request: Request, team_membership_id: str) -> TrioResponse:
    """204; the stay has ended."""
    wanted = path_id(team_membership_id, "team membership")
    await _carried_out(service, RemoveTeamMember(team_membership_id=wanted))
    return no_content()


async def revoke_key(service: Service, request: Request, key_id: str) -> TrioResponse:
    """204; the key fails on the very next request."""
    await _carried_out(service, RevokeKey(credential_id=path_id(key_id, "key")))
    return no_content()
