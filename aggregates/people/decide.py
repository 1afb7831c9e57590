"""Deciding about people and keys: a wish and the directory, in; events and the record they leave, out."""

from uuid import UUID

import msgspec

from aggregates.command import Reason
from aggregates.event import Event, Scope
from aggregates.ids import credential_stream, membership_stream
from aggregates.people.commands import (
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
    wrong_in,
)
from aggregates.people.directory import Directory, KeyRefusal, Principal, authenticate, principal
from aggregates.people.events import (
    CredentialIssued,
    CredentialRevoked,
    DeveloperChanged,
    DeveloperCreated,
    MembershipChanged,
    MembershipEnded,
    MembershipStarted,
    OrganizationChanged,
    OrganizationCreated,
    TeamCreated,
    TeamEnded,
    TeamMemberAdded,
    TeamMemberRemoved,
)
from aggregates.people.records import Developer, Membership, Organization, Person, Team, TeamMembership, begun, changed
from aggregates.people.shown import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    Record,
    TeamMembershipRecord,
    TeamRecord,
    show,
)

__all__ = [
    "AddTeamMember",
    "ChangeDeveloper",
    "ChangeMembership",
    "ChangeOrganization",
    "CreateDeveloper",
    "CreateOrganization",
    "CreateTeam",
    "DeveloperRecord",
    "Directory",
    "EndMembership",
    "EndTeam",
    "IssueKey",
    "KeyRecord",
    "KeyRefusal",
    "MembershipRecord",
    "OrganizationRecord",
    "PeopleCommand",
    "PeopleDecision",
    "PeopleRefused",
    "PeopleReply",
    "Principal",
    "Record",
    "RemoveTeamMember",
    "RevokeKey",
    "StartMembership",
    "TeamMembershipRecord",
    "TeamRecord",
    "authenticate",
    "decide_people",
    "principal",
]


class PeopleRefused(msgspec.Struct, frozen=True):
    """A wish that was not carried out, and the sentence for the person who had it."""

    reason: Reason
    message: str


PeopleReply = Record | PeopleRefused
"""The record as the decision leaves it, or why it was refused."""

PeopleDecision = tuple[tuple[tuple[UUID, Event], ...], PeopleReply]
"""What to append, each event with its stream, and what to answer once it is on disk."""


def decide_people(command: PeopleCommand, directory: Directory, now_us: int) -> PeopleDecision:
    """What follows from a wish. Ending what has ended, or setting what is set, changes nothing."""
    wrong = wrong_in(command)
    return _decide(command, directory, now_us) if wrong is None else _refused(Reason.INVALID, wrong)


def _decide(command: PeopleCommand, directory: Directory, now_us: int) -> PeopleDecision:
    match command:
        case CreateOrganization() | ChangeOrganization():
            return _organization(command, directory, now_us)
        case CreateDeveloper() | ChangeDeveloper():
            return _developer(command, directory, now_us)
        case StartMembership():
            return _start_membership(command, directory, now_us)
        case ChangeMembership() | EndMembership():
            return _membership(command, directory, now_us)
        case CreateTeam() | EndTeam():
            return _team(command, directory, now_us)
        case AddTeamMember():
            return _add_team_member(command, directory, now_us)
        case RemoveTeamMember():
            return _remove_team_member(command, directory, now_us)
        case IssueKey():
            return _issue_key(command, directory, now_us)
        case RevokeKey():
            return _revoke_key(command, directory, now_us)


def _decided(stream_id: UUID, record: Person, *events: Event) -> PeopleDecision:
    """The events that change the record, and the record they leave."""
    kept: list[tuple[UUID, Event]] = []
    for event in events:
        after = changed(record, event)
        if after != record:
            kept.append((stream_id, event))
            record = after
    return tuple(kept), show(record)


def _ended(stream_id: UUID, record: Person, over: bool, event: Event) -> PeopleDecision:
    """The event that ends a record, unless it is over already."""
    return _decided(stream_id, record) if over else _decided(stream_id, record, event)


def _begun(stream_id: UUID, event: Event, *more: Event) -> PeopleDecision:
    """The event that begins a record, with further events of its stream."""
    record = begun(event)
    assert record is not None, f"{type(event).__name__} begins a record"
    events, reply = _decided(stream_id, record, *more)
    return ((stream_id, event), *events), reply


def _refused(reason: Reason, message: str) -> PeopleDecision:
    return (), PeopleRefused(reason, message)


def _not_found(what: str, wanted: UUID) -> PeopleDecision:
    return _refused(Reason.NOT_FOUND, f"no {what} {wanted}")


def _taken(what: str, wanted: UUID) -> PeopleDecision:
    return _refused(Reason.CONFLICT, f"there is already a {what} {wanted}")


def _organization(
    command: CreateOrganization | ChangeOrganization, directory: Directory, now_us: int
) -> PeopleDecision:
    wanted = command.organization_id
    known = directory.get(Organization, wanted)
    if isinstance(command, CreateOrganization):
        if known is not None:
            return _taken("organization", wanted)
        created = OrganizationCreated(received_at_us=now_us, organization_id=wanted, name=command.name)
        return _begun(wanted, created)
    if known is None:
        return _not_found("organization", wanted)
    settings = OrganizationChanged(
        received_at_us=now_us,
        organization_id=wanted,
        name=command.name,
        text_leaves=command.text_leaves,
        redaction=command.redaction,
        retention_days_telemetry=command.retention_days_telemetry,
        retention_days_text=command.retention_days_text,
    )
    return _decided(wanted, known, settings)


