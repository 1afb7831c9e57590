"""The linear model behind the rubric judge: features in, class and booleans out.

Weights are whole thousandths of a logit, so a verdict can be followed by hand and is the same on every machine.
"""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence

from aggregates.feature_names import CROSSED, FEATURES, FLAGS, PASTED_FEATURES, WORD
from aggregates.features import Features
from aggregates.judge_weights import BIAS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS, WEIGHTS
from aggregates.lanes import Lanes
from aggregates.verdicts import APPLIES_TO, BOOLEANS, INTENTS, BooleanName, Intent

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


_LANES = Lanes(len(INTENTS) + len(BOOLEANS))
"""A logit for each intent, then one for each boolean."""
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
        self._start = _LANES.pack((*bias, *boolean_bias)) + _LANES.signs
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

    def intent(self, total: int) -> tuple[Intent, float]:
        """The likeliest class of what is asked, and its probability, 0-1. Pasted text has no say."""
        logits = _LANES.unpack(total)[: len(INTENTS)]
        top = max(logits)
        share = sum([math.exp((value - top) / 1000) for value in logits])
        return INTENTS[logits.index(top)], round(1 / share, 3)

    def booleans(self, total: int, flags: int, intent: Intent) -> tuple[BooleanName, ...]:
        """The booleans that a prompt of this intent earns, in rubric order."""
        total += self._context[f"is:{intent}"] + sum([v for flag, v in self._crossed[intent] if flags & flag])
        logits = _LANES.unpack(total)
        return tuple([name for place, name in _JUDGED[intent] if logits[place] > 0])


def _weights(number: int, intents: Sequence[int] | None, booleans: Sequence[int] | None) -> tuple[int, ...]:
    """All weights of a feature; of one that pasted text shows, only those of what may rest on it."""
    if number not in PASTED:
        return (*(intents or (0,) * len(INTENTS)), *(booleans or (0,) * len(BOOLEANS)))
    kept = [name in MAY_REST_ON_PASTED for name in BOOLEANS]
    return (*(0,) * len(INTENTS), *map(operator.mul, kept, booleans or (0,) * len(BOOLEANS)))


SHIPPED = RubricModel(BIAS, WEIGHTS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS)
"""The model of this version, trained by `python -m svc.train_judges`."""
