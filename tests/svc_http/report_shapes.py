"""Reports and insights as the contract has them: exact names and types, null only where it may stand."""

from typing import Annotated, Literal

from msgspec import Meta

from tests.svc_http.shapes import (
    Amount,
    Count,
    Exact,
    Files,
    Id,
    InsightSummary,
    Interval,
    ModelTasks,
    Percent,
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
    prompt_count: Annotated[int, Meta(ge=5)]
    example: Example | None
    best_example: Example | None


class Coaching(Exact):
    items: Annotated[list[Habit], Meta(max_length=3)]
    note: Text | None


class Sections(Exact, rename="camel"):
    score: Score
    speed: Speed
    tokens: Tokens
    skill: Skill
    insight_summary: InsightSummary
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
    narrative: Annotated[str, Meta(min_length=1, max_length=700)] | None
    narrative_source: Literal["llm"] | None


class InsightsMeta(Exact, rename="camel"):
    period_start: Time
    period_end: Time
    timezone: str
    language: Language
    total_sessions: Count
    total_messages: Count
    active_days: Count


class Snapshot(Exact, rename="camel"):
    apg_current: Percent | None
    interval: Interval | None
    skill_index: Percent | None
    tier: Literal["Novice", "Practitioner", "Proficient", "Expert", "Elite"]
    per_boolean: dict[Boolean, Share]
    per_boolean_counts: dict[Boolean, Count]
    per_boolean_count: dict[Boolean, Count]
    per_boolean_one_sided: dict[Boolean, Count]
    unsure_count: Count
    worst_pillar: Boolean | Literal[""]
    sample_count: Count


class SkillPoint(Exact, rename="camel"):
    period_start: Time
    skill_index: Percent | None
    sample_count: Count


class QuickWin(Exact):
    label: Text


class AtAGlance(Exact, rename="camel"):
    quick_wins: Annotated[list[QuickWin], Meta(max_length=2)]


class ActivityDay(Exact):
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    sessions: Count
    messages: Count


class Activity(Exact, rename="camel"):
    points: list[ActivityDay]
    total_active_seconds: Amount


class Stats(Exact, rename="camel"):
    avg_turns_per_session: Amount | None
    median_response_time_secs: Amount | None
    sessions: Count
    first_try_rate: Share | None
    multi_clauding_events: Count


class HowYouUse(Exact):
    stats: Stats


class Highlight(Exact, rename="camel"):
    label: Text
    session_count: Annotated[int, Meta(ge=1)]


class Impressive(Exact, rename="camel"):
    win_rate: Share | None
    interval: Interval | None
    decided_count: Count
    undecided_count: Count
    total_win_sessions: Count
    highlights: list[Highlight]


class Category(Exact):
    label: Text
    count: Annotated[int, Meta(ge=1)]
    mitigation: Text


class Wrong(Exact):
    categories: list[Category]


class WasteAction(Exact, rename="camel"):
    action: Text
    savings_usd: Amount | None


class Costs(Exact, rename="camel"):
    total_cost_usd: Amount | None
    wasted_cost_usd: Amount | None
    undecided_cost_usd: Amount | None
    waste_ratio: Share | None
    potential_savings_usd: Amount | None
    model_rightsizing: Annotated[list[str], Meta(max_length=0)]
    waste_actions: list[WasteAction]
    unpriced_requests: Count


class WorstPrompt(Exact, rename="camel"):
    score: Annotated[float, Meta(ge=0, lt=100)]
    standing_score: Percent | None
    session_id: str
    sub_session_id: Id
    prompt_id: Id
    turn_index: Count
    prompt_preview: Annotated[str, Meta(max_length=140)] | None


class TrendPoint(Exact, rename="camel"):
    period_start: Time
    first_try_rate: Share | None
    friction_rate: Share | None
    cost_usd: Amount | None


class Trends(Exact):
    points: list[TrendPoint]


class Insights(Exact, rename="camel"):
    meta: InsightsMeta
    skill_snapshot: Snapshot
    skill_trend: list[SkillPoint]
    at_a_glance: AtAGlance
    activity: Activity
    how_you_use_cc: HowYouUse
    impressive_things: Impressive
    where_things_go_wrong: Wrong
    cost_optimization: Costs
    worst_prompts: Annotated[list[WorstPrompt], Meta(max_length=5)]
    trends: Trends
    total_input_tokens: Count | None
    total_output_tokens: Count | None
