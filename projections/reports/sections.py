"""What a report says: the answers of the live reads over its period, put together into one document.

Every section is made by the query that the live page asks, within one look at the views. So no section contradicts
another, and none contradicts the page.
"""

from collections.abc import Callable
from functools import cached_property
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.judging.advice import GRADED_MIN, HABITS, NOT_ENOUGH, NOTHING_MISSED, Language, weakest
from aggregates.reading.verdicts import BooleanName
from aggregates.reports.period import ReportPeriod
from aggregates.times import Window, iso
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.derive.sub_session_rows import PromptBody, mask
from projections.prices.models import rightsizing
from projections.prices.spending import Coverage, PricingCoverage, Reading, Rollup, team_cost
from projections.reader import Reader, unpack
from projections.scores import activity, score
from projections.scores.activity import model_task
from projections.scores.integrity import integrity
from projections.scores.skill import Skill, preview, skill, top_prompts
from projections.scores.throttle import personal_throttle
from projections.sub_sessions import listing as sub_sessions
from projections.sub_sessions.listing import bounds

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


# Which habits showed least in a window, each with one of the developer's own prompts that missed it.

HABITS_SHOWN = 3


_LOOKED_AT = 5
"""So many prompts are looked at for one whose text is still there."""


class MissedPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A prompt that did not show the habit, nor did an earlier one of its sub-session."""

    prompt_id: str
    sub_session_id: str
    submitted_at: str
    preview: str


class CoachedHabit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One habit to work on."""

    boolean: BooleanName
    label: str
    habit: str
    share: float
    """Of the prompts that called for it, 0-1."""
    prompt_count: int
    """How many called for it."""
    example: MissedPrompt | None
    """None where no text of one is left."""


class Coaching(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The weakest habits, the weakest first; where there are none, the note says why."""

    items: list[CoachedHabit]
    note: str | None


def coaching(reader: Reader, scope: Scope, window: Window, skill: Skill, language: Language) -> Coaching:
    """`skill`: the figures of the same window."""
    names = weakest(skill.per_boolean, skill.per_boolean_counts, HABITS_SHOWN)
    items = [_coached(reader, scope, window, skill, name, language) for name in names]
    if items:
        return Coaching(items=items, note=None)
    enough = any(count >= GRADED_MIN for count in skill.per_boolean_counts.values())
    return Coaching(items=[], note=(NOTHING_MISSED if enough else NOT_ENOUGH)[language])


def _coached(
    reader: Reader, scope: Scope, window: Window, skill: Skill, name: BooleanName, language: Language
) -> CoachedHabit:
    habit = HABITS[language][name]
    return CoachedHabit(
        boolean=name,
        label=habit.label,
        habit=habit.advice,
        share=skill.per_boolean[name],
        prompt_count=skill.per_boolean_counts[name],
        example=_example(reader, scope, window, name),
    )


_MISSING = (
    "SELECT t.body, p.sub_session_id, p.at_us, p.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id "
    "WHERE p.organization_id = ? AND p.developer_id = ? AND p.at_us >= ? AND p.at_us < ? AND p.counted "
    "AND p.applicable & ? AND NOT p.standing_earned & ? ORDER BY p.at_us DESC, p.turn_id DESC LIMIT ?"
)


def _example(reader: Reader, scope: Scope, window: Window, name: BooleanName) -> MissedPrompt | None:
    """The newest one whose text is there."""
    bit = mask((name,))
    rows = reader.db.execute(_MISSING, (*bounds(scope, window), bit, bit, _LOOKED_AT)).fetchall()
    refs = [unpack(row[3], PromptBody).prompt for row in rows]
    texts = reader.texts(refs)
    for (turn, sub_session_id, at_us, _), ref in zip(rows, refs, strict=True):
        shown = preview(texts, ref)
        if shown is not None:
            return MissedPrompt(
                prompt_id=prompt_id(unpack(turn, Turn)),
                sub_session_id=sub_session_id,
                submitted_at=iso(at_us),
                preview=shown,
            )
    return None
