"""Reports and insights as the contract has them: exact names and types, null only where it may stand."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tests.svc_http.shapes import (
    Amount,
    Count,
    Exact,
    Files,
    Id,
    ModelTasks,
    Score,
    Share,
    Skill,
    Speed,
    TaskTimes,
    Time,
    Tokens,
    TopPrompts,
    TriviaItem,
)

Boolean = Literal[
    "goal_explicit",
    "scope_bounded",
    "references_concrete",
    "context_sufficient",
    "verification_requested",
    "root_cause_oriented",
    "plan_first",
]
State = Literal["queued", "running", "completed", "failed", "cancelled"]
Text = Annotated[str, Meta(min_length=2)]
Language = Literal["en", "ko"]
SafeMessage = Literal["The report could not be generated. Please try again."]


class Started(Exact):
    report_id: Id
    status: State


class NonePending(Exact):
    report_id: None


class StatusShape(Exact):
    report_id: Id
    status: State
    error_code: Literal["source_unavailable"] | None
    error_message: SafeMessage | None


class MetaShape(Exact, rename="camel"):
    period: Literal["daily", "weekly", "monthly"]
    period_start: Time
    period_end: Time
    timezone: str
    language: Language
    rules_version: Annotated[int, Meta(ge=1)] | None


class Listed(StatusShape):
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    meta: MetaShape


class KindCount(Exact):
    kind: str
    count: Count


class Integrity(Exact):
    by_kind: list[KindCount]


class ThrottleSummary(Exact, rename="camel"):
    total_events: Count
    estimated_hours_lost: Amount
    by_detector: list[dict[str, str | int]]
    total_api_requests: Count


class Throttle(Exact, rename="camel"):
    is_partial: Literal[False]
    events: Annotated[list[dict[str, str | float | None]], Meta(max_length=200)]
    summary: ThrottleSummary
    recommendations: list[dict[str, str | float]]


class Coverage(Exact, rename="camel"):
    reason: Literal["complete", "file_budget", "byte_budget"]
    read_batches: Count
    dropped_files: Count
    unreadable_files: Literal[0]


class Rollup(Exact, rename="camel"):
    cost_usd: Amount | None
    lower_bound_cost_usd: Amount | None
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_creation_tokens: Count | None
    request_count: Count | None
    unmeasured_requests: Count | None
    is_estimate: Literal[True]


class Pricing(Exact, rename="camel"):
    priced_requests: Count | None
    unpriced_requests: Count | None
    lower_bound_requests: Count | None
    ratio: Share | None


class Spending(Exact, rename="camel"):
    is_partial: bool
    read_coverage: Coverage
    rollup: Rollup
    pricing_coverage: Pricing


class ModelUsage(Exact, rename="camel"):
    recommendations: Annotated[list[str], Meta(max_length=0)]
    model_usage: list[dict[str, str | int | float | None]]
    monthly_usage: list[dict[str, str | int | float | None]]
    spending: Spending


class Example(Exact, rename="camel"):
    prompt_id: Id
    sub_session_id: Id
    submitted_at: Time
    preview: Annotated[str, Meta(min_length=1, max_length=140)]


class Habit(Exact, rename="camel"):
    boolean: Boolean
    label: Text
    habit: Text
    share: Share
    prompt_count: Annotated[int, Meta(ge=3)]
    example: Example | None


class Coaching(Exact):
    items: Annotated[list[Habit], Meta(max_length=3)]
    note: Text | None


class Sections(Exact, rename="camel"):
    score: Score
    speed: Speed
    tokens: Tokens
    skill: Skill
    integrity: Integrity
    trivia: Annotated[list[TriviaItem], Meta(max_length=200)]
    files: Files
    top_prompts: TopPrompts
    task_time: TaskTimes
    model_task: ModelTasks
    throttle: Throttle | None
    model_usage: ModelUsage
    coaching: Coaching


class Record(Listed):
    sections: Sections | None


def read(body: bytes, shape: type[msgspec.Struct]) -> msgspec.Struct:
    """The body as its shape."""
    return msgspec.json.decode(body, type=shape)
