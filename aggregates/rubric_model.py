"""The linear model behind the rubric judge: features in, class and booleans out.

Weights are whole thousandths of a logit, so a verdict can be followed by hand and is the same on every machine.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from aggregates.features import FEATURES, PASTED_FEATURES
from aggregates.judge_weights import BIAS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS, WEIGHTS
from aggregates.verdicts import APPLIES_TO, BOOLEANS, INTENTS, BooleanName, Intent

_CROSSED = (
    "phrase:goal_given",
    "phrase:check_asked",
    "phrase:cause_asked",
    "phrase:symptom_only",
    "phrase:scope_limit",
    "reference",
    "references 2",
    "begins:request",
    "ends:request",
    "only question",
    "has report",
    "prose",
    "bare",
    "pasted",
    "words over 10",
    "words over 25",
    "words over 70",
)
"""Cues that mean another thing for another intent."""
CONTEXT_FEATURES = (
    "context:first",
    "context:after an offer",
    "context:after silence",
    "context:after a command",
    "context:after a review command",
    *(f"context:after {intent}" for intent in INTENTS),
    "context:first and short",
    "context:first and of few words",
    "context:first and nothing named",
    "context:first and plain",
    "context:first and pasted",
    "short and nothing named",
    *(f"is:{intent}" for intent in INTENTS),
    *(f"{intent} & {cue}" for intent in INTENTS for cue in _CROSSED),
)
"""What came before a prompt, and, for the booleans, what it was judged to ask for."""
ALL_FEATURES = FEATURES + CONTEXT_FEATURES
CONTEXT_NUMBER = {name: len(FEATURES) + place for place, name in enumerate(CONTEXT_FEATURES)}
MAY_REST_ON_PASTED: frozenset[BooleanName] = frozenset({"references_concrete", "context_sufficient"})
"""Pasted text is evidence for these alone."""

_CROSSED_NUMBERS = {
    (intent, FEATURES.index(cue)): CONTEXT_NUMBER[f"{intent} & {cue}"] for intent in INTENTS for cue in _CROSSED
}
_CROSSABLE = frozenset(FEATURES.index(cue) for cue in _CROSSED)
_CROSSED_PASTED = frozenset(CONTEXT_NUMBER[f"{intent} & pasted"] for intent in INTENTS)
PASTED: frozenset[int] = PASTED_FEATURES | _CROSSED_PASTED | {CONTEXT_NUMBER["context:first and pasted"]}
"""Every feature that pasted text shows."""

_PASTED_NAMES = frozenset(ALL_FEATURES[number] for number in PASTED)


def crossed(active: Sequence[int], intent: Intent) -> tuple[int, ...]:
    """The features of a prompt together with what it was judged to ask for."""
    both = [_CROSSED_NUMBERS[intent, number] for number in active if number in _CROSSABLE]
    return (*active, CONTEXT_NUMBER[f"is:{intent}"], *both)


Columns = Mapping[int, Sequence[int]]


class RubricModel:
    """A bias and, per feature, one weight for each intent and for each boolean."""

    def __init__(
        self,
        bias: Sequence[int],
        weights: Mapping[str, Sequence[int]],
        boolean_bias: Sequence[int],
        boolean_weights: Mapping[str, Sequence[int]],
    ) -> None:
        self._bias = tuple(bias)
        self._boolean_bias = tuple(boolean_bias)
        own = {name: values for name, values in weights.items() if name not in _PASTED_NAMES}
        self._intents = _columns(own)
        self._booleans = _columns(boolean_weights)

    def intent(self, active: Iterable[int]) -> tuple[Intent, float]:
        """The likeliest class of what is asked, and its probability, 0-1. Pasted text has no say."""
        logits = _sums(self._bias, self._intents, active)
        top = max(logits)
        total = sum(math.exp((value - top) / 1000) for value in logits)
        return INTENTS[logits.index(top)], round(1 / total, 3)

    def booleans(self, active: Sequence[int], intent: Intent) -> tuple[BooleanName, ...]:
        """The booleans that a prompt of this intent earns, in rubric order."""
        numbers = crossed(active, intent)
        with_pasted = _sums(self._boolean_bias, self._booleans, numbers)
        own = [number for number in numbers if number not in PASTED]
        own_only = with_pasted if len(own) == len(numbers) else _sums(self._boolean_bias, self._booleans, own)
        return tuple(
            name
            for place, name in enumerate(BOOLEANS)
            if intent in APPLIES_TO[name] and (with_pasted if name in MAY_REST_ON_PASTED else own_only)[place] > 0
        )


def _columns(weights: Mapping[str, Sequence[int]]) -> Columns:
    return {number: tuple(weights[name]) for number, name in enumerate(ALL_FEATURES) if name in weights}


def _sums(bias: Sequence[int], columns: Columns, active: Iterable[int]) -> list[int]:
    rows = [columns[number] for number in active if number in columns]
    return [sum(values) for values in zip(bias, *rows, strict=True)]


SHIPPED = RubricModel(BIAS, WEIGHTS, BOOLEAN_BIAS, BOOLEAN_WEIGHTS)
"""The model of this version, trained by `python -m svc.train_judges`."""
