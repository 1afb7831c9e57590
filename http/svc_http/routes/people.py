"""`/v1/admin/*`: organizations, developers, memberships, teams and keys, by the internal secret."""

import secrets
import uuid
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.event import Refused
from aggregates.people import commands
from aggregates.people.commands import KEPT_FOR_GOOD, RETENTION_DAYS_MAX, PeopleCommand
from aggregates.people.decide import RULES
from aggregates.people.directory import Developer, Key, Membership, Organization, Record, Team, TeamMembership
from aggregates.times import parse_instant
from projections.facts.facts import Activation
from svc_http.bodies import json_body
from svc_http.errors import HttpError, bad_request, json_reply, no_content, not_found, refusal
from svc_http.listener import BySecret, Open
from svc_http.params import PAGE, limit, offset, path_id, text_parameter
from svc_http.ports import Service

_R = TypeVar("_R", bound=Record)

KEY_BYTES = 32
KEY_START_CHARACTERS = 12

_FILTERS = ("organization_id", "developer_id", "team_id")


class DeveloperShown(Developer, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    activation: Activation


class KeyShown(Key, frozen=True, kw_only=True):
    """A new key, with its text, this once."""

    key: str


class KeyBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    name: str | None = None
    prefix: Literal["svc", "gck", "svc_", "gck_"] = "svc"
    expires_at: str | None = None


_Days = Annotated[int, msgspec.Meta(ge=1, le=RETENTION_DAYS_MAX)]


class OrganizationChange(msgspec.Struct):
    """A retention of null is kept for good from now on; null anywhere else, and what is absent, stays as it was."""

    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: _Days | msgspec.UnsetType | None = msgspec.UNSET
    retention_days_text: _Days | msgspec.UnsetType | None = msgspec.UNSET


_LISTED = (*PAGE, *(text_parameter(name, f"Records with this {name} only, where they carry one.") for name in _FILTERS))
_GONE = {404: "There is nothing of that id."}
_STATUS = {"GET": 200, "POST": 201, "PATCH": 200, "DELETE": 204}


def _route(
    method: Literal["GET", "POST", "PATCH", "DELETE"],
    path: str,
    about: str,
    handler: Open,
    answer: Any = None,
    body: Any = None,
    refuses: Mapping[int, str] | None = None,
) -> BySecret:
    refused = (_GONE if "<" in path else {}) | dict(refuses or {})
    query = _LISTED if method == "GET" else ()
    answers = {_STATUS[method]: answer}
    return BySecret(method, f"/v1/admin/{path}", handler, about, answers, query, body=body, refuses=refused)


def _page(request: Request, records: Iterable[_R]) -> list[_R]:
    """In the order of creation, with filters on the ids that records carry."""
    query = request.args
    wanted = [(name, query[name]) for name in _FILTERS if name in query]
    kept = [each for each in records if all(_carries(each, name, value) for name, value in wanted)]
    first = offset(query)
    return kept[first : first + limit(query)]


def _carries(record: Record, name: str, value: str) -> bool:
    return hasattr(record, name) and str(getattr(record, name)) == value


def _list(path: str, about: str, record: type[_R]) -> BySecret:
    async def handler(service: Service, request: Request) -> TrioResponse:
        return json_reply(_page(request, service.directory.all(record)))

    return _route("GET", path, about, handler, list[record])  # type: ignore[valid-type]


async def _list_developers(service: Service, request: Request) -> TrioResponse:
    states = await service.activation()
    shown = [
        DeveloperShown(**msgspec.structs.asdict(each), activation=states.get(each.id, "waiting"))
        for each in _page(request, service.directory.all(Developer))
    ]
    return json_reply(shown)


async def _carried_out(service: Service, kind: type[PeopleCommand], values: Mapping[str, Any]) -> Record:
    reply = await service.administer(msgspec.convert(values, kind))
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return reply


def _create(path: str, about: str, command: type[PeopleCommand], refuses: Mapping[int, str] | None = None) -> BySecret:
    """201 with the record; an id that the body does not give is new."""
    _, record, _ = RULES[command]
    body = _body(command, f"{record.__name__}Body")
    new_ids = set(command.__struct_fields__) - set(body.__struct_fields__)

    async def handler(service: Service, request: Request) -> TrioResponse:
        values = _values(await json_body(request, body)) | {name: uuid.uuid4() for name in new_ids}
        return json_reply(await _carried_out(service, command, values), 201)

    return _route("POST", path, about, handler, record, body, refuses)


def _change(path: str, about: str, command: type[PeopleCommand], refuses: Mapping[int, str] | None = None) -> BySecret:
    """200 with the record; what is absent stays as it was."""
    _, record, _ = RULES[command]
    body = OrganizationChange if record is Organization else _body(command, f"{record.__name__}Change")

    async def handler(service: Service, request: Request, **ids: str) -> TrioResponse:
        own_id = _own_id(command, ids)
        values = _values(await json_body(request, body))
        return json_reply(await _carried_out(service, command, values | own_id))

    return _route("PATCH", path, about, handler, record, body, refuses)


def _body(command: type[PeopleCommand], name: str) -> type[msgspec.Struct]:
    """A command as it is sent: without the record's id, which is new or stands in the path."""
    _, record, _ = RULES[command]
    fields = [
        (field.name, field.type) if field.required else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(command)
        if field.name != record.__struct_fields__[1]
    ]
    return msgspec.defstruct(name, fields, kw_only=True)


def _end(path: str, about: str, command: type[PeopleCommand]) -> BySecret:
    async def handler(service: Service, request: Request, **ids: str) -> TrioResponse:
        await _carried_out(service, command, _own_id(command, ids))
        return no_content()

    return _route("DELETE", path, about, handler)


def _own_id(command: type[PeopleCommand], ids: Mapping[str, str]) -> dict[str, UUID]:
    """The one id of the path, as the command's first field."""
    ((name, text),) = ids.items()
    return {command.__struct_fields__[0]: path_id(text, name.removesuffix("_id").replace("_", " "))}


async def _create_key(service: Service, request: Request) -> TrioResponse:
    """201 with the record and, this once, the key itself."""
    body = await json_body(request, KeyBody)
    if service.directory.get(Developer, body.developer_id) is None:
        raise not_found(f"no developer {body.developer_id}")
    key = f"{body.prefix.rstrip('_')}_{secrets.token_urlsafe(KEY_BYTES)}"
    values = {
        "credential_id": uuid.uuid4(),
        "organization_id": body.organization_id or _only_organization(service, body.developer_id),
        "developer_id": body.developer_id,
        "key_digest": sha256(key.encode()).hexdigest(),
        "key_start": key[:KEY_START_CHARACTERS],
        "name": body.name,
        "expires_at_us": _expiry(body.expires_at),
    }
    record = await _carried_out(service, commands.IssueKey, values)
    return json_reply(KeyShown(**msgspec.structs.asdict(record), key=key), 201)


def _only_organization(service: Service, developer_id: UUID) -> UUID:
    memberships = service.directory.all(Membership)
    current = [each.organization_id for each in memberships if each.active and each.developer_id == developer_id]
    if len(current) != 1:
        message = f"developer {developer_id} belongs to {len(current)} organizations; say which by organization_id"
        raise HttpError(409, message)
    return current[0]


def _expiry(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError as error:
        raise bad_request(
            "expires_at must be an ISO 8601 time of the years 1970 to 9998, like 2027-01-01T00:00:00Z"
        ) from error


def _values(body: msgspec.Struct) -> dict[str, Any]:
    """As the command has them, for which None is what stays as it was."""
    return {
        name: KEPT_FOR_GOOD if value is None and isinstance(body, OrganizationChange) and "days" in name else value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not msgspec.UNSET
    }


_NO_MEMBER_YET = "The developer is no member of the organization: start a membership first."

ROUTES = (
    _list("organizations", "Every organization.", Organization),
    _create("organizations", "Found an organization.", commands.CreateOrganization),
    _change("organizations/<organization_id>", "Change settings: what is absent stays.", commands.ChangeOrganization),
    _route(
        "GET", "developers", "Every developer, with how far they have come.", _list_developers, list[DeveloperShown]
    ),
    _create("developers", "Enter a developer.", commands.CreateDeveloper),
    _change("developers/<developer_id>", "Change a profile: what is absent or null stays.", commands.ChangeDeveloper),
    _list("memberships", "Every membership, ended ones too.", Membership),
    _create(
        "memberships",
        "Take a developer into an organization.",
        commands.StartMembership,
        {404: "There is no such organization or developer.", 409: "The developer is a member already."},
    ),
    _change(
        "memberships/<membership_id>", "Change a role.", commands.ChangeMembership, {409: "The membership has ended."}
    ),
    _end("memberships/<membership_id>", "End a membership; its keys open nothing any more.", commands.EndMembership),
    _list("teams", "Every team, inactive ones too.", Team),
    _create("teams", "Form a team.", commands.CreateTeam, {404: "There is no such organization."}),
    _end("teams/<team_id>", "Make a team inactive.", commands.EndTeam),
    _list("team-memberships", "Every stay in a team, ended ones too.", TeamMembership),
    _create(
        "team-memberships",
        "Put a developer into a team.",
        commands.AddTeamMember,
        {404: "There is no such active team.", 409: f"The developer is in the team already. {_NO_MEMBER_YET}"},
    ),
    _end("team-memberships/<team_membership_id>", "End a stay in a team.", commands.RemoveTeamMember),
    _list("keys", "Every key by its first characters.", Key),
    _route(
        "POST",
        "keys",
        "Make a key; it is shown this once.",
        _create_key,
        KeyShown,
        KeyBody,
        {404: "There is no such developer.", 409: _NO_MEMBER_YET},
    ),
    _end("keys/<key_id>", "Revoke a key, from the very next request on.", commands.RevokeKey),
)
