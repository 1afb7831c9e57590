"""What the boundary judge looks at between an open sub-session and the turn after it, as named signals.

What the new prompt says, how much of it is new to the sub-session, whether the work shares files, and how the turn
before ended. How much time passed is looked at only where the prompt stands apart by its words: silence alone is no
signal.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property

from aggregates.digests import unpacked
from aggregates.feature_names import FLAGS
from aggregates.openings import OPENING
from aggregates.reading import PromptReading
from aggregates.turn import CHANGE, COMMIT, INTERRUPTED, Turn

_EARLIER_TURNS_MAX = 6
"""How many turns back the words of the open sub-session are looked at."""
_MINUTE_US = 60 * 1_000_000
REPEATED_SHARE = 0.7
"""From which share of common words on a prompt repeats another."""

_SAID: dict[str, str] = {
    "points back": "phrase:continuing",
    "only asks a question": "only question",
    "begins with a question": "begins:question",
    "begins with a request": "begins:request",
    "begins with a statement": "begins:statement",
    "asks for a review": "phrase:review_asked",
    "asks to look": "phrase:look_asked",
    "hands over a plan": "plan handed over",
    "says what is wrong": "has report",
    "speaks of things by pronouns": "cue:vague",
    "names a file": "path",
    "names something findable": "reference",
    "over 6 words": "words over 6",
    "over 16 words": "words over 16",
    "over 25 words": "words over 25",
    "over 40 words": "words over 40",
    "over 70 words": "words over 70",
}
"""Signals that the prompt shows by itself, and the features that show them."""
SIGNALS: tuple[str, ...] = (
    *_SAID,
    *OPENING,
    "describes a finding, the first one",
    "describes a finding after another",
    "a word is new",
    "3 words or more are new",
    "6 words or more are new",
    "12 words or more are new",
    "hardly a word is known",
    "shares 2 words",
    "shares 4 words",
    "shares words with the last answer",
    "shares words with the last prompt",
    "is answered in words of the sub-session",
    "works on other files",
    "works on the same files",
    "changes the same files",
    "changes other files",
    "uses no tool",
    "the answer before was an offer",
    "the work before was done",
    "the work before was committed",
    "the work before was interrupted",
    "the turn before only navigated",
    "the last prompt described a finding",
    "follows a plan that was handed over",
    "a short order after a review",
    "asks at length for something new",
    "turns to something new",
    "stands apart",
    "stands apart after finished work",
    "stands apart, 10 minutes later",
    "stands apart, 20 minutes later",
    "stands apart, an hour later",
    "asks like a first prompt, 10 minutes later",
)
_SAID_FLAGS = tuple((FLAGS[feature], name) for name, feature in _SAID.items())
_OPENING_FLAGS = tuple((flag, name) for name, flag in OPENING.items())
_PROSE, _PLAN, _REVIEW = FLAGS["prose"], FLAGS["plan handed over"], FLAGS["phrase:review_asked"]
_REQUEST, _REPORT, _OVER_10, _OVER_16 = (
    FLAGS["begins:request"],
    FLAGS["has report"],
    FLAGS["words over 10"],
    FLAGS["words over 16"],
)
_SEVERITY, _ASKS_FIRST = OPENING["rates a severity"], OPENING["asks like a first prompt"]
_PICKS = OPENING["picks from a list"]
_BINDS = _PICKS | OPENING["goes back"] | OPENING["links back at once"]
"""Openings after which a prompt does not stand apart, whatever its words."""
_TURNS = OPENING["names a new task"] | OPENING["goes on after a yes"] | OPENING["begins with now"]


class OpenArc:
    """The open sub-session, as much of it as the boundary judge asks for; it grows turn by turn.

    What is asked of all its turns is kept as it grows, so that judging the next turn does not go through them again.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.goal: PromptReading | None = None
        """Its first prompt that does more than navigate."""
        self.prompts: deque[PromptReading] = deque(maxlen=2)
        """The latest of those."""
        self.has_change = False
        self.has_finding = False
        self.reviews = False
        self.touched: set[int] = set()
        self.changed: set[int] = set()
        self.latest: deque[_Spoken] = deque(maxlen=_EARLIER_TURNS_MAX)
        for turn in turns:
            self.add(turn)

    def add(self, turn: Turn) -> None:
        """Go on with `turn`, which comes after all others."""
        self.last = turn
        self.latest.append(_Spoken(turn))
        prompt = turn.prompt
        if prompt is not None and prompt.navigational is None:
            if self.goal is None:
                self.goal = prompt
                self.reviews = prompt.flags & _REVIEW > 0
            self.prompts.append(prompt)
            self.has_finding = self.has_finding or is_finding(prompt)
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


def is_finding(prompt: PromptReading) -> bool:
    """Whether a prompt describes what is wrong, as reviewers and their tools do."""
    return bool(prompt.flags & _PROSE or prompt.opening & _SEVERITY)


def repeats(arc: OpenArc, prompt: PromptReading) -> bool:
    """Whether it is one of the last two prompts once more."""
    return any(asks_the_same(earlier, prompt) for earlier in arc.prompts)


def asks_the_same(earlier: PromptReading, prompt: PromptReading) -> bool:
    """Whether two prompts are the same but for a few words."""
    one, other = len(earlier.token_digests), len(prompt.token_digests)
    # Mostly the lengths tell, and nothing is unpacked.
    if min(one, other) <= REPEATED_SHARE * max(one, other):
        return False
    before, said = frozenset(earlier.tokens), frozenset(prompt.tokens)
    return len(said & before) > REPEATED_SHARE * len(said | before)


