"""What a report's page shows of its sections: each may be missing, since a report stays as it was once made."""

from collections.abc import Mapping

import msgspec

from aggregates.scores.grades import Interval

ROWS_SHOWN = 20


class Score(msgspec.Struct, frozen=True):
    total_count: int = 0
    crushed_count: int = 0
    decided_count: int = 0
    undecided_count: int = 0
    interval: Interval | None = None


class Speed(msgspec.Struct, frozen=True):
    cspw: int = 0
    ttc_median_seconds: float | None = None


class Grades(msgspec.Struct, frozen=True):
    apg_current: float | None = None
    interval: Interval | None = None
    sample_count: int = 0


class Habits(msgspec.Struct, frozen=True):
    per_boolean: Mapping[str, float] = {}
    per_boolean_counts: Mapping[str, int] = {}
    per_boolean_unsure: Mapping[str, int] = {}


class Example(msgspec.Struct, frozen=True, rename="camel"):
    sub_session_id: str
    submitted_at: str
    preview: str


class Coached(msgspec.Struct, frozen=True, rename="camel"):
    label: str
    habit: str
    share: float
    prompt_count: int
    boolean: str = ""
    example: Example | None = None
    best_example: Example | None = None


class Coaching(msgspec.Struct, frozen=True):
    items: list[Coached] = []
    note: str | None = None


class Task(msgspec.Struct, frozen=True, rename="camel"):
    sub_session_id: str
    title: str | None
    intent_class: str
    active_seconds: float
    crushed: bool | None = None


class TaskTime(msgspec.Struct, frozen=True, rename="camel"):
    items: list[Task] = []
    total_active_seconds: float = 0.0


class File(msgspec.Struct, frozen=True, rename="camel"):
    path: str | None
    edits: int
    lines_added: int | None = None
    lines_removed: int | None = None


class Files(msgspec.Struct, frozen=True):
    items: list[File] = []


class Rollup(msgspec.Struct, frozen=True, rename="camel"):
    cost_usd: float | None = None
    lower_bound_cost_usd: float | None = None
    request_count: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Spending(msgspec.Struct, frozen=True):
    rollup: Rollup = Rollup()


class ModelUsage(msgspec.Struct, frozen=True):
    spending: Spending = Spending()


class ThrottleSummary(msgspec.Struct, frozen=True, rename="camel"):
    total_events: int = 0
    estimated_hours_lost: float = 0.0


class Throttle(msgspec.Struct, frozen=True):
    summary: ThrottleSummary = ThrottleSummary()


class Document(msgspec.Struct, frozen=True, rename="camel"):
    """The sections that a page shows; a program finds all of them in the API."""

    score: Score = Score()
    speed: Speed = Speed()
    insight_summary: Grades = Grades()
    skill: Habits = Habits()
    coaching: Coaching = Coaching()
    task_time: TaskTime = TaskTime()
    files: Files = Files()
    model_usage: ModelUsage = ModelUsage()
    throttle: Throttle | None = None


def document(sections: msgspec.Raw | None) -> Document | None:
    """None where it is not made yet, or its words have been forgotten."""
    return None if sections is None else msgspec.json.decode(sections, type=Document)
