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
from aggregates.ids import membership_stream
from aggregates.people.records import (
    Credential,
    Developer,
    Membership,
    Organization,
    Person,
    Role,
    Team,
    TeamMembership,
    begun,
    changed,
)
from aggregates.people.shown import (
    DeveloperRecord,
    KeyRecord,
    MembershipRecord,
    OrganizationRecord,
    TeamMembershipRecord,
    TeamRecord,
    show_developer,
    show_key,
    show_membership,
    show_organization,
    show_team,
    show_team_membership,
)
from aggregates.times import Window, local_date, local_day_bounds

_R = TypeVar("_R", bound=Person)


class Directory:
    """The people and keys as of the last event that was applied."""

    def __init__(self) -> None:
        self._records: dict[UUID, Person] = {}
        self._events: dict[UUID, int] = {}
        self._by_digest: dict[str, UUID] = {}
        self._by_scope: dict[tuple[UUID, UUID], UUID] = {}

    def apply(self, stream_id: UUID, event: Event) -> None:
        """Take in the next event of a stream."""
        record = begun(event) or changed(self._records[stream_id], event)
        self._records[stream_id] = record
        self._events[stream_id] = self._events.get(stream_id, 0) + 1
        match record:
            case Credential():
                self._by_digest[record.key_digest] = stream_id
            case Membership():
                self._by_scope[record.organization_id, record.developer_id] = stream_id
            case _:
                pass

    def version(self, stream_id: UUID) -> int:
        """The version of the last event of a stream; 0 where there is none."""
        return self._events.get(stream_id, 0)

    def all(self, kind: type[_R]) -> list[_R]:
        """Every record of a kind, ended ones too, in the order in which they began."""
        return [record for record in self._records.values() if isinstance(record, kind)]

    def get(self, kind: type[_R], stream_id: UUID) -> _R | None:
        """The record of that kind that a stream holds; for all but keys the record's id is the stream's."""
        record = self._records.get(stream_id)
        return record if isinstance(record, kind) else None

    def credential(self, key_digest: str) -> Credential | None:
        """The key with that digest, also a revoked one."""
        stream_id = self._by_digest.get(key_digest)
        return None if stream_id is None else self.get(Credential, stream_id)

    def credential_of(self, credential_id: UUID) -> Credential | None:
        """The key with that id."""
        return next((each for each in self.all(Credential) if each.credential_id == credential_id), None)

    def membership(self, scope: Scope) -> Membership | None:
        """The current membership of a developer in an organization; None where it ended or never was."""
        stream_id = self._by_scope.get((scope.organization_id, scope.developer_id))
        found = None if stream_id is None else self.get(Membership, stream_id)
        return found if found is not None and found.ended_at_us is None else None

    def organizations(self) -> list[OrganizationRecord]:
        """As they are shown."""
        return [show_organization(each) for each in self.all(Organization)]

    def developers(self) -> list[DeveloperRecord]:
        """As they are shown."""
        return [show_developer(each) for each in self.all(Developer)]

    def memberships(self) -> list[MembershipRecord]:
        """As they are shown; ended ones too."""
        return [show_membership(each) for each in self.all(Membership)]

    def teams(self) -> list[TeamRecord]:
        """As they are shown; inactive ones too."""
        return [show_team(each) for each in self.all(Team)]

    def team_memberships(self) -> list[TeamMembershipRecord]:
        """As they are shown; ended ones too."""
        return [show_team_membership(each) for each in self.all(TeamMembership)]

    def keys(self) -> list[KeyRecord]:
        """As they are shown; revoked ones too."""
        return [show_key(each) for each in self.all(Credential)]

    def redaction_of(self, organization_id: UUID) -> bool:
        """Whether secrets are taken out of an organization's texts before they are stored; on by default."""
        organization = self.get(Organization, organization_id)
        return organization is None or organization.redaction

    def text_leaves(self, organization_id: UUID) -> bool:
        """Whether an organization lets redacted text go to a model; one that is not known does not."""
        organization = self.get(Organization, organization_id)
        return organization is not None and organization.text_leaves

    def timezone(self, developer_id: UUID) -> str | None:
        """The IANA name in a developer's profile; None where none was set."""
        developer = self.get(Developer, developer_id)
        return None if developer is None else developer.timezone

    def teams_of(self, scope: Scope) -> list[Team]:
        """The active teams of the organization that the developer belongs to now."""
        stays = (stay for stay in self.all(TeamMembership) if stay.developer_id == scope.developer_id)
        teams = [self.get(Team, stay.team_id) for stay in stays if stay.ended_at_us is None]
        return [
            team
            for team in teams
            if team is not None and team.ended_at_us is None and team.organization_id == scope.organization_id
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
    credential = directory.credential(key_digest)
    if credential is None:
        return KeyRefusal.UNKNOWN
    expires_at_us = credential.expires_at_us
    if credential.revoked_at_us is not None or (expires_at_us is not None and expires_at_us <= now_us):
        return KeyRefusal.VOID
    scope = Scope(credential.organization_id, credential.developer_id)
    return principal(directory, scope) or KeyRefusal.NOT_A_MEMBER


def principal(directory: Directory, scope: Scope) -> Principal | None:
    """The developer as a member of the organization; None where they are none now."""
    membership = directory.membership(scope)
    return None if membership is None else Principal(scope, membership.role)


# Who was in a team on which days: the stays that its costs are counted over.


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
    of_team = (stay for stay in directory.all(TeamMembership) if stay.team_id == team.team_id)
    cut = (_days(stay, _ended_us(directory, team, stay), window, zone) for stay in of_team)
    inside = sorted((stay for stay in cut if stay.start_us < stay.end_us), key=attrgetter(*Stay.__struct_fields__))
    return tuple(stay for _, own in groupby(inside, attrgetter("developer_id")) for stay in _joined(own))


def _ended_us(directory: Directory, team: Team, stay: TeamMembership) -> int | None:
    membership = directory.get(Membership, membership_stream(team.organization_id, stay.developer_id))
    ends = (stay.ended_at_us, None if membership is None else membership.ended_at_us)
    return min((end for end in ends if end is not None), default=None)


def _days(stay: TeamMembership, ended_us: int | None, window: Window, zone: tzinfo) -> Stay:
    start_us = local_day_bounds(local_date(stay.started_at_us, zone), zone).start_us
    end_us = window.end_us
    if ended_us is not None:
        last_us = max(stay.started_at_us, ended_us - 1)
        end_us = local_day_bounds(local_date(last_us, zone), zone).end_us
    return Stay(stay.developer_id, max(start_us, window.start_us), min(end_us, window.end_us))


def _joined(stays: Iterable[Stay]) -> list[Stay]:
    """Who left and came back on the same day was there on one day, not on two."""
    joined: list[Stay] = []
    for stay in stays:
        if joined and stay.start_us <= joined[-1].end_us:
            end_us = max(stay.end_us, joined[-1].end_us)
            joined[-1] = msgspec.structs.replace(joined[-1], end_us=end_us)
        else:
            joined.append(stay)
    return joined
