"""What a report says: the answers of the live reads over its period, put together into one document.

Every section is made by the query that the live page asks, within one look at the views. So no section contradicts
another, and none contradicts the page.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.prompt import ADVICE, GRADED_MIN, Language, weakest
from aggregates.reading.verdicts import BooleanName
from aggregates.reports.events import ReportPeriod
from aggregates.times import Window
from projections.prices import Coverage, PricingCoverage, Reading, Rollup, team_cost
from projections.reader import Reader
from projections.scores import activity, score
from projections.scores.activity import integrity, model_task
from projections.scores.skill import (
    ShownHabit,
    Skill,
    best_shown,
    insight_summary,
    newest_missed,
    skill,
    top_prompts,
)
from projections.scores.throttle import personal_throttle
from projections.sub_sessions import listing as sub_sessions
from projections.telemetry.usage import rightsizing

ROWS_MAX = 200
HABITS_SHOWN = 3
_WINDOWS_SHOWN = 4  # a sparkline has this many points; the last is the period


class Spending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the period's requests came to, read like a team's cost: from the archive, and from what is not archived."""

    is_partial: bool
    read_coverage: Coverage
    rollup: Rollup
    pricing_coverage: PricingCoverage


class MissedPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A prompt that shows a habit, or surely does not, nor did an earlier one of its sub-session."""

    prompt_id: str
    sub_session_id: str
    submitted_at: str
    preview: str


class CoachedHabit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    boolean: BooleanName
    label: str
    habit: str
    share: float  # of the prompts that called for it, 0-1
    prompt_count: int
    example: MissedPrompt | None
    best_example: MissedPrompt | None  # the developer's own best prompt that shows it; None where none does


class Coaching(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The weakest habits, the weakest first; where there are none, the note says why."""

    items: list[CoachedHabit]
    note: str | None


class ReportInput(msgspec.Struct, frozen=True, dict=True):
    reader: Reader
    scope: Scope
    period: ReportPeriod
    language: Language
    spending: Reading

    @property
    def window(self) -> Window:
        return self.period.window

    @cached_property
    def windows(self) -> Sequence[Window]:
        return self.period.windows(_WINDOWS_SHOWN)

    @property
    def echo(self) -> dict[str, object]:
        """The range, as the live reads of a range repeat it."""
        return {"fromUs": self.window.start_us, "toUs": self.window.end_us, "timezone": self.period.timezone}

    @cached_property
    def skill(self) -> Skill:
        """Asked for by two sections."""
        return skill(self.reader, self.scope, self.period.name, self.windows)


def _of_windows(query: Callable[..., object]) -> Callable[[ReportInput], object]:
    return lambda look: query(look.reader, look.scope, look.period.name, look.windows)


def _listed(query: Callable[..., object]) -> Callable[[ReportInput], object]:
    return lambda look: {"range": look.echo, "items": query(look.reader, look.scope, look.window, ROWS_MAX, 0)}


def _task_time(look: ReportInput) -> object:
    found = activity.task_time(look.reader, look.scope, look.window, ROWS_MAX, 0)
    return {"range": look.echo, "items": found.items, "totalActiveSeconds": found.total_active_seconds}


def _throttle(look: ReportInput) -> object:
    """None where the period holds more requests than one read may look at; of many events the newest."""
    found = personal_throttle(look.reader, look.scope, look.window)
    return None if found is None else msgspec.structs.replace(found, events=found.events[:ROWS_MAX])


def _model_usage(look: ReportInput) -> object:
    found = rightsizing(look.reader, look.scope, look.window, ZoneInfo(look.period.timezone))
    cost = team_cost({}, look.spending, look.spending)
    return {**msgspec.to_builtins(found), "spending": msgspec.convert(cost, Spending, from_attributes=True)}


SECTIONS: dict[str, Callable[[ReportInput], object]] = {
    "score": _of_windows(score.score),
    "speed": _of_windows(score.speed),
    "tokens": _of_windows(score.tokens),
    "skill": lambda look: look.skill,
    "insightSummary": _of_windows(insight_summary),
    "integrity": lambda look: integrity(look.reader, look.scope, look.window),
    "trivia": lambda look: sub_sessions.trivia(look.reader, look.scope, look.window, ROWS_MAX, 0),
    "files": _listed(activity.files),
    "topPrompts": _listed(top_prompts),
    "taskTime": _task_time,
    "modelTask": _listed(model_task),
    "throttle": _throttle,
    "modelUsage": _model_usage,
    "coaching": lambda look: coaching(look),
}
"""Name on the wire → what it is made of, in the order of the contract."""


def report_sections(look: ReportInput, breathe: Callable[[], None] = lambda: None) -> str:
    """The sections as a JSON object. `breathe` is called before each and may raise, to give up."""
    sections: dict[str, object] = {}
    for name, section in SECTIONS.items():
        breathe()
        sections[name] = section(look)
    return msgspec.json.encode(sections).decode()


def coaching(look: ReportInput) -> Coaching:
    """The habits that showed least, each with one of the developer's own prompts that missed it."""
    shares, counts, habits = look.skill.per_boolean, look.skill.per_boolean_counts, ADVICE[look.language].habits
    named = weakest(shares, counts, HABITS_SHOWN)
    missed, best = (each(look.reader, look.scope, look.window) if named else {} for each in (newest_missed, best_shown))
    items = [
        CoachedHabit(
            boolean=name,
            label=habits[name].label,
            habit=habits[name].advice,
            share=shares[name],
            prompt_count=counts[name],
            example=_example(missed[name]),
            best_example=_example(best[name]),
        )
        for name in named
    ]
    if items:
        return Coaching(items=items, note=None)
    enough = any(count >= GRADED_MIN for count in counts.values())
    advice = ADVICE[look.language]
    return Coaching(items=[], note=advice.nothing_missed if enough else advice.not_enough.format(least=GRADED_MIN))


def _example(found: ShownHabit | None) -> MissedPrompt | None:
    return None if found is None else msgspec.convert(found.prompt, MissedPrompt, from_attributes=True)
