"""What to say of a prompt, when a model only gives chances: the class and the booleans whose expected cost is least.

The likeliest class with every boolean that is likelier true than not is right most often, one by one, and far off in
the score where several of them are near even. What is said here weighs all three (docs/judges.md has the figures):

    expected |points of the score - points said| + 16 x expected wrong booleans + 25 x chance of the class given up
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from aggregates.verdicts import BOOLEANS, BooleanName, Intent, applicable

WRONG_BOOLEAN_POINTS = 16.0
LESS_LIKELY_POINTS = 25.0
"""What giving up the likeliest class for one that has no chance at all would cost."""
SOFTENED = 1.5
"""By how much the logits of classes are divided: on prompts not seen in training they are too sure."""
SHARPENED = 0.8
"""The same for booleans, which are not sure enough."""
LEAST_CHANCE = 0.02
"""A class below it has no part in the score that is expected."""
LEAST_OF_LIKELIEST = 0.6
"""A class is said only if its chance is at least this share of the likeliest one's."""

_THOUSANDTHS = 1_000
_FARTHEST = 30.0
"""Logits beyond it are certain; `exp` of ever larger ones would overflow."""


class Leaning(NamedTuple):
    """What a model holds likely of a prompt, should it be of one class."""

    intent: Intent
    chance: float
    """Of the class, 0-1."""
    booleans: Mapping[BooleanName, float]
    """The chance of each boolean that may be said; of those that apply and are not here it is 0."""


class _Option(NamedTuple):
    """Something that can be said, and what it is expected to cost, points."""

    cost: float
    intent: Intent
    earned: tuple[BooleanName, ...]


def class_chances(logits: Sequence[int]) -> list[float]:
    """The chances of classes, given thousandths of a logit; 0 for those below `LEAST_CHANCE`."""
    top = max(logits)
    weights = [math.exp((logit - top) / (_THOUSANDTHS * SOFTENED)) for logit in logits]
    total = sum(weights)
    return [weight / total if weight >= LEAST_CHANCE * total else 0.0 for weight in weights]


def boolean_chance(logit: int) -> float:
    """The chance of a boolean, given thousandths of a logit."""
    softened = logit / (_THOUSANDTHS * SHARPENED)
    return 1 / (1 + math.exp(-max(-_FARTHEST, min(_FARTHEST, softened))))


def choose(leanings: Sequence[Leaning]) -> tuple[Intent, tuple[BooleanName, ...]]:
    """The class and the booleans to be said, in rubric order; of equal costs the earlier class, the fewer booleans."""
    expected = _expected_scores(leanings)
    top = max(leaning.chance for leaning in leanings)
    sayable = [leaning for leaning in leanings if leaning.chance >= LEAST_OF_LIKELIEST * top]
    best = min(
        (option for leaning in sayable for option in _options(leaning, expected, top)),
        # Rounded, so that no machine's last digit decides between two that are equal.
        key=lambda option: round(option.cost, 6),
    )
    return best.intent, tuple(name for name in BOOLEANS if name in best.earned)


def _expected_scores(leanings: Sequence[Leaning]) -> list[tuple[float, float]]:
    """(points, chance) for every score that is possible."""
    chances: dict[float, float] = {}
    for leaning in leanings:
        applies = len(applicable(leaning.intent))
        for count, chance in enumerate(_counts(leaning.booleans.values())):
            points = 100 * count / applies
            chances[points] = chances.get(points, 0.0) + leaning.chance * chance
    return list(chances.items())


def _counts(chances: Iterable[float]) -> list[float]:
    """The chance that so many of independent booleans are true, from none to all."""
    counts = [1.0]
    for chance in chances:
        counts = [no + (yes - no) * chance for no, yes in zip([*counts, 0.0], [0.0, *counts], strict=True)]
    return counts


def _options(leaning: Leaning, expected: Sequence[tuple[float, float]], top: float) -> Iterator[_Option]:
    """Of one class: the likeliest boolean, the two likeliest, and so on, beginning with none."""
    ordered = sorted(leaning.booleans, key=lambda name: -leaning.booleans[name])
    applies = len(applicable(leaning.intent))
    wrong = sum(leaning.booleans.values())
    for count in range(len(ordered) + 1):
        if count:
            wrong += 1 - 2 * leaning.booleans[ordered[count - 1]]
        said = 100 * count / applies
        missed = sum([chance * abs(said - points) for points, chance in expected])
        cost = missed + WRONG_BOOLEAN_POINTS * wrong + LESS_LIKELY_POINTS * (top - leaning.chance)
        yield _Option(cost, leaning.intent, tuple(ordered[:count]))
