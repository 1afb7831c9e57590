"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

Idle time is no boundary: it adds weight only where a prompt stands apart by its words. The weights of the signals are
thousandths of a logit (`boundary.json`).
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pkgutil import get_data

import msgspec

from aggregates.event import unpacked
from aggregates.reading.reading import PromptReading
from aggregates.reading.verdicts import BoundaryVerdict, Bounds, Evidence
from aggregates.turns.turn import CHANGE, COMMIT, INTERRUPTED, Turn

_EARLIER_TURNS_MAX = 6
"""How many turns back the words of the open sub-session are looked at."""
_MINUTE_US = 60 * 1_000_000
PAUSE_US = 10 * _MINUTE_US
TURNS_MAX = 200
"""No goal is followed for longer: the next turn opens another sub-session, so that none costs more the longer it is."""
_NOVEL_MIN = 3
_ANSWER_MIN = 5
"""Of so few words of an answer, what they share is chance."""
REPEATED_SHARE = 0.7
"""From which share of common words on a prompt repeats another."""
SAID: dict[str, str] = {
    "asks for a review": "phrase:review_asked",
    "says what is wrong": "has report",
    "names a file": "path",
    "over 6 words": "words over 6",
    "over 16 words": "words over 16",
    "over 25 words": "words over 25",
}

OPENS = (
    "names a new task",
    "goes back",
    "goes on after a yes",
    "begins with now",
    "asks like a first prompt",
    "points back at once",
    "speaks of nobody",
    "adds to what is there",
)
"""Openings that are signals; the others only tie a prompt to what came before."""
_SHOWN = SAID | {name: name for name in OPENS}
_BINDS = (
    *("picks from a list", "goes back", "links back at once", "adds to what is there"),
    *("pastes a failure", "no own words", "bare paste"),
)
"""What ties a prompt to the work before it, whatever its words: output pasted bare is that of this work."""


class OpenArc:
    """The open sub-session, as much of it as the boundary judge asks for; it grows turn by turn."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.goal: PromptReading | None = None
        """Its first prompt that does more than navigate."""
        self.prompts: deque[PromptReading] = deque(maxlen=2)
        """The latest of those."""
        self.has_change = False
        self.has_finding = False
        self.reviews = False
        self.changed: set[int] = set()
        self.latest: deque[frozenset[int]] = deque(maxlen=_EARLIER_TURNS_MAX)
        """The uncommon words of the latest turns."""
        self.turns: list[Turn] = []
        for turn in turns:
            self.add(turn)

    def add(self, turn: Turn) -> None:
        self.last = turn
        self.turns.append(turn)
        self.latest.append(_topic(turn))
        prompt = turn.prompt
        if prompt is not None and prompt.navigational is None:
            if self.goal is None:
                self.goal = prompt
                self.reviews = prompt.shows("phrase:review_asked")
            self.prompts.append(prompt)
            self.has_finding = self.has_finding or is_finding(prompt)
        self.has_change = self.has_change or CHANGE in turn.work.marks
        self.changed |= turn.work.changed_files


def _topic(turn: Turn) -> frozenset[int]:
    said = b"" if turn.prompt is None else turn.prompt.topic_digests
    return frozenset(unpacked(said if turn.response is None else said + turn.response.topic_digests))


def is_finding(prompt: PromptReading) -> bool:
    return prompt.shows("prose", "rates a severity", "passes on a comment", "remarks like a reviewer")


def repeats(arc: OpenArc, prompt: PromptReading) -> bool:
    return any(asks_the_same(earlier, prompt) for earlier in arc.prompts)


def asks_the_same(earlier: PromptReading, prompt: PromptReading) -> bool:
    one, other = len(earlier.token_digests), len(prompt.token_digests)
    # Mostly the lengths tell, and nothing is unpacked.
    if min(one, other) <= REPEATED_SHARE * max(one, other):
        return False
    before, said = frozenset(earlier.tokens), frozenset(prompt.tokens)
    return len(said & before) > REPEATED_SHARE * len(said | before)


def boundary_signals(arc: OpenArc, turn: Turn) -> list[str]:
    """The names of the signals between the open sub-session and a turn."""
    prompt = turn.prompt
    if prompt is None:
        return []
    topic = frozenset(prompt.topic)
    new = len(topic.difference(*arc.latest))
    shared = len(topic) - new
    known_words, last_words = _answered_alike(arc, turn)
    before, answer, marks = arc.last.prompt, arc.last.response, arc.last.work.marks
    short = prompt.shows("picks from a list") or not prompt.shows("words over 10")
    found = {signal: prompt.shows(name) for signal, name in _SHOWN.items()} | {
        "a word is new": new >= 1,
        "12 words or more are new": new >= 12,
        "hardly a word is known": len(topic) >= 3 and shared * 5 < len(topic),
        "shares 4 words": shared >= 4,
        "is answered in words of the sub-session": known_words,
        "is answered in words of the last answer": last_words,
        "changes the same files": not arc.changed.isdisjoint(turn.work.changed_files),
        "uses no tool": turn.work.observed and not turn.work.tool_calls,
        "the answer before was an offer": answer is not None and answer.asks,
        "the work before was committed": COMMIT in marks,
        "the work before was interrupted": INTERRUPTED in marks,
        "the turn before only navigated": before is None or before.navigational is not None,
        "the turn before was a command": before is not None and before.navigational == "command",
        "the last prompt described a finding": bool(arc.prompts) and is_finding(arc.prompts[-1]),
        "a short order after a review": short and arc.reviews,
        **_taken_together(arc, turn, prompt, new),
    }
    return [name for name, holds in found.items() if holds]


def _answered_alike(arc: OpenArc, turn: Turn) -> tuple[bool, bool]:
    """Whether three uncommon words of the answer stand in the sub-session before it, and a tenth in the last answer."""
    if turn.response is None:
        return False, False
    said = frozenset(turn.response.topic)
    known = len(said) - len(said.difference(*arc.latest))
    # What stands in the last answer is a part of what is known.
    if len(said) < _ANSWER_MIN or not known or arc.last.response is None:
        return known >= 3, False
    return known >= 3, len(said.intersection(arc.last.response.topic)) * 10 >= len(said)


def _taken_together(arc: OpenArc, turn: Turn, prompt: PromptReading, new: int) -> dict[str, bool]:
    """What only says something in company, the time that passed above all."""
    if new < _NOVEL_MIN or prompt.shows("goes back"):
        return {}
    passed_us = turn.started_us - arc.last.started_us
    apart = passed_us > PAUSE_US and _stands_apart(arc, prompt)
    return {
        "turns to something new": prompt.shows("names a new task", "goes on after a yes", "begins with now"),
        "stands apart, 10 minutes later": apart,
        "stands apart, 20 minutes later": apart and passed_us > 20 * _MINUTE_US,
        "stands apart, an hour later": apart and passed_us > 60 * _MINUTE_US,
    }


def _stands_apart(arc: OpenArc, prompt: PromptReading) -> bool:
    """Whether nothing ties a prompt of new words to what came before it."""
    if prompt.shows(*_BINDS) or prompt.corrects or prompt.reports_failure:
        return False
    still_talking = not arc.has_change or INTERRUPTED in arc.last.work.marks
    # One finding of a review comes after the other, and a plan after the talk that led to it.
    if (arc.has_finding and is_finding(prompt)) or (still_talking and prompt.shows("plan handed over")):
        return False
    answer = arc.last.response
    return answer is None or not answer.asks


_EVIDENCE_MAX = 4
AFTER_COMMIT = 700
"""What the commit of the sub-session's own files adds, in thousandths of a logit."""
BEFORE_ANY = "as prompts mostly go on, before any signal"
COMMITTED = "its changes were committed just before"
"""What is weighed beside the signals."""


