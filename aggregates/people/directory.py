"""Who is who: organizations, developers, memberships, teams and keys, in memory, folded from their events.

A few hundred people make a few thousand events, so all of it fits in memory. Every request looks up
its key and its membership as they stand now; nothing positive is ever cached.
"""

from collections.abc import Iterable
from datetime import tzinfo
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Event, Scope
from aggregates.ids import credential_stream, membership_stream
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
from aggregates.times import Window, iso, local_date, local_day_bounds, parse_instant

# Organizations, developers, memberships, teams and keys: as the directory keeps them and as administrators see them.
#
# Every record carries its `id`, which routes and commands take, also under its own name. No record holds a key's
# digest.


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


_R = TypeVar("_R", bound=Record)


class Directory:
    """The people and keys as of the last event that was applied."""

    def __init__(self) -> None:
        self._records: dict[UUID, Record] = {}
        self._versions: dict[UUID, int] = {}

    def apply(self, stream_id: UUID, event: Event) -> None:
        """Take in the next event of a stream."""
        self._records[stream_id] = applied(self._records.get(stream_id), event)
        self._versions[stream_id] = self.version(stream_id) + 1

    def version(self, stream_id: UUID) -> int:
        """The version of the last event of a stream; 0 where there is none."""
        return self._versions.get(stream_id, 0)

    def all(self, kind: type[_R]) -> list[_R]:
        """Every record of a kind, ended ones too, in the order in which they began."""
        return [record for record in self._records.values() if isinstance(record, kind)]

    def get(self, kind: type[_R], stream_id: UUID) -> _R | None:
        """The record of that kind that a stream holds; for all but keys the record's id is the stream's."""
        record = self._records.get(stream_id)
        return record if isinstance(record, kind) else None

    def credential(self, key_digest: str) -> Key | None:
        """The key with that digest, also a revoked one."""
        return self.get(Key, credential_stream(key_digest))

    def key_stream(self, key_id: UUID) -> UUID | None:
        """The stream of the key with that id."""
        streams = (
            stream for stream, record in self._records.items() if isinstance(record, Key) and record.id == key_id
        )
        return next(streams, None)

    def membership(self, scope: Scope) -> Membership | None:
        """The current membership of a developer in an organization; None where it ended or never was."""
        found = self.get(Membership, membership_stream(scope.organization_id, scope.developer_id))
        return found if found is not None and found.active else None

    def redaction_of(self, organization_id: UUID) -> bool:
        """Whether secrets are taken out of an organization's texts before they are stored; on by default."""
        organization = self.get(Organization, organization_id)
        return organization is None or organization.redaction

    def text_leaves(self, organization_id: UUID) -> bool:
        """Whether an organization lets redacted text go to a model; one that is not known does not."""
        organization = self.get(Organization, organization_id)
        return organization is not None and organization.text_leaves

    def timezone(self, developer_id: UUID) -> str:
        """The IANA name in a developer's profile; UTC where none was set."""
        developer = self.get(Developer, developer_id)
        return "UTC" if developer is None else developer.timezone

    def teams_of(self, scope: Scope) -> list[Team]:
        """The active teams of the organization that the developer belongs to now."""
        periods = self.all(TeamMembership)
        teams = [
            self.get(Team, each.team_id) for each in periods if each.active and each.developer_id == scope.developer_id
        ]
        return [
            team for team in teams if team is not None and team.active and team.organization_id == scope.organization_id
        ]


class Principal(msgspec.Struct, frozen=True):
    """A developer who showed a valid key, or was named by an internal call, and is a member now."""

    scope: Scope
    role: Role


class KeyRefusal(Enum):
    """Why a key does not open anything."""

    UNKNOWN = "unknown key"
    VOID = "revoked or expired"
    NOT_A_MEMBER = "no longer a member"


def authenticate(directory: Directory, key_digest: str, now_us: int) -> Principal | KeyRefusal:
    """Whose key it is, as things stand now: the key's own life first, then the membership it stands for."""
    key = directory.credential(key_digest)
    if key is None:
        return KeyRefusal.UNKNOWN
    if key.revoked or (key.expires_at is not None and parse_instant(key.expires_at) <= now_us):
        return KeyRefusal.VOID
    scope = Scope(key.organization_id, key.developer_id)
    return principal(directory, scope) or KeyRefusal.NOT_A_MEMBER


def principal(directory: Directory, scope: Scope) -> Principal | None:
    """The developer as a member of the organization; None where they are none now."""
    membership = directory.membership(scope)
    return None if membership is None else Principal(scope, membership.role)


class Stay(msgspec.Struct, frozen=True):
    """Whole days of one developer in a team, cut to a window: from `start_us` up to, but without, `end_us`."""

    developer_id: UUID
    start_us: int
    end_us: int


def stays_in(directory: Directory, team: Team, window: Window, zone: tzinfo) -> tuple[Stay, ...]:
    """The stays of everybody who was in the team within the window, former members too; no two overlap.

    A day of the zone counts whole on which somebody was in the team at all, so coming and going cuts no day in two.
    Who leaves the organization leaves the team.
    """
    of_team = (each for each in directory.all(TeamMembership) if each.team_id == team.team_id)
    cut = (_days(each, _ended_us(directory, team, each), window, zone) for each in of_team)
    inside = sorted((stay for stay in cut if stay.start_us < stay.end_us), key=attrgetter(*Stay.__struct_fields__))
    return tuple(stay for _, own in groupby(inside, attrgetter("developer_id")) for stay in _joined(own))


def _ended_us(directory: Directory, team: Team, period: TeamMembership) -> int | None:
    membership = directory.get(Membership, membership_stream(team.organization_id, period.developer_id))
    ends = (period.ended_at, None if membership is None else membership.ended_at)
    return min((parse_instant(end) for end in ends if end is not None), default=None)


def _days(period: TeamMembership, ended_us: int | None, window: Window, zone: tzinfo) -> Stay:
    started_us, end_us = parse_instant(period.started_at), window.end_us
    start_us = local_day_bounds(local_date(started_us, zone), zone).start_us
    if ended_us is not None:
        end_us = local_day_bounds(local_date(max(started_us, ended_us - 1), zone), zone).end_us
    return Stay(period.developer_id, max(start_us, window.start_us), min(end_us, window.end_us))


def _joined(stays: Iterable[Stay]) -> list[Stay]:
    """The stays of one developer; those that share a day become one."""
    joined: list[Stay] = []
    for stay in stays:
        if joined and stay.start_us <= joined[-1].end_us:
            end_us = max(stay.end_us, joined[-1].end_us)
            joined[-1] = msgspec.structs.replace(joined[-1], end_us=end_us)
        else:
            joined.append(stay)
    return joined
