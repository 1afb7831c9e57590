"""Measure how far the embedded judges agree with experts (scoring.md, section 9)."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec

from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, applicable

Booleans = Mapping[BooleanName, bool | None]


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
    chances: Mapping[BooleanName, float] = {}


def pair_of(item: Mapping[str, Any], status: str, intent: Intent | None, judged: Booleans, **more: Any) -> Pair:
    """A labelled item beside what a judge said of it."""
    label = item["label"]
    expert = {name: label[name] for name in BOOLEANS}
    told = str(item["id"]), label["status"], label["intent"], expert, status, intent, judged, str(item["developer"])
    return Pair(*told, **more)


class Share(msgspec.Struct, frozen=True):
    """A count of a count, with its 95 % Wilson interval."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """0-1; (0, 1) of nothing."""
        if not self.total:
            return 0.0, 1.0
        z, n, p = 1.96, self.total, self.hits / self.total
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        # At the ends the formula gives 0 and 1 but for rounding.
        return max(0.0, min(p, middle - half)), min(1.0, max(p, middle + half))


class Sure(msgspec.Struct, frozen=True):
    """Of one boolean: the verdicts that a person would be told."""

    true: Share  # of sure true, how many are right
    false: Share
    told: Share  # how many of those asked about are told
    curve: tuple[tuple[float, float], ...]  # (share of verdicts given, agreement) from the surest on, by force


class PromptMeasures(msgspec.Struct, frozen=True):
    """Over prompts that the experts classified."""

    prompts: int
    status_accuracy: Share  # over all prompts: ok, skipped or unclassified as the experts say
    intent_accuracy: Share
    kappa: dict[BooleanName, float | None]  # where both give a value; what does not apply for one of them is left out
    score_error: float  # mean absolute difference of 100 x true / applicable, points
    apg_error: float  # difference of the two means, points
    confusion: dict[Intent, dict[str, int]]  # expert intent -> judged intent, or status, -> count
    intervals: dict[str, tuple[float, float]] = {}  # of the figures whose names stand here, by developers drawn anew
    sure: dict[str, Sure] = {}  # by boolean; `all` for the seven together
    intents: tuple[tuple[float, float], ...] = ()  # the coverage curve of the intent

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


def own_score(intent: Intent, booleans: Booleans) -> float:
    names = applicable(intent)
    return 100.0 * sum(booleans[name] is True for name in names) / len(names)


def measure_prompts(pairs: Sequence[Pair]) -> PromptMeasures:
    ok = [pair for pair in pairs if pair.expert_intent is not None]
    confusion: dict[Intent, dict[str, int]] = {intent: {} for intent in INTENTS}
    for pair in ok:
        assert pair.expert_intent is not None
        row = confusion[pair.expert_intent]
        said = pair.judged_intent or pair.judged_status
        row[said] = row.get(said, 0) + 1
    tally = _tally(ok)
    return PromptMeasures(
        prompts=len(ok),
        status_accuracy=Share(sum(p.expert_status == p.judged_status for p in pairs), len(pairs)),
        intent_accuracy=Share(tally.right, tally.prompts),
        kappa={name: kappa(tally.said[name]) for name in BOOLEANS},
        score_error=tally.apart / max(tally.scored, 1),
        apg_error=abs(tally.ahead) / max(tally.scored, 1),
        confusion=confusion,
    )


class _Tally(NamedTuple):
    """What figures are made of; that of several developers is the sum of theirs."""

    prompts: int
    right: int
    scored: int
    apart: float
    ahead: float
    said: Mapping[BooleanName, Counter[tuple[bool, bool]]]


def _tally(ok: Sequence[Pair]) -> _Tally:
    ahead = [score_of_expert(pair) - own_score(pair.judged_intent, pair.judged) for pair in ok if pair.judged_intent]
    return _Tally(
        prompts=len(ok),
        right=sum(pair.expert_intent == pair.judged_intent for pair in ok),
        scored=len(ahead),
        apart=sum(map(abs, ahead)),
        ahead=sum(ahead),
        said={
            name: Counter(
                (expert, judged is True)
                for pair in ok
                if (expert := pair.expert[name]) is not None and (judged := pair.judged.get(name)) is not None
            )
            for name in BOOLEANS
        },
    )


def _figures(tallies: Sequence[_Tally]) -> dict[str, float]:
    scored = max(sum(each.scored for each in tallies), 1)
    said = [sum((each.said[name] for each in tallies), Counter()) for name in BOOLEANS]
    kappas = [value for value in map(kappa, said) if value is not None]
    return {
        "intent_accuracy": sum(each.right for each in tallies) / max(sum(each.prompts for each in tallies), 1),
        "mean_kappa": sum(kappas) / max(len(kappas), 1),
        "score_error": sum(each.apart for each in tallies) / scored,
        "apg_error": abs(sum(each.ahead for each in tallies)) / scored,
    }


def with_intervals(pairs: Sequence[Pair]) -> PromptMeasures:
    """All measures, each with its interval, and what is told and what is not."""
    classified = sorted((pair for pair in pairs if pair.expert_intent), key=lambda pair: -pair.confidence)
    return msgspec.structs.replace(
        measure_prompts(pairs),
        intervals=intervals_by_developer(pairs),
        sure={"all": measure_sure(pairs), **{name: measure_sure(pairs, [name]) for name in BOOLEANS}},
        intents=curve([pair.expert_intent == pair.judged_intent for pair in classified]),
    )


def score_of_expert(pair: Pair) -> float:
    """The own score by the experts' booleans."""
    assert pair.expert_intent is not None
    return own_score(pair.expert_intent, pair.expert)


