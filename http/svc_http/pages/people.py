"""People, roles, teams, invitations and keys: for an organization's owner, and for whoever runs the server."""

import secrets
import uuid
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID

from quart import Response
from quart_trio.wrappers import TrioResponse

from aggregates.audit import Act, within
from aggregates.event import Scope
from aggregates.ids import link_stream
from aggregates.people.acts import (
    AddTeamMember,
    ChangeMembership,
    CreateDeveloper,
    CreateTeam,
    EndMembership,
    EndSignIn,
    OfferLink,
    PeopleAct,
    RemoveTeamMember,
    RevokeKey,
    Role,
    StartMembership,
)
from aggregates.people.directory import (
    Developer,
    Key,
    Membership,
    Organization,
    Team,
    TeamMembership,
    forget_requests,
)
from aggregates.people.entry import begun, root_of, sign_ins_of
from aggregates.times import INSTANT_MAX_US, US_PER_DAY, parse_instant
from svc_http.bodies import HttpError, found
from svc_http.pages import rendering
from svc_http.pages.door import (
    OPERATOR_NAV,
    SIGN_IN,
    ByOperator,
    chosen,
    digest_of,
    form_of,
    operator_text,
)
from svc_http.pages.signing import may_let_in
from svc_http.params import SHOWN_CHARACTERS
from svc_http.routes.people import KEY_BYTES, audit_file
from svc_http.routing import Routes

INVITATION_DAYS = 3
NAME_CHARACTERS = 60
PEOPLE = "/operator/people"
ROLES: tuple[Role, ...] = get_args(Role)
SAID: Mapping[str, str] = {
    "role-set": "The role of {name} is set.",
    "member-ended": "The membership of {name} has ended. Their keys open nothing any more, and their browsers are "
    "signed out; what they did stays.",
    "key-revoked": "The key of {name} opens nothing any more. Browsers that signed in with it are signed out; those "
    "that signed in by a link or an account are not: “Sign out all browsers of {name}” does that.",
    "signed-out": "Every browser of {name} is signed out. Their keys still open what they did: revoke those apart.",
    "put-in": "{name} is in the team from now on.",
    "taken-out": "{name} is in the team no longer.",
}
"""What the page says after a button about a member, by the word in its address."""
_R = TypeVar("_R", Key, Membership, Team)
_HAS_BEGUN = (
    "{name} has begun to use svc, so a link would open all of their work to whoever follows it. Only {name} can "
    "let a browser in, with a key that they make on the page Mine; or whoever runs the server, with `svc open`"
)
routes = Routes()


def _houses(call: ByOperator) -> list[dict[str, Any]]:
    """Organizations with their people and teams."""
    directory = call.service.directory
    developers = {each.id: each for each in directory.all(Developer)}
    keys = [call.service.uses.shown(each) for each in directory.all(Key) if not each.revoked]
    members = [each for each in directory.all(Membership) if each.active]
    stays = [each for each in directory.all(TeamMembership) if each.active]
    asked = forget_requests(directory)
    closed = set() if call.by is None else begun(directory, call.service.uses) - {call.by}

    def person(member: Membership) -> dict[str, Any]:
        return {
            "membership": member,
            "developer": developers[member.developer_id],
            "keys": [key for key in keys if key.scope == Scope(member.organization_id, member.developer_id)],
            "asked_at": asked.get(member.developer_id),  # since when they ask to be forgotten
            "may_get_link": member.developer_id not in closed,  # as far as people and keys tell
        }

    return [
        {
            "organization": organization,
            "people": [person(each) for each in members if each.organization_id == organization.id],
            "teams": [
                (team, [(stay, developers[stay.developer_id]) for stay in stays if stay.team_id == team.id])
                for team in directory.all(Team)
                if team.active and team.organization_id == organization.id
            ],
        }
        for organization in directory.all(Organization)
        if call.organization_id in (None, organization.id)
    ]


@routes(f"GET {PEOPLE}", "Who belongs to an organization, as what, with which keys.")
async def people(call: ByOperator, invitation: Mapping[str, Any] | None = None) -> Response:
    values: dict[str, Any] = {"houses": _houses(call), "roles": ROLES, "invitation": invitation}
    if (said := _said(call)) is not None:
        values["said"] = said
    return await call.show("organization/people.html", **values)


def _said(call: ByOperator) -> str | None:
    """About a member whom the caller looks after."""
    words, about = SAID.get(call.query.get("said", "")), call.query.get("about", "")
    known = (each for each in call.service.directory.all(Membership) if str(each.id) == about)
    member = next((each for each in known if call.organization_id in (None, each.organization_id)), None)
    developer = None if member is None else call.service.directory.get(Developer, member.developer_id)
    if words is None or developer is None:
        return None
    return words.format(name=rendering.cut(developer.display_name, NAME_CHARACTERS))


