"""The other reads as the contract has them: integrity, peers, overrides, telemetry, intelligence, teams.

Written by hand from the contract, not from the code. What is not in a shape may not come.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from tests.svc_http.shapes import Amount, Count, Exact, Id, Interval, Percent, Range, Sentence, Share, Time

FlagKind = Literal[
    "auto_retry_storm", "tiny_prompt_burst", "session_splitting", "pasted_inflation", "clock_skew", "foreign_session"
]
Detector = Literal["rate_limit", "retry_after", "latency_spike", "request_gap", "error_burst", "service_outage"]


class KindCount(Exact):
    kind: FlagKind
    count: Count


class Integrity(Exact):
    by_kind: list[KindCount]


class IntegrityPoint(Exact):
    period_start: Time
    total: Count
    by_kind: Annotated[list[KindCount], Meta(min_length=6, max_length=6)]


class IntegrityTrend(Exact):
    from_: Time = field(name="from")
    to: Time
    period: Literal["day", "week", "month"]
    points: Annotated[list[IntegrityPoint], Meta(min_length=1)]


class Flag(Exact):
    flag_id: Id
    kind: FlagKind
    detected_at: Time
    agent_session_id: str | None
    score_v3_sub_session_id: Id | None
    count: Annotated[int, Meta(ge=1)]
    window_seconds: Count
    details: dict[str, int | str]


class Distribution(Exact, rename="camel"):
    peer_count: Annotated[int, Meta(ge=4)]
    cohort_mean: Percent
    p25: Percent
    p50: Percent
    p75: Percent


class Baseline(Exact):
    days: Annotated[int, Meta(ge=7)]
    typical: Percent
    latest: Percent
    delta: float


class Peers(Exact, rename="camel"):
    my_score: Percent | None
    interval: Interval | None
    basis: Literal["peers", "selfHistory", "insufficient"]
    distribution: Distribution | None
    my_percentile: Percent | None
    left_out: Count
    required_days: Literal[7]
    baseline: Baseline | None
    metric: Literal["completionRate"]
    unit: Literal["percent"]
    definition: Literal["crushed_substantive_sessions / substantive_sessions"]


class Agreement(Exact, rename="camel"):
    field: Literal["boundary", "completion", "rollback", "label"]
    overrides: Count
    reviewed: Count
    sub_sessions: Count
    agreement_rate: float | None


class Accuracy(Exact, rename="camel"):
    rows: Annotated[list[Agreement], Meta(min_length=4, max_length=4)]
    window_days: Annotated[int, Meta(ge=1, le=90)]


class Record(Exact):
    timestamp: Time
    source_event_id: Annotated[str, Meta(min_length=1)]
    session_id: str | None
    model: str | None
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_creation_tokens: Count | None
    cost_usd: Amount | None
    cost_kind: Literal["reported", "catalog_estimate", "catalog_lower_bound"] | None
    duration_ms: Count | None
    attributes_json: str | None


class LogRecord(Record):
    event_name: str | None


class Span(Record):
    name: str | None


class Numbers(Exact):
    count: Count | None
    sum: float | None
    min: float | None
    max: float | None
    bucket_counts: list[Count] | None
    explicit_bounds: list[float] | None
    scale: int | None
    zero_count: Count | None
    positive: dict[str, object] | None
    negative: dict[str, object] | None
    quantiles: list[dict[str, float]] | None


class Point(Record):
    name: str
    kind: Literal["gauge", "sum", "histogram", "exponential_histogram", "summary"]
    unit: str | None
    temporality: Literal["delta", "cumulative"] | None
    value: float | None
    distribution: Numbers | None


class Logs(Exact):
    records: list[LogRecord]
    has_more: bool


class Spans(Exact):
    records: list[Span]
    has_more: bool


class Points(Exact):
    records: list[Point]
    has_more: bool


class Group(Exact):
    key: str | None
    records: Annotated[int, Meta(ge=1)]
    input_tokens: Count | None
    output_tokens: Count | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count


class Groups(Exact):
    groups: list[Group]


class Tool(Exact, rename="camel"):
    name: str | None
    calls: Annotated[int, Meta(ge=1)]
    errors: Count
    median_ms: Amount | None


class Failure(Exact, rename="camel"):
    status_code: int | None
    model: str | None
    count: Annotated[int, Meta(ge=1)]


class ModelSums(Exact, rename="camel"):
    model: str | None
    requests: Annotated[int, Meta(ge=1)]
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_creation_tokens: Count | None
    cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count


class Hour(Exact):
    hour: Annotated[int, Meta(ge=0, le=23)]
    requests: Count


class Analytics(Exact, rename="camel"):
    range: Range
    tools: list[Tool]
    errors: list[Failure]
    models: list[ModelSums]
    active_hours: list[Hour]


class TurnTokens(Exact):
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count


class TurnUse(Exact):
    prompt_id: str
    requests: Count
    tools: Count
    tokens: TurnTokens | None
    cost_usd: Amount | None
    errors: Count
    tool_errors: Count
    unpriced_requests: Count
    unmeasured_requests: Count


class TurnsUse(Exact):
    turns: list[TurnUse]


class ThrottleEvent(Exact, rename="camel"):
    """The last three are there for an outage only."""

    detector: Detector
    timestamp: Time
    session_id: str | None
    details: Sentence
    estimated_delay_secs: Amount
    confidence: Share | UnsetType = UNSET
    incident_name: UnsetType | None = UNSET
    incident_url: UnsetType | None = UNSET


class DetectorCount(Exact):
    detector: Detector
    count: Annotated[int, Meta(ge=1)]


class ThrottleSummary(Exact, rename="camel"):
    total_events: Count
    estimated_hours_lost: Amount
    by_detector: list[DetectorCount]
    total_api_requests: Count


class Recommendation(Exact, rename="camel"):
    priority: Literal["high", "medium", "low"]
    action: Sentence
    estimated_savings_hours: Amount


class ThrottleImpact(Exact, rename="camel"):
    is_partial: bool
    events: list[ThrottleEvent]
    summary: ThrottleSummary
    recommendations: list[Recommendation]


class ModelUse(Exact, rename="camel"):
    model: str | None
    request_count: Annotated[int, Meta(ge=1)]
    avg_input_tokens: Amount | None
    avg_output_tokens: Amount | None
    avg_cache_read_tokens: Amount | None
    avg_cache_creation_tokens: Amount | None
    avg_total_tokens: Amount | None
    total_cost_usd: Amount | None
    unpriced_requests: Count
    unmeasured_requests: Count


class MonthUse(Exact, rename="camel"):
    month: Annotated[str, Meta(pattern=r"^\d{4}-\d\d$")]
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_creation_tokens: Count | None
    total_tokens: Count | None
    total_cost_usd: Amount | None
    request_count: Annotated[int, Meta(ge=1)]
    active_days: Annotated[int, Meta(ge=1)]
    unpriced_requests: Count
    unmeasured_requests: Count


class Rightsizing(Exact, rename="camel"):
    recommendations: Annotated[list[str], Meta(max_length=0)]
    model_usage: list[ModelUse]
    monthly_usage: list[MonthUse]


class Coverage(Exact, rename="camel"):
    reason: Literal["complete", "file_budget", "byte_budget"]
    read_batches: Count
    dropped_files: Count
    unreadable_files: Count


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


class Member(Exact, rename="camel"):
    developer_id: Id
    display_name: str
    cost_usd: Amount | None
    total_tokens: Count | None
    request_count: Count | None
    share: Share | None


class PricingCoverage(Exact, rename="camel"):
    priced_requests: Count | None
    unpriced_requests: Count | None
    lower_bound_requests: Count | None
    ratio: Share | None


class TeamCost(Exact, rename="camel"):
    is_partial: bool
    prev_is_partial: bool
    read_coverage: Coverage
    prev_read_coverage: Coverage
    cost_ranking_available: bool
    rollup: Rollup
    members: list[Member]
    pricing_coverage: PricingCoverage
    prev_cost_usd: Amount | None
