"""Deciding about people and keys: a command and the directory, in; events and the record they leave, out."""

from uuid import UUID

import msgspec

from aggregates.event import Event, Reason, Refused, Scope
from aggregates.ids import claim_stream, credential_stream, forget_request_stream, membership_stream
from aggregates.people import commands, events
from aggregates.people import directory as people
from aggregates.people.entry import with_email

PeopleReply = people.Record | Refused
"""The record as the decision leaves it, or why it was refused."""
PeopleDecision = tuple[tuple[tuple[UUID, Event], ...], PeopleReply]
"""What to append, each event with its stream, and what to answer once it is on disk."""
RULES: dict[type[commands.PeopleCommand], tuple[str, type[people.Record], type[Event]]] = {
    commands.CreateOrganization: ("organization", people.Organization, events.OrganizationCreated),
    commands.ChangeOrganization: ("organization", people.Organization, events.OrganizationChanged),
    commands.CreateDeveloper: ("developer", people.Developer, events.DeveloperCreated),
    commands.ChangeDeveloper: ("developer", people.Developer, events.DeveloperChanged),
    commands.RequestForget: ("request to be forgotten", people.ForgetRequest, events.ForgetRequested),
    commands.WithdrawForget: ("request to be forgotten", people.ForgetRequest, events.ForgetWithdrawn),
    commands.StartMembership: ("membership", people.Membership, events.MembershipStarted),
    commands.ChangeMembership: ("membership", people.Membership, events.MembershipChanged),
    commands.EndMembership: ("membership", people.Membership, events.MembershipEnded),
    commands.CreateTeam: ("team", people.Team, events.TeamCreated),
    commands.EndTeam: ("team", people.Team, events.TeamEnded),
    commands.AddTeamMember: ("team membership", people.TeamMembership, events.TeamMemberAdded),
    commands.RemoveTeamMember: ("team membership", people.TeamMembership, events.TeamMemberRemoved),
    commands.IssueKey: ("key", people.Key, events.CredentialIssued),
    commands.RevokeKey: ("key", people.Key, events.CredentialRevoked),
    commands.NoteKeyUse: ("key", people.Key, events.CredentialUsed),
    commands.OfferLink: ("link", people.Link, events.LinkOffered),
    commands.UseLink: ("link", people.Link, events.LinkUsed),
    commands.LinkIdentity: ("identity", people.Identity, events.IdentityLinked),
    commands.EndIdentity: ("identity", people.Identity, events.IdentityEnded),
    commands.OpenSignIn: ("sign-in", people.SignIn, events.SignInOpened),
    commands.SeeSignIn: ("sign-in", people.SignIn, events.SignInSeen),
    commands.EndSignIn: ("sign-in", people.SignIn, events.SignInEnded),
    commands.ClaimAccess: ("claim", people.Claim, events.AccessClaimed),
}
"""What a command is about, and the event that carries it out."""


def decide_people(
    command: commands.PeopleCommand, directory: people.Directory, now_us: int, by: UUID | None = None
) -> PeopleDecision:
    """What follows from a command of a member, or the operator.

    Ending what has ended, or setting what is set, changes nothing.
    """
    _, kind, event_type = RULES[type(command)]
    if isinstance(command, commands.EndMembership) and (past := directory.past_membership(command.membership_id)):
        return (), past
    stream_id = _stream(command, directory)
    record = directory.get(kind, stream_id)
    refused = _refusal(command, directory, record, now_us)
    if refused is not None:
        return (), refused
    known = {"membership_id": stream_id} if record is None else msgspec.structs.asdict(record)
    values = known | msgspec.structs.asdict(command) | {"received_at_us": now_us, "by": by}
    profile = (events.DeveloperChanged,) if isinstance(command, commands.CreateDeveloper) else ()
    decided = []
    for each in (event_type, *profile):
        event = msgspec.convert(values, each)  # an event takes the values that it has fields for
        after = people.applied(record, event)
        if after != record:
            decided.append((stream_id, event))
            record = after
    assert record is not None, "a command that is not refused begins a record, or has found one"
    return tuple(decided), record


def _own_id(command: commands.PeopleCommand) -> UUID:
    own_id: UUID = getattr(command, command.__struct_fields__[0])
    return own_id


