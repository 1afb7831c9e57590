"""What can be asked for about people, teams and keys. Ids, times and key material come from the caller."""

import re
from uuid import UUID

import msgspec

from aggregates.characters import plain
from aggregates.people.events import Channel, Role, Schedule
from aggregates.times import zone_named

KEPT_FOR_GOOD = 0
"""The retention, in days, of what is never dropped: None would leave a retention as it was."""

NAME_CHARACTERS_MAX = 200
TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST = 2, 1_000
RETENTION_DAYS_MAX = 36_500
EMAIL_CHARACTERS_MAX = 254
_EMAIL_PART = r"[!#-'*+\-./0-9=?A-Z^-~]+"
EMAIL = re.compile(f"{_EMAIL_PART}@{_EMAIL_PART}")
"""Enough to hold one address of ASCII and no second one, and no header of a mail."""
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}", re.ASCII)


class PeopleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Names the record that it is about first."""


class CreateOrganization(PeopleCommand, frozen=True, kw_only=True):
    organization_id: UUID
    name: str


class ChangeOrganization(PeopleCommand, frozen=True, kw_only=True):
    """Set what is not None."""

    organization_id: UUID
    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: int | None = None
    retention_days_text: int | None = None
    team_minimum: int | None = None


class CreateDeveloper(PeopleCommand, frozen=True, kw_only=True):
    """`email`: of nobody else; empty: none."""

    developer_id: UUID
    display_name: str
    email: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None
    report_notices: tuple[Channel, ...] | None = None


class ChangeDeveloper(PeopleCommand, frozen=True, kw_only=True):
    developer_id: UUID
    display_name: str | None = None
    email: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None
    report_notices: tuple[Channel, ...] | None = None


class RequestForget(PeopleCommand, frozen=True, kw_only=True):
    """Ask to be forgotten: whoever runs the server decides, and carries it out."""

    developer_id: UUID


class WithdrawForget(PeopleCommand, frozen=True, kw_only=True):
    developer_id: UUID


class StartMembership(PeopleCommand, frozen=True, kw_only=True):
    organization_id: UUID
    developer_id: UUID
    role: Role = "member"


class ChangeMembership(PeopleCommand, frozen=True, kw_only=True):
    membership_id: UUID
    role: Role


class EndMembership(PeopleCommand, frozen=True, kw_only=True):
    """End a membership; its keys open nothing from then on."""

    membership_id: UUID
    forgotten: bool = False
    """Whether the person is to be forgotten: that is done for an organization's last owner, too."""


class CreateTeam(PeopleCommand, frozen=True, kw_only=True):
    team_id: UUID
    organization_id: UUID
    name: str


class EndTeam(PeopleCommand, frozen=True, kw_only=True):
    team_id: UUID


class AddTeamMember(PeopleCommand, frozen=True, kw_only=True):
    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID


class RemoveTeamMember(PeopleCommand, frozen=True, kw_only=True):
    team_membership_id: UUID


class IssueKey(PeopleCommand, frozen=True, kw_only=True):
    """Let a key stand for a member; the caller keeps the text of the key."""

    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str
    key_start: str
    name: str | None = None
    expires_at_us: int | None = None
    came_by: UUID | None = None


class RevokeKey(PeopleCommand, frozen=True, kw_only=True):
    credential_id: UUID


class NoteKeyUse(PeopleCommand, frozen=True, kw_only=True):
    """Tell on which day of UTC a key was last used, as in 2026-08-01."""

    credential_id: UUID
    last_used_on: str


class OfferLink(PeopleCommand, frozen=True, kw_only=True):
    """Let a link sign a member in, once; the caller keeps its text."""

    link_id: UUID
    organization_id: UUID
    developer_id: UUID
    expires_at_us: int
    came_by: UUID | None = None


class UseLink(PeopleCommand, frozen=True, kw_only=True):
    """Refused where it was used or has expired."""

    link_id: UUID


class LinkIdentity(PeopleCommand, frozen=True, kw_only=True):
    """Let an account of a sign-in provider stand for a developer, in the place of any other account there."""

    identity_id: UUID
    issuer: str
    developer_id: UUID
    came_by: UUID | None = None


class EndIdentity(PeopleCommand, frozen=True, kw_only=True):
    identity_id: UUID


class OpenSignIn(PeopleCommand, frozen=True, kw_only=True):
    """Let a browser stand for a member; the caller keeps the text of its cookie."""

    sign_in_id: UUID
    organization_id: UUID
    developer_id: UUID
    opened_by: UUID | None = None
    browser: str | None = None
    came_by: UUID | None = None


class SeeSignIn(PeopleCommand, frozen=True, kw_only=True):
    sign_in_id: UUID


class EndSignIn(PeopleCommand, frozen=True, kw_only=True):
    """`administered`: told in the audit log."""

    sign_in_id: UUID
    administered: bool = False


class ClaimAccess(PeopleCommand, frozen=True, kw_only=True):
    """Say that a sign-in, key or account is one's own: for good, or `only_in` the browser that says so."""

    access_id: UUID
    only_in: UUID | None = None


def wrong_in(command: PeopleCommand) -> str | None:
    """A sentence about the first field that cannot be taken; None where all can."""
    faults = ((field, _wrong(field, value)) for field, value in msgspec.structs.asdict(command).items())
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
