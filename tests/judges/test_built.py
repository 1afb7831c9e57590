"""The outcome judge on written sessions, from captured events to the sub-session's row."""

import pytest

from tests.judges.cases import CASES, Case, first_is_complete


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
