"""Letters, tiers and score arithmetic at every bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.reading.verdicts import BOOLEANS, BooleanName
from aggregates.scores.grades import (
    apg,
    median,
    per_boolean,
    percentile,
    personal_tier,
    rubric_letter,
    score_of,
    skill_index,
    skill_tier,
    svc_letter,
    svc_score,
    worst_pillar,
)


@pytest.mark.parametrize(
    ("score", "letter"),
    [
        *((0, "F"), (29.999, "F"), (30, "D"), (49.999, "D"), (50, "C"), (59.999, "C"), (60, "C+"), (64.999, "C+")),
        *((65, "B-"), (69.999, "B-"), (70, "B"), (79.999, "B"), (80, "B+"), (84.999, "B+"), (85, "A-")),
        *((89.999, "A-"), (90, "A"), (94.999, "A"), (95, "A+"), (100, "A+")),
    ],
)
def test_the_letter_of_a_rubric_score_changes_at_its_lower_bound(score: float, letter: str) -> None:
    """Bounds are half-open, the last one closed."""
    assert rubric_letter(score) == letter


@pytest.mark.parametrize(
    ("score", "letter"),
    [
        *((0, "F"), (19.999, "F"), (20, "D"), (40, "C"), (50, "C+"), (55, "B-"), (60, "B"), (70, "B+"), (80, "A-")),
        *((85, "A"), (94.999, "A"), (95, "A+"), (100, "A+")),
    ],
)
def test_the_letter_of_a_completion_rate_changes_at_its_lower_bound(score: float, letter: str) -> None:
    """The letters of svc_score have bounds of their own."""
    assert svc_letter(score, 1) == letter


@pytest.mark.parametrize(
    ("score", "tier"),
    [(0, "starting"), (24.999, "starting"), (25, "building"), (50, "scaling"), (75, "leading"), (90, "elite")],
)
def test_the_personal_tier_changes_at_its_lower_bound(score: float, tier: str) -> None:
    """Five tiers, each from its bound on."""
    assert personal_tier(score, 1) == tier


@pytest.mark.parametrize(
    ("index", "tier"),
    [
        *((None, "Novice"), (0, "Novice"), (29.999, "Novice"), (30, "Practitioner"), (50, "Proficient")),
        *((70, "Expert"), (89.999, "Expert"), (90, "Elite")),
    ],
)
def test_the_skill_tier_changes_at_its_lower_bound(index: float | None, tier: str) -> None:
    """Novice when there is no index."""
    assert skill_tier(index) == tier


def test_nothing_to_judge_gives_no_letter_and_no_tier() -> None:
    """A total count of 0 is not a bad score."""
    assert (svc_letter(0, 0), personal_tier(0, 0), svc_score(0, 0)) == ("N/A", "unranked", 0.0)


def test_five_of_eight_is_the_example_of_the_specification() -> None:
    """62.5, B, scaling."""
    score = svc_score(5, 8)
    assert (score, svc_letter(score, 8), personal_tier(score, 8)) == (62.5, "B", "scaling")


def test_shares_of_booleans_come_from_counts_in_rubric_order() -> None:
    """A boolean that never applied is 0 there and left out of the index."""
    applied: dict[BooleanName, int] = {"goal_explicit": 4, "scope_bounded": 2}
    hits: dict[BooleanName, int] = {"goal_explicit": 3, "scope_bounded": 1}
    assert list(per_boolean(hits, applied)) == list(BOOLEANS)
    assert per_boolean(hits, applied)["plan_first"] == 0.0
    assert skill_index(hits, applied) == pytest.approx(62.5)
    assert worst_pillar(hits, applied) == "scope_bounded"


def test_a_tie_for_the_worst_pillar_goes_to_the_first_in_rubric_order() -> None:
    """The order of the mapping does not matter."""
    assert worst_pillar({}, {"plan_first": 1, "scope_bounded": 1}) == "scope_bounded"


def test_no_data_gives_no_index_no_pillar_and_no_apg() -> None:
    """Null, empty, null."""
    assert (skill_index({}, {}), worst_pillar({}, {}), apg(0.0, 0), score_of(0, 0)) == (None, "", None, None)


def test_the_median_of_an_even_count_is_between_the_two_in_the_middle() -> None:
    """And that of nothing is 0."""
    assert (median([4, 1, 3, 2]), median([5, 1, 9]), median([])) == (2.5, 5, 0.0)


def test_a_percentile_lies_between_neighbours_by_linear_interpolation() -> None:
    """At 0 and 1 it is the end values."""
    assert [percentile([10, 20, 30], share) for share in (0, 0.25, 0.5, 1)] == [10, 15, 20, 30]


@given(st.lists(st.floats(0, 100), min_size=1))
def test_a_mean_and_a_median_lie_between_the_least_and_the_most(values: list[float]) -> None:
    """Up to rounding."""
    for figure in (apg(sum(values), len(values)), median(values)):
        assert figure is not None
        assert min(values) - 1e-9 <= figure <= max(values) + 1e-9
