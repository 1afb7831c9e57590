"""`/v1/admin/*`: organizations, developers, memberships, teams and keys, by the internal secret."""

import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeVar
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
from aggregates.people.shown import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    Record,
    TeamMembershipRecord,
    TeamRecord,
)
from aggregates.times import parse_instant
from projections.facts.prompts import Activation
from svc_http.bodies import json_body
from svc_http.errors import HttpError, bad_request, json_reply, no_content, not_found, refusal
from svc_http.listener import BySecret, Open
from svc_http.params import PAGE, limit, offset, path_id, text_parameter
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


_FILTERS = ("organization_id", "developer_id", "team_id")


def _page(request: Request, records: Sequence[_R]) -> list[_R]:
    query = request.args
    wanted = [(name, query[name]) for name in _FILTERS if name in query]
    kept = [each for each in records if all(getattr(each, name, None) == value for name, value in wanted)]
    first = offset(query)
    return kept[first : first + limit(query)]


async def list_developers(service: Service, request: Request) -> TrioResponse:
    """Every developer, with how far they have come: waiting, key_configured or first_prompt."""
    states = await service.activation()
    shown = [
        DeveloperShown(**msgspec.structs.asdict(each), activation=states.get(UUID(each.developer_id), "waiting"))
        for each in _page(request, service.directory.developers())
    ]
    return json_reply(shown)


async def _carried_out(service: Service, command: PeopleCommand) -> Record:
    reply = await service.administer(command)
    if isinstance(reply, PeopleRefused):
        raise refusal(reply.reason, reply.message)
    return reply


async def create_organization(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, OrganizationBody)
    command = CreateOrganization(organization_id=uuid.uuid4(), name=body.name)
    return json_reply(await _carried_out(service, command), 201)


async def create_developer(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, DeveloperBody)
    command = CreateDeveloper(
        developer_id=uuid.uuid4(),
        display_name=body.display_name,
        timezone=body.timezone,
        language=body.language,
        report_schedules=body.report_schedules,
    )
    return json_reply(await _carried_out(service, command), 201)


async def create_membership(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, MembershipBody)
    command = StartMembership(organization_id=body.organization_id, developer_id=body.developer_id, role=body.role)
    return json_reply(await _carried_out(service, command), 201)


async def create_team(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, TeamBody)
    command = CreateTeam(team_id=uuid.uuid4(), organization_id=body.organization_id, name=body.name)
    return json_reply(await _carried_out(service, command), 201)


async def create_team_membership(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, TeamMembershipBody)
    _check_developer(service, body.developer_id)
    command = AddTeamMember(team_membership_id=uuid.uuid4(), team_id=body.team_id, developer_id=body.developer_id)
    return json_reply(await _carried_out(service, command), 201)


async def create_key(service: Service, request: Request) -> TrioResponse:
    body = await json_body(request, KeyBody)
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


async def change_organization(service: Service, request: Request, organization_id: str) -> TrioResponse:
    wanted = path_id(organization_id, "organization")
    body = await json_body(request, OrganizationChange)
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
    wanted = path_id(developer_id, "developer")
    body = await json_body(request, DeveloperChange)
    command = ChangeDeveloper(developer_id=wanted, **msgspec.structs.asdict(body))
    return json_reply(await _carried_out(service, command))


async def change_membership(service: Service, request: Request, membership_id: str) -> TrioResponse:
    wanted = path_id(membership_id, "membership")
    body = await json_body(request, MembershipChange)
    command = ChangeMembership(membership_id=wanted, role=body.role)
    return json_reply(await _carried_out(service, command))


# --- routes -----------------------------------------------------------------------------------------------

_LISTED = (*PAGE, *(text_parameter(name, f"Records with this {name} only, where they carry one.") for name in _FILTERS))
_GONE = {404: "There is nothing of that id."}
_NO_MEMBER_YET = "The developer is no member of the organization: start a membership first."


