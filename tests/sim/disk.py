"""Disk faults below the log and the views, and what a death leaves on the disk."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

import trio
from eventsourcing.persistence import OperationalError, StoredEvent

import svc.views.views
from svc.log.store import Fence, LogRecorder, SharedRecorder
from tests.sim.fate import FATE, Dead, Fate

T = TypeVar("T")
R = TypeVar("R", bound=LogRecorder)
_READS = ("select_", "max_notification_id")


class MortalRecorder:
    """A recorder of the log for one life."""

    def __init__(self, recorder: LogRecorder, fate: Fate) -> None:
        self._recorder = recorder
        self._fate = fate

    def insert_events(self, stored_events: Sequence[StoredEvent]) -> Sequence[int] | None:
        """Store all or none, unless the disk refuses, or says so."""
        return self._refused_or(lambda: self._recorder.insert_events(stored_events))

    def _refused_or(self, insert: Callable[[], T]) -> T:
        self._alive("insert")
        if self._fate.refusal == "refused":
            raise OperationalError("database or disk is full")
        positions = insert()
        self._alive("insert")
        if self._fate.refusal == "unknown":
            raise OSError("input/output error")
        return positions

    def insert_fenced(self, stored_events: Sequence[StoredEvent], fences: Sequence[Fence]) -> Sequence[int]:
        """The same while the fences hold, where nodes share the log."""
        return self._refused_or(lambda: cast(SharedRecorder, self._recorder).insert_fenced(stored_events, fences))

    def rows(self, statement: str, values: Sequence[Any] = (), *, writing: bool = False) -> list[Any]:
        """Leases end in virtual time."""
        self._alive("insert" if writing else "read")
        named = statement.replace("clock_timestamp()", f"to_timestamp({trio.current_time()})")
        return cast(SharedRecorder, self._recorder).rows(named, values, writing=writing)

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
    """The recorder as one life has it."""
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
