"""Measure how far the embedded judges agree with experts (scoring.md, section 9)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from aggregates.reading.verdicts import (
    BOOLEANS,
    INTENTS,
    KIND_GROUPS,
    BooleanName,
    Chances,
    Intent,
    applicable,
    given,
    kind_told,
)
from aggregates.scores.grades import Estimate, estimate, wilson

Booleans = Mapping[BooleanName, bool | None]
RESAMPLES = 300


class Pair(msgspec.Struct, frozen=True):
    """One prompt: what the experts said and what the judge said."""

    item_id: str
    expert_status: str
    expert_intent: Intent | None
    expert: Booleans
    judged_status: str
    judged_intent: Intent | None
    judged: Booleans  # by force
    developer: str = ""
    confidence: float = 0.0  # of the intent
    sure: Booleans = {}  # what a person would be told; None: unsure, or it does not apply
    told: Chances = ()  # empty unless it is ok

    @property
    def truth(self) -> float:
        """The experts' own score."""
        assert self.expert_intent is not None
        return own_score(self.expert_intent, self.expert)

    @property
    def ahead(self) -> float:
        """By how many points the experts' own score lies above the judge's; 0 where one of them gave no intent."""
        if self.expert_intent is None or self.judged_intent is None:
            return 0.0
        return own_score(self.expert_intent, self.expert) - own_score(self.judged_intent, self.judged)


def own_score(intent: Intent, booleans: Booleans) -> float:
    names = applicable(intent)
    return 100.0 * sum(booleans[name] is True for name in names) / len(names)


def pair_of(item: Mapping[str, Any], status: str, intent: Intent | None, judged: Booleans, **more: Any) -> Pair:
    """A labelled item beside what a judge said of it."""
    label = item["label"]
    expert = {name: label[name] for name in BOOLEANS}
    told = str(item["id"]), label["status"], label["intent"], expert, status, intent, judged, str(item["developer"])
    return Pair(*told, **more)


class Share(msgspec.Struct, frozen=True):
    """A count of a count."""

    hits: int
    total: int


def share_text(share: Share) -> str:
    """As it is printed, with its counts and its 95 % interval."""
    if not share.total:
        return "none"
    low, high = wilson(share.hits, share.total)
    return f"{share.hits / share.total:.3f} ({share.hits} of {share.total}; {low:.2f}-{high:.2f})"


class Sure(msgspec.Struct, frozen=True):
    """Of one boolean: the verdicts that a person would be told."""

    true: Share  # of sure true, how many are right
    false: Share
    told: Share  # how many of those asked about are told


class PromptMeasures(msgspec.Struct, frozen=True):
    """Over prompts that the experts classified."""

    prompts: int
    status_accuracy: Share  # over all prompts: ok, skipped or unclassified as the experts say
    intent_accuracy: Share
    kappa: dict[BooleanName, float | None]  # where both give a value; what does not apply for one of them is left out
    score_error: float  # mean absolute difference of 100 x true / applicable, points
    apg_error: float  # difference of the two means, points
    confusion: dict[Intent, dict[str, int]]  # expert intent -> judged intent, or status, -> count
    intervals: dict[str, tuple[float, float]]  # of the figures whose names stand here, by developers drawn anew
    sure: dict[str, Sure]  # by boolean; `all` for the seven together

    @property
    def mean_kappa(self) -> float:
        known = [value for value in self.kappa.values() if value is not None]
        return sum(known) / len(known) if known else 0.0


