"""How long somebody was at work, from the moments at which something was seen."""

from collections.abc import Iterable
from itertools import pairwise

from aggregates.times import US_PER_SECOND

IDLE_US = 5 * 60 * US_PER_SECOND
"""Where nothing was seen for longer than this, nobody was at work: a pause, or a command that ran on by itself."""


def active_us(instants: Iterable[int]) -> int:
    """The sum of the gaps between neighbouring instants, longer gaps than `IDLE_US` left out; any order."""
    return sum(gap for start, end in pairwise(sorted(instants)) if (gap := end - start) <= IDLE_US)
