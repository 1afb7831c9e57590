"""What a text model answered when it was asked to judge: a fact, bound to captures, and holding no words."""

from typing import ClassVar, Literal
from uuid import UUID

from aggregates.event import DeveloperEvent
from aggregates.verdicts import BooleanName, Intent


class JudgeAnswered(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """One answer that fitted its schema and its data."""

    TOPIC: ClassVar[str] = "judge.answered"
    kind: Literal["rubric", "outcome"]
    agent_session_id: str
    capture_id: UUID
    """The prompt that was judged; of an outcome the last one of the sub-session."""
    captures: tuple[UUID, ...] = ()
    """Of an outcome: every prompt of the sub-session, as it was when it was judged."""
    model: str
    prompt_version: int
    input_digest: bytes
    """Keyed digest of the data that was asked about."""
    input_tokens: int = 0
    """As the endpoint counted; 0 where it did not."""
    output_tokens: int = 0
    confidence: float
    """0-1, rounded to 3 digits: of the intent, or of the outcome."""
    intent: Intent | None = None
    """Of a rubric; None: it cannot be said what is wanted."""
    earned: tuple[BooleanName, ...] = ()
    complete: bool | None = None
    """Of an outcome."""
