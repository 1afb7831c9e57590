"""Conditions of writes where several nodes share a log: each holds in the transaction of the write, or it is refused.

One process needs none. A task enters its fences once; whatever it writes from then on carries them, also by way of
actors, the journal and threads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class LeaseFence(NamedTuple):
    """Nobody has taken the lease over since."""

    name: str
    epoch: int


class TopicsFence(NamedTuple):
    """No event of these topics stands after this position: what was decided from them still holds."""

    topics: tuple[str, ...]
    after: int


Fence = LeaseFence | TopicsFence
_FENCES: ContextVar[tuple[Fence, ...]] = ContextVar("fences", default=())


def current_fences() -> tuple[Fence, ...]:
    """Those of this task, or of the task that started this thread."""
    return _FENCES.get()


@contextmanager
def fenced(*fences: Fence) -> Iterator[None]:
    """Put these fences on every write of the block, besides those that there are."""
    token = _FENCES.set((*_FENCES.get(), *fences))
    try:
        yield
    finally:
        _FENCES.reset(token)
