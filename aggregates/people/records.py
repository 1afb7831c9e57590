"""What is known of an organization, a developer, a membership, a team or a key after its events."""

from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Event
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

Role = Literal["owner", "member"]
Schedule = Literal["daily", "weekly", "monthly"]


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """An organization and its settings."""

    organization_id: UUID
    name: str
    created_at_us: int
    text_leaves: bool = True
    """False: no text goes to a model."""
    redaction: bool = True
    """Whether secrets are taken out before anything is stored."""
    retention_days_telemetry: int | None = None
    """None: kept for good."""
    retention_days_text: int | None = None


class Developer(msgspec.Struct, frozen=True, kw_only=True):
    """A developer and their profile; None was not set."""

    developer_id: UUID
    display_name: str
    created_at_us: int
    timezone: str | None = None
    """An IANA name; UTC unless set."""
    language: str | None = None
    report_schedules: tuple[Schedule, ...] = ()


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """A developer's belonging to an organization, now or formerly."""

    membership_id: UUID
    organization_id: UUID
    developer_id: UUID
    role: Role
    started_at_us: int
    ended_at_us: int | None = None


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A team within an organization, active until it ended."""

    team_id: UUID
    organization_id: UUID
    name: str
    created_at_us: int
    ended_at_us: int | None = None


class TeamMembership(msgspec.Struct, frozen=True, kw_only=True):
    """One stay of a developer in a team."""

    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID
    started_at_us: int
    ended_at_us: int | None = None


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A key, known by its digest only."""

    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str
    """SHA-256 of the key, lower-case hex."""
    key_start: str
    """The first 12 characters, to recognise the key by."""
    created_at_us: int
    name: str | None = None
    expires_at_us: int | None = None
    revoked_at_us: int | None = None


Person = Organization | Developer | Membership | Team | TeamMembership | Credential
"""Any record of this room."""


def begun(event: Event) -> Person | None:
    """The record that an event begins; None where it changes one that is there."""
    at_us = event.received_at_us
    match event:
        case OrganizationCreated():
            return Organization(organization_id=event.organization_id, name=event.name, created_at_us=at_us)
        case DeveloperCreated():
            return Developer(developer_id=event.developer_id, display_name=event.display_name, created_at_us=at_us)
        case MembershipStarted():
            return Membership(
                membership_id=event.membership_id,
                organization_id=event.organization_id,
                developer_id=event.developer_id,
                role=event.role,
                started_at_us=at_us,
            )
        case TeamCreated():
            return Team(
                team_id=event.team_id,
                organization_id=event.organization_id,
                name=event.name,
                created_at_us=at_us,
            )
        case TeamMemberAdded():
            return TeamMembership(
                team_membership_id=event.team_membership_id,
                team_id=event.team_id,
                developer_id=event.developer_id,
                started_at_us=at_us,
            )
        case CredentialIssued():
            return _credential(event)
        case _:
            return None


def _credential(event: CredentialIssued) -> Credential:
    return Credential(
        credential_id=event.credential_id,
        organization_id=event.organization_id,
        developer_id=event.developer_id,
        key_digest=event.key_digest,
        key_start=event.key_start,
        created_at_us=event.received_at_us,
        name=event.name,
        expires_at_us=event.expires_at_us,
    )


def changed(record: Person, event: Event) -> Person:
    """A record after an event that changes or ends it."""
    at_us = event.received_at_us
    match record, event:
        case Organization(), OrganizationChanged():
            return msgspec.structs.replace(record, **_for_good(_set_in(event, _ORGANIZATION_SETTINGS)))
        case Developer(), DeveloperChanged():
            return msgspec.structs.replace(record, **_set_in(event, _DEVELOPER_SETTINGS))
        case Membership(), MembershipChanged():
            return msgspec.structs.replace(record, role=event.role)
        case Membership() | Team() | TeamMembership(), (MembershipEnded() | TeamEnded() | TeamMemberRemoved()):
            return msgspec.structs.replace(record, ended_at_us=at_us)
        case Credential(), CredentialRevoked():
            return msgspec.structs.replace(record, revoked_at_us=at_us)
        case _:
            raise TypeError(f"{type(event).__name__} is no event of {type(record).__name__}")


_ORGANIZATION_SETTINGS = (
    "name",
    "text_leaves",
    "redaction",
    "retention_days_telemetry",
    "retention_days_text",
)
_RETENTIONS = ("retention_days_telemetry", "retention_days_text")
_DEVELOPER_SETTINGS = ("display_name", "timezone", "language", "report_schedules")


def _set_in(event: Event, names: tuple[str, ...]) -> dict[str, object]:
    """What an event sets; None leaves a setting as it was."""
    values = {name: getattr(event, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _for_good(settings: dict[str, object]) -> dict[str, object]:
    """A retention of no days is none: what it is about is kept."""
    return {name: value or None if name in _RETENTIONS else value for name, value in settings.items()}
