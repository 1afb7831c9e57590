"""`/v1/admin/*`: organizations, developers, memberships, teams and keys, by the internal secret."""

import csv
import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from io import StringIO
from typing import Annotated, Any, Literal, TypeVar, get_args
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.audit import Act
from aggregates.event import Refused
from aggregates.ids import KEY_START_CHARACTERS, link_stream
from aggregates.people import acts
from aggregates.people.acts import (
    KEPT_FOR_GOOD,
    OWN_ID,
    RETENTION_DAYS_MAX,
    TEAM_MINIMUM_LEAST,
    TEAM_MINIMUM_MOST,
    PeopleAct,
)
from aggregates.people.directory import KINDS, Developer, Key, Membership, Organization, Record, Team, TeamMembership
from aggregates.times import US_PER_SECOND, iso
from svc_http.bodies import HttpError, found, refusal
from svc_http.params import PAGE, BySecret, Choice, choice, text_parameter, time_sent
from svc_http.ports import Service
from svc_http.records import LINK_SECONDS, AuditForm, DeveloperShown, KeyShown, LinkShown, OperatorLink
from svc_http.routing import Plain, Routes

_R = TypeVar("_R", bound=Record)

KEY_BYTES = 32
LINK_SECONDS_MAX = 14 * 24 * 3_600  # an invitation waits some days for its reader
_KEY_START = r"\A(?:svc|gck)_[A-Za-z0-9_-]{8}\Z"

_FILTERS = ("organization_id", "developer_id", "team_id")


class KeyBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    name: str | None = None
    prefix: Literal["svc", "gck", "svc_", "gck_"] = "svc"
    expires_at: str | None = None
    key_digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")] | None = None
    """SHA-256 of a key that exists already and is to open this server too; with `key_start`."""
    key_start: Annotated[str, msgspec.Meta(pattern=_KEY_START)] | None = None


_Days = Annotated[int, msgspec.Meta(ge=1, le=RETENTION_DAYS_MAX)]


class OrganizationChange(msgspec.Struct):
    """A retention of null is kept for good from now on; null anywhere else, and what is absent, stays as it was."""

    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: _Days | msgspec.UnsetType | None = msgspec.UNSET
    retention_days_text: _Days | msgspec.UnsetType | None = msgspec.UNSET
    team_minimum: Annotated[int, msgspec.Meta(ge=TEAM_MINIMUM_LEAST, le=TEAM_MINIMUM_MOST)] | None = None


_LISTED = (*PAGE, *(text_parameter(name, f"Records with this {name} only, where they carry one.") for name in _FILTERS))
_GONE = {404: "There is nothing of that id."}
routes = Routes()


def _page(call: BySecret, record: type[_R]) -> list[_R]:
    """In the order of creation, with filters on the ids that records carry."""
    wanted = {name: call.query[name] for name in _FILTERS if name in call.query}
    kept = [
        each
        for each in call.service.directory.all(record)
        if all(hasattr(each, name) and str(getattr(each, name)) == value for name, value in wanted.items())
    ]
    limit, offset = call.page()
    return kept[offset : offset + limit]


def _list(path: str, about: str, record: type[_R]) -> None:
    @routes(f"GET /v1/admin/{path}", about, _LISTED, answers=list[record])  # type: ignore[valid-type]
    async def handler(call: BySecret) -> list[_R]:
        return _page(call, record)


@routes("GET /v1/admin/developers", "Every developer, with how far they have come.", _LISTED)
async def _list_developers(call: BySecret) -> list[DeveloperShown]:
    states = await call.service.activation()
    return [
        DeveloperShown(**msgspec.structs.asdict(each), activation=states.get(each.id, "waiting"))
        for each in _page(call, Developer)
    ]


async def _carried_out(service: Service, kind: type[PeopleAct], values: Mapping[str, Any]) -> Record:
    reply = await service.administer(msgspec.convert(values, kind))
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return reply


def _create(path: str, about: str, command: type[PeopleAct], refuses: Mapping[int, str] | None = None) -> None:
    """201 with the record; an id that the body does not give is new."""
    record = KINDS[command.ABOUT]
    sent = _body(command, f"{record.__name__}Body")
    new_ids = {*command.__struct_fields__[OWN_ID:]} - set(sent.__struct_fields__)

    @routes(f"POST /v1/admin/{path}", about, answers=record, status=201, body=sent, refuses=refuses or {})
    async def handler(call: BySecret, body: msgspec.Struct) -> Record:
        values = _values(body) | {name: uuid.uuid4() for name in new_ids}
        return await _carried_out(call.service, command, values)


