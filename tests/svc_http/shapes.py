"""The scoring responses, by hand from the contract: exact names and types, null only where it may stand, no more."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Window = Literal["daily", "weekly", "monthly"]
Asked = Literal["daily", "weekly", "monthly", "range"]
Letter = Literal["F", "D", "C", "C+", "B-", "B", "B+", "A-", "A", "A+"]
Intent = Literal[
    "question", "investigation", "review", "plan", "small_change", "bug_fix", "feature", "refactor", "unclassified"
]
Status = Literal["ok", "unclassified", "skipped", "pending", "failed"]
Source = Literal["heuristic", "rubric", "user_edited"]
Reason = Literal["interrupted", "no_real_work", "too_few_lines", "no_mutating_calls", "too_few_turns"]
Kind = Literal["start", "clear", "end", "topic", "commit", "person"]
Share = Annotated[float, Meta(ge=0, le=1)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
FourCounts = Annotated[list[Count], Meta(min_length=4, max_length=4)]
Position = Annotated[int, Meta(ge=1)]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?Z$")]
Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Title = Annotated[str, Meta(max_length=60)]
Summary = Annotated[str, Meta(max_length=240)]
Quote = Annotated[str, Meta(max_length=240)]
Sentence = Annotated[str, Meta(min_length=10)]


class Exact(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Every field is there, and no other."""


class Interval(Exact):
    low: Percent
    high: Percent
    confidence: Annotated[float, Meta(ge=0.95, le=0.95)]


class Counts(Exact):
    total_count: Count
    crushed_count: Count
    decided_count: Count
    undecided_count: Count
    decided_rate: Percent | None
    unclassified_count: Count
    overridden_count: Count


class Score(Counts):
    window: Asked
    newest_at: Time | None
    svc_score: Percent
    interval: Interval | None
    letter_grade: Literal["N/A", "F", "D", "C", "C+", "B-", "B", "B+", "A-", "A", "A+"]
    personal_tier: Literal["unranked", "starting", "building", "scaling", "leading", "elite"]
    crush_weight: Amount
    crush_weight_count: Count
    unmeasured_requests: Count
    sparkline: Annotated[list[Percent], Meta(min_length=4, max_length=4)]
    sparkline_counts: FourCounts


class Speed(Counts):
    window: Asked
    newest_at: Time | None
    cspw: Count
    delta_cspw: int
    ttc_median_seconds: Amount
    sparkline: Annotated[list[Amount], Meta(min_length=4, max_length=4)]
    sparkline_counts: FourCounts


class Breakdown(Exact):
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count


class TokenFigures(Counts):
    crush_weight: Amount
    crush_weight_count: Count
    tet: Amount
    tet_count: Count
    tpt: Amount
    request_count: Count
    unmeasured_requests: Count
    cpcs_estimate: Amount
    cpcs_count: Count
    cpcs_lower_bound_count: Count
    cpcs_unpriced_count: Count
    breakdown: Breakdown


class Tokens(TokenFigures):
    window: Asked
    newest_at: Time | None
    sparkline: Annotated[list[Amount], Meta(min_length=4, max_length=4)]
    sparkline_counts: FourCounts


class TokenPoint(TokenFigures):
    period_start: Time


class TokenTrend(Exact):
    window: Window
    points: Annotated[list[TokenPoint], Meta(min_length=12, max_length=12)]


class Shares(Exact):
    goal_explicit: Share
    scope_bounded: Share
    references_concrete: Share
    context_sufficient: Share
    verification_requested: Share
    root_cause_oriented: Share
    plan_first: Share


class Hits(Exact):
    goal_explicit: Count
    scope_bounded: Count
    references_concrete: Count
    context_sufficient: Count
    verification_requested: Count
    root_cause_oriented: Count
    plan_first: Count


class Skill(Counts):
    window: Asked
    newest_at: Time | None
    skill_index: Percent | None
    tier: Literal["Novice", "Practitioner", "Proficient", "Expert", "Elite"]
    delta_apg: None
    per_boolean: Shares
    per_boolean_counts: Hits
    per_boolean_count: Hits
    per_boolean_one_sided: Hits
    per_boolean_unsure: Hits
    unsure_count: Count
    worst_pillar: str
    sample_count: Count


class GradeCount(Exact):
    grade: Letter
    count: Count


class ApgPoint(Exact):
    period_start: Time
    apg: Percent | None
    interval: Interval | None
    sample_count: Count


class InsightSummary(Exact):
    window: Asked
    newest_at: Time | None
    apg_current: Percent | None
    interval: Interval | None
    apg_previous: Percent | None
    sample_count: Count
    unsure_count: Count
    grade_distribution: Annotated[list[GradeCount], Meta(min_length=10, max_length=10)]
    points: Annotated[list[ApgPoint], Meta(min_length=4, max_length=4)]


Applies = Literal["applies", "does_not_apply", "unsure"]


class Applicability(Exact):
    goal_explicit: Applies
    scope_bounded: Applies
    references_concrete: Applies
    context_sufficient: Applies
    verification_requested: Applies
    root_cause_oriented: Applies
    plan_first: Applies


class Booleans(Exact):
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None


class RubricItem(Booleans):
    score_v3_sub_session_id: Id
    intent_class: Intent
    letter_grade: Letter | None
    unsure_count: Count
    confidence: Share | None
    applicability: Applicability
    judge_status: Status
    judge_reason: Literal["language"] | None
    title: Title | None
    summary: Summary | None
    title_source: Source


