"""What text models answered, beside what the embedded judges say: a model's verdict counts where there is one.

Two things it cannot change. A prompt that only navigates, or whose text was not captured, is judged by nobody. And a
sub-session with an ending that is never complete stays incomplete, whatever a model makes of it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent
from aggregates.judging.boundary import OpenArc, cannot_shift
from aggregates.judging.outcome import never_complete
from aggregates.reading.verdicts import (
    BooleanName,
    BoundaryVerdict,
    Evidence,
    Intent,
    OutcomeVerdict,
    Rubric,
    applicable,
)
from aggregates.turns.turn import Turn

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
    input_tokens: int = 0
    """As the endpoint counted; 0 where it did not."""
    output_tokens: int = 0
    confidence: float
    """0-1, rounded to 3 digits: of the intent, of the outcome, or of the boundary."""
    intent: Intent | None = None
    """Of a rubric; None: it cannot be said what is wanted."""
    earned: tuple[BooleanName, ...] = ()
    complete: bool | None = None
    boundary: bool | None = None
    """Of a boundary: whether the prompt opens another topic than those before it."""


JUDGED = frozenset({"ok", "unclassified"})


class Answers(msgspec.Struct, frozen=True):
    """What was answered about one sub-session as it is now."""

    rubrics: Mapping[UUID, JudgeAnswered] = {}
    outcome: JudgeAnswered | None = None
    """About just these turns; an answer about fewer or more of them does not count."""


NO_ANSWERS = Answers()


def answered_rubric(embedded: Rubric, answer: JudgeAnswered | None) -> Rubric:
    if answer is None or embedded.status not in JUDGED:
        return embedded
    judge = f"model:{answer.model}"
    if answer.intent is None:
        return Rubric("unclassified", judge=judge)
    earned = tuple(name for name in applicable(answer.intent) if name in answer.earned)
    return Rubric("ok", answer.intent, answer.confidence, earned, judge)


def answered_outcome(embedded: OutcomeVerdict, answer: JudgeAnswered | None) -> OutcomeVerdict:
    """The outcome of a sub-session; the evidence stays what was observed."""
    if answer is None or answer.complete is None or never_complete(embedded):
        return embedded
    return msgspec.structs.replace(
        embedded, goal_complete=answer.complete, confidence=answer.confidence, judge=f"model:{answer.model}"
    )


# Such an answer counts in place of the embedded boundary judge's, after a commit too, while the two turns are
# neighbours. A clear, a session's end and a person's word go before it; a turn that cannot shift stays.

OPENS = "a text model was asked, and sees another topic"
KEEPS = "a text model was asked, and sees the same topic"


class GapAnswer(msgspec.Struct, frozen=True):
    """One answer about the gap between two turns, and its place in the log."""

    before: UUID
    answer: JudgeAnswered
    position: int


NO_GAP_ANSWERS: Mapping[UUID, GapAnswer] = MappingProxyType({})


def answered_boundary(arc: OpenArc, turn: Turn, found: GapAnswer | None) -> BoundaryVerdict | None:
    """The model's verdict before `turn`, which follows the open `arc`; None where the embedded judge speaks."""
    if found is None or found.before != arc.last.turn_id or found.answer.boundary is None:
        return None
    if cannot_shift(arc, turn) is not None:
        return None
    shift, answer = found.answer.boundary, found.answer
    evidence = Evidence(OPENS if shift else KEEPS, found.position)
    return BoundaryVerdict(shift, answer.confidence, (evidence,), f"model:{answer.model}")
