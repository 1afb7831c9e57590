"""All randomness comes from the seed: events, times, the order of tasks, ids and keys."""

import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import trio
import trio.testing
from trio._core import _run as trio_run

T = TypeVar("T")

Patches = list[tuple[Any, str, object]]  # owner, name of the attribute, what it is for a while


@contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """Within the block, ids, keys and the order of tasks hang on the seed alone; the chance to draw all else from.

    Trio takes the tasks that are ready in random order, by a generator of its own, and sorts them before only where it
    is told that somebody seeds that. Both names are private to it; should one go, a seed no longer gives the same
    history twice, and tests/test_simulation.py says so.
    """
    entropy = random.Random(f"{seed} entropy")
    patches: Patches = [
        (os, "urandom", entropy.randbytes),
        (random, "_urandom", entropy.randbytes),
        (trio_run, "_r", random.Random(f"{seed} tasks")),
        (trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
    ]
    with patched(patches):
        yield random.Random(f"{seed} story")


@contextmanager
def patched(patches: Patches) -> Iterator[None]:
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    try:
        for owner, name, value in patches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def in_virtual_time(work: Callable[[], Awaitable[T]]) -> T:
    """Run it under a clock that, whenever everybody waits, goes to whatever comes next."""
    return trio.run(work, clock=trio.testing.MockClock(autojump_threshold=0))
