"""Run thread work in the task that asked for it, after the delay that its fate gives.

Nothing runs at the same time as anything else, so a seed gives the same history twice. Tests of the real program look
for races between threads.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import trio

from tests.sim.chance import Patches
from tests.sim.fate import FATE, Dead, Fate

T = TypeVar("T")


async def run_sync(
    work: Callable[..., T],
    *args: Any,
    abandon_on_cancel: bool = False,
    limiter: trio.CapacityLimiter | None = None,
    thread_name: str | None = None,
) -> T:
    """In place of `trio.to_thread.run_sync`: as there, work that has begun is not cancelled unless it may be."""
    fate = FATE.get()
    await trio.lowlevel.checkpoint_if_cancelled()
    if limiter is None:
        return await _worked(fate, abandon_on_cancel, work, args)
    worker = object()
    await limiter.acquire_on_behalf_of(worker)
    try:
        return await _worked(fate, abandon_on_cancel, work, args)
    finally:
        limiter.release_on_behalf_of(worker)


async def _worked(fate: Fate, abandon_on_cancel: bool, work: Callable[..., T], args: tuple[Any, ...]) -> T:
    await _takes_long(fate, abandon_on_cancel)
    await _step(fate)
    try:
        return work(*args)
    finally:
        await _step(fate)
        await _takes_long(fate, abandon_on_cancel)


async def _takes_long(fate: Fate, abandon_on_cancel: bool) -> None:
    with trio.CancelScope(shield=not abandon_on_cancel):
        await trio.sleep(fate.delay_seconds())


async def _step(fate: Fate) -> None:
    """What is dead does not go on; it waits to be taken away. What is shielded from that ends by itself."""
    fate.reached("thread")
    if fate.over:
        await trio.sleep(1)
        raise Dead("the process has died")


def _never_cancelled() -> None:
    """In place of `trio.from_thread.check_cancelled`: work is never broken off in the middle."""


PATCHES: Patches = [(trio.to_thread, "run_sync", run_sync), (trio.from_thread, "check_cancelled", _never_cancelled)]