def _stream(command: commands.PeopleCommand, directory: people.Directory) -> UUID:
    match command:
        case commands.StartMembership():
            return membership_stream(command.organization_id, command.developer_id)
        case commands.IssueKey():
            return credential_stream(command.key_digest)
        case commands.ChangeMembership() | commands.EndMembership():
            return directory.membership_stream(command.membership_id) or command.membership_id
        case commands.ClaimAccess():
            return claim_stream(command.access_id, command.only_in)
        case commands.RequestForget() | commands.WithdrawForget():
            return forget_request_stream(command.developer_id)
        case commands.RevokeKey() | commands.NoteKeyUse():
            return directory.key_stream(command.credential_id) or command.credential_id
        case _:
            return _own_id(command)


def _refusal(  # noqa: C901  # a table of refusals: one case for each command that may be refused
    command: commands.PeopleCommand, directory: people.Directory, known: people.Record | None, now_us: int
) -> Refused | None:
    wrong = commands.wrong_in(command)
    if wrong is not None:
        return Refused(Reason.INVALID, wrong)
    noun, _, kind = RULES[type(command)]
    match command, known:
        case commands.StartMembership(), _:
            return _no_membership(command, directory)
        case commands.IssueKey(), _:
            return _no_key(command, directory, known, now_us)
        case commands.RequestForget(), _:
            return _no_forget_request(command, directory, known)
        case commands.ClaimAccess(), _:
            return None
        case commands.LinkIdentity(), _:
            unknown = directory.get(people.Developer, command.developer_id) is None
            return _not_found("developer", command.developer_id) if unknown else None
        case commands.CreateDeveloper(email=str(email)) | commands.ChangeDeveloper(email=str(email)), _ if (
            other := with_email(directory, email)
        ) is not None and other.id != command.developer_id:
            return _conflict(f"{email} is the e-mail address of developer {other.id} already")
        case _, None if kind not in people.BEGUN_BY:
            return _not_found(noun, _own_id(command))
        case _, known if known is not None and kind in people.BEGUN_BY:
            return _conflict(f"there is already a {noun} {_own_id(command)}")
        case commands.CreateTeam(), _ if directory.get(people.Organization, command.organization_id) is None:
            return _not_found("organization", command.organization_id)
        case commands.AddTeamMember(), _:
            return _no_team_member(command, directory)
        case commands.OfferLink() | commands.OpenSignIn(), None:
            return _no_member(command.organization_id, command.developer_id, directory)
        case commands.UseLink(), people.Link():
            return _no_use(known, now_us)
        case commands.ChangeMembership(membership_id=named), people.Membership() if (
            known.id != named or not known.active
        ):
            return _conflict(f"membership {named} has ended; start it again first")
        case commands.ChangeMembership() | commands.EndMembership(), people.Membership():
            return _no_owner_left(command, known, directory)
        case _:
            return None


def _no_owner_left(
    command: commands.ChangeMembership | commands.EndMembership, known: people.Membership, directory: people.Directory
) -> Refused | None:
    """Somebody must answer for an organization; only whoever is forgotten goes all the same."""
    stays = command.role == "owner" if isinstance(command, commands.ChangeMembership) else command.forgotten
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
    command: commands.RequestForget, directory: people.Directory, known: people.Record | None
) -> Refused | None:
    if directory.get(people.Developer, command.developer_id) is None:
        return _not_found("developer", command.developer_id)
    asked = isinstance(known, people.ForgetRequest) and known.active
    return _conflict("this was asked for already, and waits for whoever runs the server") if asked else None


def _no_membership(command: commands.StartMembership, directory: people.Directory) -> Refused | None:
    organization_id, developer_id = command.organization_id, command.developer_id
    if directory.get(people.Organization, organization_id) is None:
        return _not_found("organization", organization_id)
    if directory.get(people.Developer, developer_id) is None:
        return _not_found("developer", developer_id)
    member = directory.membership(Scope(organization_id, developer_id))
    return None if member is None else _conflict(f"developer {developer_id} is a member already")


def _no_team_member(command: commands.AddTeamMember, directory: people.Directory) -> Refused | None:
    team = directory.get(people.Team, command.team_id)
    if team is None or not team.active:
        return _not_found("active team", command.team_id)
    developer_id, scope = command.developer_id, Scope(team.organization_id, command.developer_id)
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
    command: commands.IssueKey, directory: people.Directory, known: people.Record | None, now_us: int
) -> Refused | None:
    no_member = _no_member(command.organization_id, command.developer_id, directory)
    if no_member is not None:
        return no_member
    if command.expires_at_us is not None and command.expires_at_us <= now_us:
        return Refused(Reason.INVALID, "expires_at must lie in the future")
    return None if known is None else _conflict("this key was issued before; make a new one")