class SpeedRow(Booleans):
    score_v3_sub_session_id: Id
    agent_session_id: str
    title: Title | None
    intent_class: Intent
    started_at: Time
    ended_at: Time | None
    duration_seconds: Amount | None
    turns: Annotated[int, Meta(ge=1)]
    total_tokens: Count | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count
    lower_bound_requests: Count
    unsure_count: Count
    goal_complete: bool | None
    undecided_reason: Literal["unchecked", "unseen", "balanced"] | None
    outcome_confidence: Share | None
    rework: bool | None
    rework_of: Id | None
    crushed: bool | None
    letter_grade: Letter | None


class Floor(Exact):
    passed: bool
    turns: Count
    lines: Count
    mutating_calls: Count
    reason: Reason | None


class File(Exact):
    path: str | None
    edits: Count
    lines_added: Count | None
    lines_removed: Count | None


class Model(Exact):
    model: str | None
    requests: Count
    total_tokens: Count | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count


class UnsureGap(Exact):
    split_turn_idx: Count
    prompt_id: Id
    submitted_at: Time
    preview: Title | None
    chance: Share


class Detail(SpeedRow):
    summary: Summary | None
    title_source: Source
    is_preview: bool
    judge_status: Status
    floor: Floor
    agent_session_ids: Annotated[list[str], Meta(min_length=1)]
    files: list[File]
    models: list[Model]
    unsure_gaps: list[UnsureGap]


class OwnRubric(Booleans):
    intent_class: Intent
    confidence: Share
    score: Percent | None
    letter_grade: Letter | None
    applicability: Applicability
    unsure_count: Count
    judge_status: Literal["ok"]
    judge: str


class Prompt(Exact):
    prompt_id: Id
    score_v3_sub_session_id: Id
    submitted_at: Time
    prompt_text: str | None
    response_text: str | None
    elapsed_ms: Count | None
    tokens: Count | None
    model: str | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count
    judge_status: Status
    judge_reason: Literal["language"] | None
    rubric: OwnRubric | None
    standing_score: Percent | None
    unit_prompt_id: Id | None


class TriviaItem(Exact):
    score_v3_sub_session_id: Id
    reason: Reason
    created_at: Time
    title: Title | None
    summary: Summary | None


class ReasonCount(Exact):
    reason: Reason
    count: Count


class TriviaPoint(Exact):
    period_start: Time
    total: Count
    by_reason: Annotated[list[ReasonCount], Meta(min_length=5, max_length=5)]


class TriviaTrend(Exact):
    from_: Time = msgspec.field(name="from")
    to: Time
    period: Literal["day", "week", "month"]
    points: Annotated[list[TriviaPoint], Meta(min_length=1)]


class RealtimeRow(Exact):
    sub_session_id: Id
    score_v3_sub_session_id: Id
    agent_session_id: str
    is_preview: bool
    substance_floor_passed: bool
    letter_grade: Letter | None
    prompt_grade: Letter | None
    intent_class: Intent
    unsure_count: Count
    judge_reason: Literal["language"] | None
    goal_complete: bool | None
    undecided_reason: Literal["unchecked", "unseen", "balanced"] | None
    rework: bool | None
    crushed: bool | None
    title: Title | None
    summary: Summary | None
    title_source: Source
    started_at: Time
    ended_at: Time | None
    turns: Annotated[int, Meta(ge=1)]
    total_tokens: Count | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count
    lower_bound_requests: Count


class Today(Counts):
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    timezone: str
    svc_score: Percent
    interval: Interval | None
    trivia_count: Count
    apg: Percent | None
    apg_interval: Interval | None
    sample_count: Count
    unsure_count: Count
    prompts: Count
    tokens: Count | None
    unreported_sub_sessions: Count
    cost_usd: Amount | None
    unpriced_requests: Count
    lower_bound_requests: Count
    active_seconds: Amount
    throttle_hours: Amount | None
    narrative: str | None
    narrative_status: Literal["written", "off", "no_work", "pending", "resting", "none"]
    unknown_agents: list[str]


class Range(Exact, rename="camel"):
    from_us: int
    to_us: int
    timezone: str


class TouchedFile(Exact, rename="camel"):
    path: str | None
    sub_sessions: Annotated[int, Meta(ge=1)]
    edits: Count
    lines_added: Count | None
    lines_removed: Count | None
    edits_without_lines: Count
    last_touched_at: Time


class TopPrompt(Exact, rename="camel"):
    prompt_id: Id
    sub_session_id: Id
    agent_session_id: str
    submitted_at: Time
    preview: str | None
    grade: Letter | None
    score: Percent | None
    own_grade: Letter
    own_score: Percent
    unsure_count: Count
    intent_class: Intent
    crushed: bool | None


class TaskTime(Exact, rename="camel"):
    sub_session_id: Id
    title: Title | None
    intent_class: Intent
    started_at: Time
    ended_at: Time | None
    active_seconds: Amount
    crushed: bool | None


class ModelTask(Exact, rename="camel"):
    model: str | None
    intent_class: Intent
    sub_sessions: Annotated[int, Meta(ge=1)]
    qualifying: Count
    crushed: Count
    undecided: Count
    completion_rate: Percent | None
    interval: Interval | None
    total_tokens: Count | None
    unreported_sub_sessions: Count
    cost_usd: Amount | None
    unpriced_requests: Count
    lower_bound_requests: Count


class Files(Exact):
    range: Range
    items: list[TouchedFile]


class TopPrompts(Exact):
    range: Range
    items: list[TopPrompt]


class TaskTimes(Exact, rename="camel"):
    range: Range
    items: list[TaskTime]
    total_active_seconds: Amount


class ModelTasks(Exact):
    range: Range
    items: list[ModelTask]
