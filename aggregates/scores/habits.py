"""Whether a habit pays: goals reached with and without it, told only where there is enough to tell."""

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Literal, NamedTuple

import msgspec

from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.grades import CONFIDENCE, Interval, wilson

PAYS_MIN = 20  # of fewer decided goals, of which the habit is sure, nothing is told
SIDE_MIN = 5  # so many of them must stand on either side
USUAL_GOALS = 10
"""Each side is drawn to one's usual rate, as if so many more goals had come out as usual: a handful proves little."""
_WIDE = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(BOOLEANS))
"""Seven habits are compared, and one in twenty would differ by chance: so wide, all seven hold (Bonferroni)."""
Tells = Literal["more", "less", "nothing", "too_few"]


class Decided(NamedTuple):
    """Decided goals of a kind, and how many of them were reached."""

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
    """Of each habit, in rubric order."""
    rows = list(decided)
    return [_pay(name, [each for each in rows if name in each.sure]) for name in BOOLEANS]


def _pay(name: BooleanName, rows: list[Decided]) -> Pay:
    shown = [each for each in rows if name in each.earned]
    goals, reached = sum(each.goals for each in rows), sum(each.reached for each in rows)
    with_goals, with_reached = sum(each.goals for each in shown), sum(each.reached for each in shown)
    if goals < PAYS_MIN or min(with_goals, goals - with_goals) < SIDE_MIN:
        return Pay(name, goals, with_goals, "too_few")
    usual = reached / goals
    sides = (with_goals, with_reached), (goals - with_goals, reached - with_reached)
    drawn, others_drawn = (_drawn(*each, usual) for each in sides)
    with_it, without = _side(*sides[0], drawn), _side(*sides[1], others_drawn)
    low, high = _difference(drawn, others_drawn)
    tells: Tells = "more" if low > 0 else "less" if high < 0 else "nothing"
    between = Interval(100 * low, 100 * high)
    return Pay(name, goals, with_goals, tells, with_it, without, with_it.rate - without.rate, between)


def _drawn(goals: int, reached: int, usual: float) -> tuple[float, int]:
    """How many were reached, and of how many, with `USUAL_GOALS` more that came out as usual."""
    return reached + USUAL_GOALS * usual, goals + USUAL_GOALS


def _side(goals: int, reached: int, drawn: tuple[float, int]) -> Side:
    hits, total = drawn
    low, high = wilson(hits, total)
    return Side(goals, reached, 100 * hits / total, Interval(100 * low, 100 * high))


def _difference(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, float]:
    """Newcombe's interval of the difference of two shares, from their score intervals (Newcombe 1998, method 10)."""
    first, second = one[0] / one[1], other[0] / other[1]
    (low_1, high_1), (low_2, high_2) = wilson(*one, _WIDE), wilson(*other, _WIDE)
    between = first - second
    return (
        between - math.hypot(first - low_1, high_2 - second),
        between + math.hypot(high_1 - first, second - low_2),
    )
