"""What a report says: the answers of the live reads over its period, put together into one document.

Every section is made by the query that the live page asks, within one look at the views. So no section contradicts
another, and none contradicts the page.
"""

from collections.abc import Callable
from functools import cached_property
from zoneinfo import ZoneInfo

import msgspec

from aggregates.habits import Language
from aggregates.report_period import ReportPeriod
from aggregates.scope import Scope
from projections import activity, score, sub_sessions
from projections.coaching import coaching
from projections.integrity import integrity
from projections.model_tasks import model_task
from projections.model_usage import rightsizing
from projections.reader import Reader
from projections.skill import Skill, skill
from projections.spending import Coverage, Reading
from projections.team_cost import PricingCoverage, Rollup, team_cost
from projections.throttle import personal_throttle
from projections.top_prompts import top_prompts

ROWS_MAX = 200
"""Of each list in a report; the figures are over all there is."""
_WINDOWS_SHOWN = 4
"""A sparkline has this many points; the last is the period."""


class Spending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the period's requests came to, read like a team's cost: from the archive, and from what is not archived."""

    is_partial: bool
    read_coverage: Coverage
    rollup: Rollup
    pricing_coverage: PricingCoverage


class Look:
    """One report's look at one developer's data."""

    def __init__(
        self, reader: Reader, scope: Scope, period: ReportPeriod, language: Language, spending: Reading
    ) -> None:
        self.reader = reader
        self.scope = scope
        self.period = period
        self.language = language
        self.spending = spending
        self.window = period.window
        self.windows = period.windows(_WINDOWS_SHOWN)

    @property
    def echo(self) -> dict[str, object]:
        """The range, as the live reads of a range repeat it."""
        return {"fromUs": self.window.start_us, "toUs": self.window.end_us, "timezone": self.period.timezone}

    @cached_property
    def skill(self) -> Skill:
        """Asked for by two sections."""
        return skill(self.reader, self.scope, self.period.name, self.windows)


def _of_windows(query: Callable[..., object]) -> Callable[[Look], object]:
    return lambda look: query(look.reader, look.scope, look.period.name, look.windows)


def _listed(query: Callable[..., object]) -> Callable[[Look], object]:
    return lambda look: {"range": look.echo, "items": query(look.reader, look.scope, look.window, ROWS_MAX, 0)}


def _task_time(look: Look) -> object:
    found = activity.task_time(look.reader, look.scope, look.window, ROWS_MAX, 0)
    return {"range": look.echo, "items": found.items, "totalActiveSeconds": found.total_active_seconds}


def _throttle(look: Look) -> object:
    """None where the period holds more requests than one read may look at; of many events the newest."""
    found = personal_throttle(look.reader, look.scope, look.window)
    return None if found is None else msgspec.structs.replace(found, events=found.events[:ROWS_MAX])


def _model_usage(look: Look) -> object:
    found = rightsizing(look.reader, look.scope, look.window, ZoneInfo(look.period.timezone))
    cost = team_cost({}, look.spending, look.spending)
    spending = Spending(
        is_partial=cost.is_partial,
        read_coverage=cost.read_coverage,
        rollup=cost.rollup,
        pricing_coverage=cost.pricing_coverage,
    )
    return {**msgspec.to_builtins(found), "spending": spending}


SECTIONS: dict[str, Callable[[Look], object]] = {
    "score": _of_windows(score.score),
    "speed": _of_windows(score.speed),
    "tokens": _of_windows(score.tokens),
    "skill": lambda look: look.skill,
    "integrity": lambda look: integrity(look.reader, look.scope, look.window),
    "trivia": lambda look: sub_sessions.trivia(look.reader, look.scope, look.window, ROWS_MAX, 0),
    "files": _listed(activity.files),
    "topPrompts": _listed(top_prompts),
    "taskTime": _task_time,
    "modelTask": _listed(model_task),
    "throttle": _throttle,
    "modelUsage": _model_usage,
    "coaching": lambda look: coaching(look.reader, look.scope, look.window, look.skill, look.language),
}
"""Name on the wire → what it is made of, in the order of the contract."""


def report_sections(look: Look, breathe: Callable[[], None] = lambda: None) -> str:
    """The sections as a JSON object. `breathe` is called before each and may raise, to give up."""
    said: dict[str, object] = {}
    for name, section in SECTIONS.items():
        breathe()
        said[name] = section(look)
    return msgspec.json.encode(said).decode()
