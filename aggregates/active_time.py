"""How long somebody was at work, from the moments at which something was seen."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from aggregates.times import US_PER_SECOND

IDLE_US = 5 * 60 * US_PER_SECOND
"""Where nothing was seen for longer than this, nobody was at work: a pause, or a command that ran on by itself."""


def active_us(instants: Iterable[int]) -> int:
    """The sum of the gaps between neighbouring instants, longer gaps than `IDLE_US` left out; any order."""
    return sum(gap for start, end in pairwise(sorted(instants)) if (gap := end - start) <= IDLE_US)


def active_by_turns_us(turns: Sequence[tuple[int, int]]) -> int | None:
    """The same from the first and the last moment of each turn.

    None where a turn is so long that it may hold a pause: then what was seen within it decides.
    """
    if any(end_us - start_us > IDLE_US for start_us, end_us in turns):
        return None
    return active_us(instant for turn in turns for instant in turn)
