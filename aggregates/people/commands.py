"""What can be asked for about people, teams and keys. Ids, times and key material come from the caller."""

import re
from unicodedata import category
from uuid import UUID

import msgspec

from aggregates.people.records import Role, Schedule
from aggregates.times import zone_named


class CreateOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """Found an organization under an id made by the caller."""

    organization_id: UUID
    name: str


KEPT_FOR_GOOD = 0
"""The retention, in days, of what is never dropped: None would leave a retention as it was."""


class ChangeOrganization(msgspec.Struct, frozen=True, kw_only=True):
    """Set what is not None."""

    organization_id: UUID
    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: int | None = None
    retention_days_text: int | None = None


class CreateDeveloper(msgspec.Struct, frozen=True, kw_only=True):
    """Enter a developer under an id made by the caller; the profile may come along."""

    developer_id: UUID
    display_name: str
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None


class ChangeDeveloper(msgspec.Struct, frozen=True, kw_only=True):
    """Set what is not None."""

    developer_id: UUID
    display_name: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Schedule, ...] | None = None


class StartMembership(msgspec.Struct, frozen=True, kw_only=True):
    """Take a developer into an organization, for the first time or again."""

    organization_id: UUID
    developer_id: UUID
    role: Role = "member"


class ChangeMembership(msgspec.Struct, frozen=True, kw_only=True):
    """Give a member another role."""

    membership_id: UUID
    role: Role


class EndMembership(msgspec.Struct, frozen=True, kw_only=True):
    """End a membership; its keys open nothing from then on."""

    membership_id: UUID


class CreateTeam(msgspec.Struct, frozen=True, kw_only=True):
    """Form a team under an id made by the caller."""

    team_id: UUID
    organization_id: UUID
    name: str


class EndTeam(msgspec.Struct, frozen=True, kw_only=True):
    """Make a team inactive."""

    team_id: UUID


class AddTeamMember(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a developer's stay in a team under an id made by the caller."""

    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID


class RemoveTeamMember(msgspec.Struct, frozen=True, kw_only=True):
    """End a developer's stay in a team."""

    team_membership_id: UUID


class IssueKey(msgspec.Struct, frozen=True, kw_only=True):
    """Let a key stand for a member, under an id made by the caller, who keeps the text of the key."""

    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str
    key_start: str
    name: str | None = None
    expires_at_us: int | None = None


class RevokeKey(msgspec.Struct, frozen=True, kw_only=True):
    """Make a key void."""

    credential_id: UUID


PeopleCommand = (
    CreateOrganization
    | ChangeOrganization
    | CreateDeveloper
    | ChangeDeveloper
    | StartMembership
    | ChangeMembership
    | EndMembership
    | CreateTeam
    | EndTeam
    | AddTeamMember
    | RemoveTeamMember
    | IssueKey
    | RevokeKey
)


# What the fields of a wish about people must look like, whoever else there is.

NAME_CHARACTERS_MAX = 200


RETENTION_DAYS_MAX = 36_500


LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}", re.ASCII)


def wrong_in(command: PeopleCommand) -> str | None:
    """The sentence about the first field that cannot be taken; None where all can."""
    match command:
        case CreateOrganization() | CreateTeam() | IssueKey():
            return _wrong_name("name", command.name)
        case ChangeOrganization():
            return (
                _wrong_name("name", command.name)
                or _wrong_days("retention_days_telemetry", command.retention_days_telemetry)
                or _wrong_days("retention_days_text", command.retention_days_text)
            )
        case CreateDeveloper() | ChangeDeveloper():
            return (
                _wrong_name("display_name", command.display_name)
                or _wrong_zone(command.timezone)
                or _wrong_language(command.language)
            )
        case _:
            return None


def _wrong_name(field: str, name: str | None) -> str | None:
    if name is None:
        return None
    if not name.strip() or len(name) > NAME_CHARACTERS_MAX:
        return f"{field} must have 1 to {NAME_CHARACTERS_MAX} characters and not only spaces"
    if any(category(character) in ("Cc", "Cs") for character in name):
        return f"{field} must hold no control characters and no lone surrogates"
    return None


def _wrong_days(field: str, days: int | None) -> str | None:
    if days in (None, KEPT_FOR_GOOD) or 1 <= days <= RETENTION_DAYS_MAX:
        return None
    return f"{field} must be a number of days from 1 to {RETENTION_DAYS_MAX}"


def _wrong_zone(timezone: str | None) -> str | None:
    try:
        if timezone is not None:
            zone_named(timezone)
    except ValueError as error:
        return f"timezone: {error}"
    return None


def _wrong_language(language: str | None) -> str | None:
    if language is None or LANGUAGE.fullmatch(language):
        return None
    return "language must be a language tag, like en or pt-BR"