def _developer(command: CreateDeveloper | ChangeDeveloper, directory: Directory, now_us: int) -> PeopleDecision:
    wanted = command.developer_id
    known = directory.get(Developer, wanted)
    profile = DeveloperChanged(
        received_at_us=now_us,
        developer_id=wanted,
        display_name=command.display_name,
        timezone=command.timezone,
        language=command.language,
        report_schedules=command.report_schedules,
    )
    if isinstance(command, ChangeDeveloper):
        return _not_found("developer", wanted) if known is None else _decided(wanted, known, profile)
    if known is not None:
        return _taken("developer", wanted)
    created = DeveloperCreated(received_at_us=now_us, developer_id=wanted, display_name=command.display_name)
    return _begun(wanted, created, profile)


def _start_membership(command: StartMembership, directory: Directory, now_us: int) -> PeopleDecision:
    scope = Scope(command.organization_id, command.developer_id)
    if directory.get(Organization, scope.organization_id) is None:
        return _not_found("organization", scope.organization_id)
    if directory.get(Developer, scope.developer_id) is None:
        return _not_found("developer", scope.developer_id)
    if directory.membership(scope) is not None:
        return _refused(Reason.CONFLICT, f"developer {scope.developer_id} is a member already")
    started = MembershipStarted(
        received_at_us=now_us,
        membership_id=membership_stream(scope.organization_id, scope.developer_id),
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        role=command.role,
    )
    return _begun(started.membership_id, started)


def _membership(command: ChangeMembership | EndMembership, directory: Directory, now_us: int) -> PeopleDecision:
    wanted = command.membership_id
    known = directory.get(Membership, wanted)
    if known is None:
        return _not_found("membership", wanted)
    if isinstance(command, EndMembership):
        ended = MembershipEnded(received_at_us=now_us, membership_id=wanted)
        return _ended(wanted, known, known.ended_at_us is not None, ended)
    if known.ended_at_us is not None:
        return _refused(Reason.CONFLICT, f"membership {wanted} has ended; start it again first")
    changed_role = MembershipChanged(received_at_us=now_us, membership_id=wanted, role=command.role)
    return _decided(wanted, known, changed_role)


def _team(command: CreateTeam | EndTeam, directory: Directory, now_us: int) -> PeopleDecision:
    wanted = command.team_id
    known = directory.get(Team, wanted)
    if isinstance(command, EndTeam):
        if known is None:
            return _not_found("team", wanted)
        ended = TeamEnded(received_at_us=now_us, team_id=wanted)
        return _ended(wanted, known, known.ended_at_us is not None, ended)
    if known is not None:
        return _taken("team", wanted)
    if directory.get(Organization, command.organization_id) is None:
        return _not_found("organization", command.organization_id)
    created = TeamCreated(
        received_at_us=now_us, team_id=wanted, organization_id=command.organization_id, name=command.name
    )
    return _begun(wanted, created)


def _add_team_member(command: AddTeamMember, directory: Directory, now_us: int) -> PeopleDecision:
    if directory.get(TeamMembership, command.team_membership_id) is not None:
        return _taken("team membership", command.team_membership_id)
    team = directory.get(Team, command.team_id)
    if team is None or team.ended_at_us is not None:
        return _not_found("active team", command.team_id)
    scope = Scope(team.organization_id, command.developer_id)
    if directory.membership(scope) is None:
        message = f"developer {command.developer_id} is no member of the team's organization; start that first"
        return _refused(Reason.CONFLICT, message)
    if any(known.team_id == command.team_id for known in directory.teams_of(scope)):
        return _refused(Reason.CONFLICT, f"developer {command.developer_id} is in the team already")
    added = TeamMemberAdded(
        received_at_us=now_us,
        team_membership_id=command.team_membership_id,
        team_id=command.team_id,
        developer_id=command.developer_id,
    )
    return _begun(added.team_membership_id, added)


def _remove_team_member(command: RemoveTeamMember, directory: Directory, now_us: int) -> PeopleDecision:
    wanted = command.team_membership_id
    known = directory.get(TeamMembership, wanted)
    if known is None:
        return _not_found("team membership", wanted)
    removed = TeamMemberRemoved(received_at_us=now_us, team_membership_id=wanted, team_id=known.team_id)
    return _ended(wanted, known, known.ended_at_us is not None, removed)


def _issue_key(command: IssueKey, directory: Directory, now_us: int) -> PeopleDecision:
    if directory.membership(Scope(command.organization_id, command.developer_id)) is None:
        message = (
            f"developer {command.developer_id} is no member of organization {command.organization_id}; "
            "start a membership first"
        )
        return _refused(Reason.CONFLICT, message)
    if command.expires_at_us is not None and command.expires_at_us <= now_us:
        return _refused(Reason.INVALID, "expires_at must lie in the future")
    if directory.credential(command.key_digest) is not None:
        return _refused(Reason.CONFLICT, "this key was issued before; make a new one")
    issued = CredentialIssued(
        received_at_us=now_us,
        credential_id=command.credential_id,
        organization_id=command.organization_id,
        developer_id=command.developer_id,
        key_digest=command.key_digest,
        key_start=command.key_start,
        name=command.name,
        expires_at_us=command.expires_at_us,
    )
    return _begun(credential_stream(command.key_digest), issued)


def _revoke_key(command: RevokeKey, directory: Directory, now_us: int) -> PeopleDecision:
    known = directory.credential_of(command.credential_id)
    if known is None:
        return _not_found("key", command.credential_id)
    revoked = CredentialRevoked(received_at_us=now_us, credential_id=command.credential_id)
    stream_id = credential_stream(known.key_digest)
    return _ended(stream_id, known, known.revoked_at_us is not None, revoked)
