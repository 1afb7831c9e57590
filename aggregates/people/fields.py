"""What the fields of people, teams and keys may hold."""

import re

import msgspec

from aggregates.characters import plain
from aggregates.people.acts import PeopleAct
from aggregates.times import zone_named

KEPT_FOR_GOOD = 0  # the retention, in days, of what is never dropped: None would leave a retention as it was

NAME_CHARACTERS_MAX = 200
TEAM_MINIMUM_LEAST, TEAM_MINIMUM_MOST = 2, 1_000
RETENTION_DAYS_MAX = 36_500
EMAIL_CHARACTERS_MAX = 254
_EMAIL_PART = r"[!#-'*+\-./0-9=?A-Z^-~]+"
EMAIL = re.compile(f"{_EMAIL_PART}@{_EMAIL_PART}")
"""Enough to hold one address of ASCII and no second one, and no header of a mail."""
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
