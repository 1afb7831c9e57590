"""Letters, tiers and score arithmetic on both sides of every bound (scoring.md, sections 3 and 5)."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import nextafter

import pytest
from hypothesis import given, strategies as st

from aggregates.reading.verdicts import BOOLEANS, INTENTS, BooleanName, Intent, applicable
from aggregates.scores.grades import (
    DECIDED_MIN,
    Tally,
    mean_interval,
    personal_tier,
    rubric_letter,
    score_of,
    skill_index,
    skill_tier,
    student,
    svc_letter,
    worst_pillar,
)
from aggregates.scores.prompt_grade import grade_text
from tests.support.tables import each_of, table

STEPS: dict[Callable[[float], str], str] = {
    rubric_letter: "0 F, 30 D, 50 C, 60 C+, 65 B-, 70 B, 80 B+, 85 A-, 90 A, 95 A+",
    partial(svc_letter, decided_count=DECIDED_MIN): "0 F, 20 D, 40 C, 50 C+, 55 B-, 60 B, 70 B+, 80 A-, 85 A, 95 A+",
    partial(personal_tier, decided_count=DECIDED_MIN): "0 starting, 25 building, 50 scaling, 75 leading, 90 elite",
    skill_tier: "0 Novice, 30 Practitioner, 50 Proficient, 70 Expert, 90 Elite",
}


@each_of(STEPS.items())
def test_a_letter_and_a_tier_begin_at_their_bound(name_of: Callable[[float], str], told: str) -> None:
    """Of a rubric's score, of a completion rate, of the habit index; just below the next bound, and at 100, as well."""
    steps = [(float(bound), name) for bound, name in map(str.split, told.split(", "))]
    for (bound, name), (upper, _) in pairwise([*steps, (nextafter(100, 101), "")]):
        assert [name_of(score) for score in (bound, nextafter(upper, 0))] == [name, name]


def test_of_nothing_somebody_is_a_novice() -> None:
    assert skill_tier(None) == "Novice"


@table(
    ("crushed", "qualifying", "expected"),
    {
        "nothing to judge is no bad score": (0, 0, (0.0, "N/A", "unranked")),
        "ten of ten": (10, 10, (100.0, "A+", "elite")),
        "ten of sixteen is the example of the specification": (10, 16, (62.5, "B", "scaling")),
    },
)
def test_a_completion_rate_from_counts(crushed: int, qualifying: int, expected: tuple[float, str, str]) -> None:
    """100 x crushed / qualifying; the letter and the tier are of the decided ones, here all."""
    rate = score_of(crushed, qualifying)
    assert (rate or 0.0, svc_letter(rate, qualifying), personal_tier(rate, qualifying)) == expected


@given(st.data())
def test_an_interval_holds_the_rate_over_all_and_over_decided_ones(data: st.DataObject) -> None:
    """In its own unit, clamped; what is undecided only ever widens it, and never counts as crushed."""
    total = data.draw(st.integers(1, 400))
    undecided = data.draw(st.integers(0, total))
    crushed = data.draw(st.integers(0, total - undecided))
    possible = data.draw(st.integers(0, undecided))
    found = Tally(total, crushed, undecided, possible).interval()
    decided = Tally(total, crushed, 0, 0).interval()
    assert found is not None
    assert decided is not None
    assert 0 <= found.low <= 100 * crushed / total <= found.high <= 100
    assert (found.low, found.high >= decided.high) == (decided.low, True)
    if possible == undecided and total > undecided:
        # With rework among the undecided, the rate over decided ones leaves out what surely was not crushed.
        assert found.low - 1e-9 <= 100 * crushed / (total - undecided) <= found.high + 1e-9
    share = Tally(total, crushed, undecided, possible).interval(unit=1.0)
    assert share is not None
    assert [share.low, share.high] == pytest.approx([found.low / 100, found.high / 100])