def boundary_signals(arc: OpenArc, turn: Turn) -> list[str]:
    """The names of the signals between the open sub-session and a turn, in the order of `SIGNALS`."""
    prompt = turn.prompt
    if prompt is None:
        return []
    found = [name for flag, name in _SAID_FLAGS if prompt.flags & flag]
    found += [name for flag, name in _OPENING_FLAGS if prompt.opening & flag]
    if is_finding(prompt):
        found.append("describes a finding after another" if arc.has_finding else "describes a finding, the first one")
    shared, new = _shared_words(arc, turn, prompt)
    return found + shared + _shared_work(arc, turn) + _before(arc, prompt) + _taken_together(arc, turn, prompt, new)


def _shared_words(arc: OpenArc, turn: Turn, prompt: PromptReading) -> tuple[list[str], int]:
    """The signals, and how many words are new to the sub-session."""
    topic = fresh = frozenset(prompt.topic)
    for spoken in arc.latest:
        fresh = fresh - spoken.topic
    new = len(fresh)
    shared = len(topic) - new
    answer = arc.last.response
    found = {
        "a word is new": new >= 1,
        "3 words or more are new": new >= 3,
        "6 words or more are new": new >= 6,
        "12 words or more are new": new >= 12,
        "hardly a word is known": len(topic) >= 3 and shared * 5 < len(topic),
        "shares 2 words": shared >= 2,
        "shares 4 words": shared >= 4,
        # What the answer or a prompt shares is a part of what is shared at all.
        "shares words with the last answer": answer is not None and shared >= 2 and _share(topic, answer.topic),
        "shares words with the last prompt": shared >= 2 and bool(arc.prompts) and _share(topic, arc.prompts[-1].topic),
        "is answered in words of the sub-session": _answered_alike(arc, turn),
    }
    return [name for name, holds in found.items() if holds], new


def _share(topic: frozenset[int], other: Sequence[int]) -> bool:
    return len(topic.intersection(other)) >= 2


def _answered_alike(arc: OpenArc, turn: Turn) -> bool:
    """Whether three uncommon words of the answer stand in the sub-session before it."""
    if turn.response is None:
        return False
    fresh = said = frozenset(turn.response.topic)
    for spoken in arc.latest:
        fresh = fresh - spoken.topic
    return len(said) - len(fresh) >= 3


def _shared_work(arc: OpenArc, turn: Turn) -> list[str]:
    found = []
    if turn.work.files:
        touched, changed = turn.work.touched_files, turn.work.changed_files
        same = not touched.isdisjoint(arc.touched)
        found += ["works on other files"] if arc.touched and not same else []
        found += ["works on the same files"] if same else []
        if changed and arc.changed:
            found.append("changes other files" if changed.isdisjoint(arc.changed) else "changes the same files")
    if turn.work.observed and not turn.work.tool_calls:
        found.append("uses no tool")
    return found


def _before(arc: OpenArc, prompt: PromptReading) -> list[str]:
    """How the turn before ended, and what the sub-session is about."""
    answer, marks = arc.last.response, arc.last.work.marks
    before = arc.last.prompt
    short = bool(prompt.opening & _PICKS) or not prompt.flags & _OVER_10
    found = {
        "the answer before was an offer": answer is not None and answer.asks,
        "the work before was done": _finished(arc),
        "the work before was committed": COMMIT in marks,
        "the work before was interrupted": INTERRUPTED in marks,
        "the turn before only navigated": before is None or before.navigational is not None,
        "the last prompt described a finding": bool(arc.prompts) and is_finding(arc.prompts[-1]),
        "follows a plan that was handed over": arc.goal is not None and arc.goal.flags & _PLAN > 0,
        "a short order after a review": short and arc.reviews,
    }
    return [name for name, holds in found.items() if holds]


def _finished(arc: OpenArc) -> bool:
    answer = arc.last.response
    return answer is not None and answer.reports_done and not answer.asks and arc.has_change


def _taken_together(arc: OpenArc, turn: Turn, prompt: PromptReading, new: int) -> list[str]:
    """What only says something in company, the time that passed above all."""
    asks_first = prompt.opening & _ASKS_FIRST > 0
    novel = new >= 3 and not prompt.opening & OPENING["goes back"]
    apart = novel and _stands_apart(arc, prompt)
    passed_us = turn.started_us - arc.last.started_us
    found = {
        "asks at length for something new": new >= 3
        and prompt.flags & _OVER_16 > 0
        and prompt.flags & (_REQUEST | _REPORT) > 0,
        "turns to something new": novel and prompt.opening & _TURNS > 0,
        "stands apart": apart,
        "stands apart after finished work": apart and _finished(arc),
        "stands apart, 10 minutes later": apart and passed_us > 10 * _MINUTE_US,
        "stands apart, 20 minutes later": apart and passed_us > 20 * _MINUTE_US,
        "stands apart, an hour later": apart and passed_us > 60 * _MINUTE_US,
        "asks like a first prompt, 10 minutes later": apart and asks_first and passed_us > 10 * _MINUTE_US,
    }
    return [name for name, holds in found.items() if holds]


def _stands_apart(arc: OpenArc, prompt: PromptReading) -> bool:
    """Whether nothing ties a prompt of new words to what came before it."""
    answer = arc.last.response
    offered = answer is not None and answer.asks
    return not prompt.opening & _BINDS and not offered and not (prompt.corrects or prompt.reports_failure)
