"""Average prompt grade and the skill index over the prompts of a window (scoring.md, section 3)."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from aggregates.event import Scope
from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores import grades
from aggregates.scores.grades import Interval
from aggregates.times import AskedWindow, Window, iso
from aggregates.turns.turn import Turn
from projections.derive.sessions import prompt_id
from projections.derive.sub_session_rows import PromptDetail, unmask
from projections.reader import Reader, bound, unpack
from projections.scores.score import Counts, newest_at, window_counts
from projections.sub_sessions.rows import SETTLED, SHOWN_CRUSHED, one_line

PREVIEW_CHARS_MAX = 140
_PREVIEW_READ_MAX = 4 * PREVIEW_CHARS_MAX
"""So much of a prompt is brought onto one line; a prompt may be half a megabyte."""


class Skill(Counts, frozen=True, kw_only=True):
    """How many of the seven habits show."""

    window: AskedWindow
    newest_at: str | None  # when the newest sub-session of all began; None without any
    skill_index: float | None
    tier: str
    delta_apg: None = None
    per_boolean: dict[BooleanName, float]
    per_boolean_counts: dict[BooleanName, int]
    """How many prompts each share is over; a share over none is shown to nobody."""
    per_boolean_count: dict[BooleanName, int]  # the same under its other name
    per_boolean_one_sided: dict[BooleanName, int]
    """Of how many prompts it was sure, by a judge that can say it on one side only; they are in no share."""
    per_boolean_unsure: dict[BooleanName, int]  # of how many prompts it was unsure; they are in no share
    unsure_count: int  # the sum of those
    worst_pillar: str
    sample_count: int  # prompts with a score: at least two booleans of theirs are sure


class GradeCount(msgspec.Struct, frozen=True):
    grade: str
    count: int


class ApgPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The average prompt grade of one period; None without any graded prompt."""

    period_start: str
    apg: float | None
    interval: Interval | None
    sample_count: int


class InsightSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The headline: the average prompt grade, and where it comes from."""

    window: AskedWindow
    newest_at: str | None
    apg_current: float | None
    interval: Interval | None  # of `apg_current`
    apg_previous: float | None
    sample_count: int  # prompts with a score; one with fewer than two sure booleans has none
    unsure_count: int  # how many booleans of the window's prompts nobody could say
    grade_distribution: list[GradeCount]
    points: list[ApgPoint]


class TopPrompt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One graded prompt. Intent class and `crushed` are those of its sub-session."""

    prompt_id: str  # as in the list of its sub-session's prompts
    sub_session_id: str
    agent_session_id: str
    submitted_at: str
    preview: str | None  # None once it has been forgotten
    grade: str | None
    score: float | None  # the standing score, 0-100; None where too few booleans of it are sure
    own_grade: str
    own_score: float  # of the prompt by itself, 0-100; lists are ordered by it
    unsure_count: int  # how many of its own booleans nobody could say
    intent_class: str
    crushed: bool | None  # None while the sub-session is open, and where its outcome is undecided


# SQLite adds up, from an index alone: four months of a busy developer are many thousands of prompts. Counted are the
# classified prompts of classified sub-sessions above the floor, open or settled, by the prompt's own time.
COUNTED = (
    "FROM prompts WHERE organization_id = :organization AND developer_id = :developer "
    "AND at_us >= :start AND at_us < :end AND counted"
)


_MASKS = (
    "SELECT applicable, standing_sure, standing_earned, rated, count(*), count(standing_score) "
    f"{COUNTED} GROUP BY applicable, standing_sure, standing_earned, rated"
)


class HabitCounts(NamedTuple):
    """Of each habit, how many prompts of a window show it, and of how many that can be told."""

    hits: dict[BooleanName, int]
    applied: dict[BooleanName, int]
    one_sided: dict[BooleanName, int]  # sure, by a judge that can say it on one side only: in no rate
    unsure: dict[BooleanName, int]
    sample_count: int  # prompts with a score

    def of(self, name: BooleanName) -> tuple[int, int, int, int]:
        return self.hits[name], self.applied[name], self.one_sided[name], self.unsure[name]


def habit_counts(reader: Reader, scope: Scope, window: Window) -> HabitCounts:
    hits, applied, one_sided, unsure = (dict.fromkeys(BOOLEANS, 0) for _ in range(4))
    sample_count = 0
    for applicable, sure, earned, rated, prompts, scored in reader.db.execute(_MASKS, bound(scope, window)):
        sample_count += scored
        told = ((hits, earned & rated), (applied, rated), (one_sided, sure & ~rated), (unsure, applicable & ~sure))
        for shares, names in told:
            for boolean in unmask(names):
                shares[boolean] += prompts
    return HabitCounts(hits, applied, one_sided, unsure, sample_count)


