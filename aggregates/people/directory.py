"""Who is who: organizations, developers, memberships, teams and keys, in memory, folded from their events.

All of it fits: a few hundred people make a few thousand events. Every request looks up its key and its membership as
they stand now; nothing positive is ever cached. At the end: who was in a team on which days.
"""

from datetime import tzinfo
from itertools import chain
from typing import Any, Literal, TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Event, Scope
from aggregates.ids import membership_id, membership_stream
from aggregates.people import acts
from aggregates.times import Window, iso, local_date, local_day_bounds, parse_instant, zone_named

# The records as the directory keeps them and as administrators see them. Each carries its `id`, which routes and
# commands take, also under its own name. None holds a key's digest.

TEAM_MINIMUM = 3  # unless the organization sets another one: two could each tell the other's part from the sum


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """An organization and its settings; a retention of null keeps for good."""

    id: UUID
    organization_id: UUID
    name: str
    text_leaves: bool  # whether redacted text may go to a model
    redaction: bool  # whether secrets are taken out before anything is stored
    retention_days_telemetry: int | None
    retention_days_text: int | None
    team_minimum: int  # of members at work on a day: with fewer, how their work came out is nobody else's business
    created_at: str


Activation = Literal["waiting", "key_configured", "first_prompt"]
"""How far a developer has come: nothing yet; the plugin's setup is complete; a prompt was captured."""


