"""The linear model behind the rubric judge: features in, logits of classes and booleans out (scoring.md, section 3).

Its weights are whole thousandths of a logit: a verdict can be followed by hand, and is the same on every machine.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pkgutil import get_data
from struct import Struct

import msgspec

from aggregates.reading import verdicts
from aggregates.reading.features import PAIR_NAMES, WORD_NAMES
from aggregates.reading.readings import CROSSED, NAMED, NUMBER
from aggregates.reading.sentences import Phrase, table
from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, ClassChances, Intent, Rubric

MAY_REST_ON_PASTED: tuple[BooleanName, ...] = ("references_concrete", "context_sufficient")
Logits = tuple[int, ...]
"""Thousandths of a logit: one for each intent, one for each boolean, then what pasted text adds to those that may rest
on it."""
_ADDED_AT = len(INTENTS) + len(BOOLEANS)
_CROSSED = frozenset(map(NUMBER.__getitem__, CROSSED))
_JUDGED = {
    intent: tuple((place, name) for place, name in enumerate(BOOLEANS) if intent in verdicts.APPLIES_TO[name])
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

    def __init__(self, weights: RubricWeights, bounds: Mapping[BooleanName, verdicts.Bounds]) -> None:
        self._bounds = bounds
        forced_from = {name: bounds[name].forced_from for name in BOOLEANS}
        self._cuts = {n: round(_THOUSANDTHS * math.log(each / (1 - each))) for n, each in forced_from.items()}
        self._bias = (*weights.intent_bias, *weights.boolean_bias, *(0,) * len(MAY_REST_ON_PASTED))
        names = weights.intents.keys() | weights.booleans.keys()
        self._weights = {name: _weights(name, weights) for name in names}
        # A text shows hundreds of features: their rows are added as one number each, in a third of the time.
        self._joined = {name: _joined(row) for name, row in self._weights.items()}
        self._of_words = {word: self._joined[name] for word, name in WORD_NAMES.items() if name in self._joined}
        self._of_pairs = {pair: self._joined[name] for pair, name in PAIR_NAMES.items() if name in self._joined}
        self._is = {intent: self._booleans_of(f"is:{intent}") for intent in INTENTS}
        self._crossed = {
            intent: {NUMBER[cue]: self._booleans_of(f"{intent} & {cue}") for cue in CROSSED} for intent in INTENTS
        }

    def logits(self, names: Iterable[str], words: Iterable[str] = (), pairs: Iterable[Phrase] = ()) -> Logits:
        """What features weigh by themselves, with the bias; no names are formed of words and pairs of a text."""
        shown = map(self._joined.get, names), map(self._of_words.get, words), map(self._of_pairs.get, pairs)
        return _parted(sum(filter(None, chain.from_iterable(shown)), _joined(self._bias)))

    def verdict(self, logits: Logits, context: Sequence[str], shown: Sequence[int], *, own_words: bool) -> Rubric:
        """What is asked and how likely it is, what is said of the booleans that apply to it, and all chances.

        Pasted text has a say only in the booleans that may rest on it; without `own_words` only these are told.
        """
        total = _sum([logits, *filter(None, map(self._weights.get, context))])
        classes = total[: len(INTENTS)]
        sayable = BOOLEANS if own_words else MAY_REST_ON_PASTED
        names = frozenset([NAMED[place] for place in shown])
        against = forbidden(names, context).union(name for name in BOOLEANS if name not in sayable)
        leanings, chances, weighed = [], [], {}
        crossed = [number for number in shown if number in _CROSSED]
        for intent, chance in zip(INTENTS, class_chances(classes), strict=True):
            own, pasted = weighed[intent] = self.booleans(total, crossed, intent)
            likely = [_likely(own[name] + pasted.get(name, 0) if pasted else own[name]) for name in own]
            if against:
                likely = [min(each, FORBIDDEN if n in against else 1) for n, each in zip(own, likely, strict=True)]
            chances.append(ClassChances(intent, round(chance, 6), tuple(likely)))
            if chance >= LEAST_CHANCE:
                cut = [chance_of(own[name] - self._cuts[name]) if name in sayable else 0.0 for name in own]
                leanings.append(ClassChances(intent, chance, tuple(cut)))
        said, earned = decide_labels(leanings)
        own, pasted = weighed[said]
        # Where pasted text has anything to say about a boolean, it settles it.
        settled = {
            name: own[name] + pasted[name] > self._cuts[name] if name in pasted else name in earned for name in own
        }
        denied = [name for name in own if _DENIED_BY.get(name) in names]
        settled |= dict.fromkeys(denied, False)
        kept, told = chances[INTENTS.index(said)], []
        for (name, forced), chance in zip(settled.items(), kept.booleans, strict=True):
            sure = round(chance_of(own[name] + pasted.get(name, 0)), 3)
            value = self._bounds[name].value(sure, forced=forced)
            if name in denied:
                value = False
            elif value is not None and (name not in sayable or not borne_out(name, said, names, true=value)):
                value = None
            told.append(verdicts.BooleanVerdict(name, value, forced, chance))
        return Rubric("ok", said, round(kept.chance, 3), tuple(told), chances=tuple(chances))

    def booleans(
        self, total: Logits, shown: Sequence[int], intent: Intent
    ) -> tuple[dict[BooleanName, int], dict[BooleanName, int]]:
        """Of the booleans that apply to an intent: the logits by own words, and what pasted text adds to them."""
        crossed = self._crossed[intent]
        both = [crossed[number] for number in shown if number in crossed]
        found = _sum([total[len(INTENTS) :], self._is[intent], *both])
        own = {name: found[place] for place, name in _JUDGED[intent]}
        pasted = zip(MAY_REST_ON_PASTED, found[len(BOOLEANS) :], strict=True)
        return own, {name: added for name, added in pasted if added and name in own}

    def _booleans_of(self, name: str) -> Logits:
        return self._weights.get(name, _NONE)[len(INTENTS) :]


_NONE: Logits = (0,) * (_ADDED_AT + len(MAY_REST_ON_PASTED))


def _sum(rows: Sequence[Logits]) -> Logits:
    return tuple(map(sum, zip(*rows, strict=True)))


_LANES = Struct(f"<{len(_NONE)}i")  # all weights of one lane together are far below 2^31
_SIGNS = int.from_bytes(_LANES.pack(*(-(1 << 31),) * len(_NONE)), "little")


def _joined(row: Logits) -> int:
    """Whole numbers side by side in one, each with its sign, as the sum of them times powers of 2^32."""
    return (int.from_bytes(_LANES.pack(*row), "little") ^ _SIGNS) - _SIGNS


def _parted(joined: int) -> Logits:
    return _LANES.unpack(((joined + _SIGNS) ^ _SIGNS).to_bytes(_LANES.size, "little"))


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

_BORNE_OUT_BY: dict[str, frozenset[str]] = table("borne_out_by")
_LOOKED_FOR: dict[str, frozenset[str]] = table("looked_for")
"""One of the first stands in a prompt of which the boolean is surely true, none of the second where surely false."""
_PLAIN_QUESTIONS = frozenset({"question:wh", "question:how", "question:why"})
_TEST_OUTPUT = frozenset({"pasted", "references 8"})  # output of tests that nobody fenced speaks of tests as well


def borne_out(name: BooleanName, intent: Intent, names: frozenset[str], *, true: bool) -> bool:
    """Whether the words of a prompt allow to be sure that it is true, or that it is false."""
    if not true:
        return names.isdisjoint(_LOOKED_FOR.get(name, ()))
    asks_plainly = intent == "question" and not names.isdisjoint(_PLAIN_QUESTIONS)
    if "word list" in names or ("says nothing" in names and not asks_plainly):
        return False
    if name in ("goal_explicit", "scope_bounded") and "points elsewhere" in names:
        return False
    # Beside what was pasted nothing is bounded where nothing is asked for.
    if name == "scope_bounded" and "pasted" in names and names.isdisjoint(_BORNE_OUT_BY["goal_explicit"]):
        return False
    if name == "verification_requested" and names >= _TEST_OUTPUT and "phrase:plan_given" not in names:
        return False
    needed = _BORNE_OUT_BY.get(name)
    return needed is None or not names.isdisjoint(needed)


_DENIED_BY: dict[BooleanName, str] = {"goal_explicit": "only better", "scope_bounded": "names everything"}
"""What is surely false, whatever else stands in the prompt."""
_POINTING: frozenset[BooleanName] = frozenset({"goal_explicit", "scope_bounded", "references_concrete"})
FORBIDDEN = 0.1  # the chance of what the words of a prompt forbid is at most that
_CERTAIN = 0.001  # a judge of texts is never nearer to 0 or 1: that is what somebody said


def forbidden(names: frozenset[str], context: Iterable[str]) -> frozenset[BooleanName]:
    """What the words of a prompt speak against, whatever the weights say."""
    denied = frozenset(name for name, sign in _DENIED_BY.items() if sign in names)
    empty = not names.isdisjoint({"says nothing", "word list"}) and names.isdisjoint(_PLAIN_QUESTIONS | {"pasted"})
    return denied | _POINTING if empty and "context:first" in context else denied


# Of each prompt the likeliest class is said, and the booleans that cost least (docs/judges.md has the figures):
# expected |points of the score - points said| + 36 x expected wrong booleans

WRONG_BOOLEAN_POINTS = 36.0
LEAST_CHANCE = 0.02  # a class below it has no part in the score that is expected
_THOUSANDTHS = 1_000
_FARTHEST = 30_000.0  # thousandths of a logit; beyond it all is certain; `exp` of ever larger ones would overflow


def class_chances(logits: Sequence[float]) -> list[float]:
    """The chances of classes, given thousandths of a logit."""
    top = max(logits)
    weights = [math.exp((logit - top) / _THOUSANDTHS) for logit in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def chance_of(logit: float) -> float:
    """0-1, given thousandths of a logit."""
    near = logit if -_FARTHEST < logit < _FARTHEST else math.copysign(_FARTHEST, logit)
    return 1 / (1 + math.exp(-near / _THOUSANDTHS))


@lru_cache(maxsize=16_384)
def _likely(logit: int) -> float:
    """As it is told of a boolean: three digits, and never certain."""
    return max(_CERTAIN, min(round(chance_of(logit), 3), 1 - _CERTAIN))


def decide_labels(leanings: Sequence[ClassChances]) -> tuple[Intent, tuple[BooleanName, ...]]:
    """The likeliest class and its booleans to be said, in rubric order; of equal costs the fewer booleans.

    What may not be said has the chance 0.
    """
    expected, likeliest = verdicts.score_steps(leanings), max(leanings, key=lambda each: each.chance)
    applies = verdicts.applicable(likeliest.intent)
    likely = {name: chance for name, chance in zip(applies, likeliest.booleans, strict=True) if chance}
    # What may be said of it: no boolean, the likeliest, the two likeliest, and so on.
    ordered = sorted(likely, key=lambda name: -likely[name])
    wrong, costs = math.fsum(likely.values()), []
    for count in range(len(ordered) + 1):
        if count:
            wrong += 1 - 2 * likely[ordered[count - 1]]
        said = 100 * count / len(applies)
        missed = math.fsum([chance * abs(said - points) for points, chance in expected.items()])
        # rounded, so that no machine's last digit decides between two that are equal.
        costs.append(round(missed + WRONG_BOOLEAN_POINTS * wrong, 6))
    earned = ordered[: costs.index(min(costs))]
    return likeliest.intent, tuple(name for name in applies if name in earned)


_SHIPPED = msgspec.json.decode(get_data(__name__, "rubric.json") or b"", type=RubricWeights)
SHIPPED = RubricModel(_SHIPPED, verdicts.BOUNDS)
