"""People, roles, teams, invitations and keys: for owners, and for whoever runs the server."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar, get_args
from urllib.parse import urlencode
from uuid import UUID, uuid4

from msgspec.structs import asdict
from quart import Response
from quart_trio.wrappers import TrioResponse

from aggregates.audit import Act, within
from aggregates.event import Scope, Unavailable
from aggregates.people import acts, directory as records
from aggregates.people.entry import begun, root_of, sign_ins_of
from aggregates.times import INSTANT_MAX_US, US_PER_DAY, parse_instant
from svc_http.bodies import Form, HttpError, found
from svc_http.pages import rendering
from svc_http.pages.door import SIGN_IN, ByOperator, is_sent_again, operator_text
from svc_http.pages.signing import may_let_in
from svc_http.pages.words import SAID, counted
from svc_http.params import SHOWN_CHARACTERS, id_sent, integer, one_of
from svc_http.ports import Status
from svc_http.routes.people import audit_file, digest_of, new_link

INVITATION_DAYS = 3
NAME_CHARACTERS = 60
PEOPLE = "/administration/people"
ROLES: tuple[acts.Role, ...] = get_args(acts.Role)
_R = TypeVar("_R", records.Key, records.Membership, records.Team)


async def people(call: ByOperator, invitation: Mapping[str, Any] | None = None, wrong: str | None = None) -> Response:
    directory, words = call.service.directory, SAID["said_of_member"].get(call.query.get("said", ""))
    started = begun(directory, call.service.uses)
    with suppress(Unavailable):  # people are looked after also while the views are built
        started |= set(await call.service.activation())
    houses = _houses(call, started - {call.by})
    values: dict[str, Any] = {"houses": houses, "invitation": invitation, "wrong": wrong}
    about = next((each for each in directory.all(records.Membership) if str(each.id) == call.query.get("about")), None)
    # Of a member whom the caller looks after alone: the address may be made up.
    if words is not None and about is not None and call.organization_id in (None, about.organization_id):
        name = rendering.cut(directory.name_of(about.developer_id), NAME_CHARACTERS)
        values["said"] = words.format(name=name, role=about.role)
    return await call.show("organization/people.html", 200 if wrong is None else 409, **values)


def _houses(call: ByOperator, started: set[UUID]) -> list[dict[str, Any]]:
    directory = call.service.directory
    developers = {each.id: each for each in directory.all(records.Developer)}
    keys = [call.service.uses.shown(each) for each in directory.all(records.Key) if not each.revoked]
    of_each = {each.scope: each for each in directory.all(records.Membership)}  # who came back has several
    newest = sorted(of_each.values(), key=lambda each: each.started_at)
    stays = [each for each in directory.all(records.TeamMembership) if each.active]
    asked = records.forget_requests(directory)
    links = Counter(each.scope for each in directory.all(records.Link))  # a form that is sent again tells of fewer

    def person(member: records.Membership) -> dict[str, Any]:
        return {
            "membership": member,
            "developer": developers[member.developer_id],
            "keys": [key for key in keys if key.scope == member.scope],
            "asked_at": asked.get(member.developer_id),  # since when they ask to be forgotten
            "has_begun": member.developer_id in started,
            "links": links[member.scope],
        }

    return [
        {
            "organization": organization,
            "people": [person(each) for each in newest if each.active and each.organization_id == organization.id],
            "ended": [person(each) for each in newest if not each.active and each.organization_id == organization.id],
            "teams": [
                (team, [(stay, developers[stay.developer_id]) for stay in stays if stay.team_id == team.id])
                for team in directory.all(records.Team)
                if team.active and team.organization_id == organization.id
            ],
        }
        for organization in directory.all(records.Organization)
        if call.organization_id in (None, organization.id)
    ]


# --- what may be named ------------------------------------------------------------------------------------------


def _looked_after(call: ByOperator, kind: type[_R], id_: UUID | None, missing: str = "") -> _R:
    """A record of an organization that the caller looks after. Raises `HttpError` 404."""
    missing = missing or f"no {kind.__name__.lower()} {id_} here"
    there = found(next((each for each in call.service.directory.all(kind) if each.id == id_), None), missing)
    if call.organization_id not in (None, there.organization_id):
        raise HttpError(404, missing)
    return there


def _own_organization(call: ByOperator, form: Form) -> UUID:
    wanted = id_sent("organization", form.get("organization", ""))
    if call.organization_id not in (None, wanted):
        raise HttpError(404, "no such organization here")
    return wanted


async def _done(
    call: ByOperator, said: str, about: records.Membership | None, *commands: acts.PeopleAct
) -> TrioResponse:
    for command in commands:
        await call.act(command)
    return rendering.redirect(f"{PEOPLE}?said={said}" + ("" if about is None else f"&about={about.id}"))


# --- members and keys -------------------------------------------------------------------------------------------


async def invite(call: ByOperator, form: Form) -> Response:
    scope = Scope(_own_organization(call, form), uuid4())
    role, name = one_of("role", form.get("role", ""), ROLES), form.get("name", "").strip()
    # Of one's own organization alone: an owner learns nothing of who is in another one.
    directory = call.service.directory
    inside = [each for each in directory.all(records.Membership) if each.organization_id == scope.organization_id]
    same = [each for each in inside if (directory.name_of(each.developer_id) or "").casefold() == name.casefold()]
    if same:
        why = SAID["refused"]["member" if any(each.active for each in same) else "ended"]
        wrong = SAID["refused"]["taken"].format(name=rendering.cut(name, NAME_CHARACTERS), same=why)
        return await people(call, wrong=wrong)
    await call.act(acts.CreateDeveloper(developer_id=scope.developer_id, display_name=name))
    await call.act(acts.StartMembership(**asdict(scope), role=role))
    return await _invited(call, scope, name)


async def offer_link(call: ByOperator, form: Form, membership_id: UUID) -> Response:
    member, directory = _looked_after(call, records.Membership, membership_id), call.service.directory
    scope, name = member.scope, directory.name_of(member.developer_id) or ""
    if is_sent_again(form, len(directory.all(records.Link, scope=scope))):
        return await _done(call, "link-made", member)
    if not await may_let_in(call.service, call.by, scope.developer_id):
        raise HttpError(409, SAID["refused"]["has-begun"].format(name=name[:SHOWN_CHARACTERS]))
    return await _invited(call, scope, name)


async def _invited(call: ByOperator, scope: Scope, name: str) -> Response:
    """The page, with a link that signs somebody in once; shown this once."""
    came_by = root_of(call.service.directory, None if call.owner is None else call.owner.sign_in)
    token, offer = new_link(scope, call.service.now_us() + INVITATION_DAYS * US_PER_DAY, came_by)
    await call.act(offer)
    url = f"{call.request.host_url.rstrip('/')}/open/{token}"
    teams = call.service.directory.teams_of(scope)
    return await people(call, {"name": name, "url": url, "days": INVITATION_DAYS, "teams": teams})


async def set_role(call: ByOperator, form: Form, membership_id: UUID) -> Response:
    role = one_of("role", form.get("role", ""), ROLES)
    member = _looked_after(call, records.Membership, membership_id)
    return await _done(call, "role-set", member, acts.ChangeMembership(membership_id=member.id, role=role))


async def end_membership(call: ByOperator, membership_id: UUID) -> Response:
    member = _looked_after(call, records.Membership, membership_id)
    return await _done(call, "member-ended", member, acts.EndMembership(membership_id=member.id))


async def take_back_in(call: ByOperator, membership_id: UUID) -> Response:
    member = _looked_after(call, records.Membership, membership_id)
    return await _done(call, "member-back", member, acts.StartMembership(**asdict(member.scope), role=member.role))


async def sign_out_member(call: ByOperator, membership_id: UUID) -> Response:
    member = _looked_after(call, records.Membership, membership_id)
    browsers = sign_ins_of(call.service.directory, member.scope, call.service.now_us())
    ends = [acts.EndSignIn(sign_in_id=each.id, administered=True) for each in browsers]
    return await _done(call, "signed-out", member, *ends)


async def revoke_key(call: ByOperator, key_id: UUID) -> Response:
    member = call.service.directory.membership(_looked_after(call, records.Key, key_id).scope)
    return await _done(call, "key-revoked", member, acts.RevokeKey(credential_id=key_id))


async def form_team(call: ByOperator, form: Form) -> Response:
    house, name = _own_organization(call, form), form.get("name", "").strip()
    return await _done(call, "saved", None, acts.CreateTeam(team_id=uuid4(), organization_id=house, name=name))


async def add_to_team(call: ByOperator, form: Form, team_id: UUID) -> Response:
    _looked_after(call, records.Team, team_id)
    member = _looked_after(call, records.Membership, id_sent("member", form.get("member", "")))
    stay = acts.AddTeamMember(team_membership_id=uuid4(), team_id=team_id, developer_id=member.developer_id)
    return await _done(call, "put-in", member, stay)


async def take_out(call: ByOperator, stay_id: UUID) -> Response:
    stay = call.service.directory.get(records.TeamMembership, stay_id)
    missing, team_id = f"no team membership {stay_id} here", None if stay is None else stay.team_id
    house = _looked_after(call, records.Team, team_id, missing).organization_id
    member = None if stay is None else call.service.directory.membership(Scope(house, stay.developer_id))
    return await _done(call, "taken-out", member, acts.RemoveTeamMember(team_membership_id=stay_id))


# --- how the server is, and every act of administration ------------------------------------------------------

ACTS_SHOWN = 100  # on one page
FREE_BYTES_MIN, PRICES_US_MAX = 10**9, 7 * US_PER_DAY
SERVER = "/administration/server"


async def server(call: ByOperator) -> Response:
    call.check_runs_the_server()
    asked, directory = records.forget_requests(call.service.directory), call.service.directory
    asking = [(each, asked[each.id]) for each in directory.all(records.Developer) if each.id in asked]
    shown = await call.service.status(by_kind=False)
    asks, now_us = call.service.settings.catalog_refresh, call.service.now_us()
    wrong = _wrong(shown, now_us if asks else 0)
    return await call.show("organization/server.html", s=shown, asking=asking, wrong=wrong, asks_for_prices=asks)


def _wrong(shown: Status, prices_asked_us: int) -> list[str]:
    """What is not well, the worst first, each with what to do; none where all is."""
    failed, backups = shown.views.failed_events, shown.backups
    free, replay, catalog = shown.disk_free_bytes, shown.replay, shown.catalog
    is_old = catalog is not None and prices_asked_us - parse_instant(catalog.refreshed_at) > PRICES_US_MAX
    lost = counted(len(shown.missing_keys), "developer")
    said = {
        "Nothing can be stored: see whether the disk is full, and the server's log.": not shown.log.writable,
        "The disk is nearly full: less than 1 GB is free.": free is not None and free < FREE_BYTES_MIN,
        f"The data key of {lost} is missing: `svc verify` says what to do.": bool(shown.missing_keys),
        f"{counted(failed, 'event')} could not be derived and count in no figure: `svc verify` says which.": failed > 0,
        f"The last replay failed: {replay.message or 'see the log of the server'}": replay.state == "failed",
        "There are no prices, so no request has a cost: `svc catalog refresh` fetches some.": catalog is None,
        "The list prices were last confirmed over 7 days ago: `svc catalog refresh` asks for new ones.": is_old,
        "There is no backup yet.": backups is not None and backups.newest_at is None,
        "The newest backup is overdue.": backups is not None and backups.newest_at is not None and backups.overdue,
        "A backup failed since the start: the server's log says why.": backups is not None and backups.failures > 0,
    }
    return [sentence for sentence, holds in said.items() if holds]


async def administration(call: ByOperator) -> Response:
    return rendering.redirect(SERVER if call.owner is None else PEOPLE)


async def replay(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.start_replay()
    return rendering.redirect(f"{SERVER}?said=replaying")


async def sign_out(call: ByOperator) -> Response:
    call.check_runs_the_server()
    call.service.operator_browsers.pop(digest_of(operator_text(call.request)), None)
    return rendering.redirect(SIGN_IN)


async def audit(call: ByOperator) -> Response:
    acts, asked = await _acts(call), {name: call.query.get(name, "") for name in ("from", "to")}
    number = max(integer(call.query, "page") or 1, 1)
    return await call.show(
        "organization/audit.html",
        acts=acts[::-1][(number - 1) * ACTS_SHOWN : number * ACTS_SHOWN],
        total=len(acts),
        number=number,
        more=number * ACTS_SHOWN < len(acts),
        organizations={str(each.id): each.name for each in call.service.directory.all(records.Organization)},
        asked=asked,
        query=f"?{urlencode(asked)}" if any(asked.values()) else "",
    )


async def audit_as_file(call: ByOperator) -> Response:
    return audit_file(await _acts(call), "csv" if call.request.path.endswith("csv") else "ndjson")


async def _acts(call: ByOperator) -> list[Act]:
    """Those of the days that were asked for, all without; oldest first."""
    acts = await call.service.acts()
    if call.organization_id is not None:
        acts = within(acts, call.organization_id, call.service.directory)
    start_us = (call.time("from", call.own_zone) if call.query.get("from") else None) or 0
    end_us = (call.time("to", call.own_zone) if call.query.get("to") else None) or INSTANT_MAX_US
    return [each for each in acts if start_us <= parse_instant(each.at) < end_us]
