"""`/v1/admin/*`: organizations, developers, memberships, teams and keys, by the internal secret."""

import csv
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import StringIO
from typing import Annotated, Any, Literal, TypeVar, get_args
from uuid import UUID, uuid4

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.audit import Act
from aggregates.event import Scope, shaped
from aggregates.ids import KEY_START_CHARACTERS, link_stream
from aggregates.people import acts
from aggregates.people.directory import KINDS, Developer, Key, Membership, Organization, Record, Team, TeamMembership
from aggregates.times import US_PER_SECOND, iso
from svc_http.bodies import HttpError, accepted, found
from svc_http.params import PAGE, BySecret, Choice, choice, text_parameter, time_sent
from svc_http.records import LINK_SECONDS, AuditForm, DeveloperShown, KeyShown, LinkShown, OperatorLink
from svc_http.routing import Plain, Routes

_R = TypeVar("_R", bound=Record)
KEY_BYTES = 32
LINK_SECONDS_MAX = 14 * 24 * 3_600  # an invitation waits some days for its reader
_KEY_START = r"\A(?:svc|gck)_[A-Za-z0-9_-]{8}\Z"
_FILTERS = ("organization_id", "developer_id", "team_id")
_LISTED = (*PAGE, *(text_parameter(name, f"Records with this {name} only, where they carry one.") for name in _FILTERS))
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


_list("organizations", "Every organization.", Organization)
_list("memberships", "Every membership, ended ones too.", Membership)
_list("teams", "Every team, inactive ones too.", Team)
_list("team-memberships", "Every stay in a team, ended ones too.", TeamMembership)


@routes("GET /v1/admin/developers", "Every developer, with how far they have come.", _LISTED)
async def _list_developers(call: BySecret) -> list[DeveloperShown]:
    states = await call.service.activation()
    told = [(each, states.get(each.id, "waiting")) for each in _page(call, Developer)]
    return [shaped(DeveloperShown, each, activation=activation) for each, activation in told]


@routes("GET /v1/admin/keys", "Every key by its first characters, with the day of its last use.", _LISTED)
async def _list_keys(call: BySecret) -> list[Key]:
    return [call.service.uses.shown(each) for each in _page(call, Key)]


_Days = Annotated[int, msgspec.Meta(ge=1, le=acts.RETENTION_DAYS_MAX)]


class OrganizationChange(msgspec.Struct):
    """A retention of null is kept for good from now on; null anywhere else, and what is absent, stays as it was."""

    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: _Days | msgspec.UnsetType | None = msgspec.UNSET
    retention_days_text: _Days | msgspec.UnsetType | None = msgspec.UNSET
    team_minimum: Annotated[int, msgspec.Meta(ge=acts.TEAM_MINIMUM_LEAST, le=acts.TEAM_MINIMUM_MOST)] | None = None


def _act(at: str, about: str, command: type[acts.PeopleAct]) -> None:
    """A route for an act. Its id stands in the path, or is new; POST and PATCH answer the record."""
    method, _, path = at.partition(" ")
    record, own_id = KINDS[command.about()], command.__struct_fields__[acts.OWN_ID]

    async def carried_out(call: BySecret, ids: Mapping[str, UUID], values: Mapping[str, Any]) -> msgspec.Struct:
        act = msgspec.convert({**values, own_id: next(iter(ids.values()), None) or uuid4()}, command)
        return accepted(await call.service.administer(act))

    if method == "DELETE":

        @routes(f"DELETE /v1/admin/{path}", about)
        async def end(call: BySecret, **ids: UUID) -> None:
            await carried_out(call, ids, {})

        return
    status, sent = (201, _body(command, "Body")) if command.begins() else (200, _body(command, "Change"))

    @routes(f"{method} /v1/admin/{path}", about, answers=record, status=status, body=sent)
    async def handler(call: BySecret, body: msgspec.Struct, **ids: UUID) -> msgspec.Struct:
        values = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET}
        kept = [name for name, value in values.items() if value is None and name.startswith("retention_")]
        return await carried_out(call, ids, values | dict.fromkeys(kept, acts.KEPT_FOR_GOOD))


def _body(command: type[acts.PeopleAct], end: str) -> type[msgspec.Struct]:
    """A command as it is sent: without the record's id, which is new or stands in the path."""
    if command is acts.ChangeOrganization:
        return OrganizationChange
    fields: list[Any] = []
    for each in msgspec.structs.fields(command)[acts.OWN_ID + 1 :]:
        default = each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory()
        fields.append((each.name, each.type) if each.required else (each.name, each.type, default))
    return msgspec.defstruct(f"{KINDS[command.about()].__name__}{end}", fields, kw_only=True)


_act("POST organizations", "Found an organization.", acts.CreateOrganization)
_act("PATCH organizations/<organization_id>", "Change settings: what is absent stays.", acts.ChangeOrganization)
_act("POST developers", "Enter a developer.", acts.CreateDeveloper)
_act("PATCH developers/<developer_id>", "Change a profile: what is absent or null stays.", acts.ChangeDeveloper)
_act("POST memberships", "Take a developer into an organization.", acts.StartMembership)
_act("PATCH memberships/<membership_id>", "Change a role.", acts.ChangeMembership)
_act("DELETE memberships/<membership_id>", "End a membership; its keys open nothing any more.", acts.EndMembership)
_act("POST teams", "Form a team.", acts.CreateTeam)
_act("DELETE teams/<team_id>", "Make a team inactive.", acts.EndTeam)
_act("POST team-memberships", "Put a developer into a team.", acts.AddTeamMember)
_act("DELETE team-memberships/<team_membership_id>", "End a stay in a team.", acts.RemoveTeamMember)
_act("DELETE keys/<key_id>", "Revoke a key, from the very next request on.", acts.RevokeKey)


