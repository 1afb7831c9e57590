"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

A turn that only navigates, accepts, corrects or whose text was not captured never shifts. For any other the judge
weighs signals: what the new prompt says, how much of it is new to the sub-session, and whether the work shares files.
Idle time is no boundary and is not looked at. The weights are thousandths of a logit (`judge_weights.py`).
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from aggregates.features import FEATURES
from aggregates.judge_weights import BOUNDARY_BIAS, BOUNDARY_WEIGHTS
from aggregates.reading import PromptReading
from aggregates.turn import CHANGE, COMMIT, Turn
from aggregates.verdicts import BoundaryVerdict, Evidence

_EARLIER_TURNS_MAX = 6
"""How many turns back the words of the open sub-session are looked at."""
_EVIDENCE_MAX = 4
AFTER_COMMIT = 700
"""What the commit of the sub-session's own files adds, in thousandths of a logit."""

_SAID: dict[str, str] = {
    "names a new task": "phrase:shifting",
    "points back": "phrase:continuing",
    "only asks a question": "only question",
    "begins with a question": "begins:question",
    "begins with a request": "begins:request",
    "begins with a statement": "begins:statement",
    "begins with a condition": "open first:conditional",
    "asks for a review": "phrase:review_asked",
    "asks to look": "phrase:look_asked",
    "describes a finding": "prose",
    "hands over a plan": "plan handed over",
    "says what is wrong": "has report",
    "answers an offer": "phrase:answered",
    "says still": "word:still",
    "says now": "word:now",
    "says also": "word:also",
    "names a place": "cue:where",
    "names a file": "path",
    "names something findable": "reference",
    "names it at once": "reference first",
    "over 16 words": "words over 16",
    "over 25 words": "words over 25",
    "over 40 words": "words over 40",
    "over 70 words": "words over 70",
}
"""Signals that the prompt shows by itself, and the features that show them."""
SIGNALS: tuple[str, ...] = (
    *_SAID,
    "short and vague",
    "4 words or more are new",
    "8 words or more are new",
    "hardly a word is known",
    "shares no word",
    "shares 2 words",
    "shares 4 words",
    "shares words with the last answer",
    "works on other files",
    "works on the same files",
    "changes the same files",
    "the answer before was an offer",
    "the work before was done",
    "the work before was committed",
    "the work before was interrupted",
    "uses no tool",
)
_NUMBER = {name: FEATURES.index(feature) for name, feature in _SAID.items()}
_VAGUE, _OVER_10 = FEATURES.index("cue:vague"), FEATURES.index("words over 10")


class BoundaryModel(msgspec.Struct, frozen=True):
    """A bias and one weight per signal, in thousandths of a logit."""

    bias: int
    weights: Mapping[str, int]

    def logit(self, signals: Sequence[str]) -> int:
        """Above 0: another topic."""
        return self.bias + sum(self.weights.get(name, 0) for name in signals)


SHIPPED_BOUNDARY = BoundaryModel(BOUNDARY_BIAS, BOUNDARY_WEIGHTS)


def topic_shift(arc: Sequence[Turn], turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> BoundaryVerdict:
    """Judge whether `turn` leaves the topic of the open sub-session `arc`, which has a turn."""
    why_not = stays(arc, turn)
    if why_not is not None:
        return BoundaryVerdict(False, 0.95, (Evidence(why_not, turn.position),))
    signals = boundary_signals(arc, turn)
    logit = model.logit(signals)
    share = 1 / (1 + math.exp(-max(-20_000, min(logit, 20_000)) / 1000))
    return BoundaryVerdict(logit > 0, round(max(share, 1 - share), 3), _evidence(signals, logit > 0, turn, model))


def continues(arc: Sequence[Turn], turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> bool:
    """Whether `turn` goes on with the goal of `arc`, whose own changes were just committed."""
    if stays(arc, turn) is not None:
        return True
    return model.logit(boundary_signals(arc, turn)) + AFTER_COMMIT <= 0


def _evidence(signals: Sequence[str], shift: bool, turn: Turn, model: BoundaryModel) -> tuple[Evidence, ...]:
    """The heaviest signals that speak for the verdict."""
    sign = 1 if shift else -1
    telling = [name for name in signals if sign * model.weights.get(name, 0) > 0]
    telling.sort(key=lambda name: (-abs(model.weights[name]), name))
    span = turn.prompt.summary if turn.prompt is not None else None
    return tuple(Evidence(name, turn.position, span) for name in telling[:_EVIDENCE_MAX])


def stays(arc: Sequence[Turn], turn: Turn) -> str | None:
    """Why a turn cannot shift, whatever it says; None where it can."""
    prompt = turn.prompt
    if prompt is None:
        return "the prompt was not captured"
    if prompt.navigational is not None:
        return "only navigates"
    if prompt.corrects or prompt.reports_failure:
        return "corrects what came before"
    if all(each.prompt is None or each.prompt.navigational is not None for each in arc):
        return "no topic before it"
    return None


def boundary_signals(arc: Sequence[Turn], turn: Turn) -> list[str]:
    """The names of the signals between the open sub-session and a turn, in the order of `SIGNALS`."""
    prompt = turn.prompt
    if prompt is None:
        return []
    shows = frozenset(prompt.features)
    found = {name: number in shows for name, number in _NUMBER.items()}
    found["short and vague"] = _VAGUE in shows and _OVER_10 not in shows
    found.update(_shared_words(arc, prompt))
    found.update(_shared_work(arc, turn))
    found.update(_before(arc))
    return [name for name in SIGNALS if found[name]]


def _shared_words(arc: Sequence[Turn], prompt: PromptReading) -> dict[str, bool]:
    topic = frozenset(prompt.topic)
    known: set[int] = set()
    for each in arc[-_EARLIER_TURNS_MAX:]:
        known.update(each.prompt.topic if each.prompt is not None else ())
        known.update(each.response.topic if each.response is not None else ())
    answer = arc[-1].response
    shared = len(topic & known)
    new = len(topic) - shared
    return {
        "4 words or more are new": new >= 4,
        "8 words or more are new": new >= 8,
        "hardly a word is known": len(topic) >= 3 and shared * 5 < len(topic),
        "shares no word": bool(topic) and not shared,
        "shares 2 words": shared >= 2,
        "shares 4 words": shared >= 4,
        "shares words with the last answer": answer is not None and len(topic.intersection(answer.topic)) >= 2,
    }


def _shared_work(arc: Sequence[Turn], turn: Turn) -> dict[str, bool]:
    before: frozenset[int] = frozenset().union(*(each.work.touched_files for each in arc))
    changed: frozenset[int] = frozenset().union(*(each.work.changed_files for each in arc))
    mine = turn.work.touched_files
    return {
        "works on other files": bool(mine) and bool(before) and mine.isdisjoint(before),
        "works on the same files": not mine.isdisjoint(before),
        "changes the same files": not turn.work.changed_files.isdisjoint(changed),
        "uses no tool": turn.work.observed and not turn.work.tool_calls,
    }


def _before(arc: Sequence[Turn]) -> dict[str, bool]:
    last = arc[-1]
    answer = last.response
    changed = any(CHANGE in each.work.marks for each in arc)
    return {
        "the answer before was an offer": answer is not None and answer.asks,
        "the work before was done": changed and answer is not None and answer.reports_done and not answer.asks,
        "the work before was committed": COMMIT in last.work.marks,
        "the work before was interrupted": "I" in last.work.marks,
    }