def _change(path: str, about: str, command: type[PeopleAct], refuses: Mapping[int, str] | None = None) -> None:
    """200 with the record; what is absent stays as it was."""
    record = KINDS[command.ABOUT]
    sent = OrganizationChange if record is Organization else _body(command, f"{record.__name__}Change")

    @routes(f"PATCH /v1/admin/{path}", about, answers=record, body=sent, refuses=_GONE | dict(refuses or {}))
    async def handler(call: BySecret, body: msgspec.Struct, **ids: UUID) -> Record:
        return await _carried_out(call.service, command, _values(body) | _own_id(command, ids))


def _body(command: type[PeopleAct], name: str) -> type[msgspec.Struct]:
    """A command as it is sent: without the record's id, which is new or stands in the path."""
    own = command.__struct_fields__[: OWN_ID + 1]
    fields = [
        (each.name, each.type) if each.required else (each.name, each.type, _default(each))
        for each in msgspec.structs.fields(command)
        if each.name not in own
    ]
    return msgspec.defstruct(name, fields, kw_only=True)


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _end(path: str, about: str, command: type[PeopleAct]) -> None:
    @routes(f"DELETE /v1/admin/{path}", about, refuses=_GONE)
    async def handler(call: BySecret, **ids: UUID) -> None:
        await _carried_out(call.service, command, _own_id(command, ids))


def _own_id(command: type[PeopleAct], ids: Mapping[str, UUID]) -> dict[str, UUID]:
    """The one id of the path, as the act's first field."""
    (own_id,) = ids.values()
    return {command.__struct_fields__[OWN_ID]: own_id}


def _values(body: msgspec.Struct) -> dict[str, Any]:
    """As the command has them, for which None is what stays as it was."""
    return {
        name: KEPT_FOR_GOOD if value is None and isinstance(body, OrganizationChange) and "days" in name else value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not msgspec.UNSET
    }


_NO_MEMBER_YET = "The developer is no member of the organization: start a membership first."
_NO_KEY = {404: "There is no such developer.", 409: _NO_MEMBER_YET}


@routes(
    "POST /v1/admin/keys",
    "Make a key, which is shown this once, or let in one that exists.",
    status=201,
    refuses=_NO_KEY,
)
async def _create_key(call: BySecret, body: KeyBody) -> KeyShown:
    found(call.service.directory.get(Developer, body.developer_id), f"no developer {body.developer_id}")
    key, digest, start = None, body.key_digest, body.key_start
    if digest is None and start is None:
        key = f"{body.prefix.rstrip('_')}_{secrets.token_urlsafe(KEY_BYTES)}"
        digest, start = sha256(key.encode()).hexdigest(), key[:KEY_START_CHARACTERS]
    elif digest is None or start is None:
        raise HttpError(400, "an existing key is brought by its key_digest and key_start; send both")
    values = {
        "credential_id": uuid.uuid4(),
        "organization_id": body.organization_id or _only_organization(call.service, body.developer_id),
        "developer_id": body.developer_id,
        "key_digest": digest,
        "key_start": start,
        "name": body.name,
        "expires_at_us": None if body.expires_at is None else time_sent("expires_at", body.expires_at),
    }
    record = await _carried_out(call.service, acts.IssueKey, values)
    return KeyShown(**msgspec.structs.asdict(record), key=key)


def _only_organization(service: Service, developer_id: UUID) -> UUID:
    memberships = service.directory.all(Membership)
    current = [each.organization_id for each in memberships if each.active and each.developer_id == developer_id]
    if len(current) != 1:
        message = f"developer {developer_id} belongs to {len(current)} organizations; say which by organization_id"
        raise HttpError(409, message)
    return current[0]


class LinkBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    seconds: Annotated[int, msgspec.Meta(ge=1, le=LINK_SECONDS_MAX)] = LINK_SECONDS


