"""People and keys as they are shown to administrators: ids and times as text, never a digest.

Every record carries its `id`, which is what the routes and commands take, also under its own name.
"""

import msgspec

from aggregates.people.records import (
    Credential,
    Developer,
    Membership,
    Organization,
    Person,
    Role,
    Schedule,
    Team,
    TeamMembership,
)
from aggregates.times import iso


class OrganizationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An organization and its settings; a retention of null keeps for good."""

    id: str
    organization_id: str
    name: str
    text_leaves: bool
    redaction: bool
    retention_days_telemetry: int | None
    retention_days_text: int | None
    created_at: str


class DeveloperRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A developer and their profile."""

    id: str
    developer_id: str
    display_name: str
    timezone: str
    language: str | None
    report_schedules: tuple[Schedule, ...]
    created_at: str


class MembershipRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A developer in an organization."""

    id: str
    membership_id: str
    organization_id: str
    developer_id: str
    role: Role
    active: bool
    started_at: str
    ended_at: str | None


class TeamRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A team."""

    id: str
    team_id: str
    organization_id: str
    name: str
    active: bool
    created_at: str
    ended_at: str | None


class TeamMembershipRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One stay of a developer in a team."""

    id: str
    team_membership_id: str
    team_id: str
    developer_id: str
    active: bool
    started_at: str
    ended_at: str | None


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A key: enough to recognise it, not enough to use it."""

    id: str
    key_id: str
    organization_id: str
    developer_id: str
    key_start: str
    name: str | None
    issued_at: str
    expires_at: str | None
    revoked: bool
    revoked_at: str | None


Record = OrganizationRecord | DeveloperRecord | MembershipRecord | TeamRecord | TeamMembershipRecord | KeyRecord


def show(record: Person) -> Record:
    """Any record as it is shown."""
    match record:
        case Organization():
            return show_organization(record)
        case Developer():
            return show_developer(record)
        case Membership():
            return show_membership(record)
        case Team():
            return show_team(record)
        case TeamMembership():
            return show_team_membership(record)
        case Credential():
            return show_key(record)


def show_organization(record: Organization) -> OrganizationRecord:
    """Text for ids and times."""
    return OrganizationRecord(
        id=str(record.organization_id),
        organization_id=str(record.organization_id),
        name=record.name,
        text_leaves=record.text_leaves,
        redaction=record.redaction,
        retention_days_telemetry=record.retention_days_telemetry,
        retention_days_text=record.retention_days_text,
        created_at=iso(record.created_at_us),
    )


def show_developer(record: Developer) -> DeveloperRecord:
    """Text for ids and times; the zone is UTC unless one was set."""
    return DeveloperRecord(
        id=str(record.developer_id),
        developer_id=str(record.developer_id),
        display_name=record.display_name,
        timezone=record.timezone or "UTC",
        language=record.language,
        report_schedules=record.report_schedules,
        created_at=iso(record.created_at_us),
    )


def show_membership(record: Membership) -> MembershipRecord:
    """Text for ids and times."""
    return MembershipRecord(
        id=str(record.membership_id),
        membership_id=str(record.membership_id),
        organization_id=str(record.organization_id),
        developer_id=str(record.developer_id),
        role=record.role,
        active=record.ended_at_us is None,
        started_at=iso(record.started_at_us),
        ended_at=_iso(record.ended_at_us),
    )


def show_team(record: Team) -> TeamRecord:
    """Text for ids and times."""
    return TeamRecord(
        id=str(record.team_id),
        team_id=str(record.team_id),
        organization_id=str(record.organization_id),
        name=record.name,
        active=record.ended_at_us is None,
        created_at=iso(record.created_at_us),
        ended_at=_iso(record.ended_at_us),
    )


def show_team_membership(record: TeamMembership) -> TeamMembershipRecord:
    """Text for ids and times."""
    return TeamMembershipRecord(
        id=str(record.team_membership_id),
        team_membership_id=str(record.team_membership_id),
        team_id=str(record.team_id),
        developer_id=str(record.developer_id),
        active=record.ended_at_us is None,
        started_at=iso(record.started_at_us),
        ended_at=_iso(record.ended_at_us),
    )


def show_key(record: Credential) -> KeyRecord:
    """Text for ids and times; the digest stays inside."""
    return KeyRecord(
        id=str(record.credential_id),
        key_id=str(record.credential_id),
        organization_id=str(record.organization_id),
        developer_id=str(record.developer_id),
        key_start=record.key_start,
        name=record.name,
        issued_at=iso(record.created_at_us),
        expires_at=_iso(record.expires_at_us),
        revoked=record.revoked_at_us is not None,
        revoked_at=_iso(record.revoked_at_us),
    )


def _iso(instant_us: int | None) -> str | None:
    return None if instant_us is None else iso(instant_us)
