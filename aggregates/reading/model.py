"""The linear model behind the rubric judge: features in, logits of classes and booleans out (scoring.md, section 3).

Its weights are whole thousandths of a logit: a verdict can be followed by hand, and is the same on every machine.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pkgutil import get_data
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from aggregates.reading.features import PAIR_NAMES, WORD_NAMES
from aggregates.reading.readings import CROSSED, NAMED, NUMBER
from aggregates.reading.verdicts import (
    APPLIES_TO,
    BOOLEANS,
    BOUNDS,
    INTENTS,
    BooleanName,
    BooleanVerdict,
    Bounds,
    Intent,
    applicable,
)

MAY_REST_ON_PASTED: tuple[BooleanName, ...] = ("references_concrete", "context_sufficient")
Logits = tuple[int, ...]
"""Thousandths of a logit: one for each intent, one for each boolean, then what pasted text adds to those that may rest
on it."""
_Row = tuple[float, ...]
_ADDED_AT = len(INTENTS) + len(BOOLEANS)
_JUDGED = {
    intent: tuple((place, name) for place, name in enumerate(BOOLEANS) if intent in APPLIES_TO[name])
    for intent in INTENTS
}
"""For each intent the booleans that apply to it, with their places."""


class RubricWeights(msgspec.Struct, frozen=True):
    """Thousandths of a logit by feature, in the order of `INTENTS` and `BOOLEANS`; training writes them."""

    intent_bias: tuple[int, ...]
    intents: dict[str, tuple[int, ...]]
    boolean_bias: tuple[int, ...]
    booleans: dict[str, tuple[int, ...]]


class RubricModel:
    """A bias and, per feature, one weight for each intent and for each boolean, and what chances are sure."""

    def __init__(self, weights: RubricWeights, bounds: Mapping[BooleanName, Bounds]) -> None:
        self._bounds = bounds
        forced_from = {name: bounds[name].forced_from for name in BOOLEANS}
        self._cuts = {n: round(_THOUSANDTHS * math.log(each / (1 - each))) for n, each in forced_from.items()}
        self._bias = (*weights.intent_bias, *weights.boolean_bias, *(0,) * len(MAY_REST_ON_PASTED))
        # Python sums whole floats faster than integers, and as exactly. Of these many thousand most are equal to
        # another: as one object they lie in the processor's cache.
        same: dict[float, float] = {}
        self._weights = {
            name: tuple([same.setdefault(weight, weight) for weight in map(float, _weights(name, weights))])
            for name in weights.intents.keys() | weights.booleans.keys()
        }
        self._of_words = {word: self._weights[name] for word, name in WORD_NAMES.items() if name in self._weights}
        self._of_pairs = {place: self._weights[name] for place, name in PAIR_NAMES.items() if name in self._weights}
        self._is = {intent: self._booleans_of(f"is:{intent}") for intent in INTENTS}
        self._crossed = {
            intent: {NUMBER[cue]: self._booleans_of(f"{intent} & {cue}") for cue in CROSSED} for intent in INTENTS
        }

    def logits(self, names: Iterable[str], words: Iterable[str] = (), pairs: Iterable[int] = ()) -> Logits:
        """What features weigh by themselves, with the bias; no names are formed of words and pairs of a text."""
        said = filter(None, map(self._of_words.get, words)), filter(None, map(self._of_pairs.get, pairs))
        return tuple(map(int, _sum([self._bias, *self._of(names), *said[0], *said[1]])))

    def verdict(
        self, logits: Logits, context: Iterable[str], shown: Sequence[int], *, own_words: bool
    ) -> tuple[Intent, float, tuple[BooleanVerdict, ...]]:
        """What is asked, the probability of that class (0-1), and what is said of the booleans that apply to it.

        Pasted text has a say only in the booleans that may rest on it; without `own_words` only these are told.
        """
        total = _sum([logits, *self._of(context)])
        classes = total[: len(INTENTS)]
        sayable = BOOLEANS if own_words else MAY_REST_ON_PASTED
        leanings, booleans = [], {}
        for intent, chance in zip(INTENTS, class_chances(classes), strict=True):
            if chance:
                own, _ = booleans[intent] = self.booleans(total, shown, intent)
                likely = {name: chance_of(own[name] - self._cuts[name]) for name in own if name in sayable}
                leanings.append(Leaning(intent, chance, likely))
        said, earned = decide_labels(leanings)
        own_logit = classes[INTENTS.index(said)]
        probability = round(1 / math.fsum([math.exp((logit - own_logit) / _THOUSANDTHS) for logit in classes]), 3)
        own, pasted = booleans[said]
        # Where pasted text has anything to say about a boolean, it settles it.
        settled = {
            name: own[name] + pasted[name] > self._cuts[name] if name in pasted else name in earned for name in own
        }
        chances = {name: chance_of(own[name] + pasted.get(name, 0)) if name in sayable else 0.0 for name in own}
        names = frozenset([NAMED[place] for place in shown])
        told = []
        for name, forced in settled.items():
            chance = round(chances[name], 3)
            each = BooleanVerdict(name, self._bounds[name].value(chance, forced=forced), forced, chance)
            holds = name in sayable and borne_out(each, said, names)
            told.append(each if holds else replace(each, value=None))
        return said, probability, tuple(told)

    def booleans(
        self, total: _Row, shown: Sequence[int], intent: Intent
    ) -> tuple[dict[BooleanName, float], dict[BooleanName, float]]:
        """Of the booleans that apply to an intent: the logits by own words, and what pasted text adds to them."""
        crossed = self._crossed[intent]
        both = [crossed[number] for number in shown if number in crossed]
        found = _sum([total[len(INTENTS) :], self._is[intent], *both])
        own = {name: found[place] for place, name in _JUDGED[intent]}
        pasted = zip(MAY_REST_ON_PASTED, found[len(BOOLEANS) :], strict=True)
        return own, {name: added for name, added in pasted if added and name in own}

    def _booleans_of(self, name: str) -> _Row:
        return self._weights.get(name, _NONE)[len(INTENTS) :]

    def _of(self, names: Iterable[str]) -> list[_Row]:
        return list(filter(None, map(self._weights.get, names)))


_NONE: _Row = (0,) * (_ADDED_AT + len(MAY_REST_ON_PASTED))


def _sum(rows: Sequence[_Row]) -> _Row:
    return tuple(map(sum, zip(*rows, strict=True)))


def of_pasted(name: str) -> bool:
    return name.startswith(("pasted", "nothing pasted")) or name.endswith((" & pasted", "first and pasted"))


def _weights(name: str, weights: RubricWeights) -> Logits:
    """All weights of a feature; of one that pasted text shows, only those of what may rest on it."""
    booleans = weights.booleans.get(name, (0,) * len(BOOLEANS))
    if not of_pasted(name):
        intents = weights.intents.get(name, (0,) * len(INTENTS))
        return (*intents, *booleans, *(0,) * len(MAY_REST_ON_PASTED))
    return (*(0,) * _ADDED_AT, *(booleans[BOOLEANS.index(each)] for each in MAY_REST_ON_PASTED))


# What words have to bear out (scoring.md, section 3): what is sure without them is unsure after all.

_POINTS = ("path", "url", "symbol", "code name", "mention", "number")
_BORNE_OUT_BY: dict[BooleanName, frozenset[str]] = {
    "goal_explicit": frozenset(
        {"phrase:goal_given", "begins:request", "ends:request", "only question", "begins:question", "cue:want"}
    ),
    "scope_bounded": frozenset({"phrase:scope_limit", "cue:where", "cue:scope", "cue:git", "cue:review", *_POINTS}),
    "references_concrete": frozenset({"cue:git", "cue:where", "pasted", "reference", "flagged", *_POINTS}),
    "verification_requested": frozenset({"phrase:check_wanted"}),
}
"""One of these stands in a prompt of which the boolean is surely true."""
_LOOKED_FOR: dict[BooleanName, frozenset[str]] = {
    "goal_explicit": frozenset({"phrase:goal_given"}),
    "scope_bounded": frozenset(
        {"phrase:scope_limit", "cue:scope", "reference", "path", "code name", "phrase:accepting"}
    ),
    "references_concrete": frozenset({"reference", "pasted", "number"}),
    "verification_requested": frozenset({"phrase:check_asked", "cue:check", "cue:accept"}),
}
"""None of these stands in a prompt of which it is surely false."""
_PLAIN_QUESTIONS = frozenset({"question:wh", "question:how", "question:why"})
_TEST_OUTPUT = frozenset({"pasted", "references 8"})  # output of tests that nobody fenced speaks of tests as well


def borne_out(verdict: BooleanVerdict, intent: Intent, names: frozenset[str]) -> bool:
    """Whether the words of a prompt allow to be sure of this."""
    if verdict.value is None:
        return True
    if not verdict.value:
        return names.isdisjoint(_LOOKED_FOR.get(verdict.name, ()))
    asks_plainly = intent == "question" and not names.isdisjoint(_PLAIN_QUESTIONS)
    if "word list" in names or ("says nothing" in names and not asks_plainly):
        return False
    if verdict.name == "verification_requested" and names >= _TEST_OUTPUT and "phrase:plan_given" not in names:
        return False
    needed = _BORNE_OUT_BY.get(verdict.name)
    return needed is None or not names.isdisjoint(needed)


# Of each prompt the likeliest class is said, and the booleans that cost least (docs/judges.md has the figures):
# expected |points of the score - points said| + 36 x expected wrong booleans

WRONG_BOOLEAN_POINTS = 36.0
LEAST_CHANCE = 0.02  # a class below it has no part in the score that is expected
_THOUSANDTHS = 1_000
_FARTHEST = 30.0  # logits beyond it are certain; `exp` of ever larger ones would overflow


class Leaning(NamedTuple):
    """What a model holds likely of a prompt, should it be of one class."""

    intent: Intent
    chance: float
    booleans: Mapping[BooleanName, float]  # chances of those that may be said; of others that apply it is 0


def class_chances(logits: Sequence[float]) -> list[float]:
    """The chances of classes, given thousandths of a logit; 0 for those below `LEAST_CHANCE`."""
    top = max(logits)
    weights = [math.exp((logit - top) / _THOUSANDTHS) for logit in logits]
    total = math.fsum(weights)
    return [weight / total if weight >= LEAST_CHANCE * total else 0.0 for weight in weights]


def chance_of(logit: float) -> float:
    """0-1, given thousandths of a logit."""
    return 1 / (1 + math.exp(-max(-_FARTHEST, min(_FARTHEST, logit / _THOUSANDTHS))))


def decide_labels(leanings: Sequence[Leaning]) -> tuple[Intent, tuple[BooleanName, ...]]:
    """The likeliest class and its booleans to be said, in rubric order; of equal costs the fewer booleans."""
    expected: dict[float, float] = {}  # points of the score → the chance of them
    for leaning in leanings:
        counts = [1.0]  # the chance that so many of independent booleans are true, from none to all
        for chance in leaning.booleans.values():
            counts = [no + (yes - no) * chance for no, yes in zip([*counts, 0.0], [0.0, *counts], strict=True)]
        for count, chance in enumerate(counts):
            points = 100 * count / len(applicable(leaning.intent))
            expected[points] = expected.get(points, 0.0) + leaning.chance * chance
    likeliest = max(leanings, key=lambda leaning: leaning.chance)
    # What may be said of it: no boolean, the likeliest, the two likeliest, and so on.
    ordered = sorted(likeliest.booleans, key=lambda name: -likeliest.booleans[name])
    wrong, costs = math.fsum(likeliest.booleans.values()), []
    for count in range(len(ordered) + 1):
        if count:
            wrong += 1 - 2 * likeliest.booleans[ordered[count - 1]]
        said = 100 * count / len(applicable(likeliest.intent))
        missed = math.fsum([chance * abs(said - points) for points, chance in expected.items()])
        # rounded, so that no machine's last digit decides between two that are equal.
        costs.append(round(missed + WRONG_BOOLEAN_POINTS * wrong, 6))
    earned = ordered[: costs.index(min(costs))]
    return likeliest.intent, tuple(name for name in BOOLEANS if name in earned)


SHIPPED = RubricModel(msgspec.json.decode(get_data(__name__, "rubric.json") or b"", type=RubricWeights), BOUNDS)
