"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

A turn that only navigates, accepts, corrects or whose text was not captured never shifts. For any other the judge
weighs signals: what the new prompt says, how much of it is new to the sub-session, and whether the work shares files.
Idle time is no boundary and is not looked at. The weights are thousandths of a logit (`boundary_weights.py`).
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from aggregates.boundary_weights import BOUNDARY_BIAS, BOUNDARY_WEIGHTS
from aggregates.digests import unpacked
from aggregates.feature_names import FLAGS
from aggregates.reading import PromptReading
from aggregates.turn import CHANGE, COMMIT, INTERRUPTED, Turn
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
_SAID_FLAGS = tuple((FLAGS[feature], name) for name, feature in _SAID.items())
_VAGUE, _OVER_10 = FLAGS["cue:vague"], FLAGS["words over 10"]


class OpenArc:
    """The open sub-session, as much of it as the boundary judge asks for; it grows turn by turn.

    What is asked of all its turns is kept as it grows, so that judging the next turn does not go through them again.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.has_topic = False
        """Whether any prompt does more than navigate."""
        self.has_change = False
        self.touched: set[int] = set()
        self.changed: set[int] = set()
        self.latest: deque[_Spoken] = deque(maxlen=_EARLIER_TURNS_MAX)
        for turn in turns:
            self.add(turn)

    def add(self, turn: Turn) -> None:
        """Go on with `turn`, which comes after all others."""
        self.last = turn
        self.latest.append(_Spoken(turn))
        self.has_topic = self.has_topic or (turn.prompt is not None and turn.prompt.navigational is None)
        self.has_change = self.has_change or CHANGE in turn.work.marks
        if turn.work.files:
            self.touched |= turn.work.touched_files
            self.changed |= turn.work.changed_files


class _Spoken:
    """The words of one turn, made out when they are first asked for."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @cached_property
    def topic(self) -> frozenset[int]:
        """The uncommon words of the prompt and of its answer."""
        prompt, answer = self._turn.prompt, self._turn.response
        said = prompt.topic_digests if prompt is not None else b""
        return frozenset(unpacked(said + answer.topic_digests if answer is not None else said))


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
    share = 1 / (1 + math.exp(-max(-20_000, min(logit, 20_000)) / 1000))
    return BoundaryVerdict(logit > 0, round(max(share, 1 - share), 3), _evidence(signals, logit > 0, turn, model))


def continues(arc: OpenArc | Sequence[Turn], turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> bool:
    """Whether `turn` goes on with the goal of `arc`, whose own changes were just committed."""
    arc = _opened(arc)
    if stays(arc, turn) is not None:
        return True
    return model.logit(boundary_signals(arc, turn)) + AFTER_COMMIT <= 0


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
    if prompt.corrects or prompt.reports_failure:
        return "corrects what came before"
    return None if _opened(arc).has_topic else "no topic before it"


def boundary_signals(arc: OpenArc | Sequence[Turn], turn: Turn) -> list[str]:
    """The names of the signals between the open sub-session and a turn, in the order of `SIGNALS`."""
    prompt = turn.prompt
    if prompt is None:
        return []
    arc = _opened(arc)
    found = [name for flag, name in _SAID_FLAGS if prompt.flags & flag]
    if prompt.flags & _VAGUE and not prompt.flags & _OVER_10:
        found.append("short and vague")
    return found + _shared_words(arc, prompt) + _shared_work(arc, turn) + _before(arc) + _without_tools(turn)


def _shared_words(arc: OpenArc, prompt: PromptReading) -> list[str]:
    topic = fresh = frozenset(prompt.topic)
    for spoken in arc.latest:
        fresh = fresh - spoken.topic
    new = len(fresh)
    shared = len(topic) - new
    answer = arc.last.response
    found = {
        "4 words or more are new": new >= 4,
        "8 words or more are new": new >= 8,
        "hardly a word is known": len(topic) >= 3 and shared * 5 < len(topic),
        "shares no word": len(topic) > 0 and not shared,
        "shares 2 words": shared >= 2,
        "shares 4 words": shared >= 4,
        # What the answer shares is a part of what is shared at all.
        "shares words with the last answer": answer is not None
        and shared >= 2
        and len(topic.intersection(answer.topic)) >= 2,
    }
    return [name for name, holds in found.items() if holds]


def _shared_work(arc: OpenArc, turn: Turn) -> list[str]:
    if not turn.work.files:
        return []
    found = []
    touched = turn.work.touched_files
    if not touched.isdisjoint(arc.touched):
        found.append("works on the same files")
    elif arc.touched:
        found.append("works on other files")
    if not turn.work.changed_files.isdisjoint(arc.changed):
        found.append("changes the same files")
    return found


def _before(arc: OpenArc) -> list[str]:
    answer, marks = arc.last.response, arc.last.work.marks
    found = []
    if answer is not None and answer.asks:
        found.append("the answer before was an offer")
    elif answer is not None and answer.reports_done and arc.has_change:
        found.append("the work before was done")
    if COMMIT in marks:
        found.append("the work before was committed")
    if INTERRUPTED in marks:
        found.append("the work before was interrupted")
    return found


def _without_tools(turn: Turn) -> list[str]:
    return ["uses no tool"] if turn.work.observed and not turn.work.tool_calls else []
