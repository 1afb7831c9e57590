"""Results against their targets."""

import pytest

from tests.support.results import Outcome, Result, all_hold

CAPTURES, REPLAY, HOOK = (
    Result("captures", 0.9, "", 0.6),
    Result("replay", 2_500, "/s", 20_000),
    Result("a hook", 80, "ms"),
)


@pytest.mark.parametrize(
    ("result", "reach"),
    [
        (CAPTURES, 1.5),
        (REPLAY, 0.125),
        (Result("a read", 10, "ms", 20, at_most=True), 2.0),
        (Result("a read", 40, "ms", 20, at_most=True), 0.5),
        (HOOK, None),
    ],
)
def test_one_is_the_target_whether_more_or_less_is_better(result: Result, reach: float | None) -> None:
    assert result.reach == reach
    assert all_hold([result]) == (reach is None or reach >= 1)


def test_a_fault_holds_until_something_deviates() -> None:
    outcome = Outcome("kill -9", "nothing lost")
    for holds in (True, False):
        outcome.check(holds, "lost")
        assert all_hold([outcome]) == holds
