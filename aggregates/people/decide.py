"""Deciding about people and keys: a command and the directory, in; events and the record they leave, out."""

from uuid import UUID

import msgspec

from aggregates.event import Event, Reason, Refused, Scope
from aggregates.ids import claim_stream, credential_stream, forget_request_stream, membership_stream
from aggregates.people import acts
from aggregates.people import directory as people
from aggregates.people.entry import with_email
from aggregates.people.fields import wrong_in

PeopleReply = people.Record | Refused  # the record as the decision leaves it, or why it was refused
PeopleDecision = tuple[tuple[tuple[UUID, Event], ...], PeopleReply]
"""What to append, each event with its stream, and what to answer once it is on disk."""


def decide_people(
    act: acts.PeopleAct, directory: people.Directory, now_us: int, by: UUID | None = None
) -> PeopleDecision:
    """What follows from a command of a member, or the operator.

    Ending what has ended, or setting what is set, changes nothing.
    """
    kind = people.KINDS[act.ABOUT]
    if isinstance(act, acts.EndMembership) and (past := directory.past_membership(act.membership_id)):
        return (), past
    stream_id = _stream(act, directory)
    record = directory.get(kind, stream_id)
    refused = _refusal(act, directory, record, now_us)
    if refused is not None:
        return (), refused
    decided = []
    for each in _facts(act, record, stream_id):
        fact = msgspec.structs.replace(each, received_at_us=now_us, by=by)
        after = people.applied(record, fact)
        if after != record:
            decided.append((stream_id, fact))
            record = after
    assert record is not None, "an act that is not refused begins a record, or has found one"
    return tuple(decided), record


def _facts(act: acts.PeopleAct, record: people.Record | None, stream_id: UUID) -> list[acts.PeopleAct]:
    """The act with the ids that it may leave out; the profile of somebody new is a fact of its own."""
    match act, record:
        case acts.StartMembership(), people.Membership():
            return [msgspec.structs.replace(act, membership_id=record.id)]
        case acts.StartMembership(), _:
            return [msgspec.structs.replace(act, membership_id=stream_id)]
        case acts.RemoveTeamMember(), people.TeamMembership():
            return [msgspec.structs.replace(act, team_id=record.team_id)]
        case acts.CreateDeveloper(), _:
            profile = msgspec.convert(msgspec.structs.asdict(act), acts.ChangeDeveloper)
            return [acts.CreateDeveloper(developer_id=act.developer_id, display_name=act.display_name), profile]
    return [act]


def _own_id(act: acts.PeopleAct) -> UUID:
    own_id: UUID = getattr(act, act.__struct_fields__[acts.OWN_ID])
    return own_id


def _stream(act: acts.PeopleAct, directory: people.Directory) -> UUID:
    match act:
        case acts.StartMembership():
            return membership_stream(act.organization_id, act.developer_id)
        case acts.IssueKey():
            return credential_stream(act.key_digest)
        case acts.ChangeMembership() | acts.EndMembership():
            return directory.stream_of(people.Membership, act.membership_id) or act.membership_id
        case acts.ClaimAccess():
            return claim_stream(act.access_id, act.only_in)
        case acts.RequestForget() | acts.WithdrawForget():
            return forget_request_stream(act.developer_id)
        case acts.RevokeKey() | acts.NoteKeyUse():
            return directory.stream_of(people.Key, act.credential_id) or act.credential_id
        case _:
            return _own_id(act)


