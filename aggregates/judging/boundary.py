"""The boundary judge: does a prompt start another topic than the sub-session before it (scoring.md, section 1)?

Idle time is no boundary: it adds weight only where a prompt stands apart by its words. The weights of the signals are
thousandths of a logit (`boundary.json`).
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pkgutil import get_data

import msgspec

from aggregates.event import unpacked
from aggregates.reading.readings import PromptReading
from aggregates.reading.verdicts import BoundaryVerdict, Bounds, Evidence
from aggregates.times import US_PER_MINUTE
from aggregates.turns.turn import CHANGE, COMMIT, INTERRUPTED, Turn

_EARLIER_TURNS_MAX = 6  # how many turns back the words of the open sub-session are looked at
PAUSE_US = 10 * US_PER_MINUTE
TURNS_MAX = 200  # no goal is followed for longer, so that none costs more the longer it is
_NOVEL_MIN = 3
_SHARE_OF = 5  # so many words are added to those of a turn, one as known: of few words a share says little
_NO_WORDS_PERCENT = 8
_NEW_TO_ALL_PERCENT = 20
_FRESH_PERCENT = 15  # from so few common words on a turn is fresh
_ANSWER_CHARS_MIN = 20
REPEATED_SHARE = 0.7  # from which share of common words on a prompt repeats another
SAID: dict[str, str] = {"says what is wrong": "has report", "names a file": "path", "over 6 words": "words over 6"}

OPENS = (
    *("names a new task", "goes back", "begins with now", "asks like a first prompt", "points back at once"),
    *("adds to what is there", "names a step", "speaks of the agent's work"),
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
        self.goal: PromptReading | None = None  # its first prompt that does more than navigate
        self.has_topic = False  # whether there was such a prompt, or a command that was worked on
        self.prompts: deque[PromptReading] = deque(maxlen=2)  # the latest of those
        self.has_change = False
        self.has_finding = False
        self.reviews = False
        self.changed: set[int] = set()
        self.latest: deque[frozenset[int]] = deque(maxlen=_EARLIER_TURNS_MAX)  # the uncommon words of the latest turns
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
        self.has_topic = self.has_topic or self.goal is not None or _works(turn)
        self.has_change = self.has_change or CHANGE in turn.work.marks
        self.changed |= turn.work.changed_files


def _topic(turn: Turn) -> frozenset[int]:
    said = b"" if turn.prompt is None else turn.prompt.topic_digests
    return frozenset(unpacked(said if turn.response is None else said + turn.response.topic_digests))


def _works(turn: Turn) -> bool:
    """Whether a command is one that an agent worked on; one that only sets something is not."""
    prompt = turn.prompt
    sets = prompt is None or prompt.navigational != "command" or prompt.shows("sets up the session")
    return not sets and (turn.work.tool_calls > 0 or _answers(turn))


def _answers(turn: Turn) -> bool:
    return turn.response is not None and turn.response.characters >= _ANSWER_CHARS_MIN


def is_finding(prompt: PromptReading) -> bool:
    return prompt.shows("prose", "rates a severity", "passes on a comment", "remarks like a reviewer")


def asks_the_same(earlier: PromptReading, prompt: PromptReading) -> bool:
    one, other = len(earlier.token_digests), len(prompt.token_digests)
    # Mostly the lengths tell, and nothing is unpacked.
    if min(one, other) <= REPEATED_SHARE * max(one, other):
        return False
    before, said = frozenset(earlier.tokens), frozenset(prompt.tokens)
    return len(said & before) > REPEATED_SHARE * len(said | before)


def boundary_signals(arc: OpenArc, turn: Turn) -> list[str]:
    prompt, last = turn.prompt, arc.last
    if prompt is None:
        return []
    # How few of the uncommon words of the prompt and its answer were there before.
    said = _topic(turn)
    answered = frozenset(unpacked(b"" if turn.response is None else turn.response.topic_digests))
    before = _percent(said, said & arc.latest[-1])
    earlier = _percent(said, said - said.difference(*arc.latest))
    fresh = before < _FRESH_PERCENT
    new = len(frozenset(unpacked(prompt.topic_digests)).difference(*arc.latest))
    # In which state the turn before left the work.
    asked, answer, marks = last.prompt, last.response, last.work.marks
    asks_back = answer is not None and answer.asks and not answer.invites
    open_ended = answer is not None and (asks_back or answer.breaks_off)
    shipping = asked is not None and asked.shows("asks to commit or merge")
    closes = answer is not None and answer.closes
    finished = COMMIT in marks or shipping or closes or (answer is not None and answer.reports_done)
    short = prompt.shows("picks from a list") or not prompt.shows("words over 10")
    asks = prompt.shows("wants or reports something")
    # What only says something in company, the time that passed above all.
    turns_away = new >= _NOVEL_MIN and not prompt.shows("goes back")
    passed_us = turn.started_us - last.started_us
    apart = turns_away and passed_us > PAUSE_US and _stands_apart(arc, prompt)
    found = {signal: prompt.shows(name) for signal, name in _SHOWN.items()}
    found |= {f"under {most} % of its words are of the turn before": before < most for most in (30, 20, 8)}
    found |= {f"under {most} % of its words are of the last turns": earlier < most for most in (40, 30)}
    found |= {
        "its answer has no words of the turn before": _percent(answered, answered & arc.latest[-1]) < _NO_WORDS_PERCENT,
        "fresh, and new to the last turns too": fresh and earlier < _NEW_TO_ALL_PERCENT,
        "a word or more is new": new >= 1,
        **{f"{least} words or more are new": new >= least for least in (4, 8)},
        "changes the same files": not arc.changed.isdisjoint(turn.work.changed_files),
        "the last prompt described a finding": bool(arc.prompts) and is_finding(arc.prompts[-1]),
        "a short order after a review": short and arc.reviews,
        "is a command": prompt.navigational == "command",
        "a commit or a merge was asked for just before": shipping,
        "the answer before closes": closes and not open_ended,
        "the answer before offers more": answer is not None and answer.invites,
        "the answer before asks something": asks_back,
        "the answer before broke off": answer is not None and answer.breaks_off,
        "hardly an answer before": not _answers(last),
        "the work before was interrupted": INTERRUPTED in marks,
        "the turn before was a command": asked is not None and asked.navigational == "command",
        "turns to something new": turns_away
        and prompt.shows("names a new task", "goes on after a yes", "begins with now"),
        "stands apart, 10 minutes later": apart,
        "stands apart, 20 minutes later": apart and passed_us > 20 * US_PER_MINUTE,
        "stands apart, an hour later": apart and passed_us > 60 * US_PER_MINUTE,
        "fresh, and points back at nothing": fresh
        and prompt.shows("words over 3")
        and not prompt.shows("leans on what was said"),
        "fresh, and asks for something": fresh and asks,
        "fresh, and asks a question": fresh and prompt.shows("begins:question"),
        "asks for something after finished work": asks and finished and not open_ended and INTERRUPTED not in marks,
    }
    return [name for name, holds in found.items() if holds]


def _percent(words: frozenset[int], known: frozenset[int]) -> float:
    return 100 * (len(known) + 1) / (len(words) + _SHARE_OF)


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
AFTER_COMMIT = 700  # what the commit of the sub-session's own files adds, in thousandths of a logit
BEFORE_ANY = "prompts mostly go on with the same goal"
COMMITTED = "its changes were committed just before"  # what is weighed beside the signals


class BoundaryModel(msgspec.Struct, frozen=True):
    bias: int
    weights: Mapping[str, int]
    even: int = 0  # the logit where a sum is 0: few gaps are boundaries, and one missed costs as much as one false

    def chance(self, logit: int) -> float:
        """That experts see another topic at such a sum, 0-1, rounded to 3 digits."""
        return round(1 / (1 + math.exp(-max(-20_000, min(logit + self.even, 20_000)) / 1000)), 3)


BOUNDARY_BOUNDS = msgspec.json.decode(get_data(__name__, "bounds.json") or b"", type=dict[str, Bounds])["boundary"]
SHIPPED_BOUNDARY = msgspec.json.decode(get_data(__name__, "boundary.json") or b"", type=BoundaryModel)


def topic_shift(
    arc: OpenArc, turn: Turn, model: BoundaryModel = SHIPPED_BOUNDARY, *, after_commit: bool = False
) -> BoundaryVerdict:
    """Whether `turn` leaves the topic of `arc`, which has a turn. `after_commit`: its changes were just committed."""
    why_not = cannot_shift(arc, turn)
    if why_not is not None:
        return BoundaryVerdict(False, 0.95, (Evidence(why_not, turn.position),))
    found = contributions(arc, turn, after_commit=after_commit, model=model)
    logit = sum(weight for _, weight in found)
    telling = [name for name, weight in found if name != BEFORE_ANY and (weight > 0) is (logit > 0)]
    span = turn.prompt.summary if turn.prompt is not None else None
    evidence = tuple(Evidence(name, turn.position, span) for name in telling[:_EVIDENCE_MAX])
    return verdict_of(logit, evidence, model)


def verdict_of(
    logit: int, evidence: tuple[Evidence, ...] = (), model: BoundaryModel = SHIPPED_BOUNDARY
) -> BoundaryVerdict:
    """What a sum of thousandths of a logit says, and whether so little that a person is asked: one goal or two?"""
    shift, chance = logit > 0, model.chance(logit)
    unsure = BOUNDARY_BOUNDS.value(chance, forced=shift) is None
    return BoundaryVerdict(shift, chance if shift else round(1 - chance, 3), evidence, unsure=unsure)


def contributions(
    arc: OpenArc, turn: Turn, *, after_commit: bool, model: BoundaryModel = SHIPPED_BOUNDARY
) -> list[tuple[str, int]]:
    """The weights of a turn that can shift, the heaviest first; their sum decides."""
    found = [(name, model.weights.get(name, 0)) for name in boundary_signals(arc, turn)]
    found += [(BEFORE_ANY, model.bias), (COMMITTED, AFTER_COMMIT if after_commit else 0)]
    return sorted((each for each in found if each[1]), key=lambda each: (-abs(each[1]), each[0]))


EXPANDED = "expanded"
EXPANSION = "it is the text of the command before it"
EXPANDS_US = 10 * 1_000_000  # so soon an agent puts the text of a command behind it; nobody types it so fast
_LONGER = 3  # so many times as long as its command the text of one is, at least


def expands(before: Turn, turn: Turn) -> bool:
    """Whether a turn is the text that an agent put in place of the command before it."""
    command, text = before.prompt, turn.prompt
    if command is None or text is None or before.agent_session_id != turn.agent_session_id:
        return False
    if command.navigational != "command" or text.navigational == "command":
        return False
    if command.maker is not None or command.shows("sets up the session"):
        return False
    alone = before.response is None and before.work.tool_calls <= 1
    longer = text.characters > _LONGER * command.characters
    return alone and longer and 0 <= turn.started_us - before.started_us <= EXPANDS_US


def as_typed(turns: Sequence[Turn]) -> list[Turn]:
    """Turns in time order, where the text of a command is `EXPANDED`: no prompt of a person's."""
    found = list(turns)
    for place, (before, turn) in enumerate(pairwise(turns), 1):
        if turn.prompt is not None and expands(before, turn):
            text = msgspec.structs.replace(turn.prompt, navigational=EXPANDED)
            found[place] = msgspec.structs.replace(turn, prompt=text)
    return found


def cannot_shift(arc: OpenArc, turn: Turn) -> str | None:
    """Why a turn cannot shift, whatever it says; None where it can."""
    prompt = turn.prompt
    if prompt is None:
        return "the prompt was not captured"
    if expands(arc.last, turn):
        return EXPANSION
    if prompt.navigational is not None and not _works(turn):
        return "only navigates"
    # Of many words, a few that complain may be about anything.
    if (prompt.corrects or prompt.reports_failure) and not prompt.shows("words over 16", "names a new task"):
        return "corrects what came before"
    if not arc.has_topic or (arc.goal is None and prompt.navigational == "command"):
        return "no topic before it"
    return "repeats the prompt before" if any(asks_the_same(each, prompt) for each in arc.prompts) else None
