"""What judges say, of which classes and booleans, and how sure they are of it (scoring.md, 3 and 4)."""

from collections.abc import Container
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


def kind_of(intent: Intent) -> str:
    """An intent in a sentence: `a bug fix`."""
    name = intent.replace("_", " ")
    return f"an {name}" if name.startswith("i") else f"a {name}"


class Evidence(msgspec.Struct, frozen=True, array_like=True):
    what: str  # a short fixed phrase of the rule, never the developer's words
    position: int | None = None  # the fact whose words hold the span; None where the evidence is no text
    span: Span | None = None


class BooleanVerdict(msgspec.Struct, frozen=True, array_like=True):
    name: BooleanName
    value: bool | None  # none: unsure
    forced: bool  # what would be said of it if something had to be
    chance: float | None = None  # calibrated, 0-1, that it is true; None where a text model said it without one


class Rubric(msgspec.Struct, frozen=True, array_like=True):
    status: JudgeStatus
    intent: Intent | None = None
    confidence: float = 0.0
    booleans: tuple[BooleanVerdict, ...] = ()  # of those that apply to the intent, in rubric order
    judge: str = EMBEDDED
    reason: UnclassifiedReason | None = None  # why it is unclassified, where that is known

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


def said_booleans(
    intent: Intent, earned: Container[BooleanName], unsure: Container[BooleanName] = ()
) -> tuple[BooleanVerdict, ...]:
    """Without probabilities; what is neither is missed."""
    return tuple(
        BooleanVerdict(name, None if name in unsure else name in earned, forced=name in earned)
        for name in applicable(intent)
    )


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
BOTH_WAYS: frozenset[BooleanName] = frozenset(
    name for name, bounds in BOUNDS.items() if bounds.false_up_to is not None and bounds.true_from is not None
)
"""Those that the embedded judge can call true as well as false. A rate over the others would lie at an end."""


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

    @property
    def chance(self) -> float:
        """That the goal was reached, 0-1."""
        return self.confidence if self.forced else round(1 - self.confidence, 3)