def _refusal(  # noqa: C901  # a table of refusals: one case for each command that may be refused
    act: acts.PeopleAct, directory: people.Directory, known: people.Record | None, now_us: int
) -> Refused | None:
    wrong = wrong_in(act)
    if wrong is not None:
        return Refused(Reason.INVALID, wrong)
    noun = act.ABOUT
    match act, known:
        case acts.StartMembership(), _:
            return _no_membership(act, directory)
        case acts.IssueKey(), _:
            return _no_key(act, directory, known, now_us)
        case acts.RequestForget(), _:
            return _no_forget_request(act, directory, known)
        case acts.ClaimAccess(), _:
            return None
        case acts.LinkIdentity(), _:
            unknown = directory.get(people.Developer, act.developer_id) is None
            return _not_found("developer", act.developer_id) if unknown else None
        case acts.CreateDeveloper(email=str(email)) | acts.ChangeDeveloper(email=str(email)), _ if (
            other := with_email(directory, email)
        ) is not None and other.id != act.developer_id:
            return _conflict(f"{email} is the e-mail address of developer {other.id} already")
        case _, None if not act.BEGINS:
            return _not_found(noun, _own_id(act))
        case _, known if known is not None and act.BEGINS:
            return _conflict(f"there is already a {noun} {_own_id(act)}")
        case acts.CreateTeam(), _ if directory.get(people.Organization, act.organization_id) is None:
            return _not_found("organization", act.organization_id)
        case acts.AddTeamMember(), _:
            return _no_team_member(act, directory)
        case acts.OfferLink() | acts.OpenSignIn(), None:
            return _no_member(act.organization_id, act.developer_id, directory)
        case acts.UseLink(), people.Link():
            return _no_use(known, now_us)
        case acts.ChangeMembership(membership_id=named), people.Membership() if known.id != named or not known.active:
            return _conflict(f"membership {named} has ended; start it again first")
        case acts.ChangeMembership() | acts.EndMembership(), people.Membership():
            return _no_owner_left(act, known, directory)
        case _:
            return None


def _no_owner_left(
    act: acts.ChangeMembership | acts.EndMembership, known: people.Membership, directory: people.Directory
) -> Refused | None:
    """Somebody must answer for an organization; only whoever is forgotten goes all the same."""
    stays = act.role == "owner" if isinstance(act, acts.ChangeMembership) else act.forgotten
    if stays or not known.active:
        return None
    owners = [
        each
        for each in directory.all(people.Membership)
        if each.organization_id == known.organization_id and each.active and each.role == "owner"
    ]
    if [each.id for each in owners] != [known.id]:
        return None
    return _conflict("this is the organization's last owner; make somebody else an owner first")


def _not_found(noun: str, wanted: UUID) -> Refused:
    return Refused(Reason.NOT_FOUND, f"no {noun} {wanted}")


def _conflict(message: str) -> Refused:
    return Refused(Reason.CONFLICT, message)


def _no_use(link: people.Link, now_us: int) -> Refused | None:
    return None if link.opens(now_us) else _conflict("this link was used, or has expired; ask for a new one")


def _no_forget_request(
    act: acts.RequestForget, directory: people.Directory, known: people.Record | None
) -> Refused | None:
    if directory.get(people.Developer, act.developer_id) is None:
        return _not_found("developer", act.developer_id)
    asked = isinstance(known, people.ForgetRequest) and known.active
    return _conflict("this was asked for already, and waits for whoever runs the server") if asked else None


def _no_membership(act: acts.StartMembership, directory: people.Directory) -> Refused | None:
    organization_id, developer_id = act.organization_id, act.developer_id
    if directory.get(people.Organization, organization_id) is None:
        return _not_found("organization", organization_id)
    if directory.get(people.Developer, developer_id) is None:
        return _not_found("developer", developer_id)
    member = directory.membership(Scope(organization_id, developer_id))
    return None if member is None else _conflict(f"developer {developer_id} is a member already")


def _no_team_member(act: acts.AddTeamMember, directory: people.Directory) -> Refused | None:
    team = directory.get(people.Team, act.team_id)
    if team is None or not team.active:
        return _not_found("active team", act.team_id)
    developer_id, scope = act.developer_id, Scope(team.organization_id, act.developer_id)
    if directory.get(people.Developer, developer_id) is None:
        return _not_found("developer", developer_id)
    if directory.membership(scope) is None:
        return _conflict(f"developer {developer_id} is no member of the team's organization; start that first")
    return _conflict(f"developer {developer_id} is in the team already") if team in directory.teams_of(scope) else None


def _no_member(organization_id: UUID, developer_id: UUID, directory: people.Directory) -> Refused | None:
    if directory.membership(Scope(organization_id, developer_id)) is not None:
        return None
    no_member = f"developer {developer_id} is no member of organization {organization_id}"
    return _conflict(f"{no_member}; start a membership first")


def _no_key(
    act: acts.IssueKey, directory: people.Directory, known: people.Record | None, now_us: int
) -> Refused | None:
    no_member = _no_member(act.organization_id, act.developer_id, directory)
    if no_member is not None:
        return no_member
    if act.expires_at_us is not None and act.expires_at_us <= now_us:
        return Refused(Reason.INVALID, "expires_at must lie in the future")
    return None if known is None else _conflict("this key was issued before; make a new one")