def skill(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> Skill:
    """The skill index of the last window given."""
    hits, applied, one_sided, unsure, sample_count = habit_counts(reader, scope, windows[-1])
    index = grades.skill_index(hits, applied)
    return Skill(
        window=name,
        newest_at=newest_at(reader, scope),
        skill_index=index,
        tier=grades.skill_tier(index),
        per_boolean=grades.per_boolean(hits, applied),
        per_boolean_counts=applied,
        per_boolean_count=applied,
        per_boolean_one_sided=one_sided,
        per_boolean_unsure=unsure,
        unsure_count=sum(unsure.values()),
        worst_pillar=grades.worst_pillar(hits, applied),
        sample_count=sample_count,
        **msgspec.structs.asdict(window_counts(reader, scope, windows[-1])),
    )


def insight_summary(reader: Reader, scope: Scope, name: AskedWindow, windows: Sequence[Window]) -> InsightSummary:
    """The average prompt grade of the last window given, the one before, and a point for each."""
    by_score = f"SELECT standing_score, count(*) {COUNTED} AND standing_score IS NOT NULL GROUP BY standing_score"
    found = [reader.db.execute(by_score, bound(scope, window)).fetchall() for window in windows]
    points = [_point(window, scores) for window, scores in zip(windows, found, strict=True)]
    letters: Counter[str] = Counter()
    for score, prompts in found[-1]:
        letters[grades.rubric_letter(score)] += prompts
    masks = reader.db.execute(_MASKS, bound(scope, windows[-1]))
    unsure = sum(prompts * (applicable & ~sure).bit_count() for applicable, sure, _, _, prompts, _ in masks)
    return InsightSummary(
        window=name,
        newest_at=newest_at(reader, scope),
        apg_current=points[-1].apg,
        interval=points[-1].interval,
        apg_previous=points[-2].apg if len(points) > 1 else None,
        sample_count=points[-1].sample_count,
        unsure_count=unsure,
        grade_distribution=[GradeCount(grade, letters[grade]) for grade in grades.RUBRIC_LADDER],
        points=points,
    )


def _point(window: Window, scores: Sequence[tuple[float, int]]) -> ApgPoint:
    """Of each score, how many prompts have it: summed exactly, which SQLite does since 3.43 only."""
    total = math.fsum(score * prompts for score, prompts in scores)
    squares = math.fsum(score * score * prompts for score, prompts in scores)
    count = sum(prompts for _, prompts in scores)
    return ApgPoint(
        period_start=iso(window.start_us),
        apg=total / count if count else None,
        interval=grades.mean_interval(total, squares, count),
        sample_count=count,
    )


def top_prompts(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TopPrompt]:
    """Classified prompts of classified sub-sessions above the floor, the best by themselves first.

    Of equal ones those that stand higher come first, then those of the newest sub-session, and there the prompt that
    reached the score first: the ones after it stand where they stand because of it.
    """
    order = "p.own_score DESC, p.standing_score DESC, s.started_us DESC, s.sub_session_id, p.at_us, p.turn_id"
    return graded_prompts(reader, order, bound(scope, window, limit=limit, offset=offset))


def graded_prompts(reader: Reader, order: str, page: dict[str, object], narrowed: str = "") -> list[TopPrompt]:
    """A page of the graded prompts of a range: a prompt belongs to it by its own time, as for the average grade."""
    return [prompt for prompt, _ in graded_bodies(reader, order, page, narrowed)]


def graded_bodies(
    reader: Reader, order: str, page: dict[str, object], narrowed: str = ""
) -> list[tuple[TopPrompt, PromptDetail]]:
    """The same, each with how it was judged."""
    theirs = (
        "JOIN sub_sessions s ON s.sub_session_id = p.sub_session_id "
        "AND s.organization_id = p.organization_id AND s.developer_id = p.developer_id "
    )
    # Bodies are looked up for the page alone: sorted with all prompts of a month, they took nine tenths of the time.
    query = (
        f"WITH page(prompt) AS MATERIALIZED (SELECT p.rowid FROM prompts p {theirs}"
        "WHERE p.organization_id = :organization AND p.developer_id = :developer AND p.at_us >= :start "
        f"AND p.at_us < :end AND p.counted AND p.own_score IS NOT NULL {narrowed} "
        f"ORDER BY {order} LIMIT :limit OFFSET :offset) "
        "SELECT t.body, p.body, p.sub_session_id, t.agent_session_id, p.at_us, p.standing_score, p.own_score, "
        f"s.intent, iif({SETTLED}, {SHOWN_CRUSHED}, NULL) FROM bookmark b CROSS JOIN page "
        f"CROSS JOIN prompts p ON p.rowid = page.prompt {theirs}JOIN turns t ON t.turn_id = p.turn_id ORDER BY {order}"
    )
    rows = reader.db.execute(query, page).fetchall()
    bodies = [unpack(row[1], PromptDetail) for row in rows]
    refs = [body.prompt for body in bodies]
    texts = reader.texts(refs)
    prompts = [
        TopPrompt(
            prompt_id=prompt_id(unpack(turn, Turn)),
            sub_session_id=sub_session_id,
            agent_session_id=session,
            submitted_at=iso(at_us),
            preview=one_line(texts, ref, PREVIEW_CHARS_MAX, _PREVIEW_READ_MAX),
            grade=None if score is None else grades.rubric_letter(score),
            score=score,
            own_grade=grades.rubric_letter(own),
            own_score=own,
            unsure_count=len(body.rubric.unsure),
            intent_class=intent,
            crushed=None if crushed is None else bool(crushed),
        )
        for body, ref, (turn, _, sub_session_id, session, at_us, score, own, intent, crushed) in zip(
            bodies, refs, rows, strict=True
        )
    ]
    return list(zip(prompts, bodies, strict=True))
