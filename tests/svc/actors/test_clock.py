"""Time enters the process in one place, in microseconds."""

import time

from svc.actors.actors import Clock, SystemClock
from tests.support.memory import FixedClock


def test_the_system_clock_tells_the_time_in_microseconds() -> None:
    clock: Clock = SystemClock()
    before_us = time.time_ns() // 1_000
    assert before_us <= clock.now_us() <= time.time_ns() // 1_000


def test_a_fixed_clock_moves_only_when_told() -> None:
    """Forwards, and backwards as real clocks do."""
    clock = FixedClock(1_000)
    assert (clock.now_us(), clock.now_us()) == (1_000, 1_000)
    clock.advance(5)
    clock.advance(-10)
    assert clock.now_us() == 995
