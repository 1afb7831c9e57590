"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

A turn that only navigates, corrects in a few words, repeats the prompt before or whose text was not captured never
shifts. For any other the judge weighs signals (`boundary_signals.py`). Idle time is no boundary: it adds weight only
where a prompt stands apart by its words. The weights are thousandths of a logit (`boundary_weights.py`).
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from aggregates.boundary_signals import OpenArc, boundary_signals, repeats
from aggregates.boundary_weights import BOUNDARY_BIAS, BOUNDARY_WEIGHTS
from aggregates.feature_names import FLAGS
from aggregates.openings import OPENING
from aggregates.turn import Turn
from aggregates.verdicts import BoundaryVerdict, Evidence

_EVIDENCE_MAX = 4
AFTER_COMMIT = 700
"""What the commit of the sub-session's own files adds, in thousandths of a logit."""
BEFORE_ANY = "as prompts mostly go on, before any signal"
COMMITTED = "its changes were committed just before"
"""What is weighed beside the signals."""
_LONG = FLAGS["words over 16"]
_NEW_TASK = OPENING["names a new task"]


class BoundaryModel(msgspec.Struct, frozen=True):
    """A bias and one weight per signal, in thousandths of a logit."""

    bias: int
    weights: Mapping[str, int]

    def logit(self, signals: Sequence[str]) -> int:
        """Above 0: another topic."""
        return self.bias + sum(self.weights.get(name, 0) for name in signals)


SHIPPED_BOUNDARY = BoundaryModel(BOUNDARY_BIAS, BOUNDARY_WEIGHTS)


def topic_shift(arc: OpenArc | Sequence[Turn], turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> BoundaryVerdict:
    """Judge whether `turn` leaves the topic of the open sub-session `arc`, which has a turn."""
    arc = _opened(arc)
    why_not = stays(arc, turn)
    if why_not is not None:
        return BoundaryVerdict(False, 0.95, (Evidence(why_not, turn.position),))
    signals = boundary_signals(arc, turn)
    logit = model.logit(signals)
    return BoundaryVerdict(logit > 0, sureness(logit), _evidence(signals, logit > 0, turn, model))


def sureness(logit: int) -> float:
    """How sure a sum of thousandths of a logit makes, 0.5-1, rounded to 3 digits."""
    share = 1 / (1 + math.exp(-max(-20_000, min(logit, 20_000)) / 1000))
    return round(max(share, 1 - share), 3)


def continues(arc: OpenArc | Sequence[Turn], turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> bool:
    """Whether `turn` goes on with the goal of `arc`, whose own changes were just committed."""
    arc = _opened(arc)
    if stays(arc, turn) is not None:
        return True
    return model.logit(boundary_signals(arc, turn)) + AFTER_COMMIT <= 0


def weighed(
    arc: OpenArc, turn: Turn, *, committed: bool, model: BoundaryModel = SHIPPED_BOUNDARY
) -> list[tuple[str, int]]:
    """What the judge weighs of a turn that can shift: names with thousandths of a logit, the heaviest first.

    Their sum decides: above 0, `turn` opens another sub-session. `committed`: the changes of `arc` were just committed.
    """
    found = [(name, model.weights.get(name, 0)) for name in boundary_signals(arc, turn)]
    found += [(BEFORE_ANY, model.bias)] + ([(COMMITTED, AFTER_COMMIT)] if committed else [])
    return sorted((each for each in found if each[1]), key=lambda each: (-abs(each[1]), each[0]))


def _opened(arc: OpenArc | Sequence[Turn]) -> OpenArc:
    """Who judges one turn alone has the turns before it at hand, and no open arc."""
    return arc if isinstance(arc, OpenArc) else OpenArc(arc)


def _evidence(signals: Sequence[str], shift: bool, turn: Turn, model: BoundaryModel) -> tuple[Evidence, ...]:
    """The heaviest signals that speak for the verdict."""
    sign = 1 if shift else -1
    telling = [name for name in signals if sign * model.weights.get(name, 0) > 0]
    telling.sort(key=lambda name: (-abs(model.weights[name]), name))
    span = turn.prompt.summary if turn.prompt is not None else None
    return tuple(Evidence(name, turn.position, span) for name in telling[:_EVIDENCE_MAX])


def stays(arc: OpenArc | Sequence[Turn], turn: Turn) -> str | None:
    """Why a turn cannot shift, whatever it says; None where it can."""
    prompt = turn.prompt
    if prompt is None:
        return "the prompt was not captured"
    if prompt.navigational is not None:
        return "only navigates"
    # Of many words, a few that complain may be about anything.
    if (prompt.corrects or prompt.reports_failure) and not (prompt.flags & _LONG or prompt.opening & _NEW_TASK):
        return "corrects what came before"
    arc = _opened(arc)
    if arc.goal is None:
        return "no topic before it"
    return "repeats the prompt before" if repeats(arc, prompt) else None
