"""The shape of the insights of a range, as the dashboard reads them."""

import msgspec

from aggregates.reading.verdicts import BooleanName
from aggregates.scores.grades import Interval


class Camel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Names as the dashboard reads them."""


class InsightsMeta(Camel, frozen=True, kw_only=True):
    period_start: str
    period_end: str  # exclusive
    timezone: str
    language: str
    total_sessions: int
    total_messages: int  # prompts of these sessions
    active_days: int  # days of the zone with a prompt


class SkillSnapshot(Camel, frozen=True, kw_only=True):
    apg_current: float | None  # the average prompt grade, 0-100
    interval: Interval | None  # of it
    skill_index: float | None
    tier: str
    per_boolean: dict[BooleanName, float]
    per_boolean_counts: dict[BooleanName, int]
    per_boolean_count: dict[BooleanName, int]
    per_boolean_one_sided: dict[BooleanName, int]
    unsure_count: int
    worst_pillar: str
    sample_count: int


class SkillPoint(Camel, frozen=True, kw_only=True):
    period_start: str
    skill_index: float | None
    sample_count: int


class QuickWin(Camel, frozen=True, kw_only=True):
    label: str


class AtAGlance(Camel, frozen=True, kw_only=True):
    """The two weakest habits; none where too few prompts were graded."""

    quick_wins: list[QuickWin]


class ActivityDay(Camel, frozen=True, kw_only=True):
    date: str
    sessions: int
    messages: int


class Activity(Camel, frozen=True, kw_only=True):
    """Every day of the range, those without work too."""

    points: list[ActivityDay]
    total_active_seconds: float


class Stats(Camel, frozen=True, kw_only=True):
    avg_turns_per_session: float | None
    median_response_time_secs: float | None  # over the prompts whose answer was timed
    sessions: int
    first_try_rate: float | None
    multi_clauding_events: int


class HowYouUse(Camel, frozen=True, kw_only=True):
    stats: Stats


class Highlight(Camel, frozen=True, kw_only=True):
    """A kind of task whose goals were reached."""

    label: str
    session_count: int


class ImpressiveThings(Camel, frozen=True, kw_only=True):
    win_rate: float | None
    interval: Interval | None  # of `win_rate`
    decided_count: int
    undecided_count: int
    total_win_sessions: int
    highlights: list[Highlight]


class Category(Camel, frozen=True, kw_only=True):
    """One reason for which goals were not reached."""

    label: str
    count: int
    mitigation: str


class WhereThingsGoWrong(Camel, frozen=True, kw_only=True):
    categories: list[Category]


class WasteAction(Camel, frozen=True, kw_only=True):
    """What to do, and what the sub-sessions it is about have cost."""

    action: str
    savings_usd: float | None


class CostOptimization(Camel, frozen=True, kw_only=True):
    """What was spent, and on what did not come to its goal. None where a part of it has no price."""

    total_cost_usd: float | None
    wasted_cost_usd: float | None
    undecided_cost_usd: float | None
    """Of what was wasted, what the sub-sessions cost of which nobody can say how they came out."""
    waste_ratio: float | None
    potential_savings_usd: float | None
    model_rightsizing: list[str]  # there for its type; always empty
    waste_actions: list[WasteAction]
    unpriced_requests: int


class WorstPrompt(Camel, frozen=True, kw_only=True):
    """A graded prompt that shows little by itself."""

    score: float  # of the prompt by itself, 0-100; the lowest come first
    standing_score: float | None
    session_id: str  # the agent session
    sub_session_id: str
    prompt_id: str
    turn_index: int  # of the sub-session, from 0
    prompt_preview: str | None  # None once it has been forgotten


class TrendPoint(Camel, frozen=True, kw_only=True):
    period_start: str
    first_try_rate: float | None
    friction_rate: float | None
    cost_usd: float | None


class Trends(Camel, frozen=True, kw_only=True):
    points: list[TrendPoint]


class Insights(Camel, frozen=True, kw_only=True):
    meta: InsightsMeta
    skill_snapshot: SkillSnapshot
    skill_trend: list[SkillPoint]
    at_a_glance: AtAGlance
    activity: Activity
    how_you_use_cc: HowYouUse
    impressive_things: ImpressiveThings
    where_things_go_wrong: WhereThingsGoWrong
    cost_optimization: CostOptimization
    worst_prompts: list[WorstPrompt]
    trends: Trends
    total_input_tokens: int | None
    total_output_tokens: int | None
