"""Chance from the seed, and fate: how slow threads and disk are, what fails, when a life ends and what it leaves."""

import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar, cast

import trio
import trio.testing
from eventsourcing.persistence import OperationalError, StoredEvent
from trio._core import _run as trio_run

import svc.views.views
from svc.log.store import LogRecorder

T = TypeVar("T")

Patches = list[tuple[Any, str, object]]  # owner, name of the attribute, what it is for a while


@contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """Within the block, ids, keys and the order of tasks hang on the seed alone; the chance to draw all else from. Both
    names of trio are private to it; should one go, tests/test_simulation.py says so."""
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


Place = Literal["thread", "insert", "read", "views"]
"""Steps between which a process can die: before and after work of a thread, a write or a read of the log, and at every
statement that the projector sends to the views."""

PLACES: tuple[Place, ...] = ("thread", "insert", "read", "views")

Refusal = Literal["refused", "unknown"]
"""`refused`: nothing was written. `unknown`: it was, and the disk says that it failed."""


class Dead(OSError):
    """The process is no more; nothing that it does reaches the disk."""


class Fate:
    def __init__(self, chance: Random, on_death: Callable[[], None]) -> None:
        self._chance = chance
        self._on_death = on_death
        self.over = False
        self.steps: Counter[Place] = Counter()
        self.refusal: Refusal | None = None
        self.slowest_seconds = 0.0  # the longest that a thread's work takes, in virtual time
        self._fuse: tuple[Place, int] | None = None

    def light(self, place: Place, steps: int) -> None:
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
        if not self.over:
            self.over = True
            self._on_death()

    def delay_seconds(self) -> float:
        return self._chance.uniform(0, self.slowest_seconds) if self.slowest_seconds else 0.0


FATE: ContextVar[Fate] = ContextVar("FATE")  # that of the life which the running task belongs to


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


R = TypeVar("R", bound=LogRecorder)
_READS = ("select", "max_notification_id")


class MortalRecorder:
    def __init__(self, recorder: LogRecorder, fate: Fate) -> None:
        self._recorder = recorder
        self._fate = fate

    def insert_events(self, stored_events: Sequence[StoredEvent], **fences: Any) -> Sequence[int] | None:
        return self._refused_or(lambda: self._recorder.insert_events(stored_events, **fences))

    def _refused_or(self, insert: Callable[[], T]) -> T:
        self._alive("insert")
        if self._fate.refusal == "refused":
            raise OperationalError("database or disk is full")
        positions = insert()
        self._alive("insert")
        if self._fate.refusal == "unknown":
            raise OSError("input/output error")
        return positions

    def rows(self, statement: str, values: Sequence[Any] = (), *, writing: bool = False) -> Sequence[Any]:
        """Leases end in virtual time."""
        self._alive("insert" if writing else "read")
        named = statement.replace("clock_timestamp()", f"to_timestamp({trio.current_time()})")
        return self._recorder.rows(named, values, writing=writing)

    def wait_for_news(self, _seconds: float) -> None:
        """Nobody is woken: there is one thread, and polling finds everything."""

    def check_writable(self) -> None:
        self._alive("insert")
        if self._fate.refusal is not None:
            raise OperationalError("database or disk is full")
        self._recorder.check_writable()

    def __getattr__(self, name: str) -> Any:
        """Everything else as it is, reads as steps at which the process may die."""
        found = getattr(self._recorder, name)
        if not name.startswith(_READS):
            return found

        def read(*args: Any) -> Any:
            self._alive("read")
            return found(*args)

        return read

    def _alive(self, place: Any) -> None:
        self._fate.reached(place)
        if self._fate.over:
            raise Dead("the process has died")


def mortal(recorder: R, fate: Fate) -> R:
    return cast(R, MortalRecorder(recorder, fate))


def open_writer(path: Path | str) -> sqlite3.Connection:
    """In place of `svc.views.views.open_writer`: every statement is a step at which the process may die."""
    db = _open_writer(path)
    fate = FATE.get()
    db.set_trace_callback(lambda _statement: fate.reached("views"))
    # What was folded into the file is durable; so that any end of the write-ahead log may be lost, nothing is.
    db.execute("PRAGMA wal_autocheckpoint=0")
    return db


_open_writer = svc.views.views.open_writer


def image(var: Path, target: Path) -> None:
    """The folder as it is at this moment, as after `kill -9`; the shared memory beside a database is rebuilt anyway."""
    shutil.copytree(var, target, ignore=shutil.ignore_patterns("*-shm", "lock"))


def lose_power(var: Path, chance: Random) -> None:
    """Cut the end off the views' write-ahead log, which is not synced; the log's own is, by each commit."""
    for wal in var.glob("views-*-wal"):
        size = wal.stat().st_size
        with wal.open("r+b") as file:
            file.truncate(chance.randint(0, size))
