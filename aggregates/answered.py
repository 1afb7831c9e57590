"""What text models answered, beside what the embedded judges say: a model's verdict counts where there is one.

Two things it cannot change. A prompt that only navigates, or whose text was not captured, is judged by nobody. And a
sub-session with an ending that is never complete stays incomplete, whatever a model makes of it.
"""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from aggregates.judge_events import JudgeAnswered
from aggregates.outcome import never_complete
from aggregates.verdicts import OutcomeVerdict, Rubric, applicable

JUDGED = frozenset({"ok", "unclassified"})


class Answers(msgspec.Struct, frozen=True):
    """What was answered about one sub-session as it is now."""

    rubrics: Mapping[UUID, JudgeAnswered] = {}
    """By turn."""
    outcome: JudgeAnswered | None = None
    """About just these turns; an answer about fewer or more of them does not count."""


NO_ANSWERS = Answers()


def answered_rubric(embedded: Rubric, answer: JudgeAnswered | None) -> Rubric:
    """The own rubric of a prompt."""
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
        embedded,
        goal_complete=answer.complete,
        confidence=answer.confidence,
        judge=f"model:{answer.model}",
    )