@routes("POST /v1/admin/links", "Make a link that signs a developer in once.", status=201, refuses=_NO_KEY)
async def _create_link(call: BySecret, body: LinkBody) -> LinkShown:
    found(call.service.directory.get(Developer, body.developer_id), f"no developer {body.developer_id}")
    token = secrets.token_urlsafe(KEY_BYTES)
    values = {
        "link_id": link_stream(sha256(token.encode()).hexdigest()),
        "organization_id": body.organization_id or _only_organization(call.service, body.developer_id),
        "developer_id": body.developer_id,
        "expires_at_us": call.service.now_us() + body.seconds * US_PER_SECOND,
    }
    record = await _carried_out(call.service, acts.OfferLink, values)
    return msgspec.convert(msgspec.structs.asdict(record) | {"path": f"/open/{token}"}, LinkShown)


FORM: Choice[AuditForm] = choice("format", get_args(AuditForm), "ndjson", "One act a line as JSON, or a table.")
_FILES = (Plain("application/x-ndjson", {"type": "string"}), Plain("text/csv", {"type": "string"}))


@routes("GET /v1/admin/audit", "Every act of administration: who, what, when.", (FORM,), answers={200: _FILES})
async def _audit(call: BySecret) -> TrioResponse:
    return audit_file(await call.service.acts(), FORM.read(call.query))


def audit_file(found: Sequence[Act], form: AuditForm) -> TrioResponse:
    """As a file to be kept elsewhere."""
    headers = {"Content-Disposition": f'attachment; filename="svc-audit.{form}"'}
    if form == "csv":
        return TrioResponse(as_table(found), 200, headers, content_type="text/csv")
    return TrioResponse(as_lines(found), 200, headers, content_type="application/x-ndjson")


def as_lines(found: Iterable[Act]) -> bytes:
    """NDJSON: an act a line."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in found)


def as_table(found: Iterable[Act]) -> bytes:
    """CSV with a head; no cell is a formula to the program that opens it."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(Act.__struct_fields__)
    for each in found:
        values = msgspec.structs.asdict(each) | {"details": msgspec.json.encode(each.details).decode()}
        writer.writerow(_harmless(str("" if value is None else value)) for value in values.values())
    return text.getvalue().encode()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


@routes("POST /v1/admin/operator-links", "Make a link that opens the operator's pages once.", status=201)
async def _create_operator_link(call: BySecret) -> OperatorLink:
    token = secrets.token_urlsafe(KEY_BYTES)
    until_us = call.service.operators.offer(sha256(token.encode()).hexdigest(), call.service.now_us())
    return OperatorLink(f"/open/{token}", iso(until_us))


_list("organizations", "Every organization.", Organization)
_create("organizations", "Found an organization.", acts.CreateOrganization)
_change("organizations/<organization_id>", "Change settings: what is absent stays.", acts.ChangeOrganization)
_create("developers", "Enter a developer.", acts.CreateDeveloper)
_change("developers/<developer_id>", "Change a profile: what is absent or null stays.", acts.ChangeDeveloper)
_list("memberships", "Every membership, ended ones too.", Membership)
_create(
    "memberships",
    "Take a developer into an organization.",
    acts.StartMembership,
    {404: "There is no such organization or developer.", 409: "The developer is a member already."},
)
_change("memberships/<membership_id>", "Change a role.", acts.ChangeMembership, {409: "The membership has ended."})
_end("memberships/<membership_id>", "End a membership; its keys open nothing any more.", acts.EndMembership)
_list("teams", "Every team, inactive ones too.", Team)
_create("teams", "Form a team.", acts.CreateTeam, {404: "There is no such organization."})
_end("teams/<team_id>", "Make a team inactive.", acts.EndTeam)
_list("team-memberships", "Every stay in a team, ended ones too.", TeamMembership)
_create(
    "team-memberships",
    "Put a developer into a team.",
    acts.AddTeamMember,
    {404: "There is no such active team.", 409: f"The developer is in the team already. {_NO_MEMBER_YET}"},
)
_end("team-memberships/<team_membership_id>", "End a stay in a team.", acts.RemoveTeamMember)


@routes("GET /v1/admin/keys", "Every key by its first characters, with the day of its last use.", _LISTED)
async def _list_keys(call: BySecret) -> list[Key]:
    return [call.service.uses.shown(each) for each in _page(call, Key)]


_end("keys/<key_id>", "Revoke a key, from the very next request on.", acts.RevokeKey)
