"""What commands know of the routes that they ask, which start fast: what is answered, and which days are asked for."""

import re
from collections.abc import Mapping
from datetime import date, tzinfo
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.people.directory import Activation, Developer, Key
from aggregates.records.record import Count
from aggregates.times import Window, bare_date, local_date, local_day_bounds, midnight_us

LINK_SECONDS = 60  # how long a link waits to be followed, unless another time is asked for
AuditForm = Literal["ndjson", "csv"]


class Arrival(msgspec.Struct, frozen=True):
    """What an agent sent of one kind."""

    source: str
    signal: str
    last_at: str
    requests: int


class Refusal(msgspec.Struct, frozen=True):
    """Something that was refused, whole or in part."""

    at: str
    path: str
    status: int  # below 300: the rest of it was taken
    message: str


class DeveloperShown(Developer, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    activation: Activation


class KeyShown(Key, frozen=True, kw_only=True):
    """A new key, with its text, this once; that of an existing one was not sent."""

    key: str | None


class LinkShown(msgspec.Struct, frozen=True, kw_only=True):
    """A new link that signs a developer in once; its path on the private listener is shown this once."""

    id: UUID
    link_id: UUID
    organization_id: UUID
    developer_id: UUID
    created_at: str
    expires_at: str
    used: bool
    path: str


class OperatorLink(msgspec.Struct):
    """A link that opens the operator's pages once; its path is shown this once."""

    path: str
    expires_at: str


QUESTIONS_MAX = 50  # handed out at once


class OpenQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What a developer's own agent is asked: instructions, and then the JSON document that they are about."""

    question_id: str
    kind: Literal["rubric", "outcome", "boundary"]
    text: str
    version: int
    instructions: str  # with these `text` begins
    schema: dict[str, Any]  # of the answer


class OpenQuestions(msgspec.Struct):
    questions: Annotated[list[OpenQuestion], msgspec.Meta(max_length=QUESTIONS_MAX)]


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    question_id: Annotated[str, msgspec.Meta(max_length=100)]
    agent: Annotated[str, msgspec.Meta(pattern="^[a-z-]{1,32}$")]
    model: Annotated[str, msgspec.Meta(pattern=r"^[\w.:/@-]{1,128}$")]
    answer: Annotated[str, msgspec.Meta(max_length=20_000)] | dict[str, Any]  # the JSON, or a text that holds it
    input_tokens: Count = 0
    output_tokens: Count = 0


class AgentAnswers(msgspec.Struct):
    answers: Annotated[list[AgentAnswer], msgspec.Meta(max_length=QUESTIONS_MAX)]


class AnswerRefused(msgspec.Struct):
    question_id: str
    why: str
    is_open: bool  # whether another answer may be sent


class AnswersTaken(msgspec.Struct):
    taken: int  # those among them that were taken before
    refused: list[AnswerRefused]


# --- which days are asked for: by the address of a page, by a command, by a tool ----------------------------------

LAST_DAYS = ("7", "30", "90")
USUAL = "30"
SHOWN_CHARACTERS = 40  # how much of a wrong value an error repeats
_EPOCH = date(1970, 1, 1)
_NUMBER = re.compile(r"[1-9]\d{0,3}")
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


class Asked(NamedTuple):
    name: str
    first: date
    last: date

    def window(self, zone: tzinfo) -> Window:
        return Window(midnight_us(self.first, zone), local_day_bounds(self.last, zone).end_us)


def day_of(of: date, this_year: int | None = None, month: str = "%B") -> str:
    """As in 14 February 2026, or with %b in 14 Feb 2026; without the year where it is this year."""
    return f"{of.day} {of:{month}}" if of.year == this_year else f"{of.day} {of:{month} %Y}"


def asked_of(query: Mapping[str, str], today: date, oldest: date) -> Asked:
    """Raises `ValueError` with a sentence."""
    if query.get("from") or query.get("to"):
        return _range(query.get("from", ""), query.get("to", ""), today, oldest)
    name = query.get("days", USUAL)
    if name in LAST_DAYS:
        return last_days(name, today)
    if name == "all":
        return Asked(name, oldest, today)
    found = _MONTH.fullmatch(name)
    first = None if found is None else bare_date(f"{name}-01")
    if first is None:
        raise ValueError(f"There is no time “{name[:SHOWN_CHARACTERS]}”: it is 7, 30, 90, all, or a month as 2026-03.")
    if first > today:
        raise ValueError(f"{month_told(first, today)} has not begun yet.")
    year, month = divmod(first.year * 12 + first.month, 12)
    return Asked(name, first, min(date.fromordinal(date(year, month + 1, 1).toordinal() - 1), today))


def last_days(name: str, today: date) -> Asked:
    return Asked(name, date.fromordinal(today.toordinal() - int(name) + 1), today)


def _range(start: str, end: str, today: date, oldest: date) -> Asked:
    first, last = bare_date(start) if start else oldest, bare_date(end) if end else today
    if first is None or last is None:
        shown = (start if first is None else end)[:SHOWN_CHARACTERS]
        raise ValueError(f"“{shown}” is no day from 1970 on: write it as 2026-03-01.")
    if first > last:
        raise ValueError(f"From {day_of(first)} to {day_of(last)} is no time: it ends before it begins.")
    if first > today:
        raise ValueError(f"{day_of(first)} has not come yet.")
    return Asked("range", first, min(last, today))


def told_as(asked: Asked, today: date) -> str:
    if asked.name.isdecimal():
        return f"the last {asked.name} days"
    if asked.name == "all":
        return "all time"
    if asked.name != "range":
        return month_told(asked.first, today)
    first, last = (day_of(each, today.year) for each in (asked.first, asked.last))
    return first if first == last else f"{first} to {last}"


def month_told(month: date, today: date) -> str:
    return f"{month:%B}" if month.year == today.year else f"{month:%B %Y}"


TODAY: tuple[str, dict[str, object]] = "/v1/score_v3/files", {"limit": 1}
"""A read of today that costs little, and tells of which day and zone it is; `today-summary` may ask a text model."""


def today_in(echo: Mapping[str, Any]) -> tuple[date, ZoneInfo]:
    """The day and the zone of the profile, of the `range` that a read of today tells."""
    zone = ZoneInfo(echo["timezone"])
    return local_date(echo["fromUs"], zone), zone


def span_of(given: Mapping[str, str], today: date) -> tuple[dict[str, object], str]:
    """`from` and `to` of a route, and what that time is called. Any number of days will do. Raises `ValueError`."""
    name = "" if given.get("from") or given.get("to") else given.get("days", USUAL)
    asked = last_days(name, today) if _NUMBER.fullmatch(name) else asked_of(given, today, _EPOCH)
    return {"from": asked.first.isoformat(), "to": asked.last.isoformat()}, told_as(asked, today)
