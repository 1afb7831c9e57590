"""Disk faults below the log and the views, and what a death leaves on the disk."""

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

from eventsourcing.persistence import OperationalError, StoredEvent

import svc.views.views
from svc.log.store import LogRecorder
from tests.sim.fate import FATE, Fate

_READS = ("select_", "max_notification_id")


class Dead(OSError):
    """The process is no more; nothing that it does reaches the disk."""


class MortalRecorder:
    """A recorder of the log for one life."""

    def __init__(self, recorder: LogRecorder, fate: Fate) -> None:
        self._recorder = recorder
        self._fate = fate

    def insert_events(self, stored_events: Sequence[StoredEvent]) -> Sequence[int] | None:
        """Store all or none, unless the disk refuses, or says so."""
        self._alive("insert")
        if self._fate.refusal == "refused":
            raise OperationalError("database or disk is full")
        positions = self._recorder.insert_events(stored_events)
        self._alive("insert")
        if self._fate.refusal == "unknown":
            raise OSError("input/output error")
        return positions

    def check_writable(self) -> None:
        """Fails while inserts do."""
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


def mortal(recorder: LogRecorder, fate: Fate) -> LogRecorder:
    """The recorder as one life has it."""
    return cast(LogRecorder, MortalRecorder(recorder, fate))


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
