"""How long requests held a developer up, no moment twice, and what helps (scoring.md, section 7)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.scores.throttle import Claims, Detector, Priority, Wait, merged, recommendations, wait_after
from tests.support.tables import table

HALF_AN_HOUR = 30 * 60 * 1_000_000


@table(
    ("successes", "failures", "expected"),
    {
        "nothing follows": ([], [100], (100, 100)),
        "a success of the same moment is no later one": ([100], [100], (100, 100)),
        "the next success": ([101], [100], (100, 101)),
        "a success half an hour later": ([100 + HALF_AN_HOUR], [100], (100, 100 + HALF_AN_HOUR)),
        "a success later than that": ([101 + HALF_AN_HOUR], [100], (100, 100)),
        "unless it is too far off as well": ([], [100, 101 + HALF_AN_HOUR], (100, 100)),
    },
)
def test_a_wait_after_a_failure(successes: list[int], failures: list[int], expected: Wait) -> None:
    """To the next success, else to the next failure, within half an hour."""
    assert wait_after(100, successes, failures) == expected


@table(
    ("intervals", "expected"),
    {
        "nothing": ([], []),
        "empty ones are left out": ([(1, 1), (3, 2)], []),
        "in order": ([(5, 6), (1, 2)], [(1, 2), (5, 6)]),
        "those that meet are one": ([(1, 2), (2, 3)], [(1, 3)]),
        "those a moment apart are two": ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        "the third meets the second": ([(1, 2), (5, 8), (7, 9)], [(1, 2), (5, 9)]),
    },
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


@table(
    ("hours", "expected"),
    {
        "nothing was lost": ({}, []),
        "a cause that cost next to nothing": ({"rate_limit": 1e-9}, [("low", 1e-9)]),
        "under a quarter of an hour is low": ({"latency_spike": 0.2499}, [("low", 0.2499)]),
        "a quarter of an hour is medium": ({"latency_spike": 0.25}, [("medium", 0.25)]),
        "an hour is high": ({"service_outage": 1.0}, [("high", 1.0)]),
        "rate limits and waits are one": ({"rate_limit": 0.5, "retry_after": 0.5}, [("high", 1.0)]),
        "bursts and pauses are one": ({"error_burst": 0.125, "request_gap": 0.125}, [("medium", 0.25)]),
        "what cost most comes first": (
            {"rate_limit": 0.125, "retry_after": 0.25, "latency_spike": 2.0, "request_gap": 0.125},
            [("high", 2.0), ("medium", 0.375), ("low", 0.125)],
        ),
    },
)
def test_recommendations(hours: dict[Detector, float], expected: list[tuple[Priority, float]]) -> None:
    """One sentence per cause; nothing where nothing was lost."""
    advice = recommendations(hours)
    assert [(each.priority, each.estimated_savings_hours) for each in advice] == expected
    assert all(each.action.endswith(".") for each in advice)
    assert len({each.action for each in advice}) == len(advice)