def _list(path: str, records: Callable[[Directory], Sequence[msgspec.Struct]], about: str, record: Any) -> BySecret:
    """The route of a list, in the order of creation, with filters on the ids that its records carry."""

    async def handler(service: Service, request: Request) -> TrioResponse:
        return json_reply(_page(request, records(service.directory)))

    return BySecret("GET", f"/v1/admin/{path}", handler, about, list[record], _LISTED)


def _create(
    path: str, handler: Open, about: str, body: Any, record: Any, refuses: Mapping[int, str] | None = None
) -> BySecret:
    return BySecret("POST", f"/v1/admin/{path}", handler, about, {201: record}, body=body, refuses=refuses or {})


def _change(
    path: str, handler: Open, about: str, body: Any, record: Any, refuses: Mapping[int, str] | None = None
) -> BySecret:
    refused = _GONE | dict(refuses or {})
    return BySecret("PATCH", f"/v1/admin/{path}", handler, about, record, body=body, refuses=refused)


def _end(path: str, command: Callable[[UUID], PeopleCommand], about: str) -> BySecret:
    async def handler(service: Service, request: Request, **ids: str) -> TrioResponse:
        ((name, text),) = ids.items()
        await _carried_out(service, command(path_id(text, name.removesuffix("_id").replace("_", " "))))
        return no_content()

    return BySecret("DELETE", f"/v1/admin/{path}", handler, about, {204: None}, refuses=_GONE)


ROUTES = (
    _list("organizations", Directory.organizations, "Every organization.", OrganizationRecord),
    _create("organizations", create_organization, "Found an organization.", OrganizationBody, OrganizationRecord),
    _change(
        "organizations/<organization_id>",
        change_organization,
        "Change settings: what is absent stays.",
        OrganizationChange,
        OrganizationRecord,
    ),
    BySecret(
        "GET",
        "/v1/admin/developers",
        list_developers,
        "Every developer, with how far they have come.",
        list[DeveloperShown],
        _LISTED,
    ),
    _create("developers", create_developer, "Enter a developer.", DeveloperBody, DeveloperRecord),
    _change(
        "developers/<developer_id>",
        change_developer,
        "Change a profile: what is absent or null stays.",
        DeveloperChange,
        DeveloperRecord,
    ),
    _list("memberships", Directory.memberships, "Every membership, ended ones too.", MembershipRecord),
    _create(
        "memberships",
        create_membership,
        "Take a developer into an organization.",
        MembershipBody,
        MembershipRecord,
        {404: "There is no such organization or developer.", 409: "The developer is a member already."},
    ),
    _change(
        "memberships/<membership_id>",
        change_membership,
        "Change a role.",
        MembershipChange,
        MembershipRecord,
        {409: "The membership has ended."},
    ),
    _end(
        "memberships/<membership_id>",
        lambda wanted: EndMembership(membership_id=wanted),
        "End a membership; its keys open nothing any more.",
    ),
    _list("teams", Directory.teams, "Every team, inactive ones too.", TeamRecord),
    _create("teams", create_team, "Form a team.", TeamBody, TeamRecord, {404: "There is no such organization."}),
    _end("teams/<team_id>", lambda wanted: EndTeam(team_id=wanted), "Make a team inactive."),
    _list(
        "team-memberships", Directory.team_memberships, "Every stay in a team, ended ones too.", TeamMembershipRecord
    ),
    _create(
        "team-memberships",
        create_team_membership,
        "Put a developer into a team.",
        TeamMembershipBody,
        TeamMembershipRecord,
        {404: "There is no such active team.", 409: f"The developer is in the team already. {_NO_MEMBER_YET}"},
    ),
    _end(
        "team-memberships/<team_membership_id>",
        lambda wanted: RemoveTeamMember(team_membership_id=wanted),
        "End a stay in a team.",
    ),
    _list("keys", Directory.keys, "Every key by its first characters.", KeyRecord),
    _create(
        "keys",
        create_key,
        "Make a key; it is shown this once.",
        KeyBody,
        KeyShown,
        {404: "There is no such developer.", 409: _NO_MEMBER_YET},
    ),
    _end(
        "keys/<key_id>", lambda wanted: RevokeKey(credential_id=wanted), "Revoke a key, from the very next request on."
    ),
)