# --- members ----------------------------------------------------------------------------------------------------


@routes(f"POST {PEOPLE}", "Take somebody new in, and make the link that signs them in.")
async def invite(call: ByOperator) -> Response:
    fields = await form_of(call)
    organization_id = _own_organization(call, fields.get("organization", ""))
    role = chosen("role", fields.get("role", ""), ROLES)
    name, developer_id = fields.get("name", "").strip(), uuid.uuid4()
    # Of one's own organization alone: an owner learns nothing of who is in another one.
    known = {each.casefold() for each in call.service.directory.names_in(organization_id)}
    if name.casefold() in known:
        raise HttpError(409, f"somebody is called {name[:SHOWN_CHARACTERS]} already; take a name that tells them apart")
    await call.act(CreateDeveloper(developer_id=developer_id, display_name=name))
    membership = StartMembership(organization_id=organization_id, developer_id=developer_id, role=role)
    await call.act(membership)
    return await people(call, await _invitation(call, organization_id, developer_id, name))


@routes(f"POST {PEOPLE}/<membership_id>/link", "Make another link that signs a member in once.")
async def offer_link(call: ByOperator, membership_id: UUID) -> Response:
    member = _own(call, membership_id)
    developer = call.service.directory.get(Developer, member.developer_id)
    assert developer is not None, "a member is known"
    if not await may_let_in(call.service, call.by, developer.id):
        raise HttpError(409, _HAS_BEGUN.format(name=developer.display_name[:SHOWN_CHARACTERS]))
    made = await _invitation(call, member.organization_id, member.developer_id, developer.display_name)
    return await people(call, made)


async def _invitation(call: ByOperator, organization_id: UUID, developer_id: UUID, name: str) -> Mapping[str, Any]:
    """A link that signs somebody in once; shown this once."""
    token = secrets.token_urlsafe(KEY_BYTES)
    command = OfferLink(
        link_id=link_stream(sha256(token.encode()).hexdigest()),
        organization_id=organization_id,
        developer_id=developer_id,
        expires_at_us=call.service.now_us() + INVITATION_DAYS * US_PER_DAY,
        came_by=root_of(call.service.directory, None if call.owner is None else call.owner.sign_in),
    )
    await call.act(command)
    url = f"{call.request.host_url.rstrip('/')}/open/{token}"
    return {"name": name, "url": url, "days": INVITATION_DAYS}


@routes(f"POST {PEOPLE}/<membership_id>/role", "Give a member another role.")
async def set_role(call: ByOperator, membership_id: UUID) -> Response:
    role, member = chosen("role", (await form_of(call)).get("role", ""), ROLES), _own(call, membership_id)
    return await _done(call, ChangeMembership(membership_id=member.id, role=role), "role-set", member)


@routes(f"POST {PEOPLE}/<membership_id>/end", "End a membership.")
async def end_membership(call: ByOperator, membership_id: UUID) -> Response:
    member = _own(call, membership_id)
    return await _done(call, EndMembership(membership_id=member.id), "member-ended", member)


@routes(f"POST {PEOPLE}/<membership_id>/sign-out", "Sign every browser of a member out.")
async def sign_out_member(call: ByOperator, membership_id: UUID) -> Response:
    member = _own(call, membership_id)
    scope = member.scope
    for each in sign_ins_of(call.service.directory, scope, call.service.now_us()):
        await call.act(EndSignIn(sign_in_id=each.id, administered=True))
    return _back("signed-out", member)


@routes("POST /operator/keys/<key_id>/revoke", "Let a key open nothing any more.")
async def revoke_key(call: ByOperator, key_id: UUID) -> Response:
    directory = call.service.directory
    stream = directory.stream_of(Key, key_id)
    key = _looked_after(call, None if stream is None else directory.get(Key, stream), f"no key {key_id} here")
    return await _done(call, RevokeKey(credential_id=key_id), "key-revoked", directory.membership(key.scope))


# --- teams ------------------------------------------------------------------------------------------------------


@routes("POST /operator/teams", "Form a team.")
async def form_team(call: ByOperator) -> Response:
    fields = await form_of(call)
    organization_id = _own_organization(call, fields.get("organization", ""))
    command = CreateTeam(team_id=uuid.uuid4(), organization_id=organization_id, name=fields.get("name", "").strip())
    return await _done(call, command, "saved")


