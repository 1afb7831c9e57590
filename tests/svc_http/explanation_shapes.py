"""Explanations as the contract has them: exact names and types, null only where it may stand."""

from typing import Annotated, Literal

from msgspec import Meta

from tests.svc_http.shapes import (
    Count,
    Exact,
    Id,
    Intent,
    Kind,
    Letter,
    Percent,
    Position,
    Quote,
    Reason,
    Sentence,
    Share,
    Status,
    Time,
    UnsureGap,
)


class Piece(Exact):
    what: str
    position: Position | None
    quote: Quote | None


class Part(Exact):
    text: Annotated[list[Sentence], Meta(min_length=1)]
    not_observed: list[Sentence]
    positions: Annotated[list[Position], Meta(min_length=1)]


class Signal(Exact):
    what: str
    weight: Annotated[float, Meta(ge=-20, le=20)]


class Kept(Exact):
    prompt_id: Id
    submitted_at: Time
    judge: str
    confidence: Share
    position: Position
    text: Sentence
    signals: list[Signal]


class Merged(Exact):
    agent_session_id: str
    opened_by: Kind
    started_at: Time
    gap_seconds: float | None
    shared_files: Count
    position: Position


class Boundary(Part):
    kind: Kind
    closed_by: Kind | None
    judge: str | None
    confidence: Share | None
    evidence: Annotated[list[Piece], Meta(min_length=1)]
    signals: list[Signal]
    merged: list[Merged]
    kept: list[Kept]
    kept_not_shown: Count


class FloorPart(Part):
    passed: bool
    reason: Reason | None
    rule: Sentence
    turns: Count
    turns_min: Literal[3]
    lines: Count
    lines_min: Literal[10]
    mutating_calls: Count
    mutating_calls_min: Literal[1]


class Span(Exact):
    start: Count
    end: Count


class Boolean(Piece):
    earned: bool
    unsure: bool
    chance: Share | None
    prompt_id: Id | None
    span: Span | None
    how_to_earn: Sentence | None


class Habit(Boolean):
    asked_of: list[Position]


class PromptPart(Exact):
    prompt_id: Id
    submitted_at: Time
    position: Position
    quote: Quote | None
    judge: str
    judge_status: Status
    text: Sentence
    intent_class: Intent
    confidence: Share | None
    standing_score: Percent | None
    booleans: dict[str, Boolean]
    not_asked: list[str]


class Rubric(Part):
    judge: str
    judge_status: Status
    intent_class: Intent
    intent_prompt_id: Id | None
    letter_grade: Letter | None
    score: Percent | None
    booleans: dict[str, Habit]
    prompts: Annotated[list[PromptPart], Meta(min_length=1)]
    prompts_not_shown: Count


class OutcomePiece(Piece):
    who: Literal["you", "the agent", "the tools"]
    at: Time | None


class Outcome(Part):
    goal_complete: bool | None
    confidence: Share | None
    completion_floor: Share | None
    judge: str
    goal: Piece
    undecided_reason: Literal["unchecked", "unseen", "balanced"] | None
    evidence_for: list[OutcomePiece]
    evidence_against: list[OutcomePiece]


class Rework(Part):
    rework: bool | None
    rework_of: Id | None
    reason: Literal["reverts", "corrects", "repeats"] | None
    shared_files: Count | None
    likeness: Share | None


class Override(Exact):
    field: Literal["boundary", "completion", "rollback", "label"]
    action: str
    prompt_id: Id | None
    intent_class: Intent | None
    position: Position


class Explanation(Exact):
    score_v3_sub_session_id: Id
    agent_session_ids: Annotated[list[str], Meta(min_length=1)]
    is_preview: bool
    verdict: Sentence
    unsure_gaps: list[UnsureGap]
    details: list[Sentence]
    boundary: Boundary
    floor: FloorPart
    rubric: Rubric
    outcome: Outcome
    rework: Rework
    overrides: list[Override]
    rules_version: Annotated[int, Meta(ge=1)]
    judges: Annotated[list[str], Meta(min_length=1)]
    positions: Annotated[list[Position], Meta(min_length=1)]
