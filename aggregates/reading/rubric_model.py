"""The linear model behind the rubric judge: features in, logits of classes and booleans out. `rubric_choice.py`
says what follows from them.

Weights are whole thousandths of a logit, so a verdict can be followed by hand and is the same on every machine.
"""

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from aggregates.reading.features import CROSSED, FEATURES, FLAGS, PASTED_FEATURES, WORD, Features
from aggregates.reading.judge_weights import BIAS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS, WEIGHTS
from aggregates.reading.verdicts import APPLIES_TO, BOOLEANS, INTENTS, BooleanName, Intent, applicable

# Vectors of whole numbers, each kept as one integer, so that adding two vectors is one addition.
#
# A vector's numbers stand side by side in lanes of 32 bits. A negative number borrows from the lane above it;
# `unpack` gives that back. Sums stay right while every lane stays within 31 bits.

_BITS = 32


class Lanes:
    """Vectors of `count` signed numbers."""

    def __init__(self, count: int) -> None:
        self.bits = count * _BITS
        """Above these bits there is room for whatever else is to be added up."""
        self.bytes = self.bits // 8
        self.signs = sum(1 << (place * _BITS + _BITS - 1) for place in range(count))
        """Added to a sum of vectors, it makes every lane positive, so that nothing borrows any more."""
        self._struct = struct.Struct(f"<{count}i")

    def pack(self, values: Sequence[int]) -> int:
        """The vector of these numbers."""
        return sum(value << (place * _BITS) for place, value in enumerate(values))

    def unpack(self, total: int) -> tuple[int, ...]:
        """The numbers of a sum of vectors to which `signs` were added."""
        numbers: tuple[int, ...] = self._struct.unpack((total ^ self.signs).to_bytes(self.bytes, "little"))
        return numbers


Logits = Mapping[BooleanName, int]
"""Thousandths of a logit."""


CONTEXT_FEATURES = (
    "context:first",
    "context:after an offer",
    "context:after silence",
    "context:after a command",
    "context:after a review command",
    "context:first and short",
    "context:first and of few words",
    "context:first and nothing named",
    "context:first and plain",
    "context:first and pasted",
    "short and nothing named",
    *(f"is:{intent}" for intent in INTENTS),
    *(f"{intent} & {cue}" for intent in INTENTS for cue in CROSSED),
)
"""What came before a prompt, and, for the booleans, what it was judged to ask for."""


ALL_FEATURES = FEATURES + CONTEXT_FEATURES


CONTEXT_NUMBER = {name: len(FEATURES) + place for place, name in enumerate(CONTEXT_FEATURES)}


MAY_REST_ON_PASTED: frozenset[BooleanName] = frozenset({"references_concrete", "context_sufficient"})
"""Pasted text is evidence for these alone."""


_CROSSED_NUMBERS = {
    (intent, FEATURES.index(cue)): CONTEXT_NUMBER[f"{intent} & {cue}"] for intent in INTENTS for cue in CROSSED
}


_CROSSABLE = frozenset(FEATURES.index(cue) for cue in CROSSED)


_CROSSED_PASTED = frozenset(CONTEXT_NUMBER[f"{intent} & pasted"] for intent in INTENTS)


PASTED: frozenset[int] = PASTED_FEATURES | _CROSSED_PASTED | {CONTEXT_NUMBER["context:first and pasted"]}
"""Every feature that pasted text shows."""


def crossed(active: Sequence[int], intent: Intent) -> tuple[int, ...]:
    """The features of a prompt together with what it was judged to ask for."""
    both = [_CROSSED_NUMBERS[intent, number] for number in active if number in _CROSSABLE]
    return (*active, CONTEXT_NUMBER[f"is:{intent}"], *both)


_RESTS_ON_PASTED = tuple(name for name in BOOLEANS if name in MAY_REST_ON_PASTED)


_LANES = Lanes(len(INTENTS) + len(BOOLEANS) + len(_RESTS_ON_PASTED))
"""A logit for each intent, then one for each boolean, then what pasted text adds to those that may rest on it."""


_JUDGED = {
    intent: tuple((place, name) for place, name in enumerate(BOOLEANS, len(INTENTS)) if intent in APPLIES_TO[name])
    for intent in INTENTS
}
"""For each intent the lanes of the booleans that apply to it."""