def test_eleven_of_fifteen_fits_48_to_89_in_100() -> None:
    found = Tally(total=15, crushed=11, undecided=0, possible=0).interval()
    assert found is not None
    assert (round(found.low), round(found.high), found.confidence) == (48, 89, 0.95)


def test_of_nothing_there_is_no_interval() -> None:
    assert Tally(0, 0, 0, 0).interval() is None
    assert (mean_interval([], []), mean_interval([80], [0])) == (None, None)
    assert mean_interval([80, 80], [0, 0]) is not None


def test_the_interval_of_a_mean_is_students() -> None:
    """Of 40, 60, 40 and 60: by the variance of a sample and the mean of their own, with three degrees of freedom."""
    for variances, half in (([0.0] * 4, 18.3739), ([100.0, 300.0] * 2, 3.18245 * ((400 / 3 + 200) / 4) ** 0.5)):
        found = mean_interval([40, 60, 40, 60], variances)
        assert found is not None
        assert (found.low, found.high) == pytest.approx((50 - half, 50 + half), abs=1e-3)


@pytest.mark.parametrize(("freedom", "wanted"), [(1, 12.7062), (9, 2.2622), (40, 2.0211), (60, 2.0003), (1000, 1.9623)])
def test_students_quantile_is_that_of_the_tables(freedom: int, wanted: float) -> None:
    assert student(freedom) == pytest.approx(wanted, abs=2e-4)


GOAL, SCOPE, PLAN = "goal_explicit", "scope_bounded", "plan_first"


@table(
    ("counts", "index", "worst"),
    {
        "those that never applied are left out": ({GOAL: (3, 4), SCOPE: (1, 2), PLAN: (None, 0)}, 62.5, SCOPE),
        "the lowest share is the worst, not the fewest hits": ({GOAL: (1, 1), PLAN: (9, 10)}, 95.0, PLAN),
        "one without hits is no worse than one with none": ({GOAL: (0, 1), PLAN: (None, 1)}, 0.0, GOAL),
        "rubric order breaks a tie": ({PLAN: (1, 2), SCOPE: (1, 2)}, 50.0, SCOPE),
    },
)
def test_the_skill_index_and_the_worst_pillar(
    counts: dict[BooleanName, tuple[int | None, int]], index: float, worst: str
) -> None:
    """100 x the mean of the shares that applied, and the lowest of them. By habit: its hits of how many."""
    hits = {name: hit for name, (hit, _) in counts.items() if hit is not None}
    applied = {name: often for name, (_, often) in counts.items()}
    assert (skill_index(hits, applied), worst_pillar(hits, applied)) == (index, worst)


@table(
    ("text", "intent"),
    {
        "a bug fix with nearly everything": (
            "Fix the login bug in src/auth.py so that an expired token returns 401, and add a test for it",
            "bug_fix",
        ),
        "an investigation with little": ("Why does the build fail?", "investigation"),
    },
)
def test_a_graded_text_adds_up(text: str, intent: Intent) -> None:
    """Its score is that of its habits, its letter that of its score, its quotes are its own words."""
    graded = grade_text(text)
    assert (graded.status, graded.intent) == ("ok", intent)
    assert 0 < graded.confidence <= 1
    assert tuple(habit.boolean for habit in graded.habits) == BOOLEANS
    applied = tuple(habit.boolean for habit in graded.habits if habit.applies)
    assert applied == applicable(intent)
    assert [name for name, chance in graded.chances.items() if chance is None] == [
        n for n in BOOLEANS if n not in applied
    ]
    assert sum(graded.chances[each] or 0 for each in INTENTS) == pytest.approx(1, abs=1e-5)
    assert graded.score is not None
    assert graded.score_interval is not None
    assert graded.score_interval.low <= graded.score <= graded.score_interval.high
    assert graded.letter == rubric_letter(graded.score)
    assert graded.verdict.startswith("Read as ")
    assert all(habit.quoted is None or habit.quoted == text[habit.start : habit.end] for habit in graded.habits)
    assert any(habit.quoted for habit in graded.habits if habit.earned)
