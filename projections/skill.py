"""Average prompt grade and the skill index over the prompts of a window (scoring.md, section 3)."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from aggregates.grades import RUBRIC_LADDER, apg, per_boolean, rubric_letter, skill_index, skill_tier, worst_pillar
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.verdicts import BOOLEANS, BooleanName
from aggregates.windows import Window, WindowName
from projections.reader import Reader
from projections.score import Counts, window_counts
from projections.started import bounds
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
    hits = dict.fromkeys(BOOLEANS, 0)
    applied = dict.fromkeys(BOOLEANS, 0)
    sample_count = 0
    for applicable, earned, prompts in reader.db.execute(_HABITS, bounds(scope, windows[-1])):
        sample_count += prompts
        for boolean in unmask(applicable):
            applied[boolean] += prompts
        for boolean in unmask(earned & applicable):
            hits[boolean] += prompts
    index = skill_index(hits, applied)
    return Skill(
        window=name,
        skill_index=index,
        tier=skill_tier(index),
        per_boolean=per_boolean(hits, applied),
        per_boolean_counts=applied,
        worst_pillar=worst_pillar(hits, applied),
        sample_count=sample_count,
        **msgspec.structs.asdict(window_counts(reader, scope, windows[-1])),
    )


def insight_summary(reader: Reader, scope: Scope, name: WindowName, windows: Sequence[Window]) -> InsightSummary:
    """The average prompt grade of the last window given, the one before, and a point for each."""
    points = [_point(reader, scope, window) for window in windows]
    letters: Counter[str] = Counter()
    for score, prompts in reader.db.execute(_SCORES, bounds(scope, windows[-1])):
        letters[rubric_letter(score)] += prompts
    return InsightSummary(
        window=name,
        apg_current=points[-1].apg,
        apg_previous=points[-2].apg if len(points) > 1 else None,
        sample_count=points[-1].sample_count,
        grade_distribution=[GradeCount(grade, letters[grade]) for grade in RUBRIC_LADDER],
        points=points,
    )


def _point(reader: Reader, scope: Scope, window: Window) -> ApgPoint:
    total, prompts = reader.db.execute(_MEAN, bounds(scope, window)).fetchone()
    return ApgPoint(period_start=iso(window.start_us), apg=apg(total, prompts), sample_count=prompts)


# SQLite adds up, from an index alone: four months of a busy developer are many thousands of prompts.
_POPULATION = "FROM prompts WHERE organization_id = ? AND developer_id = ? AND at_us >= ? AND at_us < ? AND counted"
"""Classified prompts of classified sub-sessions above the floor, open or settled, by the prompt's own time."""
_HABITS = f"SELECT applicable, standing_earned, count(*) {_POPULATION} GROUP BY applicable, standing_earned"
"""Of graded prompts: what applies to its sub-session, what is earned by then, and how many are alike in both."""
_SCORES = f"SELECT standing_score, count(*) {_POPULATION} GROUP BY standing_score"
_MEAN = f"SELECT total(standing_score), count(*) {_POPULATION}"
