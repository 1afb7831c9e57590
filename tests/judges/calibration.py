"""Calibrate the rubric judge on developers whom it has not seen, and find between which chances it is silent. A judge
is trained for each part of the developers without that part; what it says of that part is what is looked at."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from aggregates.reading.model import RubricModel, RubricWeights, borne_out, chance_of
from aggregates.reading.readings import NUMBER
from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Bounds, Intent
from tests.judges.names import ALL_FEATURES
from tests.judges.regression import nearest

SURE_MIN = 20  # so many sure verdicts on unseen developers a side needs to be said at all
SURE_RIGHT = (0.92, 0.94, 0.96)  # so many of them are right where a bound is set: the first share that holds ..
SURE_HOLDS = 0.9  # ... with so many right on parts that had no say in the bound.
RARE_RIGHT, RARE_HOLDS = (0.88, 0.9, *SURE_RIGHT), 0.85
"""The same of a side that is the rarer one by the experts: it is harder to find, and has fewer verdicts to tell by."""
BETTER_THAN_CONSTANT = 0.25  # this share of the mistakes of always saying the same must be spared
CUT_SHARE = 0.4  # how far `forced_from` goes from .5 to where as many are true as the experts say
OPEN = dict.fromkeys(BOOLEANS, Bounds())


class Unseen(NamedTuple):
    """A labelled prompt as a judge weighs it that has seen nothing of its developer; logits in thousandths."""

    fold: int
    intent: Intent  # as the experts say
    classes: tuple[int, ...]
    said: Intent
    names: frozenset[str]
    logits: Mapping[BooleanName, float]  # of those booleans that apply to what is said
    truths: Mapping[BooleanName, bool]


class Calibration(msgspec.Struct, frozen=True):
    """What makes raw weights say chances that hold, and the bounds of these."""

    softened: float  # by what the logits of classes are divided
    scales: Mapping[BooleanName, tuple[float, float]]  # factor and addend, in logits, of each boolean
    bounds: Mapping[BooleanName, Bounds]
    goals: Mapping[BooleanName, tuple[float | None, float | None]]
    """Of sure false and of sure true, how many were right where the bound is; None where that side is never said."""


def weighed(
    weights: RubricWeights, fold: int, rows: Sequence[tuple[Sequence[int], Intent, Mapping[BooleanName, bool]]]
) -> list[Unseen]:
    """Prompts by their features, as experts labelled them."""
    model, found = RubricModel(weights, OPEN), []
    for features, intent, truths in rows:
        names = frozenset(ALL_FEATURES[number] for number in features)
        total = model.logits(names)
        classes = total[: len(INTENTS)]
        said = INTENTS[classes.index(max(classes))]
        own, pasted = model.booleans(total, [NUMBER[name] for name in NUMBER.keys() & names], said)
        logits = {name: own[name] + pasted.get(name, 0) for name in own}
        found.append(Unseen(fold, intent, classes, said, names, logits, truths))
    return found


def calibration(unseen: Sequence[Unseen], like: Calibration | None = None) -> Calibration:
    """Fitted on these prompts. `like`: another one, which says what sides are said, and how often rightly."""
    scales = {name: _platt(unseen, name) for name in BOOLEANS}
    judged = {name: _chances(unseen, name, scales[name]) for name in BOOLEANS}
    forced = {name: _forced_from(judged[name]) for name in BOOLEANS}
    found = {name: [_goal(judged[name], forced[name], said=said) for said in (False, True)] for name in BOOLEANS}
    goals = like.goals if like else {name: (false, true) for name, (false, true) in found.items()}
    bounds = {name: _bounds(judged[name], forced[name], goals[name]) for name in BOOLEANS}
    return Calibration(_softened(unseen), scales, bounds, goals)


def calibrated(weights: RubricWeights, found: Calibration) -> RubricWeights:
    """Weights whose sums are logits of chances that hold."""
    scales = [found.scales[name] for name in BOOLEANS]
    return RubricWeights(
        tuple(round(each / found.softened) for each in weights.intent_bias),
        {name: tuple(round(each / found.softened) for each in row) for name, row in weights.intents.items()},
        tuple(
            round(bias * factor + 1000 * more)
            for bias, (factor, more) in zip(weights.boolean_bias, scales, strict=True)
        ),
        {
            name: tuple(round(each * factor) for each, (factor, _) in zip(row, scales, strict=True))
            for name, row in weights.booleans.items()
        },
    )


def _softened(unseen: Sequence[Unseen]) -> float:
    """The divisor, in twentieths, that makes the experts' classes likeliest."""
    logits = np.array([each.classes for each in unseen]) / 1000
    right = np.array([INTENTS.index(each.intent) for each in unseen])

    def loss(divisor: float) -> float:
        scaled = logits / divisor
        scaled -= scaled.max(axis=1, keepdims=True)
        return float((np.log(np.exp(scaled).sum(axis=1)) - scaled[np.arange(len(right)), right]).sum())

    return min((step / 20 for step in range(10, 41)), key=loss)


