"""What a text model answered when it was asked to judge: a fact, bound to captures, and holding no words."""

from typing import ClassVar, Literal
from uuid import UUID

from aggregates.event import DeveloperEvent
from aggregates.verdicts import BooleanName, Intent

JudgeKind = Literal["rubric", "outcome", "boundary"]
"""What was asked: how a prompt is to be graded, whether a goal was reached, whether a prompt opens another topic."""


class JudgeAnswered(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """One answer that fitted its schema and its data."""

    TOPIC: ClassVar[str] = "judge.answered"
    kind: JudgeKind
    agent_session_id: str
    capture_id: UUID
    """The prompt that was judged; of an outcome the last one of the sub-session, of a boundary the one after it."""
    captures: tuple[UUID, ...] = ()
    """Of an outcome every prompt of the sub-session, as it was when judged; of a boundary the prompt before it."""
    model: str
    prompt_version: int
    input_digest: bytes
    """Keyed digest of the data that was asked about."""
    input_tokens: int = 0
    """As the endpoint counted; 0 where it did not."""
    output_tokens: int = 0
    confidence: float
    """0-1, rounded to 3 digits: of the intent, of the outcome, or of the boundary."""
    intent: Intent | None = None
    """Of a rubric; None: it cannot be said what is wanted."""
    earned: tuple[BooleanName, ...] = ()
    complete: bool | None = None
    """Of an outcome."""
    boundary: bool | None = None
    """Of a boundary: whether the prompt opens another topic than those before it."""
