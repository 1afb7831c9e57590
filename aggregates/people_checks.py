"""What the fields of a wish about people must look like, whoever else there is."""

import re
from unicodedata import category

from aggregates.people_commands import (
    KEPT_FOR_GOOD,
    ChangeDeveloper,
    ChangeOrganization,
    CreateDeveloper,
    CreateOrganization,
    CreateTeam,
    IssueKey,
    PeopleCommand,
)
from aggregates.windows import zone_named

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
