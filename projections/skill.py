"""Average prompt grade and the skill index over the prompts of a window (scoring.md, section 3)."""

from collections.abc import Sequence

import msgspec

from aggregates.grades import RUBRIC_LADDER, apg, per_boolean, rubric_letter, skill_index, skill_tier, worst_pillar
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.verdicts import BOOLEANS, BooleanName
from aggregates.windows import Window, WindowName
from projections.reader import Reader
from projections.score import Counts, window_counts
from projections.sub_session_rows import unmask


class Skill(Counts, frozen=True, kw_only=True):
    """How many of the seven habits show."""

    window: WindowName
    skill_index: float | None
    tier: str
    delta_apg: None = None
    per_boolean: dict[BooleanName, float]
    per_boolean_counts: dict[BooleanName, int]
    """How many prompts each share is over; a share over none is shown to nobody."""
    worst_pillar: str
    sample_count: int


class GradeCount(msgspec.Struct, frozen=True):
    """How many prompts stand at a letter."""

    grade: str
    count: int


class ApgPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The average prompt grade of one period; None without any graded prompt."""

    period_start: str
    apg: float | None
    sample_count: int


class InsightSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The headline: the average prompt grade, and where it comes from."""

    window: WindowName
    apg_current: float | None
    apg_previous: float | None
    sample_count: int
    grade_distribution: list[GradeCount]
    points: list[ApgPoint]


def skill(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> Skill:
    """The skill index of the last window given."""
    rows = _standing(reader, scope, windows[-1])
    hits = dict.fromkeys(BOOLEANS, 0)
    applied = dict.fromkeys(BOOLEANS, 0)
    for applicable, earned in rows:
        for boolean in unmask(applicable):
            applied[boolean] += 1
        for boolean in unmask(earned & applicable):
            hits[boolean] += 1
    index = skill_index(hits, applied)
    return Skill(
        window=name,
        skill_index=index,
        tier=skill_tier(index),
        per_boolean=per_boolean(hits, applied),
        per_boolean_counts=applied,
        worst_pillar=worst_pillar(hits, applied),
        sample_count=len(rows),
        **msgspec.structs.asdict(window_counts(reader, scope, windows[-1])),
    )


def insight_summary(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> InsightSummary:
    """The average prompt grade of the last window given, the one before, and a point for each."""
    per_window = [_scores(reader, scope, window) for window in windows]
    letters = [rubric_letter(value) for value in per_window[-1]]
    return InsightSummary(
        window=name,
        apg_current=apg(per_window[-1]),
        apg_previous=apg(per_window[-2]) if len(per_window) > 1 else None,
        sample_count=len(per_window[-1]),
        grade_distribution=[GradeCount(grade, letters.count(grade)) for grade in RUBRIC_LADDER],
        points=[
            ApgPoint(period_start=iso(window.start_us), apg=apg(scores), sample_count=len(scores))
            for window, scores in zip(windows, per_window, strict=True)
        ],
    )


_POPULATION = (
    "FROM prompts WHERE organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ? AND counted "
    "ORDER BY at_us, turn_id"
)
"""Classified prompts of classified sub-sessions above the floor, open or settled, by the prompt's own time."""


def _standing(reader: Reader, scope: Scope, window: Window) -> list[tuple[int, int]]:
    """For every graded prompt: what applies to its sub-session, and what is earned by then."""
    return reader.db.execute(f"SELECT applicable, standing_earned {_POPULATION}", _bounds(scope, window)).fetchall()


def _scores(reader: Reader, scope: Scope, window: Window) -> list[float]:
    rows = reader.db.execute(f"SELECT standing_score {_POPULATION}", _bounds(scope, window))
    return [row[0] for row in rows]


def _bounds(scope: Scope, window: Window) -> tuple[str, str, int, int]:
    return str(scope.organization_id), str(scope.developer_id), window.start_us, window.end_us
