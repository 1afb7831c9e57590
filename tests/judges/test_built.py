"""The outcome judge on written sessions, from captured events to the sub-session's row."""

import pytest

from tests.judges.cases import CASES, Case, first_is_complete
from tests.judges.commits import fisher_interval


@pytest.mark.parametrize("case", CASES, ids=[case.rule for case in CASES])
def test_a_written_session_is_judged_as_its_rule_says(case: Case) -> None:
    """Each holds one way in which a goal is reached or missed."""
    assert first_is_complete(case.script) is case.complete


def test_there_are_enough_of_each_with_a_rule_of_its_own() -> None:
    counts = [sum(case.complete is said for case in CASES) for said in (False, None, True)]
    assert counts == [21, 16, 24]
    assert len({case.rule for case in CASES}) == len(CASES)


def test_a_step_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(KeyError):
        first_is_complete("> Fix it\nedti src/a.py\n")


def test_a_correlation_of_few_has_a_wide_interval_or_none() -> None:
    """Fisher's: r = .5 over 28 pairs lies between .16 and .74."""
    assert fisher_interval(0.5, 28) == pytest.approx((0.156, 0.736), abs=0.001)
    assert fisher_interval(0.5, 3) is None
    assert fisher_interval(1.0, 9) is None
