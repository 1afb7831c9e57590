"""What judges say, of which classes and booleans, and how sure they are of it (scoring.md, 3 and 4)."""

import math
from collections.abc import Container, Iterable, Mapping
from pkgutil import get_data
from typing import Literal, get_args

import msgspec

from aggregates.event import Span

EMBEDDED = "embedded/2"  # the name of the embedded judges: what they say changes with it

BooleanName = Literal[
    "goal_explicit",
    "scope_bounded",
    "references_concrete",
    "context_sufficient",
    "verification_requested",
    "root_cause_oriented",
    "plan_first",
]
BOOLEANS: tuple[BooleanName, ...] = get_args(BooleanName)  # the seven habits, in rubric order: ties are broken by it
Intent = Literal["question", "investigation", "review", "plan", "small_change", "bug_fix", "feature", "refactor"]
INTENTS: tuple[Intent, ...] = get_args(Intent)
CHANGE_INTENTS: frozenset[Intent] = frozenset({"small_change", "bug_fix", "feature", "refactor"})
_ALL = frozenset(INTENTS)
APPLIES_TO: dict[BooleanName, frozenset[Intent]] = {
    "goal_explicit": _ALL,
    "scope_bounded": frozenset({"plan", "small_change", "bug_fix", "feature", "refactor", "review"}),
    "references_concrete": _ALL - {"question"},
    "context_sufficient": _ALL,
    "verification_requested": CHANGE_INTENTS,
    "root_cause_oriented": frozenset({"bug_fix", "investigation"}),
    "plan_first": frozenset({"feature", "refactor", "plan"}),
}
JudgeStatus = Literal["ok", "unclassified", "skipped", "pending", "failed"]
UnclassifiedReason = Literal["language"]  # it is surely written in a language that is not judged
Applicability = Literal["applies", "does_not_apply", "unsure"]  # said, not asked of such an intent, or nobody can say
UndecidedReason = Literal["unchecked", "unseen", "balanced"]  # no check, no answer seen, or evidence that balances


def applicable(intent: Intent) -> tuple[BooleanName, ...]:
    return tuple(name for name in BOOLEANS if intent in APPLIES_TO[name])


def kind_of(kind: str | None) -> str:
    """A kind in a sentence: `a bug fix`; of a group that is told, `a change`; of None, `work of some kind`."""
    if kind == "a question":
        return "a question or a review"
    name = "work of some kind" if kind is None else kind.replace("_", " ")
    return name if " " in name and kind not in INTENTS else f"an {name}" if name.startswith("i") else f"a {name}"


class ClassChances(msgspec.Struct, frozen=True, array_like=True):
    """How likely a class is, and, should it be that, how likely each boolean that applies to it is true; 0-1."""

    intent: Intent
    chance: float
    booleans: tuple[float, ...]  # of `applicable(intent)`; 0 or 1 exactly where somebody said it


Chances = tuple[ClassChances, ...]  # of all classes, in the rubric's order; empty where nothing was judged
_EVEN: Chances = tuple(ClassChances(intent, 0.0, (0.5,) * len(applicable(intent))) for intent in INTENTS)
SAID_FALSE, SAID_TRUE = 0.1, 0.9  # from which an interval is drawn where somebody said so


def as_said(chances: Chances, intent: Intent, said: Mapping[BooleanName, bool]) -> Chances:
    """The same after somebody said what class it is, and some of its booleans."""
    return tuple(
        ClassChances(
            each.intent,
            float(each.intent == intent),
            tuple(float(said.get(n, chance)) for n, chance in zip(applicable(each.intent), each.booleans, strict=True)),
        )
        for each in chances or _EVEN
    )


def given(chances: Chances, intent: Intent | None) -> dict[BooleanName, float]:
    """Of each boolean that applies to a class, how likely it is true, should it be that class."""
    return {
        name: chance
        for each in chances
        if each.intent == intent
        for name, chance in zip(applicable(each.intent), each.booleans, strict=True)
    }


def expected_score(chances: Chances) -> float | None:
    """0-100; None where nothing was judged."""
    means = [each.chance * math.fsum(each.booleans) / len(each.booleans) for each in chances]
    return 100 * math.fsum(means) if means else None


def score_steps(chances: Iterable[ClassChances], *, drawn: bool = False) -> dict[float, float]:
    """Each score that may be, to how likely it is: booleans are independent given the class.

    `drawn`: for an interval, for which nothing that somebody said is certain.
    """
    found: dict[float, float] = {}
    for each in chances:
        if not each.chance:
            continue
        counts = [each.chance]  # how likely so many are true, from none to all
        for chance in [_DRAWN.get(likely, likely) for likely in each.booleans] if drawn else each.booleans:
            yes = 0.0
            for place, no in enumerate(counts):
                counts[place], yes = no + (yes - no) * chance, no
            counts.append(yes * chance)
        for points, chance in zip(_POINTS[len(each.booleans)], counts, strict=True):
            found[points] = found.get(points, 0.0) + chance
    return found


_POINTS = [[100 * count / booleans for count in range(booleans + 1)] for booleans in range(1, len(BOOLEANS) + 1)]
_POINTS.insert(0, [0.0])
_DRAWN = {0.0: SAID_FALSE, 1.0: SAID_TRUE}


def holds_said(chances: Chances) -> bool:
    """Whether somebody said any of it, so that an interval is drawn from other chances."""
    return any(chance in _DRAWN for each in chances for chance in each.booleans)


KIND_TOLD_MIN, GROUP_TOLD_MIN = 0.8, 0.7
KIND_GROUPS: dict[str, frozenset[Intent]] = {
    "a question": frozenset({"question", "investigation", "review"}),
    "a change": CHANGE_INTENTS,
    "a plan": frozenset({"plan"}),
}


