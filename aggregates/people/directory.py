"""Who is who: organizations, developers, memberships, teams and keys, in memory, folded from their events.

A few hundred people make a few thousand events, so all of it fits in memory. Every request looks up
its key and its membership as they stand now; nothing positive is ever cached.
"""

from collections.abc import Iterable
from datetime import tzinfo
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Event, Scope
from aggregates.ids import credential_stream, membership_stream
from aggregates.people.events import Role
from aggregates.people.records import Developer, Key, Membership, Organization, Record, Team, TeamMembership, applied
from aggregates.times import Window, local_date, local_day_bounds, parse_instant

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
