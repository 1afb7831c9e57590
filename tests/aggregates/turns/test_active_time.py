"""Active time: the gaps between moments at which something was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.turns.turn import IDLE_US, active_by_turns_us, active_us

_MINUTE = 60_000_000
_instants = st.lists(st.integers(0, 100 * _MINUTE), max_size=30)


@pytest.mark.parametrize(
    ("minutes", "active"),
    [
        ([], 0),
        ([7], 0),
        ([0, 5], 5),  # five minutes are not over five minutes
        ([0, 5.001], 0),
        ([0, 3, 20, 22], 5),
        ([22, 0, 20, 3, 3], 5),
        ([0, 20], 0),
        ([0, 4, 8, 12, 16, 20], 20),
    ],
)
def test_gaps_over_five_minutes_are_not_active(minutes: list[float], active: int) -> None:
    """Whatever the order, and however often one moment is told."""
    assert active_us(int(minute * _MINUTE) for minute in minutes) == active * _MINUTE


@given(_instants, st.integers(0, 100 * _MINUTE))
def test_one_more_moment_never_takes_activity_away(instants: list[int], more: int) -> None:
    """It only ever bridges a gap or lengthens the whole."""
    assert active_us(instants) <= active_us([*instants, more])


@given(_instants)
def test_nobody_is_active_for_longer_than_from_first_to_last(instants: list[int]) -> None:
    """All of it where no gap is too long."""
    whole = max(instants, default=0) - min(instants, default=0)
    assert 0 <= active_us(instants) <= whole
    if whole <= IDLE_US:
        assert active_us(instants) == whole


@pytest.mark.parametrize(
    ("turns", "active"),
    [
        ([], 0),
        ([(0, 5)], 5),
        ([(0, 5.001)], None),  # it may hold a pause
        ([(0, 3), (20, 22)], 5),
        ([(0, 3), (1, 5), (9, 10)], 10),
        ([(0, 3), (20, 26)], None),
    ],
)
def test_turns_tell_the_active_time_by_their_ends_unless_one_is_long(
    turns: list[tuple[float, float]], active: float | None
) -> None:
    """In minutes; gaps between turns count as those within."""
    spans = [(int(start * _MINUTE), int(end * _MINUTE)) for start, end in turns]
    assert active_by_turns_us(spans) == (None if active is None else active * _MINUTE)