class BoundaryModel(msgspec.Struct, frozen=True):
    """A bias and one weight per signal, in thousandths of a logit."""

    bias: int
    weights: Mapping[str, int]

    def logit(self, signals: Sequence[str]) -> int:
        """Above 0: another topic."""
        return self.bias + sum(self.weights.get(name, 0) for name in signals)


BOUNDARY_BOUNDS = msgspec.json.decode(get_data(__name__, "bounds.json") or b"", type=dict[str, Bounds])["boundary"]
"""Between which chances of another topic a gap is in the unsure band; training writes them."""
SHIPPED_BOUNDARY = msgspec.json.decode(get_data(__name__, "boundary.json") or b"", type=BoundaryModel)


def topic_shift(arc: OpenArc, turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> BoundaryVerdict:
    """Judge whether `turn` leaves the topic of the open sub-session `arc`, which has a turn."""
    why_not = cannot_shift(arc, turn)
    if why_not is not None:
        return BoundaryVerdict(False, 0.95, (Evidence(why_not, turn.position),))
    signals = boundary_signals(arc, turn)
    logit = model.logit(signals)
    sign = 1 if logit > 0 else -1
    telling = [name for name in signals if sign * model.weights.get(name, 0) > 0]
    telling.sort(key=lambda name: (-abs(model.weights[name]), name))
    span = turn.prompt.summary if turn.prompt is not None else None
    evidence = tuple(Evidence(name, turn.position, span) for name in telling[:_EVIDENCE_MAX])
    return BoundaryVerdict(logit > 0, confidence_of(logit), evidence, unsure=in_unsure_band(logit))


def in_unsure_band(logit: int) -> bool:
    """Whether a sum of thousandths of a logit says so little that a person is asked: one goal or two?"""
    chance = confidence_of(logit) if logit > 0 else round(1 - confidence_of(logit), 3)
    return BOUNDARY_BOUNDS.value(chance, forced=logit > 0) is None


def confidence_of(logit: int) -> float:
    """How sure a sum of thousandths of a logit makes, 0.5-1, rounded to 3 digits."""
    share = 1 / (1 + math.exp(-max(-20_000, min(logit, 20_000)) / 1000))
    return round(max(share, 1 - share), 3)


def continues(arc: OpenArc, turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY) -> bool:
    """Whether `turn` goes on with the goal of `arc`, whose own changes were just committed."""
    if cannot_shift(arc, turn) is not None:
        return True
    return model.logit(boundary_signals(arc, turn)) + AFTER_COMMIT <= 0


def contributions(
    arc: OpenArc, turn: Turn, *, committed: bool, model: BoundaryModel = SHIPPED_BOUNDARY
) -> list[tuple[str, int]]:
    """The weights of a turn that can shift, the heaviest first; `committed`: the changes of `arc` just were."""
    found = [(name, model.weights.get(name, 0)) for name in boundary_signals(arc, turn)]
    found += [(BEFORE_ANY, model.bias)] + ([(COMMITTED, AFTER_COMMIT)] if committed else [])
    return sorted((each for each in found if each[1]), key=lambda each: (-abs(each[1]), each[0]))


def cannot_shift(arc: OpenArc, turn: Turn) -> str | None:
    """Why a turn cannot shift, whatever it says; None where it can."""
    prompt = turn.prompt
    if prompt is None:
        return "the prompt was not captured"
    if prompt.navigational is not None:
        return "only navigates"
    # Of many words, a few that complain may be about anything.
    if (prompt.corrects or prompt.reports_failure) and not prompt.shows("words over 16", "names a new task"):
        return "corrects what came before"
    if arc.goal is None:
        return "no topic before it"
    return "repeats the prompt before" if repeats(arc, prompt) else None