def kind_told(chances: Chances, *, by_later: bool = False) -> str | None:
    """The likeliest class where it is likely enough, else its group where that is, else None."""
    if not chances:
        return None
    best = max(chances, key=lambda each: each.chance)
    if best.chance >= KIND_TOLD_MIN and (not by_later or best.chance == 1):  # a later prompt's is right in 7 of 19
        return best.intent
    group, of = next((group, of) for group, of in KIND_GROUPS.items() if best.intent in of)
    return group if math.fsum(each.chance for each in chances if each.intent in of) >= GROUP_TOLD_MIN else None


class Evidence(msgspec.Struct, frozen=True, array_like=True):
    what: str  # a short fixed phrase of the rule, never the developer's words
    position: int | None = None  # the fact whose words hold the span; None where the evidence is no text
    span: Span | None = None


Likely = Literal["surely", "likely", "as likely as not", "unlikely"]  # a chance in words; surely: said, and shown


def in_words(value: bool | None, chance: float) -> Likely:
    """Of what is said, or, where nothing is, of a chance."""
    if value is not None:
        return "surely" if value else "unlikely"
    return "likely" if chance > 2 / 3 else "unlikely" if chance < 1 / 3 else "as likely as not"


class BooleanVerdict(msgspec.Struct, frozen=True, array_like=True):
    name: BooleanName
    value: bool | None  # none: unsure
    forced: bool  # what would be said of it if something had to be
    chance: float  # calibrated, 0-1, that it is true; 0 or 1 where a text model said it

    @property
    def likely(self) -> Likely:
        return in_words(self.value, self.chance)


class Rubric(msgspec.Struct, frozen=True, array_like=True):
    status: JudgeStatus
    intent: Intent | None = None
    confidence: float = 0.0
    booleans: tuple[BooleanVerdict, ...] = ()  # of those that apply to the intent, in rubric order
    judge: str = EMBEDDED
    reason: UnclassifiedReason | None = None  # why it is unclassified, where that is known
    chances: Chances = ()  # empty unless it is ok

    @property
    def named_chances(self) -> dict[str, float | None]:
        """Of each class, and of each boolean given the class that is said; None where that does not apply."""
        named: dict[str, float | None] = {each.intent: each.chance for each in self.chances}
        return named | dict.fromkeys(BOOLEANS) | {each.name: each.chance for each in self.booleans}

    @property
    def earned(self) -> tuple[BooleanName, ...]:
        return tuple(each.name for each in self.booleans if each.value)

    @property
    def missed(self) -> tuple[BooleanName, ...]:
        return tuple(each.name for each in self.booleans if each.value is False)

    @property
    def unsure(self) -> tuple[BooleanName, ...]:
        return tuple(each.name for each in self.booleans if each.value is None)

    @property
    def forced(self) -> tuple[BooleanName, ...]:
        return tuple(each.name for each in self.booleans if each.forced)


def said_rubric(
    intent: Intent,
    confidence: float,
    earned: Container[BooleanName],
    unsure: Container[BooleanName] = (),
    *,
    judge: str = EMBEDDED,
    chances: Chances = (),
) -> Rubric:
    """What somebody said; what is neither earned nor unsure is missed, and what is unsure keeps its chance."""
    said = {name: name in earned for name in applicable(intent) if name not in unsure}
    after = as_said(chances, intent, said)
    booleans = tuple(
        BooleanVerdict(name, said.get(name), said.get(name, False), chance)
        for name, chance in given(after, intent).items()
    )
    return Rubric("ok", intent, confidence, booleans, judge, chances=after)


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Between which chances of being true nothing is said; None: that side is never said."""

    false_up_to: float | None = None
    true_from: float | None = None
    forced_from: float = 0.5  # from which chance it is rather said than not where something has to be

    def value(self, chance: float, *, forced: bool) -> bool | None:
        """What is said of a chance, 0-1; None: unsure. It never differs from what would be said by force."""
        if forced:
            return True if self.true_from is not None and chance >= self.true_from else None
        return False if self.false_up_to is not None and chance <= self.false_up_to else None


BOUNDS = msgspec.json.decode(get_data(__name__, "bounds.json") or b"", type=dict[BooleanName, Bounds])
"""Of each boolean, between which chances nothing is said; training writes them (docs/judges.md publishes them)."""


class BoundaryVerdict(msgspec.Struct, frozen=True, array_like=True):
    shift: bool
    confidence: float  # of what is said, 0.5-1.
    evidence: tuple[Evidence, ...]
    judge: str = EMBEDDED
    unsure: bool = False  # its chance lies in the unsure band: whether it is one goal or two, a person is asked

    @property
    def chance(self) -> float:
        """That the turn starts another topic, 0-1."""
        return self.confidence if self.shift else round(1 - self.confidence, 3)


class OutcomeVerdict(msgspec.Struct, frozen=True, array_like=True):
    goal_complete: bool | None  # none: undecided
    confidence: float  # of what is said; of an undecided one, of what would be said by force. 0-1.
    evidence_for: tuple[Evidence, ...]
    evidence_against: tuple[Evidence, ...]
    judge: str = EMBEDDED
    undecided: UndecidedReason | None = None  # why nothing is said; None where something is
    forced: bool = False  # what would be said if something had to be
    evident: bool = False  # whether its ending decides, before any weight and any text model

    @property
    def chance(self) -> float:
        """That the goal was reached, 0-1."""
        return self.confidence if self.forced else round(1 - self.confidence, 3)
