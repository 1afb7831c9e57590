"""The shapes of an explanation: short sentences beside the fields that they are about.

`positions` are those of the facts in the log that a part rests on, ascending.
"""

import msgspec

from aggregates.reading.verdicts import BooleanName, Intent
from aggregates.sub_sessions.arcs import ReworkReason
from aggregates.sub_sessions.sub_session import OverrideField


class EvidencePiece(msgspec.Struct, frozen=True, kw_only=True):
    what: str
    position: int | None
    """The fact in which it stands; None where it is something that is not there."""
    quote: str | None
    """Its words: a prompt's, an answer's, a command's, a path. None where there are none, or none are left."""


class ExplainedPart(msgspec.Struct, frozen=True, kw_only=True):
    text: list[str]
    """What was decided, and why, in sentences."""
    not_observed: list[str]
    """What could not be looked at; a rule over it did not fire."""
    positions: list[int]


class MergedArc(msgspec.Struct, frozen=True, kw_only=True):
    """A later part that was joined to the sub-session, across a boundary."""

    agent_session_id: str
    opened_by: str
    started_at: str
    gap_seconds: float | None
    """From the close of the part before; None where it was not closed."""
    shared_files: int
    """How many files it touched that were touched before it, too."""
    position: int


class SignalExplained(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the embedded boundary judge weighed."""

    what: str
    weight: float
    """In logits; above 0 it speaks for another topic. The sum decides."""


class KeptExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A later prompt at which a judge saw no boundary."""

    prompt_id: str
    submitted_at: str
    judge: str
    confidence: float
    position: int
    """Of the prompt; of the answer where a text model was asked."""
    text: str
    signals: list[SignalExplained]
    """The heaviest first; empty where the prompt cannot open another topic, and where a text model was asked."""


class BoundaryExplained(ExplainedPart, frozen=True, kw_only=True):
    """Where it begins and ends."""

    kind: str
    """Why it opened: `start`, `clear`, `end`, `topic`, `commit` or `person`."""
    closed_by: str | None
    """None while nothing but silence ends it."""
    judge: str | None
    """Who judged that it opens here; None where that was said and not judged, and where a session begins with it."""
    confidence: float | None
    evidence: list[EvidencePiece]
    signals: list[SignalExplained]
    """What the embedded judge weighed where it opens; empty where it was not asked, or a text model was."""
    merged: list[MergedArc]
    kept: list[KeptExplained]
    """The first of the prompts within it that might have opened another one, in the order of its parts."""
    kept_not_shown: int


class FloorExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether it is work or trivia."""

    passed: bool
    reason: str | None
    rule: str
    turns: int
    turns_min: int
    lines: int
    lines_min: int
    mutating_calls: int
    mutating_calls_min: int


class BooleanExplained(EvidencePiece, frozen=True, kw_only=True):
    """One boolean: the words that earned it, or what was missed."""

    earned: bool
    prompt_id: str | None
    """Which prompt earned it; None where none did."""


class HabitExplained(BooleanExplained, frozen=True, kw_only=True):
    """One boolean of the sub-session; one that was missed points at a prompt of which it was asked."""

    asked_of: list[int]
    """The positions of the prompts of which it was asked: it applies to what each was judged as. The first 200."""


class PromptExplained(msgspec.Struct, frozen=True, kw_only=True):
    """How one prompt was judged by itself; `booleans` holds those that apply to its own intent."""

    prompt_id: str
    submitted_at: str
    position: int
    quote: str | None
    judge: str
    judge_status: str
    text: str
    intent_class: str
    confidence: float | None
    standing_score: float | None
    booleans: dict[BooleanName, BooleanExplained]
    not_asked: list[BooleanName]
    """Habits of the sub-session that do not apply to its own intent."""


class RubricExplained(ExplainedPart, frozen=True, kw_only=True):
    """The grade: `booleans` holds those that apply to the sub-session's intent."""

    judge: str
    judge_status: str
    intent_class: str
    intent_prompt_id: str | None
    """The prompt that gave the intent."""
    letter_grade: str | None
    score: float | None
    booleans: dict[BooleanName, HabitExplained]
    prompts: list[PromptExplained]
    prompts_not_shown: int


class OutcomeExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether the goal was reached. The first three are None while the sub-session is open."""

    goal_complete: bool | None
    confidence: float | None
    completion_floor: float | None
    """From how likely on completion holds."""
    judge: str
    goal: EvidencePiece
    """The prompt whose goal it is about."""
    evidence_for: list[EvidencePiece]
    evidence_against: list[EvidencePiece]


class ReworkExplained(ExplainedPart, frozen=True, kw_only=True):
    """Whether it takes back or repeats earlier work. The first is None while the sub-session is open."""

    rework: bool | None
    rework_of: str | None
    reason: ReworkReason | None
    shared_files: int | None
    """How many of the earlier one's changed files this one changed, too."""
    likeness: float | None
    """Of the two goals' words, 0-1."""


class OverrideShown(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said, and where: the prompt it was said about, None for a title."""

    field: OverrideField
    action: str
    prompt_id: str | None = None
    intent_class: Intent | None = None
    position: int


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    score_v3_sub_session_id: str
    agent_session_ids: list[str]
    is_preview: bool
    boundary: BoundaryExplained
    floor: FloorExplained
    rubric: RubricExplained
    outcome: OutcomeExplained
    rework: ReworkExplained
    overrides: list[OverrideShown]
    """Those that stand, in the order they were said."""
    rules_version: int
    judges: list[str]
    positions: list[int]
    """All of the parts' together."""