class Developer(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    developer_id: UUID
    display_name: str
    email: str | None  # by which a sign-in provider knows them first, and where mail about reports goes; null: unknown
    timezone: str
    language: str | None
    report_schedules: tuple[acts.Schedule, ...]
    report_notices: tuple[acts.Channel, ...]  # how they want to be told that a report is finished
    created_at: str


class _Scoped(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    organization_id: UUID
    developer_id: UUID

    @property
    def scope(self) -> Scope:
        return Scope(self.organization_id, self.developer_id)


class Membership(_Scoped, frozen=True, kw_only=True):
    membership_id: UUID
    role: acts.Role
    active: bool
    started_at: str
    ended_at: str | None


class Team(msgspec.Struct, frozen=True, kw_only=True):
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
    by: UUID | None  # the member who put them there; null where whoever runs the server did


class Key(_Scoped, frozen=True, kw_only=True):
    """A key: enough to recognise it, not enough to use it; the last use is a day of UTC, null where none was noted."""

    key_id: UUID
    key_start: str
    name: str | None
    issued_at: str
    expires_at: str | None
    revoked: bool
    revoked_at: str | None
    last_used_on: str | None
    came_by: UUID | None  # the link of another member by which the browser had come that made it; null: none


class Link(_Scoped, frozen=True, kw_only=True):  # signs a developer in once
    link_id: UUID
    created_at: str
    expires_at: str
    used: bool
    by: UUID | None  # the member who made it; None where whoever runs the server did
    came_by: UUID | None

    @property
    def root(self) -> UUID | None:
        """The link of another member by which comes who follows this one; None where it is one's own."""
        return self.came_by if self.by in (None, self.developer_id) else self.id

    def opens(self, now_us: int) -> bool:
        return not self.used and now_us < parse_instant(self.expires_at)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """An account of a sign-in provider that stands for a developer."""

    id: UUID
    identity_id: UUID
    issuer: str
    developer_id: UUID
    linked_at: str
    ended: bool  # whether another account of this provider took its place, or its developer ended it
    came_by: UUID | None


class SignIn(_Scoped, frozen=True, kw_only=True):  # a browser that stands for a developer
    sign_in_id: UUID
    opened_by: UUID | None  # the key that opened it, with which it ends; None where a link or a provider did
    browser: str | None
    started_at: str
    seen_at: str  # to the day
    ended: bool
    ended_at: str | None
    came_by: UUID | None


class Claim(msgspec.Struct, frozen=True, kw_only=True):  # a developer's word that a sign-in, key or account is theirs
    id: UUID
    only_in: UUID | None


class ForgetRequest(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    developer_id: UUID
    active: bool
    started_at: str


Access = Key | SignIn | Identity  # what opens a developer's pages, or sends in their name
Record = Organization | Developer | Membership | Team | TeamMembership | Access | Link | ForgetRequest | Claim

KINDS: dict[str, type[Record]] = {  # what an act is about, and the record of it
    "organization": Organization,
    "developer": Developer,
    "membership": Membership,
    "team": Team,
    "team membership": TeamMembership,
    "key": Key,
    "link": Link,
    "identity": Identity,
    "sign-in": SignIn,
    "request to be forgotten": ForgetRequest,
    "claim": Claim,
}
_Marks = dict[str, bool | None]
_MARKS: dict[type[acts.PeopleAct], _Marks] = {  # what an event sets once and for all; a time, where it is None
    **dict.fromkeys((acts.EndMembership, acts.EndTeam, acts.RemoveTeamMember), _Marks(active=False, ended_at=None)),
    acts.WithdrawForget: {"active": False},
    acts.RevokeKey: {"revoked": True, "revoked_at": None},
    acts.UseLink: {"used": True},
    acts.EndIdentity: {"ended": True},
    acts.EndSignIn: {"ended": True, "ended_at": None},
}
_AT_FIRST: dict[str, Any] = {  # fields of which the first event says nothing
    **dict.fromkeys(("text_leaves", "redaction", "active"), True),
    **dict.fromkeys(("revoked", "used", "ended"), False),
    **dict.fromkeys(("retention_days_telemetry", "retention_days_text", "email", "language")),
    **dict.fromkeys(("ended_at", "revoked_at", "last_used_on")),
    "team_minimum": TEAM_MINIMUM,
    "timezone": "UTC",
    "report_schedules": (),
    "report_notices": (),
}
_LOST = dict.fromkeys(("name", "display_name"), "(unreadable)")
_AT_WORST = _AT_FIRST | _LOST | {"text_leaves": False, "team_minimum": acts.TEAM_MINIMUM_MOST}


def applied(record: Record | None, event: acts.PeopleAct) -> Record:
    at, values = iso(event.received_at_us), msgspec.structs.asdict(event)
    if event.begins():
        kind = KINDS[event.about()]
        own_id, expires_at_us = values[event.__struct_fields__[acts.OWN_ID]], values.get("expires_at_us")
        if isinstance(record, Membership):
            own_id = values["membership_id"] = membership_id(own_id, event.received_at_us)
        values |= {"id": own_id, "key_id": own_id, "created_at": at, "started_at": at, "issued_at": at, "seen_at": at}
        values["linked_at"] = at
        values["expires_at"] = None if expires_at_us is None else iso(expires_at_us)
        told = {name: value for name, value in values.items() if value is not None or name not in _AT_FIRST}
        return msgspec.convert(_AT_FIRST | told, kind)  # a kind takes the values that it has fields for
    assert record is not None, f"{type(event).__name__} begins no record"
    if marks := _MARKS.get(type(event)):
        now = {name: (getattr(record, name) or at) if mark is None else mark for name, mark in marks.items()}
        return msgspec.structs.replace(record, **now)
    if isinstance(record, Key) and isinstance(event, acts.NoteKeyUse):
        return msgspec.structs.replace(record, last_used_on=max(record.last_used_on or "", event.last_used_on))
    if isinstance(record, SignIn):
        return msgspec.structs.replace(record, seen_at=at)
    del values["received_at_us"], values["by"]
    set_now = {name: value for name, value in values.items() if value is not None}
    unset = {name: None for name, value in set_now.items() if name.startswith(("retention", "email")) and not value}
    return msgspec.structs.replace(record, **set_now | unset)


_R = TypeVar("_R", bound=Record)


class Directory:
    def __init__(self) -> None:
        self._records: dict[UUID, Record] = {}
        self._versions: dict[UUID, int] = {}
        self._past: dict[UUID, Membership] = {}  # of those who joined again, by their own ids
        self.position = 0  # in the log, of the last event that it holds
        self.doubtful: set[UUID] = set()  # developers of whose keys, browsers and accounts not all is known

    def apply(self, stream_id: UUID, event: Event) -> None:
        assert isinstance(event, acts.PeopleAct), event.TOPIC
        before, known = self._records.get(stream_id), self.version(stream_id)
        if before is None and not event.begins():  # what began it was lost
            return self.lose(stream_id, event.TOPIC)
        self._versions[stream_id] = known + 1
        if isinstance(event, acts.OfferLink):
            self._void_links(Scope(event.organization_id, event.developer_id), event.received_at_us)
        if isinstance(event, acts.StartMembership):
            self._join(before, known, Scope(event.organization_id, event.developer_id), event.received_at_us)
        self._records[stream_id] = after = applied(before, event)
        if isinstance(event, acts.EndMembership) and isinstance(after, Membership):
            self._leave(after.scope, event.received_at_us)
        if isinstance(event, acts.LinkIdentity) and isinstance(after, Identity):
            for other in self.all(Identity, issuer=after.issuer, developer_id=after.developer_id):
                self._records[other.id] = msgspec.structs.replace(other, ended=other.id != after.id)

    def _join(self, before: Record | None, known: int, scope: Scope, at_us: int) -> None:
        for about, id_ in (("organization", scope.organization_id), ("developer", scope.developer_id)):
            if id_ not in self._records:  # what began it stands as if about another
                self.lose(id_, about, 0)
        if not known:
            return
        left_at = getattr(before, "ended_at", None)
        if isinstance(before, Membership):
            self._past[before.id] = before
        else:  # that they left may have been lost
            self._leave(scope, at_us)
        for key_id, key in self._records.items():  # the keys of whoever joins again were void since they had left
            if isinstance(key, Key) and not key.revoked and key.scope == scope:
                self._records[key_id] = msgspec.structs.replace(key, revoked=True, revoked_at=left_at)

    def lose(self, stream_id: UUID, topic: str, up_to_version: int | None = None) -> None:
        """Of an event that cannot be read: it gives nothing, and takes what one of its kind can take."""
        about, record, known = topic.partition(".")[0], self._records.get(stream_id), self.version(stream_id)
        self._versions[stream_id] = known + 1 if up_to_version is None else up_to_version
        if about in ("organization", "developer"):
            told = {"id": stream_id, f"{about}_id": stream_id, "created_at": getattr(record, "created_at", iso(0))}
            self._records[stream_id] = msgspec.convert(_AT_WORST | told, KINDS[about])
        else:
            self._records.pop(stream_id, None)
        for link in self.all(Link) if about == "membership" or (about == "link" and not known) else ():
            both = link.scope, Scope(link.organization_id, link.by or link.developer_id)
            if not isinstance(record, Membership) or record.scope in both:
                self._records[link.id] = msgspec.structs.replace(link, expires_at=link.created_at)
        may_replace = about == "identity" and topic != acts.EndIdentity.TOPIC
        for account in self.all(Identity) if may_replace else ():
            self._records[account.id] = msgspec.structs.replace(account, ended=True)
        if isinstance(record, Key | SignIn | Identity):
            self.doubtful.add(record.developer_id)
        if may_replace or (about in ("credential", "sign-in") and not known):
            self.doubtful.update(each.id for each in self.all(Developer))

    def _void_links(self, scope: Scope, at_us: int, by: UUID | None = None) -> None:
        """Links for this member, and those made `by` somebody, open nothing from now on; only a newer one does."""
        for link in self.all(Link):
            made = by is not None and (link.organization_id, link.by) == (scope.organization_id, by)
            if (made or link.scope == scope) and link.opens(at_us):
                self._records[link.id] = msgspec.structs.replace(link, expires_at=iso(at_us))

    def _leave(self, scope: Scope, at_us: int) -> None:
        """Whoever leaves is signed out and leaves their teams, and no link opens anything, also if they join again."""
        self._void_links(scope, at_us, scope.developer_id)
        for browser in self.all(SignIn, scope=scope, ended=False):
            self._records[browser.id] = msgspec.structs.replace(browser, ended=True, ended_at=iso(at_us))
        for stay in self.all(TeamMembership, developer_id=scope.developer_id):
            if (team := self.get(Team, stay.team_id)) is not None and team.organization_id == scope.organization_id:
                ended_us = at_us if stay.ended_at is None else min(at_us, parse_instant(stay.ended_at))
                self._records[stay.id] = msgspec.structs.replace(stay, active=False, ended_at=iso(ended_us))

    def version(self, stream_id: UUID) -> int:
        """The version of the last event of a stream; 0 where there is none."""
        return self._versions.get(stream_id, 0)

    def all(self, kind: type[_R], **fields: object) -> list[_R]:
        """Those with these values in their fields, ended ones too, in the order in which they began."""
        found = (each for each in chain(self._past.values(), self._records.values()) if isinstance(each, kind))
        return [each for each in found if all(getattr(each, name) == value for name, value in fields.items())]

    def get(self, kind: type[_R], stream_id: UUID) -> _R | None:
        """The record of that kind that a stream holds; for all but keys the record's id is the stream's."""
        record = self._records.get(stream_id)
        return record if isinstance(record, kind) else None

    def record(self, stream_id: UUID) -> Record | None:
        return self._records.get(stream_id)

    def past_membership(self, membership_id: UUID) -> Membership | None:
        return self._past.get(membership_id)

    def stream_of(self, kind: type[Record], id_: UUID) -> UUID | None:
        """Where a key, or the newest membership of somebody, is kept: their ids are not the streams'."""
        found = self._records.items()
        return next((stream for stream, each in found if isinstance(each, kind) and each.id == id_), None)

    def membership(self, scope: Scope) -> Membership | None:
        """The current membership of a developer in an organization; None where it ended or never was."""
        found = self.get(Membership, membership_stream(scope.organization_id, scope.developer_id))
        return found if found is not None and found.active else None

    def name_of(self, developer_id: UUID | None) -> str | None:
        found = None if developer_id is None else self.get(Developer, developer_id)
        return None if found is None else found.display_name

    def redaction_of(self, organization_id: UUID) -> bool:
        """Whether secrets are taken out of an organization's texts before they are stored; on by default."""
        return (found := self.get(Organization, organization_id)) is None or found.redaction

    def text_leaves(self, organization_id: UUID) -> bool:
        """Whether an organization lets redacted text go to a model; one that is not known does not."""
        return (found := self.get(Organization, organization_id)) is not None and found.text_leaves

    def names_in(self, organization_id: UUID) -> list[str]:
        members = self.all(Membership, organization_id=organization_id)
        return [name for each in members if (name := self.name_of(each.developer_id)) is not None]

    def timezone(self, developer_id: UUID) -> str:
        """The IANA name in a developer's profile; UTC where none was set, or one that was once taken for a name."""
        developer = self.get(Developer, developer_id)
        try:
            return "UTC" if developer is None else zone_named(developer.timezone).key
        except ValueError:
            return "UTC"

    def teams_of(self, scope: Scope) -> list[Team]:
        stays = self.all(TeamMembership, active=True, developer_id=scope.developer_id)
        teams = [team for each in stays if (team := self.get(Team, each.team_id)) is not None and team.active]
        return [team for team in teams if team.organization_id == scope.organization_id]


def forget_requests(directory: Directory) -> dict[UUID, str]:
    """Who asks to be forgotten, and since when; whoever is no member any more has been, or left."""
    members = {each.developer_id for each in directory.all(Membership, active=True)}
    asked = directory.all(ForgetRequest, active=True)
    return {each.developer_id: each.started_at for each in asked if each.developer_id in members}


class Stay(msgspec.Struct, frozen=True, order=True):  # whole days of one developer in a team, cut to a window
    developer_id: UUID
    start_us: int
    end_us: int  # the first that is no more in it


def stays_in(directory: Directory, team: Team, window: Window, zone: tzinfo) -> tuple[Stay, ...]:
    """Who was in the team within the window, in whole days of the zone, so no day is cut in two; no stays overlap."""
    cut = (_stay(each, window, zone) for each in directory.all(TeamMembership, team_id=team.team_id))
    joined: list[Stay] = []
    for stay in sorted(each for each in cut if each.start_us < each.end_us):
        before = joined[-1] if joined else None
        if before is not None and before.developer_id == stay.developer_id and stay.start_us <= before.end_us:
            stay = Stay(stay.developer_id, before.start_us, max(stay.end_us, before.end_us))
            joined.pop()
        joined.append(stay)
    return tuple(joined)


def _stay(period: TeamMembership, window: Window, zone: tzinfo) -> Stay:
    ended_us = None if period.ended_at is None else parse_instant(period.ended_at)
    started_us, end_us = parse_instant(period.started_at), window.end_us
    start_us = local_day_bounds(local_date(started_us, zone), zone).start_us
    if ended_us is not None:
        end_us = local_day_bounds(local_date(max(started_us, ended_us - 1), zone), zone).end_us
    return Stay(period.developer_id, max(start_us, window.start_us), min(end_us, window.end_us))
