"""Whether a habit pays is told late, drawn to the usual rate, and never as a cause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.scores.insights import PAYS_MIN, SIDE_MIN, Decided, Pay, pays

CHECKS = frozenset({"verification_requested"})


def of(with_goals: int, with_reached: int, without_goals: int, without_reached: int) -> Pay:
    rows = [
        Decided(CHECKS, CHECKS, with_goals, with_reached),  # type: ignore[arg-type]
        Decided(frozenset(), CHECKS, without_goals, without_reached),  # type: ignore[arg-type]
        Decided(frozenset(), frozenset(), 1_000, 10),
    ]
    return next(each for each in pays(rows) if each.boolean == "verification_requested")


@pytest.mark.parametrize(
    ("counts", "tells"),
    [
        ((0, 0, 0, 0), "too_few"),
        ((10, 10, 9, 0), "too_few"),
        ((40, 40, 4, 0), "too_few"),
        ((10, 10, 10, 8), "nothing"),
        ((12, 12, 12, 6), "nothing"),
        ((60, 57, 60, 20), "more"),
        ((60, 20, 60, 57), "less"),
        ((200, 150, 200, 150), "nothing"),
    ],
)
def test_a_difference_is_told_where_there_is_one(counts: tuple[int, int, int, int], tells: str) -> None:
    assert of(*counts).tells == tells


def test_a_handful_is_drawn_to_the_usual_rate() -> None:
    """5 of 5 is no 100 percent, and the rates lie between what was seen and what is usual."""
    found = of(5, 5, 45, 25)
    assert found.with_it is not None
    assert found.without is not None
    assert 60 < found.with_it.rate < 75
    assert (found.with_it.goals, found.with_it.reached) == (5, 5)
    assert 25 / 45 * 100 < found.without.rate < 60


side = st.integers(0, 400).flatmap(lambda goals: st.tuples(st.just(goals), st.integers(0, goals)))


@given(side, side)
def test_what_is_told_agrees_with_itself(one: tuple[int, int], other: tuple[int, int]) -> None:
    found, turned = of(*one, *other), of(*other, *one)
    if found.interval is None or found.difference is None or turned.interval is None:
        assert one[0] + other[0] < PAYS_MIN or min(one[0], other[0]) < SIDE_MIN
        return
    assert found.interval.low <= found.difference <= found.interval.high
    assert turned.interval.low == pytest.approx(-found.interval.high)
    assert (found.tells == "more") == (turned.tells == "less")
