"""Where the embedded boundary judge is unsure, so that a text model may be asked."""

import math
from collections.abc import Container, Sequence
from uuid import UUID

import msgspec

from aggregates.arcs import committed
from aggregates.boundary import AFTER_COMMIT, stays, topic_shift
from aggregates.boundary_signals import OpenArc
from aggregates.turn import Turn

UNSURE_LOGIT = 1.5
"""Its verdict is unsure within this distance of even odds: a probability of .18 to .82."""


class Gap(msgspec.Struct, frozen=True):
    """Two neighbouring turns that may belong to two sub-sessions."""

    arc: tuple[Turn, ...]
    """The turns of the open arc, the earlier neighbour last."""
    turn: Turn
    logit: float
    """What the embedded judge says; above 0: another topic."""


def unsure_gaps(before: Sequence[Turn], turns: Sequence[Turn], spoken: Container[UUID]) -> list[Gap]:
    """The gaps of an arc of these `turns` that the embedded judge is unsure of, in order.

    `before`: the turns of the arc before it, where a judge parted the two; else none. `spoken`: turns before which a
    person said whether there is a boundary.
    """
    found = _unsure(OpenArc(before), before, turns[0]) if before else []
    so_far = OpenArc(turns[:1])
    for nth, turn in enumerate(turns[1:], 1):
        found += _unsure(so_far, turns[:nth], turn)
        so_far.add(turn)
    return [gap for gap in found if gap.turn.turn_id not in spoken]


def _unsure(arc: OpenArc, turns: Sequence[Turn], turn: Turn) -> list[Gap]:
    if stays(arc, turn) is not None:
        return []
    verdict = topic_shift(arc, turn)
    odds = verdict.confidence / (1 - verdict.confidence) if verdict.confidence < 1 else math.inf
    logit = math.log(odds) * (1 if verdict.shift else -1) + (AFTER_COMMIT / 1000 if committed(arc) else 0)
    return [Gap(tuple(turns), turn, logit)] if abs(logit) <= UNSURE_LOGIT else []
