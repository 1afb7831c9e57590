"""How long requests held a developer up, with no moment counted twice.

A moment that several events lay claim to belongs to the one that comes first; the others get what is left.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

WAIT_MAX_US = 30 * 60 * 1_000_000
"""Where nothing follows for longer, nobody was waiting any more."""

Interval = tuple[int, int]
"""From the first microsecond up to, but without, the second."""


def wait_after(failed_us: int, successes: Sequence[int], failures: Sequence[int]) -> Interval:
    """From a failure to the next success; where that is too far off, to the next failure; else no time at all.

    Both sequences in order. Whoever fails once more within half an hour was still at it.
    """
    for times in (successes, failures):
        index = bisect_right(times, failed_us)
        if index < len(times) and times[index] - failed_us <= WAIT_MAX_US:
            return failed_us, times[index]
    return failed_us, failed_us


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The same moments in order, as few intervals as possible, none of them empty."""
    joined: list[Interval] = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


class Claims:
    """The moments that are taken."""

    def __init__(self) -> None:
        self._taken: list[Interval] = []

    def claim(self, wanted: Iterable[Interval]) -> tuple[Interval, ...]:
        """What of these moments was free until now."""
        return tuple(piece for interval in merged(wanted) for piece in self._take(interval))

    def _take(self, interval: Interval) -> list[Interval]:
        first, last = self._meeting(interval)
        met = self._taken[first:last]
        free = list(_gaps(interval, met))
        self._taken[first:last] = merged([*met, interval])
        return free

    def _meeting(self, interval: Interval) -> tuple[int, int]:
        """Which of the taken intervals this one meets: from the first index up to, but without, the second."""
        start, end = interval
        first = bisect_right(self._taken, (start, start))
        if first > 0 and self._taken[first - 1][1] >= start:
            first -= 1
        return first, max(first, bisect_right(self._taken, (end, end)))


def _gaps(interval: Interval, taken: Iterable[Interval]) -> Iterator[Interval]:
    start, end = interval
    for taken_start, taken_end in taken:
        if start < taken_start:
            yield start, min(taken_start, end)
        start = max(start, taken_end)
    if start < end:
        yield start, end