# --- keys and links: their texts are shown once, and stored nowhere -------------------------------------------


def digest_of(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def new_key(scope: Scope, prefix: str = "svc", **more: Any) -> tuple[str, acts.IssueKey]:
    key = f"{prefix}_{secrets.token_urlsafe(KEY_BYTES)}"
    return key, issued(scope, digest_of(key), key[:KEY_START_CHARACTERS], **more)


def issued(scope: Scope, digest: str, start: str, **more: Any) -> acts.IssueKey:
    """`more`: its name, when it expires, and the link by which it came."""
    return shaped(acts.IssueKey, scope, credential_id=uuid4(), key_digest=digest, key_start=start, **more)


def new_link(scope: Scope, until_us: int, came_by: UUID | None = None) -> tuple[str, acts.OfferLink]:
    token = secrets.token_urlsafe(KEY_BYTES)
    link_id = link_stream(digest_of(token))
    return token, shaped(acts.OfferLink, scope, link_id=link_id, expires_at_us=until_us, came_by=came_by)


class KeyBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    name: str | None = None
    prefix: Literal["svc", "gck", "svc_", "gck_"] = "svc"
    expires_at: str | None = None
    key_digest: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")] | None = None
    """SHA-256 of a key that exists already and is to open this server too; with `key_start`."""
    key_start: Annotated[str, msgspec.Meta(pattern=_KEY_START)] | None = None


class LinkBody(msgspec.Struct):
    developer_id: UUID
    organization_id: UUID | None = None
    seconds: Annotated[int, msgspec.Meta(ge=1, le=LINK_SECONDS_MAX)] = LINK_SECONDS


def _whose(call: BySecret, body: KeyBody | LinkBody) -> Scope:
    """In the only organization of the developer, where none is named. Raises `HttpError` 404 or 409."""
    directory, developer_id = call.service.directory, body.developer_id
    found(directory.get(Developer, developer_id), f"no developer {developer_id}")
    memberships = (each for each in directory.all(Membership) if each.active and each.developer_id == developer_id)
    current = [body.organization_id] if body.organization_id else [each.organization_id for each in memberships]
    if len(current) != 1:
        message = f"developer {developer_id} belongs to {len(current)} organizations; say which by organization_id"
        raise HttpError(409, message)
    return Scope(current[0], developer_id)


@routes("POST /v1/admin/keys", "Make a key, which is shown this once, or let in one that exists.", status=201)
async def _create_key(call: BySecret, body: KeyBody) -> KeyShown:
    scope, key = _whose(call, body), None
    expires_at_us = None if body.expires_at is None else time_sent("expires_at", body.expires_at)
    if body.key_digest is not None and body.key_start is not None:
        act = issued(scope, body.key_digest, body.key_start, name=body.name, expires_at_us=expires_at_us)
    elif body.key_digest is body.key_start:
        key, act = new_key(scope, body.prefix.rstrip("_"), name=body.name, expires_at_us=expires_at_us)
    else:
        raise HttpError(400, "an existing key is brought by its key_digest and key_start; send both")
    return shaped(KeyShown, accepted(await call.service.administer(act)), key=key)


@routes("POST /v1/admin/links", "Make a link that signs a developer in once.", status=201)
async def _create_link(call: BySecret, body: LinkBody) -> LinkShown:
    token, offer = new_link(_whose(call, body), call.service.now_us() + body.seconds * US_PER_SECOND)
    return shaped(LinkShown, accepted(await call.service.administer(offer)), path=f"/open/{token}")


@routes("POST /v1/admin/operator-links", "Make a link that opens the operator's pages once.", status=201)
async def _create_operator_link(call: BySecret) -> OperatorLink:
    token = secrets.token_urlsafe(KEY_BYTES)
    until_us = call.service.operator_links.begin(digest_of(token), call.service.now_us())
    return OperatorLink(f"/open/{token}", iso(until_us))


# --- every act, as a file -------------------------------------------------------------------------------------

FORM: Choice[AuditForm] = choice("format", get_args(AuditForm), "ndjson", "One act a line as JSON, or a table.")
_FILES = (Plain("application/x-ndjson", {"type": "string"}), Plain("text/csv", {"type": "string"}))


@routes("GET /v1/admin/audit", "Every act of administration: who, what, when.", (FORM,), answers={200: _FILES})
async def _audit(call: BySecret) -> TrioResponse:
    return audit_file(await call.service.acts(), FORM.read(call.query))


def audit_file(found: Sequence[Act], form: AuditForm) -> TrioResponse:
    headers = {"Content-Disposition": f'attachment; filename="svc-audit.{form}"'}
    if form == "csv":
        return TrioResponse(as_table(found), 200, headers, content_type="text/csv")
    return TrioResponse(msgspec.json.Encoder().encode_lines(found), 200, headers, content_type="application/x-ndjson")


def as_table(found: Sequence[Act]) -> bytes:
    """CSV with a head; no cell is a formula to the program that opens it."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(Act.__struct_fields__)
    for each in found:
        values = msgspec.structs.asdict(each) | {"details": msgspec.json.encode(each.details).decode()}
        cells = ("" if value is None else str(value) for value in values.values())
        writer.writerow(f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell for cell in cells)
    return text.getvalue().encode()
