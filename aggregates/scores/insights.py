"""What work was, in abstract labels; what is counted of it over time; and whether a habit pays.

Every word of a label stands here or in `labels.toml`. A text model that writes about a day gets nothing but these, so
whatever a prompt held, no word of it can leave.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pkgutil import get_data
from statistics import NormalDist
from typing import Literal, NamedTuple

import msgspec

from aggregates.reading.verdicts import BOOLEANS, BooleanName, Intent
from aggregates.scores.grades import CONFIDENCE, Interval, wilson
from aggregates.turns.turn import API_ERROR, CHECK_OK, COMMIT, INTERRUPTED, Turn, check_fails

TEXT_CHARACTERS_MAX = 4_000  # of one prompt: what it is about is said early
TOPICS_MAX = 2
LABELS_MAX = 8
MEMBERS_MAX = 20


_LABELS = msgspec.toml.decode(get_data(__name__, "labels.toml") or b"", type=dict[str, dict[str, str]])
KINDS = _LABELS["kinds"]
TOPICS = {topic: frozenset(words.split()) for topic, words in _LABELS["topics"].items()}
CHECKED, COMMITTED = "with checks run", "with a commit"
_WORD = re.compile(r"[a-z]+|[가-힣]+")


class WorkLabels(msgspec.Struct, frozen=True):
    """The labels of some members, in an order that means nothing."""

    members: tuple[tuple[str, ...], ...]
    clipped: bool  # whether the least busy members, or rarest labels, were left out


NO_WORK = WorkLabels((), clipped=False)


def label(intent: Intent, text: str | None, marks: str) -> str:
    """What one sub-session was: of its intent, of the prompt that says what is wanted, of the marks of its work."""
    about = topics(text or "")
    how = [said for mark, said in ((CHECK_OK, CHECKED), (COMMIT, COMMITTED)) if mark in marks]
    return " ".join([KINDS[intent], *(["in", " and ".join(about)] if about else []), *how])


def topics(text: str) -> list[str]:
    """What a text is about, the most often named first."""
    words = Counter(_WORD.findall(text[:TEXT_CHARACTERS_MAX].lower()))
    weights = {topic: sum(words[word] for word in known) for topic, known in TOPICS.items()}
    found = sorted((topic for topic, weight in weights.items() if weight), key=lambda topic: -weights[topic])
    return found[:TOPICS_MAX]


def work_labels(of_members: Iterable[Iterable[str]]) -> WorkLabels:
    """Each label once, so that nothing tells how much there was; the busiest, where there are too many."""
    busy = sorted((Counter(each) for each in of_members), key=lambda each: -each.total())
    counted = [each for each in busy if each]
    kept = [tuple(sorted(name for name, _ in each.most_common(LABELS_MAX))) for each in counted[:MEMBERS_MAX]]
    clipped = len(counted) > MEMBERS_MAX or any(len(each) > LABELS_MAX for each in counted)
    return WorkLabels(tuple(sorted(kept)), clipped)


# The arithmetic of the insights payload (scoring.md, section 10): of a sub-session, and of when things happened.


def corrected(turns: Sequence[Turn]) -> bool:
    """Whether a later prompt of a sub-session corrects what was done, or says that it does not work."""
    return any(t.prompt is not None and (t.prompt.corrects or t.prompt.reports_failure) for t in turns[1:])


def had_friction(turns: Sequence[Turn]) -> bool:
    """An API error, a failed last check, a correction or an interruption; what was not observed does not count."""
    marks = "".join(turn.work.marks for turn in turns)
    return API_ERROR in marks or INTERRUPTED in marks or check_fails(marks) or corrected(turns)


def times_at_once(spans: Iterable[tuple[str, int, int]]) -> int:
    """How often a second agent session became active while one was: (session, start, end) of each turn."""
    lasting = [span for span in spans if span[1] < span[2]]
    edges = sorted([(start, 1, name) for name, start, _ in lasting] + [(end, 0, name) for name, _, end in lasting])
    active: Counter[str] = Counter()
    times = 0
    for _, begins, session in edges:
        before = len(active)
        active[session] += 1 if begins else -1
        active = +active
        times += before == 1 and len(active) == 2
    return times


# Whether a habit pays: goals reached with and without it, told only where there is enough to tell.

PAYS_MIN = 20  # of fewer decided goals, of which the habit is sure, nothing is told
SIDE_MIN = 5  # so many of them must stand on either side
USUAL_GOALS = 10  # each side is drawn to one's usual rate, as if so many more goals had come out as usual
_WIDE = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(BOOLEANS))  # all seven hold together (Bonferroni)
Tells = Literal["more", "less", "nothing", "too_few"]


class Decided(NamedTuple):
    earned: frozenset[BooleanName]
    sure: frozenset[BooleanName]
    goals: int
    reached: int


class Side(msgspec.Struct, frozen=True):
    """The goals with a habit, or those without; rates are 0-100, drawn to the usual one."""

    goals: int
    reached: int
    rate: float
    interval: Interval


class Pay(msgspec.Struct, frozen=True):
    """What can be told of a habit: never that it is the cause."""

    boolean: BooleanName
    decided: int  # decided goals that surely show it, or surely do not
    shown: int  # those that do
    tells: Tells
    with_it: Side | None = None
    without: Side | None = None
    difference: float | None = None  # of the two rates, in points
    interval: Interval | None = None  # of the difference


def pays(decided: Iterable[Decided]) -> list[Pay]:
    rows = list(decided)
    return [_pay(name, [each for each in rows if name in each.sure]) for name in BOOLEANS]


def _pay(name: BooleanName, rows: list[Decided]) -> Pay:
    shown = [each for each in rows if name in each.earned]
    goals, reached = sum(each.goals for each in rows), sum(each.reached for each in rows)
    with_goals, with_reached = sum(each.goals for each in shown), sum(each.reached for each in shown)
    if goals < PAYS_MIN or min(with_goals, goals - with_goals) < SIDE_MIN:
        return Pay(name, goals, with_goals, "too_few")
    usual = USUAL_GOALS * (reached / goals)
    others = goals - with_goals, reached - with_reached
    one, other = (with_reached + usual, with_goals + USUAL_GOALS), (others[1] + usual, others[0] + USUAL_GOALS)
    with_it, without = _side(with_goals, with_reached, one), _side(*others, other)
    # Newcombe's interval of the difference of two shares, from their score intervals (Newcombe 1998, method 10).
    first, second = one[0] / one[1], other[0] / other[1]
    (low_1, high_1), (low_2, high_2) = wilson(*one, _WIDE), wilson(*other, _WIDE)
    low = first - second - math.hypot(first - low_1, high_2 - second)
    high = first - second + math.hypot(high_1 - first, second - low_2)
    tells: Tells = "more" if low > 0 else "less" if high < 0 else "nothing"
    between = Interval(100 * low, 100 * high)
    return Pay(name, goals, with_goals, tells, with_it, without, with_it.rate - without.rate, between)


def _side(goals: int, reached: int, drawn: tuple[float, int]) -> Side:
    low, high = wilson(*drawn)
    return Side(goals, reached, 100 * drawn[0] / drawn[1], Interval(100 * low, 100 * high))