def kappa(said: Counter[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of how often each pair of verdicts was given; None of nothing, 1 where both always say the same
    one thing."""
    total = said.total()
    if not total:
        return None
    agreed = (said[True, True] + said[False, False]) / total
    first = (said[True, True] + said[True, False]) / total
    second = (said[True, True] + said[False, True]) / total
    chance = first * second + (1 - first) * (1 - second)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


class _Tally(NamedTuple):
    """What figures are made of; that of several developers is the sum of theirs."""

    prompts: int
    right: int
    ahead: Sequence[float]
    said: Mapping[BooleanName, Counter[tuple[bool, bool]]]


def _tally(ok: Sequence[Pair]) -> _Tally:
    said = {
        name: Counter(
            (expert, judged is True)
            for pair in ok
            if (expert := pair.expert[name]) is not None and (judged := pair.judged.get(name)) is not None
        )
        for name in BOOLEANS
    }
    right = sum(pair.expert_intent == pair.judged_intent for pair in ok)
    return _Tally(len(ok), right, [pair.ahead for pair in ok if pair.judged_intent], said)


def _figures(tallies: Sequence[_Tally]) -> dict[str, float]:
    ahead = [points for each in tallies for points in each.ahead]
    scored = max(len(ahead), 1)
    said = [sum((each.said[name] for each in tallies), Counter()) for name in BOOLEANS]
    kappas = [value for value in map(kappa, said) if value is not None]
    return {
        "intent_accuracy": sum(each.right for each in tallies) / max(sum(each.prompts for each in tallies), 1),
        "mean_kappa": sum(kappas) / max(len(kappas), 1),
        "score_error": sum(map(abs, ahead)) / scored,
        "apg_error": abs(sum(ahead)) / scored,
    }


def measure_prompts(pairs: Sequence[Pair]) -> PromptMeasures:
    """All measures, four with the middle 95 % over samples of the developers, drawn by a fixed sequence."""
    ok = [pair for pair in pairs if pair.expert_intent]
    confusion: dict[Intent, dict[str, int]] = {intent: {} for intent in INTENTS}
    groups: dict[str, list[Pair]] = {pair.developer: [] for pair in pairs}
    for pair in ok:
        assert pair.expert_intent is not None
        row, said = confusion[pair.expert_intent], pair.judged_intent or pair.judged_status
        row[said] = row.get(said, 0) + 1
        groups[pair.developer].append(pair)
    whole, tallies, chance = _tally(ok), [_tally(groups[name]) for name in sorted(groups)], Random(17)
    drawn = [_figures(chance.choices(tallies, k=len(tallies))) for _ in range(RESAMPLES)]
    ordered = {name: sorted(each[name] for each in drawn) for name in drawn[0]}
    figures = _figures([whole])
    return PromptMeasures(
        prompts=len(ok),
        status_accuracy=Share(sum(p.expert_status == p.judged_status for p in pairs), len(pairs)),
        intent_accuracy=Share(whole.right, whole.prompts),
        kappa={name: kappa(whole.said[name]) for name in BOOLEANS},
        score_error=figures["score_error"],
        apg_error=figures["apg_error"],
        confusion=confusion,
        intervals={n: (row[round(0.025 * RESAMPLES)], row[round(0.975 * RESAMPLES) - 1]) for n, row in ordered.items()},
        sure={"all": measure_sure(pairs), **{name: measure_sure(pairs, [name]) for name in BOOLEANS}},
    )


def measure_sure(pairs: Sequence[Pair], names: Sequence[BooleanName] = BOOLEANS) -> Sure:
    """Over the prompts that both call askable: the boolean applies for the experts and for the judge."""
    asked = [
        (pair.expert[name] is True, pair.sure.get(name))
        for pair in pairs
        for name in names
        if pair.expert[name] is not None and pair.judged.get(name) is not None
    ]
    told = [(expert, sure) for expert, sure in asked if sure is not None]
    return Sure(
        Share(sum(expert for expert, sure in told if sure), sum(sure for _, sure in told)),
        Share(sum(not expert for expert, sure in told if not sure), sum(not sure for _, sure in told)),
        Share(len(told), len(asked)),
    )


def worst_misses(pairs: Sequence[Pair], count: int = 10) -> list[Pair]:
    """The classified prompts whose scores lie farthest apart; a wrong intent breaks ties, then the id."""
    ok = [pair for pair in pairs if pair.expert_intent is not None and pair.judged_intent is not None]
    return sorted(ok, key=lambda pair: (-abs(pair.ahead), pair.expert_intent == pair.judged_intent, pair.item_id))[
        :count
    ]


# What a person is told: expected scores, rates and their intervals.

DEVELOPER_PROMPTS_MIN = 10
Judged = tuple[float, bool]
"""The chance that was said, and whether it was so."""


class Tenth(msgspec.Struct, frozen=True):
    """Of chances in one tenth: how many there are, their mean, and the share that is so."""

    count: int
    said: float
    so: float


def reliability(judged: Iterable[Judged]) -> tuple[Tenth, ...]:
    """By tenths, from the lowest; those without any are left out."""
    tenths: dict[int, list[Judged]] = {}
    for each in judged:
        tenths.setdefault(min(int(10 * each[0]), 9), []).append(each)
    return tuple(
        Tenth(len(some), fmean(chance for chance, _ in some), fmean(so for _, so in some))
        for _, some in sorted(tenths.items())
    )


class EstimateMeasures(msgspec.Struct, frozen=True):
    """Over the prompts that experts and judge call `ok`; developers are those with ten of them or more."""

    apg_bias: float  # by how many points the mean told score lies above the experts'
    developer_bias: float  # the mean of the same over developers
    developer_error: float  # the mean over developers of how far their mean own score is off
    rate_errors: dict[BooleanName, float]  # the same of the rate of each boolean that applies to ten prompts, 0-1
    rmse: float  # root mean square error of a prompt's told score, points
    forced_rmse: float
    coverage: Share  # experts' scores that lie in the interval
    width: float  # mean, points
    kinds_right: dict[str, Share]  # of those told: the class, or at least its group
    booleans: tuple[Tenth, ...]
    kind: tuple[Tenth, ...]  # of the likeliest class

    @property
    def rate_error(self) -> float:
        return fmean(self.rate_errors.values())


def measure_estimates(pairs: Sequence[Pair]) -> EstimateMeasures:
    known = [(pair, found) for pair in pairs if pair.expert_intent and (found := estimate(pair.told))]
    groups: dict[str, list[tuple[Pair, Estimate]]] = {}
    for pair, found in known:
        groups.setdefault(pair.developer, []).append((pair, found))
    each = [some for some in groups.values() if len(some) >= DEVELOPER_PROMPTS_MIN]
    off = [fmean(found.score - pair.truth for pair, found in some) for some in each]
    best = [(pair, max(pair.told, key=lambda one: one.chance)) for pair, _ in known]
    kinds = [(pair.expert_intent, kind) for pair, _ in known if (kind := kind_told(pair.told))]
    classes = [expert == kind for expert, kind in kinds if kind in INTENTS]
    grouped = sum(expert in KIND_GROUPS.get(kind, (kind,)) for expert, kind in kinds)
    return EstimateMeasures(
        apg_bias=_mean(found.score - pair.truth for pair, found in known),
        developer_bias=_mean(off),
        developer_error=_mean(map(abs, off)),
        rate_errors={
            name: _mean(far for some in each if (far := _rate_off(some, name)) is not None) for name in BOOLEANS
        },
        rmse=math.sqrt(_mean((found.score - pair.truth) ** 2 for pair, found in known)),
        forced_rmse=math.sqrt(_mean(pair.ahead**2 for pair, _ in known)),
        coverage=Share(sum(found.low <= pair.truth <= found.high for pair, found in known), len(known)),
        width=_mean(found.high - found.low for _, found in known),
        kinds_right={"class": Share(sum(classes), len(classes)), "class or group": Share(grouped, len(kinds))},
        booleans=reliability(
            (chance, bool(pair.expert[name]))
            for pair, likeliest in best
            for name, chance in given(pair.told, likeliest.intent).items()
            if pair.expert[name] is not None
        ),
        kind=reliability((likeliest.chance, likeliest.intent == pair.expert_intent) for pair, likeliest in best),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _rate_off(some: Sequence[tuple[Pair, Estimate]], name: BooleanName) -> float | None:
    """How far a developer's told rate is from the experts'; None where it applies to fewer than ten prompts."""
    likeliest = [(pair.told, max(pair.told, key=lambda each: each.chance).intent) for pair, _ in some]
    told = [rates[name] for chances, intent in likeliest if name in (rates := given(chances, intent))]
    expert = [float(value) for pair, _ in some if (value := pair.expert[name]) is not None]
    enough = min(len(told), len(expert)) >= DEVELOPER_PROMPTS_MIN
    return abs(fmean(told) - fmean(expert)) if enough else None


class BoundaryMeasures(msgspec.Struct, frozen=True):
    """Over the starts of arcs, the first of each session left out."""

    right: int
    judged: int
    expert: int
    chances: tuple[Tenth, ...] = ()  # that a gap is a boundary

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.judged + self.expert) if self.judged + self.expert else 0.0


class DecidedMeasures(msgspec.Struct, frozen=True):
    """goal_complete of a judge that may leave it undecided."""

    agreement: Share  # of those that both decide
    coverage: Share  # decided by the judge, of those that the experts decide
    not_complete: Share  # right, of those that it calls not complete and the experts decide
    untold: Share  # decided by the judge where the experts could not say
    chances: tuple[Tenth, ...] = ()  # that the goal was reached, where the experts decide


def measure_decided(arcs: Sequence[tuple[bool | None, bool | None, float]]) -> DecidedMeasures:
    """Of each what the experts say, what the judge says, and its chance."""
    told = [(expert, judged) for expert, judged, _ in arcs if expert is not None]
    both = [(expert, judged) for expert, judged in told if judged is not None]
    missed = [expert for expert, judged in both if judged is False]
    untold = [judged is not None for expert, judged, _ in arcs if expert is None]
    return DecidedMeasures(
        Share(sum(expert is judged for expert, judged in both), len(both)),
        Share(len(both), len(told)),
        Share(missed.count(False), len(missed)),
        Share(sum(untold), len(untold)),
        reliability((chance, expert) for expert, _, chance in arcs if expert is not None),
    )