CURVE = (0.2, 0.4, 0.6, 0.8, 1.0)


def measure_sure(pairs: Sequence[Pair], names: Sequence[BooleanName] = BOOLEANS) -> Sure:
    """Over the prompts that both call askable: the boolean applies for the experts and for the judge."""
    asked = [
        (pair.expert[name] is True, pair.sure.get(name), pair.judged[name] is True, pair.chances.get(name, 0.5))
        for pair in pairs
        for name in names
        if pair.expert[name] is not None and pair.judged.get(name) is not None
    ]
    told = [(expert, sure) for expert, sure, _, _ in asked if sure is not None]
    ordered = [expert is forced for expert, _, forced, chance in sorted(asked, key=lambda one: -abs(one[3] - 0.5))]
    return Sure(
        Share(sum(expert for expert, sure in told if sure), sum(sure for _, sure in told)),
        Share(sum(not expert for expert, sure in told if not sure), sum(not sure for _, sure in told)),
        Share(len(told), len(asked)),
        curve(ordered),
    )


def curve(right: Sequence[bool]) -> tuple[tuple[float, float], ...]:
    """(share given, accuracy) of these, the surest first."""
    counts = [max(round(share * len(right)), 1) for share in CURVE]
    return tuple((share, sum(right[:count]) / count) for share, count in zip(CURVE, counts, strict=True))


RESAMPLES = 300


def intervals_by_developer(pairs: Sequence[Pair]) -> dict[str, tuple[float, float]]:
    """The middle 95 % of each figure over samples of the developers, drawn with replacement by a fixed sequence."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.developer, [])
        groups[pair.developer] += [pair] if pair.expert_intent is not None else []
    tallies, chance = [_tally(groups[name]) for name in sorted(groups)], Random(17)
    drawn = [_figures(chance.choices(tallies, k=len(tallies))) for _ in range(RESAMPLES)]
    ordered = {name: sorted(each[name] for each in drawn) for name in drawn[0]}
    return {name: (row[round(0.025 * RESAMPLES)], row[round(0.975 * RESAMPLES) - 1]) for name, row in ordered.items()}


def worst_misses(pairs: Sequence[Pair], count: int = 10) -> list[Pair]:
    """The classified prompts whose scores lie farthest apart; a wrong intent breaks ties, then the id."""
    ok = [pair for pair in pairs if pair.expert_intent is not None and pair.judged_intent is not None]

    def distance(pair: Pair) -> tuple[float, bool, str]:
        assert pair.judged_intent is not None
        gap = abs(score_of_expert(pair) - own_score(pair.judged_intent, pair.judged))
        return -gap, pair.expert_intent == pair.judged_intent, pair.item_id

    return sorted(ok, key=distance)[:count]


class BoundaryMeasures(msgspec.Struct, frozen=True):
    """Over the starts of arcs, the first of each session left out."""

    right: int
    judged: int
    expert: int

    @property
    def precision(self) -> float:
        return self.right / self.judged if self.judged else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.expert if self.expert else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.judged + self.expert) if self.judged + self.expert else 0.0


def measure_boundaries(sessions: Sequence[tuple[frozenset[int], frozenset[int]]]) -> BoundaryMeasures:
    """From pairs (expert starts, judged starts) of turns."""
    return BoundaryMeasures(
        right=sum(len(expert & judged) for expert, judged in sessions),
        judged=sum(len(judged) for _, judged in sessions),
        expert=sum(len(expert) for expert, _ in sessions),
    )


class DecidedMeasures(msgspec.Struct, frozen=True):
    """goal_complete of a judge that may leave it undecided."""

    agreement: Share  # of those that both decide
    coverage: Share  # decided by the judge, of those that the experts decide
    not_complete: Share  # right, of those that it calls not complete and the experts decide
    untold: Share  # decided by the judge where the experts could not say


def measure_decided(arcs: Sequence[tuple[bool | None, bool | None]]) -> DecidedMeasures:
    told = [(expert, judged) for expert, judged in arcs if expert is not None]
    both = [(expert, judged) for expert, judged in told if judged is not None]
    missed = [expert for expert, judged in both if judged is False]
    untold = [judged is not None for expert, judged in arcs if expert is None]
    return DecidedMeasures(
        Share(sum(expert is judged for expert, judged in both), len(both)),
        Share(len(both), len(told)),
        Share(sum(expert is False for expert in missed), len(missed)),
        Share(sum(untold), len(untold)),
    )


def share_text(share: Share) -> str:
    """As it is printed, with its counts and its interval."""
    low, high = share.interval
    value = "none" if share.value is None else f"{share.value:.3f}"
    return f"{value} ({share.hits} of {share.total}; {low:.2f}-{high:.2f})"
