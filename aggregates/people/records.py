"""Organizations, developers, memberships, teams and keys: as the directory keeps them and as administrators see them.

Every record carries its `id`, which routes and commands take, also under its own name. No record holds a key's digest.
"""

from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Event
from aggregates.people.events import (
    CredentialIssued,
    CredentialRevoked,
    DeveloperCreated,
    MembershipEnded,
    MembershipStarted,
    OrganizationCreated,
    Role,
    Schedule,
    TeamCreated,
    TeamEnded,
    TeamMemberAdded,
    TeamMemberRemoved,
)
from aggregates.times import iso


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """An organization and its settings; a retention of null keeps for good."""

    id: UUID
    organization_id: UUID
    name: str
    text_leaves: bool
    """Whether redacted text may go to a model."""
    redaction: bool
    """Whether secrets are taken out before anything is stored."""
    retention_days_telemetry: int | None
    retention_days_text: int | None
    created_at: str


class Developer(msgspec.Struct, frozen=True, kw_only=True):
    """A developer and their profile."""

    id: UUID
    developer_id: UUID
    display_name: str
    timezone: str
    language: str | None
    report_schedules: tuple[Schedule, ...]
    created_at: str


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """A developer in an organization, now or formerly."""

    id: UUID
    membership_id: UUID
    organization_id: UUID
    developer_id: UUID
    role: Role
    active: bool
    started_at: str
    ended_at: str | None


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A team of an organization, active until it ended."""

    id: UUID
    team_id: UUID
    organization_id: UUID
    name: str
    active: bool
    created_at: str
    ended_at: str | None


class TeamMembership(msgspec.Struct, frozen=True, kw_only=True):
    """One period of a developer in a team."""

    id: UUID
    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID
    active: bool
    started_at: str
    ended_at: str | None


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key: enough to recognise it, not enough to use it."""

    id: UUID
    key_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_start: str
    name: str | None
    issued_at: str
    expires_at: str | None
    revoked: bool
    revoked_at: str | None


Record = Organization | Developer | Membership | Team | TeamMembership | Key

BEGUN_BY: dict[type[Event], tuple[type[Record], str]] = {
    OrganizationCreated: (Organization, "organization_id"),
    DeveloperCreated: (Developer, "developer_id"),
    MembershipStarted: (Membership, "membership_id"),
    TeamCreated: (Team, "team_id"),
    TeamMemberAdded: (TeamMembership, "team_membership_id"),
    CredentialIssued: (Key, "credential_id"),
}
"""The record that an event begins, and the event's field with its id."""

_AT_FIRST: dict[str, Any] = {
    "text_leaves": True,
    "redaction": True,
    "retention_days_telemetry": None,
    "retention_days_text": None,
    "timezone": "UTC",
    "language": None,
    "report_schedules": (),
    "active": True,
    "ended_at": None,
    "revoked": False,
    "revoked_at": None,
}
"""Fields of which the first event says nothing."""


def applied(record: Record | None, event: Event) -> Record:
    """A record after an event that begins, changes or ends it."""
    if type(event) in BEGUN_BY:
        return _begun(event)
    assert record is not None, f"{type(event).__name__} begins no record"
    at = iso(event.received_at_us)
    match record, event:
        case ((Membership() | Team() | TeamMembership()), (MembershipEnded() | TeamEnded() | TeamMemberRemoved())):
            return msgspec.structs.replace(record, active=False, ended_at=record.ended_at or at)
        case Key(), CredentialRevoked():
            return msgspec.structs.replace(record, revoked=True, revoked_at=record.revoked_at or at)
        case _:
            values = {name: value for name, value in msgspec.structs.asdict(event).items() if value is not None}
            del values["received_at_us"]
            kept_for_good = {name: None for name, value in values.items() if name.startswith("retention") and not value}
            return msgspec.structs.replace(record, **values | kept_for_good)


def _begun(event: Event) -> Record:
    kind, id_field = BEGUN_BY[type(event)]
    values = _AT_FIRST | msgspec.structs.asdict(event)
    own_id, at, expires_at_us = values[id_field], iso(event.received_at_us), values.get("expires_at_us")
    values |= {"id": own_id, "key_id": own_id, "created_at": at, "started_at": at, "issued_at": at}
    values["expires_at"] = None if expires_at_us is None else iso(expires_at_us)
    return msgspec.convert(values, kind)  # a kind takes the values that it has fields for
