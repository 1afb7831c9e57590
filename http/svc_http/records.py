"""What commands know of the routes that they ask, which start fast: what is answered, and which days are asked for."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from aggregates.people.directory import Activation, Developer, Key
from aggregates.records.record import Count

LINK_SECONDS = 60  # how long a link waits to be followed, unless another time is asked for
AuditForm = Literal["ndjson", "csv"]
DAYS_MAX = 366


def last_days(days: int) -> dict[str, object]:
    """Today and the days before it, so many in all, as the pages count them."""
    return {"from": _first_of(days), "to": datetime.now(UTC).isoformat()}


def last_dates(days: int) -> dict[str, object]:
    """The same for routes that count days themselves; where the profile's zone is ahead, tomorrow has begun."""
    return {"from_date": _first_of(days), "to_date": _first_of(0)}


def _first_of(days: int) -> str:
    return (datetime.now(UTC).astimezone().date() - timedelta(days=days - 1)).isoformat()


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