@routes("POST /operator/teams/<team_id>/add", "Put a member into a team.")
async def add_to_team(call: ByOperator, team_id: UUID) -> Response:
    _looked_after(call, call.service.directory.get(Team, team_id), f"no team {team_id} here")
    member = _own(call, _id_sent((await form_of(call)).get("member", "")))
    stay = AddTeamMember(team_membership_id=uuid.uuid4(), team_id=team_id, developer_id=member.developer_id)
    return await _done(call, stay, "put-in", member)


@routes("POST /operator/team-memberships/<stay_id>/end", "Take somebody out of a team.")
async def take_out(call: ByOperator, stay_id: UUID) -> Response:
    directory = call.service.directory
    stay = directory.get(TeamMembership, stay_id)
    team = None if stay is None else directory.get(Team, stay.team_id)
    house = _looked_after(call, team, f"no team membership {stay_id} here").organization_id
    member = None if stay is None else directory.membership(Scope(house, stay.developer_id))
    return await _done(call, RemoveTeamMember(team_membership_id=stay_id), "taken-out", member)


# --- what may be named ------------------------------------------------------------------------------------------


async def _done(call: ByOperator, command: PeopleAct, said: str, about: Membership | None = None) -> TrioResponse:
    await call.act(command)
    return _back(said, about)


def _back(said: str, about: Membership | None) -> TrioResponse:
    return rendering.redirect(f"{PEOPLE}?said={said}" + ("" if about is None else f"&about={about.id}"))


def _own(call: ByOperator, membership_id: UUID) -> Membership:
    """A membership that the caller looks after. Raises `HttpError` 404."""
    known = {each.id: each for each in call.service.directory.all(Membership)}
    return _looked_after(call, known.get(membership_id), f"no membership {membership_id} here")


def _looked_after(call: ByOperator, record: _R | None, missing: str) -> _R:
    """A record of an organization that the caller looks after. Raises `HttpError` 404."""
    there = found(record, missing)
    if call.organization_id not in (None, there.organization_id):
        raise HttpError(404, missing)
    return there


def _own_organization(call: ByOperator, text: str) -> UUID:
    wanted = _id_sent(text)
    if call.organization_id not in (None, wanted):
        raise HttpError(404, "no such organization here")
    return wanted


def _id_sent(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise HttpError(400, f"this is no id: {text[:SHOWN_CHARACTERS]!r}; open the page anew") from error


# --- how the server is, and every act of administration ------------------------------------------------------

ACTS_SHOWN = 100  # the newest; the files have all
SERVER = OPERATOR_NAV[0][0]


@routes(f"GET {SERVER}", "How the server is: intake, lag, disk, backups, what failed.")
async def server(call: ByOperator) -> Response:
    call.check_runs_the_server()
    shown = await call.service.status(by_kind=False)
    asked, directory = forget_requests(call.service.directory), call.service.directory
    asking = [(each, asked[each.id]) for each in directory.all(Developer) if each.id in asked]
    return await call.show("organization/server.html", shown=shown, asking=asking)


@routes("POST /operator/replay", "Build the scores anew from the log.")
async def replay(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.start_replay(None)
    return rendering.redirect(f"{SERVER}?said=replaying")


@routes("POST /operator/sign-out", "End what this browser may do for the operator.")
async def sign_out(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.operators.end(digest_of(operator_text(call.request)))
    return rendering.redirect(SIGN_IN)


@routes("GET /operator/audit", "Who changed what when.")
async def audit(call: ByOperator) -> Response:
    found = await _acts(call)
    asked = {name: call.query.get(name, "") for name in ("from", "to")}
    organizations = {str(each.id): each.name for each in call.service.directory.all(Organization)}
    shown = found[: -ACTS_SHOWN - 1 : -1]
    return await call.show(
        "organization/audit.html",
        acts=shown,
        total=len(found),
        organizations=organizations,
        asked=asked,
        query=f"?{urlencode(asked)}" if any(asked.values()) else "",
    )


@routes("GET /operator/audit.csv", "Every act, as a table.")
async def audit_table(call: ByOperator) -> Response:
    return audit_file(await _acts(call), "csv")


@routes("GET /operator/audit.ndjson", "Every act, a line each.")
async def audit_lines(call: ByOperator) -> Response:
    return audit_file(await _acts(call), "ndjson")


async def _acts(call: ByOperator) -> list[Act]:
    """Those of the days that were asked for, all without; oldest first."""
    found = await call.service.acts()
    if call.organization_id is not None:
        found = within(found, call.organization_id, call.service.directory)
    zone, asked = call.own_zone, call.query
    start_us = (call.time("from", zone) if asked.get("from") else None) or 0
    end_us = (call.time("to", zone) if asked.get("to") else None) or INSTANT_MAX_US
    return [each for each in found if start_us <= parse_instant(each.at) < end_us]
