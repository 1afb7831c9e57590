"""What is the developer's own: what is captured and who sees it, agents, keys, browsers and the profile."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from quart import Response
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope, Unavailable
from aggregates.people import acts
from aggregates.people.directory import Access, Claim, Identity, Key, SignIn, TeamMembership, forget_requests
from aggregates.people.entry import inviters, let_in, maker, root_of, sign_ins_of
from aggregates.times import INSTANT_MAX_US, Window
from projections.facts.facts import arrivals
from projections.sub_sessions.goals import ROWS_MAX, Wanted, goals
from projections.sub_sessions.unjudged import Judged, judged
from svc_http.bodies import Form, HttpError, accepted
from svc_http.pages import rendering
from svc_http.pages.door import SIGN_IN, BySignIn, cookie_name, is_sent_again, own_address
from svc_http.pages.signing import keep
from svc_http.pages.words import AGENTS, LANGUAGES
from svc_http.params import Call, one_of, zone_names, zone_sent
from svc_http.records import Arrival
from svc_http.routes.people import new_key


def _own_keys(call: BySignIn) -> list[Key]:
    return [call.service.uses.shown(each) for each in call.service.directory.all(Key) if each.scope == call.scope]


def _own_sign_ins(call: BySignIn) -> list[SignIn]:
    return sign_ins_of(call.service.directory, call.scope, call.service.now_us())


def questions(call: BySignIn, *, at_home: bool = False) -> list[tuple[Access, str | None]]:
    """What came by another's link, and whose; `at_home`: less what this browser was told is one's own."""
    directory, this = call.service.directory, call.sign_in.id
    told = {each.id for each in directory.all(Claim) if at_home and each.only_in == this}
    asked = let_in(directory, call.scope, call.service.now_us())
    return [(each, maker(directory, each.came_by)) for each in asked if each.id not in told]


def stays(call: BySignIn) -> list[dict[str, Any]]:
    """The teams that one is in, who put one there, and who else of each came by whose link."""
    directory, scope = call.service.directory, call.scope
    found, by_whom = [], inviters(directory)
    for team in directory.teams_of(scope):
        inside = [each for each in directory.all(TeamMembership) if each.active and each.team_id == team.id]
        own = next(each for each in inside if each.developer_id == scope.developer_id)
        others = [each.developer_id for each in inside if each is not own]
        came = ((each, by_whom.get(Scope(scope.organization_id, each))) for each in others)
        guests = [(directory.name_of(each), by) for each, by in came if by is not None]
        put_by = directory.name_of(own.by)
        found.append({"stay": own, "team": team, "put_by": put_by, "others": len(others), "guests": guests})
    return found


def _agents(arrivals: Sequence[Arrival]) -> list[tuple[str, str, list[str]]]:
    """Each agent, when it last sent anything, and what it sends; the last one first."""
    signals: defaultdict[str, list[Arrival]] = defaultdict(list)
    for each in arrivals:
        signals[each.source].append(each)
    last = {name: max(each.last_at for each in sent) for name, sent in signals.items()}
    names = sorted(signals, key=last.__getitem__, reverse=True)
    return [(name, last[name], [each.signal for each in signals[name]]) for name in names]


async def settings(call: BySignIn, key: str | None = None, wrong_zone: str | None = None) -> Response:
    came, developer_id = call.service.arrivals, call.scope.developer_id
    known: list[tuple[str, str, int]] = []
    judges: Judged | None = None
    with suppress(Unavailable):  # keys and browsers are looked after also while the views are built
        known = await call.read(arrivals)
        judges = await call.read(judged)
    return await call.show(
        "settings.html",
        200 if wrong_zone is None else 400,
        captured=rendering.text_of("captured"),
        agents=_agents(came.with_known(developer_id, known)),
        judges=judges,
        may_judge=next((source for source, *_ in known if source in AGENTS), None),
        refusals=came.of(developer_id)[1],
        zones=zone_names(),
        wrong_zone=wrong_zone,
        keys=_own_keys(call),
        new_key=key,
        sign_ins=_own_sign_ins(call),
        questions=questions(call),
        stays=stays(call),
        asked_at=forget_requests(call.service.directory).get(call.scope.developer_id),
        setup=await call.service.client_setup(),
        address=own_address(call.request),
    )


async def wheel(call: Call, name: str) -> Response:
    made = (await call.service.client_setup()).wheel
    if made is None:
        raise HttpError(404, "this server is svc's one file, which holds no wheel: copy that file instead")
    if name != made.name:
        raise HttpError(404, f"this server's wheel is /client/{made.name}")
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff", "ETag": f'"{made.sha256}"'}
    return TrioResponse(made.data, 200, headers, content_type="application/zip")


async def old_client(call: Call) -> Response:
    made = (await call.service.client_setup()).wheel
    where = "a wheel of svc" if made is None else f"{own_address(call.request)}/client/{made.name}"
    raise HttpError(
        410,
        f"svc-client.pyz is no longer made; one that you have goes on working. To have a newer one: uv tool install "
        f"{where} (or pipx install), then svc connect AGENT again",
    )


async def _done(call: BySignIn, command: acts.PeopleAct, said: str) -> Response:
    await call.act(command)
    return rendering.redirect(f"/settings?said={said}")


async def make_key(call: BySignIn, form: Form) -> Response:
    if is_sent_again(form, len(_own_keys(call))):
        return rendering.redirect("/settings?said=key-made")
    label = form.get("label", "").strip() or None
    key, issue = new_key(call.scope, name=label, came_by=root_of(call.service.directory, call.sign_in))
    await call.act(issue)
    return await settings(call, key)


async def revoke_key(call: BySignIn, key_id: UUID) -> Response:
    if key_id not in {each.key_id for each in _own_keys(call)}:
        raise HttpError(404, "no key of this address is yours")
    return await _done(call, acts.RevokeKey(credential_id=key_id), "key-revoked")


async def end_sign_in(call: BySignIn, sign_in_id: UUID) -> Response:
    if sign_in_id not in {each.id for each in _own_sign_ins(call)}:
        raise HttpError(404, "no browser of this address is signed in as you")
    accepted(await call.service.administer(acts.EndSignIn(sign_in_id=sign_in_id)))
    return rendering.redirect("/settings?said=signed-out")


async def keep_access(call: BySignIn, access_id: UUID) -> Response:
    """For good; but from a browser that came by such a link itself, in that browser alone."""
    _asked_about(call, access_id)
    only_in = None if root_of(call.service.directory, call.sign_in) is None else call.sign_in.id
    await call.act(acts.ClaimAccess(access_id=access_id, only_in=only_in))
    return rendering.redirect(f"/?said={'kept' if only_in is None else 'kept-here'}")


async def end_access(call: BySignIn, access_id: UUID) -> Response:
    match _asked_about(call, access_id):
        case SignIn():
            return await _done(call, acts.EndSignIn(sign_in_id=access_id, administered=True), "signed-out")
        case Identity():
            return await _done(call, acts.EndIdentity(identity_id=access_id), "unlinked")
        case Key():
            return await _done(call, acts.RevokeKey(credential_id=access_id), "key-revoked")


def _asked_about(call: BySignIn, access_id: UUID) -> Access:
    for access, _ in questions(call):
        if access.id == access_id:
            return access
    raise HttpError(404, "nothing of this address is asked about")


async def leave_team(call: BySignIn, team_membership_id: UUID) -> Response:
    if team_membership_id not in {each["stay"].id for each in stays(call)}:
        raise HttpError(404, "you are in no team of this address")
    return await _done(call, acts.RemoveTeamMember(team_membership_id=team_membership_id), "left")


async def sign_out_everywhere(call: BySignIn) -> Response:
    for each in _own_sign_ins(call):
        accepted(await call.service.administer(acts.EndSignIn(sign_in_id=each.id)))
    return keep(call.request, rendering.redirect(SIGN_IN), cookie_name(call.request), "", 0)


async def set_profile(call: BySignIn, form: Form) -> Response:
    language = one_of("language", form.get("language", ""), LANGUAGES)
    try:
        zone = zone_sent("timezone", form.get("timezone", "").strip())
    except HttpError as error:
        return await settings(call, wrong_zone=error.message)
    change = acts.ChangeDeveloper(developer_id=call.scope.developer_id, timezone=zone.key, language=language)
    return await _done(call, change, "saved")


async def ask_to_be_forgotten(call: BySignIn) -> Response:
    return await _done(call, acts.RequestForget(developer_id=call.scope.developer_id), "asked")


async def take_request_back(call: BySignIn) -> Response:
    return await _done(call, acts.WithdrawForget(developer_id=call.scope.developer_id), "asked-back")


async def goals_file(call: BySignIn) -> Response:
    found = await call.read(goals, Wanted(window=Window(0, INSTANT_MAX_US)), ROWS_MAX)
    headers = {"Content-Disposition": 'attachment; filename="svc-goals.json"'}
    return TrioResponse(msgspec.json.encode(found.goals), 200, headers, content_type="application/json")
