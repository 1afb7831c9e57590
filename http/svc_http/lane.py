"""Work on what people sent, beside the loop: short and long work one at a time, charged to whoever it is for."""

import time
from collections.abc import Callable
from typing import TypeVar

import trio

T = TypeVar("T")
SHORT_BYTES_MAX = 256 * 1024
"""Of texts; what is longer waits in a line of its own, so that a usual prompt never waits for a large export."""
_SHORT, _LONG = trio.CapacityLimiter(1), trio.CapacityLimiter(1)
"""Python runs one thread at a time, so more of them would only make everybody's work slower, the loop's most of all."""


class CpuTime:
    """The processor time of the blocks that it is entered for, one after the other, in whichever thread."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.thread_time()

    def __exit__(self, *_error: object) -> None:
        self.seconds += time.thread_time()


async def beside(taken: CpuTime, size_bytes: int, work: Callable[[], T]) -> T:
    """What the work returns; it changes nothing, so neither a stop nor a client that hung up waits for it."""

    def charged() -> T:
        with taken:
            return work()

    line = _SHORT if size_bytes <= SHORT_BYTES_MAX else _LONG
    return await trio.to_thread.run_sync(charged, limiter=line, abandon_on_cancel=True)
