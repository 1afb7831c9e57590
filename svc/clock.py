"""The wall clock, in one place, so that everything else can be handed another one."""

import time
from typing import Protocol

_NS_PER_US = 1_000


class Clock(Protocol):
    """Tells the time."""

    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        ...


class SystemClock:
    """The machine's clock. It may jump; what needs a duration asks trio instead."""

    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // _NS_PER_US


class FixedClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        return self._now_us

    def advance(self, by_us: int) -> None:
        """Moves the clock by so many microseconds; back, too, as real clocks do."""
        self._now_us += by_us
