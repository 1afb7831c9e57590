"""What judges say, and the classes and booleans they say it about (scoring.md, sections 3 and 4)."""

from typing import Literal, get_args

import msgspec

from aggregates.event import Span

BooleanName = Literal[
    "goal_explicit",
    "scope_bounded",
    "references_concrete",
    "context_sufficient",
    "verification_requested",
    "root_cause_oriented",
    "plan_first",
]
BOOLEANS: tuple[BooleanName, ...] = get_args(BooleanName)
"""The seven habits, in rubric order: ties are broken by it."""

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


def applicable(intent: Intent) -> tuple[BooleanName, ...]:
    """The booleans that apply to an intent, in rubric order."""
    return tuple(name for name in BOOLEANS if intent in APPLIES_TO[name])


def kind_of(intent: Intent) -> str:
    """An intent in a sentence: `a bug fix`."""
    name = intent.replace("_", " ")
    return f"an {name}" if name.startswith("i") else f"a {name}"


class Evidence(msgspec.Struct, frozen=True, array_like=True):
    """One piece of evidence: what it is, and where it stands."""

    what: str
    """A short fixed phrase of the rule, never the developer's words."""
    position: int | None = None
    """The fact whose words hold the span; None where the evidence is no text."""
    span: Span | None = None


class Rubric(msgspec.Struct, frozen=True, array_like=True):
    """The own rubric of one prompt."""

    status: JudgeStatus
    intent: Intent | None = None
    confidence: float = 0.0
    earned: tuple[BooleanName, ...] = ()
    """The booleans that are true; those that apply and are not here are false."""
    judge: str = "embedded/1"


class BoundaryVerdict(msgspec.Struct, frozen=True, array_like=True):
    """Whether a turn starts another topic than the sub-session it follows."""

    shift: bool
    confidence: float
    evidence: tuple[Evidence, ...]
    judge: str = "embedded/1"


class OutcomeVerdict(msgspec.Struct, frozen=True, array_like=True):
    """Whether a sub-session reached its goal."""

    goal_complete: bool
    confidence: float
    evidence_for: tuple[Evidence, ...]
    evidence_against: tuple[Evidence, ...]
    judge: str = "embedded/1"
