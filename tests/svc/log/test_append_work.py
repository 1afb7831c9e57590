"""What a capture costs the log, counted in work and not in time: no more in an old log than in a new one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from eventsourcing.sqlite import SQLiteConnection

from svc.log.codec import Codec
from svc.log.sqlite import SplitDatastore, SqliteRecorder
from svc.log.store import EventStore
from svc.log.vault import Vault
from tests.support.log import named, new, prompt
from tests.support.memory import MemoryKeys

CAPTURES = 40


class Counting(SplitDatastore):
    """Counts the steps of SQLite's machine, reads and writes alike."""

    steps = 0

    @contextmanager
    def get_connection(self, *, commit: bool) -> Iterator[SQLiteConnection]:
        with super().get_connection(commit=commit) as connection:
            raw: sqlite3.Connection = connection._sqlite_conn
            raw.set_progress_handler(self._step, 1)
            yield connection

    def _step(self) -> None:
        self.steps += 1


def work_of_captures(folder: Path, before: int) -> tuple[int, int]:
    """(steps, bytes written) of captures after so many events, each by an actor that knows nothing yet."""
    datastore = Counting(folder / "events.db")
    recorder = SqliteRecorder(datastore)
    recorder.create_table()
    with closing(EventStore(recorder, Codec(Vault(MemoryKeys())))) as store:
        store.append([new(f"old {number}", event=prompt("Fix the crash in src/app.py")) for number in range(before)])
        assert store.sweep()
        datastore.steps = 0
        for number in range(CAPTURES):
            assert store.read_stream(named(f"new {number}")) == []
            store.append([new(f"new {number}", event=prompt("Fix the crash in src/app.py")), new(f"claim {number}")])
        return datastore.steps, (folder / "events.db-wal").stat().st_size


def test_a_capture_costs_an_old_log_what_it_costs_a_new_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sixty times as many events lie before it; it takes as many steps and pages."""
    (new_steps, new_bytes), (old_steps, old_bytes) = (
        work_of_captures(tmp_path_factory.mktemp("log"), before) for before in (200, 12_000)
    )
    assert new_steps > CAPTURES
    assert old_steps == new_steps
    assert old_bytes <= new_bytes * 1.3
