"""What text models answered about gaps: whether a prompt opens another topic than the prompts before it.

Such an answer counts in place of the embedded boundary judge's, after a commit too, while the two turns are neighbours.
A clear, a session's end and a person's word go before it; and a turn that cannot shift stays where it is.
"""

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

import msgspec

from aggregates.boundary import stays
from aggregates.boundary_signals import OpenArc
from aggregates.judge_events import JudgeAnswered
from aggregates.turn import Turn
from aggregates.verdicts import BoundaryVerdict, Evidence

OPENS = "a text model was asked, and sees another topic"
KEEPS = "a text model was asked, and sees the same topic"


class GapAnswer(msgspec.Struct, frozen=True):
    """One answer about the gap between two turns, and its place in the log."""

    before: UUID
    """The earlier turn."""
    answer: JudgeAnswered
    position: int


NO_GAP_ANSWERS: Mapping[UUID, GapAnswer] = MappingProxyType({})


def answered_boundary(arc: OpenArc, turn: Turn, found: GapAnswer | None) -> BoundaryVerdict | None:
    """The model's verdict before `turn`, which follows the open `arc`; None where the embedded judge speaks."""
    if found is None or found.before != arc.last.turn_id or found.answer.boundary is None:
        return None
    if stays(arc, turn) is not None:
        return None
    shift, answer = found.answer.boundary, found.answer
    evidence = Evidence(OPENS if shift else KEEPS, found.position)
    return BoundaryVerdict(shift, answer.confidence, (evidence,), f"model:{answer.model}")
