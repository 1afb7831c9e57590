"""How long requests held a developer up, no moment twice, and what helps (scoring.md, section 7)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.scores.throttle import Claims, Detector, Priority, Wait, merged, recommendations, wait_after

HALF_AN_HOUR = 30 * 60 * 1_000_000


@pytest.mark.parametrize(
    ("successes", "failures", "expected"),
    [
        pytest.param([], [100], (100, 100), id="nothing follows"),
        pytest.param([100], [100], (100, 100), id="a success of the same moment is no later one"),
        pytest.param([101], [100], (100, 101), id="the next success"),
        pytest.param([50, 300, 400], [100, 200], (100, 300), id="a success comes before a failure"),
        pytest.param([100 + HALF_AN_HOUR], [100], (100, 100 + HALF_AN_HOUR), id="a success half an hour later"),
        pytest.param([101 + HALF_AN_HOUR], [100], (100, 100), id="a success later than that"),
        pytest.param([101 + HALF_AN_HOUR], [100, 200], (100, 200), id="then the next failure"),
        pytest.param([], [100, 101 + HALF_AN_HOUR], (100, 100), id="unless it is too far off as well"),
    ],
)
def test_a_wait_after_a_failure(successes: list[int], failures: list[int], expected: Wait) -> None:
    """To the next success, else to the next failure, within half an hour."""
    assert wait_after(100, successes, failures) == expected


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(1, 1), (3, 2)], [], id="empty ones are left out"),
        pytest.param([(5, 6), (1, 2)], [(1, 2), (5, 6)], id="in order"),
        pytest.param([(1, 2), (2, 3)], [(1, 3)], id="those that meet are one"),
        pytest.param([(1, 2), (3, 4)], [(1, 2), (3, 4)], id="those a moment apart are two"),
        pytest.param([(1, 9), (2, 3)], [(1, 9)], id="one within another adds nothing"),
        pytest.param([(1, 2), (5, 8), (7, 9)], [(1, 2), (5, 9)], id="the third meets the second"),
    ],
)
def test_intervals_are_joined(intervals: list[Wait], expected: list[Wait]) -> None:
    """As few as possible."""
    assert merged(intervals) == expected


@settings(max_examples=200)
@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4), max_size=8))
def test_claims_give_out_every_moment_once(claims: list[list[tuple[int, int]]]) -> None:
    book, taken = Claims(), set[int]()
    for wanted in claims:
        moments = {moment for start, end in wanted for moment in range(start, end)}
        pieces = book.claim(wanted)
        assert all(start < end for start, end in pieces)
        assert {moment for start, end in pieces for moment in range(start, end)} == moments - taken
        taken |= moments


# --- advice ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        pytest.param({}, [], id="nothing was lost"),
        pytest.param({"rate_limit": 0.0}, [], id="a cause that cost nothing"),
        pytest.param({"rate_limit": 1e-9}, [("low", 1e-9)], id="a cause that cost next to nothing"),
        pytest.param({"latency_spike": 0.2499}, [("low", 0.2499)], id="under a quarter of an hour is low"),
        pytest.param({"latency_spike": 0.25}, [("medium", 0.25)], id="a quarter of an hour is medium"),
        pytest.param({"service_outage": 0.9999}, [("medium", 0.9999)], id="under an hour is medium"),
        pytest.param({"service_outage": 1.0}, [("high", 1.0)], id="an hour is high"),
        pytest.param({"rate_limit": 0.5, "retry_after": 0.5}, [("high", 1.0)], id="rate limits and waits are one"),
        pytest.param({"error_burst": 0.125, "request_gap": 0.125}, [("medium", 0.25)], id="bursts and pauses are one"),
        pytest.param(
            {"rate_limit": 0.125, "retry_after": 0.25, "latency_spike": 2.0, "request_gap": 0.125},
            [("high", 2.0), ("medium", 0.375), ("low", 0.125)],
            id="what cost most comes first",
        ),
    ],
)
def test_recommendations(hours: dict[Detector, float], expected: list[tuple[Priority, float]]) -> None:
    """One sentence per cause; nothing where nothing was lost."""
    advice = recommendations(hours)
    assert [(each.priority, each.estimated_savings_hours) for each in advice] == expected
    assert all(each.action.endswith(".") for each in advice)
    assert len({each.action for each in advice}) == len(advice)
