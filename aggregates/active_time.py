"""How long somebody was at work, from the moments at which something was seen."""

from collections.abc import Iterable
from itertools import pairwise

from aggregates.times import US_PER_SECOND

IDLE_US = 5 * 60 * US_PER_SECOND
"""Where nothing was seen for longer than this, nobody was at work: a pause, or a command that ran on by itself."""

NO_ACTIVITY = frozenset({"session_start", "session_end", "lines"})
"""Kinds of records that show nobody at work: a session opened or left, a counter that is sent on the minute."""


def active_us(instants: Iterable[int]) -> int:
    """The sum of the gaps between neighbouring instants, longer gaps than `IDLE_US` left out; any order."""
    return sum(gap for start, end in pairwise(sorted(instants)) if (gap := end - start) <= IDLE_US)
