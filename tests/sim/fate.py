"""The fate of one life of the service: how slow its threads and its disk are, what that refuses, and when it dies."""

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from random import Random
from typing import Any, Literal, TypeVar

import trio

from tests.sim.chance import Patches

T = TypeVar("T")

Place = Literal["thread", "insert", "read", "views"]
"""Steps between which a process can die: before and after work of a thread, a write or a read of the log, and at every
statement that the projector sends to the views."""

PLACES: tuple[Place, ...] = ("thread", "insert", "read", "views")

Refusal = Literal["refused", "unknown"]
"""`refused`: nothing was written. `unknown`: it was, and the disk says that it failed."""


class Dead(OSError):
    """The process is no more; nothing that it does reaches the disk."""


class Fate:
    """One life's; what is over does nothing any more that anybody could see."""

    def __init__(self, chance: Random, on_death: Callable[[], None]) -> None:
        self._chance = chance
        self._on_death = on_death
        self.over = False
        self.steps: Counter[Place] = Counter()
        self.refusal: Refusal | None = None
        self.slowest_seconds = 0.0  # the longest that a thread's work takes, in virtual time
        self._fuse: tuple[Place, int] | None = None

    def light(self, place: Place, steps: int) -> None:
        """Die after so many more steps of this kind."""
        self._fuse = (place, self.steps[place] + steps)

    def spare(self) -> None:
        self._fuse, self.refusal, self.slowest_seconds = None, None, 0.0

    def reached(self, place: Place) -> None:
        self.steps[place] += 1
        if self._fuse is not None and not self.over:
            where, count = self._fuse
            if where == place and self.steps[place] >= count:
                self.end()

    def end(self) -> None:
        """Die now: what is on the disk is kept as it is at this moment."""
        if not self.over:
            self.over = True
            self._on_death()

    def delay_seconds(self) -> float:
        """How long the next work takes to begin, or to be heard of."""
        return self._chance.uniform(0, self.slowest_seconds) if self.slowest_seconds else 0.0


FATE: ContextVar[Fate] = ContextVar("FATE")  # that of the life which the running task belongs to


# --- work of threads, in the task that asked for it: nothing runs beside it, so a seed gives the same again --------


async def run_sync(
    work: Callable[..., T],
    *args: Any,
    abandon_on_cancel: bool = False,
    limiter: trio.CapacityLimiter | None = None,
    thread_name: str | None = None,
) -> T:
    """In place of `trio.to_thread.run_sync`: as there, work that has begun is not cancelled unless it may be."""
    fate, worker = FATE.get(), object()
    await trio.lowlevel.checkpoint_if_cancelled()
    if limiter is not None:
        await limiter.acquire_on_behalf_of(worker)
    try:
        await _step(fate, abandon_on_cancel)
        try:
            return work(*args)
        finally:
            await _step(fate, abandon_on_cancel, before=False)
    finally:
        if limiter is not None:
            limiter.release_on_behalf_of(worker)


async def _step(fate: Fate, abandon_on_cancel: bool, before: bool = True) -> None:
    """It takes a while to begin, or to be heard of. What is dead does not go on; it waits to be taken away."""
    if before:
        await _takes_long(fate, abandon_on_cancel)
    fate.reached("thread")
    if fate.over:
        await trio.sleep(1)  # what is shielded from that ends by itself
        raise Dead("the process has died")
    if not before:
        await _takes_long(fate, abandon_on_cancel)


async def _takes_long(fate: Fate, abandon_on_cancel: bool) -> None:
    with trio.CancelScope(shield=not abandon_on_cancel):
        await trio.sleep(fate.delay_seconds())


def _never_cancelled() -> None:
    """In place of `trio.from_thread.check_cancelled`: work is never broken off in the middle."""


PATCHES: Patches = [(trio.to_thread, "run_sync", run_sync), (trio.from_thread, "check_cancelled", _never_cancelled)]