def _platt(unseen: Sequence[Unseen], name: BooleanName) -> tuple[float, float]:
    """Factor and addend of a logistic regression on one logit, held near (1, 0) by a weak prior. Over prompts where the
    boolean applies to what is said and the experts gave a value."""
    asked = [each for each in unseen if name in each.logits and name in each.truths]
    rows = np.array([(each.logits[name] / 1000, 1.0) for each in asked], dtype=np.float64).reshape(-1, 2)
    truths = np.array([each.truths[name] for each in asked], dtype=np.float64)
    factor, addend = nearest(rows, truths, (1.0, 0.0), (0.5, 0.0))
    return float(factor), float(addend)


class _Judged(NamedTuple):
    fold: int
    chance: float
    truth: bool
    may: tuple[bool, bool]  # whether its words allow to be sure that it is false, and that it is true


def _chances(unseen: Sequence[Unseen], name: BooleanName, scale: tuple[float, float]) -> list[_Judged]:
    found = []
    for each in unseen:
        if name in each.logits and name in each.truths:
            chance = chance_of(scale[0] * each.logits[name] + 1000 * scale[1])
            false, true = (borne_out(name, each.said, each.names, true=said) for said in (False, True))
            found.append(_Judged(each.fold, chance, each.truths[name], (false, true)))
    return found


def _bounds(judged: Sequence[_Judged], forced: float, goals: tuple[float | None, float | None]) -> Bounds:
    low, high = (
        None if goal is None else _bound(judged, forced, goal, said=said)
        for goal, said in zip(goals, (False, True), strict=True)
    )
    return Bounds(None if low is None else round(1 - low, 3), None if high is None else round(high, 3), forced)


def _forced_from(judged: Sequence[_Judged]) -> float:
    """Between .5 and the chance above which as many lie as are true."""
    if not judged:
        return 0.5
    ordered = sorted((each.chance for each in judged), reverse=True)
    count = min(max(sum(each.truth for each in judged), 1), len(ordered) - 1)
    cut = min(max((ordered[count - 1] + ordered[count]) / 2, 0.1), 0.9)
    return round(chance_of(1000 * CUT_SHARE * float(np.log(cut / (1 - cut)))), 3)


def _goal(judged: Sequence[_Judged], forced: float, *, said: bool) -> float | None:
    """The least share of right ones that holds on unseen parts; None where none does: the side is never said."""
    usual = sum(each.truth is said for each in judged) / max(len(judged), 1)
    shares, holds = (SURE_RIGHT, SURE_HOLDS) if usual >= 0.5 else (RARE_RIGHT, RARE_HOLDS)
    goals = (max(share, usual + BETTER_THAN_CONSTANT * (1 - usual)) for share in shares)
    return next((goal for goal in goals if _holds(judged, forced, goal, holds, said=said)), None)


def _holds(judged: Sequence[_Judged], forced: float, goal: float, holds: float, *, said: bool) -> bool:
    right = total = 0
    for fold in sorted({each.fold for each in judged}):
        bound = _bound([each for each in judged if each.fold != fold], forced, goal, said=said)
        if bound is not None:
            held_out = [each for each in judged if each.fold == fold]
            sure = [each.truth for sureness, each in _sides(held_out, forced, said=said) if sureness >= bound]
            right += sure.count(said)
            total += len(sure)
    return total >= SURE_MIN and right >= holds * total


def _bound(judged: Sequence[_Judged], forced: float, goal: float, *, said: bool) -> float | None:
    found, right = None, 0
    for count, (sureness, each) in enumerate(sorted(_sides(judged, forced, said=said), key=lambda one: -one[0]), 1):
        right += each.truth is said
        if count >= SURE_MIN and right >= goal * count:
            found = sureness
    return found


def _sides(judged: Sequence[_Judged], forced: float, *, said: bool) -> Iterator[tuple[float, _Judged]]:
    """Those of which the side may be said, with the chance that it is right."""
    for each in judged:
        if each.may[said] and (each.chance >= forced) is said:
            yield (each.chance if said else 1 - each.chance), each
