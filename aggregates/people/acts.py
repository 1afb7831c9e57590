"""What is done about organizations, developers, memberships, teams, keys, links, accounts and sign-ins, and with what.

One class is the wish and the fact: whoever wishes leaves the time out, and who does it; the decision puts them in.
"""

import re
from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from aggregates.event import Event
from aggregates.ids import plain
from aggregates.times import zone_named

UNKNOWN = UUID(int=0)  # in a wish, where the decision finds the id
Role = Literal["owner", "lead", "member", "reader"]
"""A lead reads the teams that they belong to, as every member does; a reader does too, and captures nothing."""
Schedule = Literal["daily", "weekly", "monthly"]
Channel = Literal["email", "webhook"]  # by which a developer is told that a report of theirs is finished


class PeopleAct(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Its first field is the id of the record that it is about, or begins."""

    received_at_us: int = 0
    by: UUID | None = None  # the member who did it on a page; None where the internal secret, or the server, did

    @classmethod
    def about(cls) -> str:
        """The kind of that record, as its topic tells."""
        head, _, what = cls.TOPIC.partition(".")
        return "team membership" if what.startswith("member-") else _NOUNS.get(head, head)

    @classmethod
    def begins(cls) -> bool:
        return cls.TOPIC.partition(".")[2] in _BEGINNINGS


_NOUNS = {"credential": "key", "forget": "request to be forgotten", "access": "claim"}  # else the topic's word
_BEGINNINGS = {*("created", "requested", "started", "member-added", "issued", "offered", "linked", "opened", "claimed")}
OWN_ID = len(PeopleAct.__struct_fields__)  # the place of that first field


class CreateOrganization(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "organization.created"
    organization_id: UUID
    name: str


class ChangeOrganization(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings; None leaves one as it was, a retention of 0 days keeps for good."""

    TOPIC: ClassVar[str] = "organization.changed"
    organization_id: UUID
    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: int | None = None
    retention_days_text: int | None = None
    team_minimum: int | None = None


class CreateDeveloper(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "developer.created"
    developer_id: UUID
    display_name: str
    email: str | None = None  # of nobody else; it and what follows is told by `ChangeDeveloper`
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None
    report_notices: tuple[Channel, ...] | None = None


class ChangeDeveloper(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """Profile; None leaves a field as it was, an empty e-mail address takes it away."""

    TOPIC: ClassVar[str] = "developer.changed"
    developer_id: UUID
    display_name: str | None = None
    email: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None
    report_notices: tuple[Channel, ...] | None = None


class RequestForget(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """The developer asks to be forgotten. Nothing is deleted by it."""

    TOPIC: ClassVar[str] = "forget.requested"
    developer_id: UUID


class WithdrawForget(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "forget.withdrawn"
    developer_id: UUID


class StartMembership(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.started"
    membership_id: UUID = UNKNOWN
    organization_id: UUID
    developer_id: UUID
    role: Role = msgspec.field(default_factory=lambda: "member")  # so that it is stored all the same


class ChangeMembership(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.changed"
    membership_id: UUID
    role: Role


class EndMembership(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.ended"
    membership_id: UUID
    forgotten: bool = False  # whether the person is to be forgotten: that is done for the last owner, too


class CreateTeam(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.created"
    team_id: UUID
    organization_id: UUID
    name: str


class EndTeam(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.ended"
    team_id: UUID


class AddTeamMember(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.member-added"
    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID


class RemoveTeamMember(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.member-removed"
    team_membership_id: UUID
    team_id: UUID = UNKNOWN


class IssueKey(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "credential.issued"
    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str  # SHA-256 of the key, lower-case hex
    key_start: str  # the first 12 characters of the key, to recognise it
    name: str | None = None
    expires_at_us: int | None = None
    came_by: UUID | None = None  # another member's link, by which the browser had come that made it


class RevokeKey(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "credential.revoked"
    credential_id: UUID


class NoteKeyUse(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """The key opened something on this day of UTC; told once a day at most."""

    TOPIC: ClassVar[str] = "credential.used"
    credential_id: UUID
    last_used_on: str


class OfferLink(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """A link exists that signs a developer in once. Its id comes from its text, which is stored nowhere."""

    TOPIC: ClassVar[str] = "link.offered"
    link_id: UUID
    organization_id: UUID
    developer_id: UUID
    expires_at_us: int
    came_by: UUID | None = None


class UseLink(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "link.used"
    link_id: UUID


class LinkIdentity(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """An account of a sign-in provider stands for a developer. Its id comes from issuer and subject."""

    TOPIC: ClassVar[str] = "identity.linked"
    identity_id: UUID
    issuer: str
    developer_id: UUID
    came_by: UUID | None = None


class EndIdentity(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "identity.ended"
    identity_id: UUID


class OpenSignIn(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """A browser stands for a developer. The id comes from its cookie, which is stored nowhere."""

    TOPIC: ClassVar[str] = "sign-in.opened"
    sign_in_id: UUID
    organization_id: UUID
    developer_id: UUID
    opened_by: UUID | None = None  # the id of the key; None where a link opened it
    browser: str | None = None
    came_by: UUID | None = None  # another member's link that opened it, or let in the key or account that did


class SeeSignIn(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """It was used; told once a day at most."""

    TOPIC: ClassVar[str] = "sign-in.seen"
    sign_in_id: UUID


class EndSignIn(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "sign-in.ended"
    sign_in_id: UUID
    administered: bool = False  # whether it is an act of administration, unlike signing out oneself


class ClaimAccess(PeopleAct, frozen=True, kw_only=True, omit_defaults=True):
    """A developer says that a sign-in, key or account is theirs, which came by another member's link."""

    TOPIC: ClassVar[str] = "access.claimed"
    access_id: UUID
    only_in: UUID | None = None  # the sign-in that alone hides it from now on, since it came by such a link itself


# What fields may hold.

KEPT_FOR_GOOD = 0  # the retention, in days, of what is never dropped: None would leave a retention as it was

NAME_CHARACTERS_MAX = 200
TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST = 2, 1_000
RETENTION_DAYS_MAX = 36_500
EMAIL_CHARACTERS_MAX = 254
_EMAIL_PART = r"[!#-'*+\-./0-9=?A-Z^-~]+"
EMAIL = re.compile(f"{_EMAIL_PART}@{_EMAIL_PART}")  # one address of ASCII and no second one, and no header of a mail
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}", re.ASCII)


def wrong_in(act: PeopleAct) -> str | None:
    """A sentence about the first field that cannot be taken; None where all can."""
    faults = ((field, _wrong(field, value)) for field, value in msgspec.structs.asdict(act).items())
    return next((f"{field}{wrong}" for field, wrong in faults if wrong is not None), None)


def _wrong(field: str, value: object) -> str | None:  # noqa: C901  # a table: one case for each kind of field
    match field, value:
        case "name" | "display_name", str():
            if not value.strip() or len(value) > NAME_CHARACTERS_MAX:
                return f" must have 1 to {NAME_CHARACTERS_MAX} characters and not only spaces"
            if plain(value) != value or not {"\t", "\n"}.isdisjoint(value):
                return " must hold no control characters, none that change the direction of writing, and none unseen"
        case "retention_days_telemetry" | "retention_days_text", int():
            if value != KEPT_FOR_GOOD and not 1 <= value <= RETENTION_DAYS_MAX:
                return f" must be a number of days from 1 to {RETENTION_DAYS_MAX}"
        case "team_minimum", int() if not TEAM_MINIMUM_LEAST <= value <= TEAM_MINIMUM_MOST:
            return f" must be {TEAM_MINIMUM_LEAST} to {TEAM_MINIMUM_MOST}: the figures of one member are that person's"
        case "timezone", str():
            try:
                zone_named(value)
            except ValueError as error:
                return f": {error}"
        case "email", str() if value and (len(value) > EMAIL_CHARACTERS_MAX or not EMAIL.fullmatch(value)):
            return " must be one address of ASCII characters, like kim@example.com"
        case "language", str() if not LANGUAGE.fullmatch(value):
            return " must be a language tag, like en or pt-BR"
    return None