class RubricModel:
    """A bias and, per feature, one weight for each intent and for each boolean.

    All weights of a feature are one vector (`lanes.py`). The vectors of a text's own features are added up when it is
    read; judging it adds those of what came before.
    """

    def __init__(
        self,
        bias: Sequence[int],
        weights: Mapping[str, Sequence[int]],
        boolean_bias: Sequence[int],
        boolean_weights: Mapping[str, Sequence[int]],
    ) -> None:
        self._vectors = [
            _LANES.pack(_weights(number, weights.get(name), boolean_weights.get(name)))
            for number, name in enumerate(ALL_FEATURES)
        ]
        self._start = _LANES.pack((*bias, *boolean_bias, *(0,) * len(_RESTS_ON_PASTED))) + _LANES.signs
        # Flags lie above the lanes, so that one sum gives them too: a feature is there once or not at all.
        self._features = [
            vector + (FLAGS.get(name, 0) << _LANES.bits) for name, vector in zip(FEATURES, self._vectors, strict=False)
        ]
        self._words = {word: self._features[number] for word, number in WORD.items()}
        self._context = {name: self._vectors[number] for name, number in CONTEXT_NUMBER.items()}
        self._crossed = {
            intent: tuple((FLAGS[cue], self._context[f"{intent} & {cue}"]) for cue in CROSSED) for intent in INTENTS
        }

    def weigh(self, shown: Features) -> tuple[bytes, int]:
        """The sums of a text's own features, and its flags."""
        total = self._start + sum(map(self._words.__getitem__, shown.vocabulary))
        total += sum(map(self._features.__getitem__, shown.others))
        flags = total >> _LANES.bits
        return (total - (flags << _LANES.bits)).to_bytes(_LANES.bytes, "little"), flags

    def total(self, numbers: Iterable[int]) -> int:
        """The sums of features given by their numbers: the same, for those that have no reading at hand."""
        return self._start + sum([self._vectors[number] for number in numbers])

    def with_context(self, sums: bytes, context: Iterable[str]) -> int:
        """The sums with those of named features of what came before."""
        return int.from_bytes(sums, "little") + sum([self._context[name] for name in context])

    def verdict(self, total: int, flags: int, *, own_words: bool) -> tuple[Intent, float, tuple[BooleanName, ...]]:
        """What is asked, the probability of that class (0-1), and the booleans it earns, in rubric order.

        Pasted text has no say in the class, nor in any boolean but those that may rest on it. Without `own_words` only
        these can be earned.
        """
        logits = _LANES.unpack(total)[: len(INTENTS)]
        chances = class_chances(logits)
        likely = {
            intent: (chance, self._booleans(total, flags, intent))
            for intent, chance in zip(INTENTS, chances, strict=True)
            if chance
        }
        sayable = BOOLEANS if own_words else _RESTS_ON_PASTED
        intent, earned = choose(
            [
                Leaning(each, chance, {name: boolean_chance(own[name]) for name in own if name in sayable})
                for each, (chance, (own, _)) in likely.items()
            ]
        )
        return intent, _probability(logits, intent), _with_pasted(earned, *likely[intent][1])

    def _booleans(self, total: int, flags: int, intent: Intent) -> tuple[Logits, Logits]:
        """Of the booleans that apply to an intent: the logits by own words, and what pasted text adds to them."""
        total += self._context[f"is:{intent}"] + sum([v for flag, v in self._crossed[intent] if flags & flag])
        lanes = _LANES.unpack(total)
        own = {name: lanes[place] for place, name in _JUDGED[intent]}
        pasted = zip(_RESTS_ON_PASTED, lanes[len(INTENTS) + len(BOOLEANS) :], strict=True)
        return own, {name: added for name, added in pasted if added and name in own}


def _probability(logits: Sequence[int], intent: Intent) -> float:
    """Of a class, 0-1, rounded to 3 digits."""
    own = logits[INTENTS.index(intent)]
    return round(1 / sum([math.exp((value - own) / 1000) for value in logits]), 3)


def _with_pasted(earned: tuple[BooleanName, ...], own: Logits, pasted: Logits) -> tuple[BooleanName, ...]:
    """What is earned where pasted text is looked at as well: it settles what it has anything to say about."""
    if not pasted:
        return earned
    return tuple([name for name in own if (own[name] + pasted[name] > 0 if name in pasted else name in earned)])


def _weights(number: int, intents: Sequence[int] | None, booleans: Sequence[int] | None) -> tuple[int, ...]:
    """All weights of a feature; of one that pasted text shows, only those of what may rest on it."""
    by_boolean = booleans or (0,) * len(BOOLEANS)
    if number not in PASTED:
        return (*(intents or (0,) * len(INTENTS)), *by_boolean, *(0,) * len(_RESTS_ON_PASTED))
    added = [by_boolean[BOOLEANS.index(name)] for name in _RESTS_ON_PASTED]
    return (*(0,) * (len(INTENTS) + len(BOOLEANS)), *added)


SHIPPED = RubricModel(BIAS, WEIGHTS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS)
"""The model of this version, trained by `python -m svc.train_judges`."""


# What to say of a prompt, when a model only gives chances: the class and the booleans whose expected cost is least.
#
# The likeliest class with every boolean that is likelier true than not is right most often, one by one, and far off
# in the score where several of them are near even. What is said here weighs all three (docs/judges.md has the
# figures):
#
# expected |points of the score - points said| + 16 x expected wrong booleans + 25 x chance of the class given up

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
