"""Events of organizations, developers, memberships, teams, keys, sign-in links, accounts of providers and sign-ins."""

from typing import ClassVar, Literal
from uuid import UUID

from aggregates.event import Event

Role = Literal["owner", "lead", "member", "reader"]
"""A lead reads the teams that they belong to, as every member does; a reader does too, and captures nothing."""
Schedule = Literal["daily", "weekly", "monthly"]
Channel = Literal["email", "webhook"]
"""By which a developer is told that a report of theirs is finished."""


class PeopleEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """`by`: the member who did it on a page; None where the internal secret, or the server itself, did."""

    by: UUID | None = None


class OrganizationCreated(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "organization.created"
    organization_id: UUID
    name: str


class OrganizationChanged(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Settings; None leaves one as it was, a retention of 0 days keeps for good."""

    TOPIC: ClassVar[str] = "organization.changed"
    organization_id: UUID
    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: int | None = None
    retention_days_text: int | None = None
    team_minimum: int | None = None


class DeveloperCreated(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "developer.created"
    developer_id: UUID
    display_name: str


class DeveloperChanged(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Profile; None leaves a field as it was, an empty e-mail address takes it away."""

    TOPIC: ClassVar[str] = "developer.changed"
    developer_id: UUID
    display_name: str | None = None
    email: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None
    report_notices: tuple[Channel, ...] | None = None


class ForgetRequested(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The developer asks to be forgotten. Nothing is deleted by it."""

    TOPIC: ClassVar[str] = "forget.requested"
    developer_id: UUID


class ForgetWithdrawn(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The developer asks no longer."""

    TOPIC: ClassVar[str] = "forget.withdrawn"
    developer_id: UUID


class MembershipStarted(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.started"
    membership_id: UUID
    organization_id: UUID
    developer_id: UUID
    role: Role


class MembershipChanged(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.changed"
    membership_id: UUID
    role: Role


class MembershipEnded(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "membership.ended"
    membership_id: UUID


class TeamCreated(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.created"
    team_id: UUID
    organization_id: UUID
    name: str


class TeamEnded(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.ended"
    team_id: UUID


class TeamMemberAdded(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.member-added"
    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID


class TeamMemberRemoved(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "team.member-removed"
    team_membership_id: UUID
    team_id: UUID


class CredentialIssued(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A key exists; only its digest is stored."""

    TOPIC: ClassVar[str] = "credential.issued"
    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str  # SHA-256 of the key, lower-case hex
    key_start: str  # the first 12 characters of the key, to recognise it
    name: str | None = None
    expires_at_us: int | None = None
    came_by: UUID | None = None  # another member's link, by which the browser had come that made it


class CredentialRevoked(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "credential.revoked"
    credential_id: UUID


class CredentialUsed(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The key opened something on this day of UTC; told once a day at most."""

    TOPIC: ClassVar[str] = "credential.used"
    credential_id: UUID
    last_used_on: str


class LinkOffered(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A link exists that signs a developer in once. Its id comes from its text, which is stored nowhere."""

    TOPIC: ClassVar[str] = "link.offered"
    link_id: UUID
    organization_id: UUID
    developer_id: UUID
    expires_at_us: int
    came_by: UUID | None = None


class LinkUsed(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "link.used"
    link_id: UUID


class IdentityLinked(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """An account of a sign-in provider stands for a developer. Its id comes from issuer and subject."""

    TOPIC: ClassVar[str] = "identity.linked"
    identity_id: UUID
    issuer: str
    developer_id: UUID
    came_by: UUID | None = None


class IdentityEnded(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The account stands for nobody any more."""

    TOPIC: ClassVar[str] = "identity.ended"
    identity_id: UUID


class SignInOpened(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A browser stands for a developer. The id comes from its cookie, which is stored nowhere."""

    TOPIC: ClassVar[str] = "sign-in.opened"
    sign_in_id: UUID
    organization_id: UUID
    developer_id: UUID
    opened_by: UUID | None = None  # the id of the key; None where a link opened it
    browser: str | None = None
    came_by: UUID | None = None  # another member's link that opened it, or let in the key or account that did


class SignInSeen(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It was used; told once a day at most."""

    TOPIC: ClassVar[str] = "sign-in.seen"
    sign_in_id: UUID


class SignInEnded(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "sign-in.ended"
    sign_in_id: UUID
    administered: bool = False  # whether it is an act of administration, unlike signing out oneself


class AccessClaimed(PeopleEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A developer says that a sign-in, key or account is theirs, which came by another member's link."""

    TOPIC: ClassVar[str] = "access.claimed"
    access_id: UUID
    only_in: UUID | None = None  # the sign-in that alone hides it from now on, since it came by such a link itself
