"""Deciding about people and keys: a command and the directory, in; events and the record they leave, out."""

from uuid import UUID

import msgspec

from aggregates.event import NewEvent, Reason, Refused, Scope
from aggregates.ids import claim_stream, credential_stream, forget_request_stream, membership_stream
from aggregates.people import acts, directory as people
from aggregates.people.entry import with_email

PeopleReply = people.Record | Refused  # the record as the decision leaves it, or why it was refused


def decide_people(
    act: acts.PeopleAct, directory: people.Directory, now_us: int, by: UUID | None = None
) -> tuple[list[NewEvent], PeopleReply]:
    """The events, and the reply; ending what has ended, or setting what is set, changes nothing."""
    if isinstance(act, acts.EndMembership) and (past := directory.past_membership(act.membership_id)):
        return [], past
    stream_id = _stream(act, directory)
    record = directory.get(people.KINDS[act.about()], stream_id)
    refused = _refusal(act, directory, record, now_us)
    if refused is not None:
        return [], refused
    decided = list[NewEvent]()
    for each in _facts(act, record, stream_id):
        fact = msgspec.structs.replace(each, received_at_us=now_us, by=by)
        after = people.applied(record, fact)
        if after != record:
            decided.append(NewEvent(stream_id, directory.version(stream_id) + len(decided) + 1, fact))
            record = after
    assert record is not None, "an act that is not refused begins a record, or has found one"
    return decided, record


def _facts(act: acts.PeopleAct, record: people.Record | None, stream_id: UUID) -> list[acts.PeopleAct]:
    """The act with the ids that it may leave out; the profile of somebody new is a fact of its own."""
    match act, record:
        case acts.StartMembership(), _:
            return [msgspec.structs.replace(act, membership_id=stream_id if record is None else record.id)]
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
    return _own_id(act)


def _refusal(  # noqa: C901  # a table of refusals: one case for each command that may be refused
    act: acts.PeopleAct, directory: people.Directory, known: people.Record | None, now_us: int
) -> Refused | None:
    if (wrong := acts.wrong_in(act)) is not None:
        return Refused(Reason.INVALID, wrong)
    match act, known:
        case acts.StartMembership(developer_id=developer_id), _:
            member = directory.membership(Scope(act.organization_id, developer_id)) is not None
            already = _conflict(f"developer {developer_id} is a member already") if member else None
            unknown = _missing(directory, "organization", act.organization_id)
            return unknown or _missing(directory, "developer", developer_id) or already
        case acts.IssueKey(), _:
            expired = act.expires_at_us is not None and act.expires_at_us <= now_us
            late = Refused(Reason.INVALID, "expires_at must lie in the future") if expired else None
            again = None if known is None else _conflict("this key was issued before; make a new one")
            return _no_member(act.organization_id, act.developer_id, directory) or late or again
        case acts.RequestForget(), _:
            waits = isinstance(known, people.ForgetRequest) and known.active
            already = _conflict("this was asked for already, and waits for whoever runs the server") if waits else None
            return _missing(directory, "developer", act.developer_id) or already
        case acts.ClaimAccess(), _:
            return None
        case acts.LinkIdentity(), _:
            return _missing(directory, "developer", act.developer_id)
        case acts.CreateDeveloper(email=str(email)) | acts.ChangeDeveloper(email=str(email)), _ if (
            other := with_email(directory, email)
        ) is not None and other.id != act.developer_id:
            return _conflict(f"{email} is the e-mail address of developer {other.id} already")
        case _, None if not act.begins():
            return _not_found(act.about(), _own_id(act))
        case _, known if known is not None and act.begins():
            return _conflict(f"there is already a {act.about()} {_own_id(act)}")
        case acts.CreateTeam(), _:
            return _missing(directory, "organization", act.organization_id)
        case acts.AddTeamMember(), _:
            return _no_team_member(act, directory)
        case acts.OfferLink() | acts.OpenSignIn(), None:
            return _no_member(act.organization_id, act.developer_id, directory)
        case acts.UseLink(), people.Link() if not known.opens(now_us):
            return _conflict("this link was used, or has expired; ask for a new one")
        case acts.ChangeMembership(membership_id=named), people.Membership() if known.id != named or not known.active:
            return _conflict(f"membership {named} has ended; start it again first")
        case acts.ChangeMembership() | acts.EndMembership(), people.Membership():
            return _no_owner_left(act, known, directory)
    return None


def _no_owner_left(
    act: acts.ChangeMembership | acts.EndMembership, known: people.Membership, directory: people.Directory
) -> Refused | None:
    """Somebody must answer for an organization; only whoever is forgotten goes all the same."""
    stays = act.role == "owner" if isinstance(act, acts.ChangeMembership) else act.forgotten
    if stays or not known.active:
        return None
    owners = directory.all(people.Membership, organization_id=known.organization_id, active=True, role="owner")
    last = "this is the organization's last owner; make somebody else an owner first"
    return _conflict(last) if owners == [known] else None


def _not_found(noun: str, wanted: UUID) -> Refused:
    return Refused(Reason.NOT_FOUND, f"no {noun} {wanted}")


def _missing(directory: people.Directory, noun: str, wanted: UUID) -> Refused | None:
    return None if directory.get(people.KINDS[noun], wanted) is not None else _not_found(noun, wanted)


def _conflict(message: str) -> Refused:
    return Refused(Reason.CONFLICT, message)


def _no_team_member(act: acts.AddTeamMember, directory: people.Directory) -> Refused | None:
    team, developer_id = directory.get(people.Team, act.team_id), act.developer_id
    if team is None or not team.active:
        return _not_found("active team", act.team_id)
    known = team in directory.teams_of(Scope(team.organization_id, developer_id))
    again = _conflict(f"developer {developer_id} is in the team already") if known else None
    unknown = _missing(directory, "developer", developer_id)
    return unknown or _no_member(team.organization_id, developer_id, directory) or again


def _no_member(organization_id: UUID, developer_id: UUID, directory: people.Directory) -> Refused | None:
    if directory.membership(Scope(organization_id, developer_id)) is not None:
        return None
    no_member = f"developer {developer_id} is no member of organization {organization_id}"
    return _conflict(f"{no_member}; start a membership first")
