"""What SQLite adds to the contract of a store: its file, its locks, its errors, and what a capture costs in work."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from eventsourcing.sqlite import SQLiteConnection

from svc.log.codec import Codec
from svc.log.sqlite import WRITER_PRAGMAS, SplitDatastore, SqliteRecorder
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import Vault
from tests.support.basics import MemoryKeys, SqliteHome, named, new, prompt


@pytest.fixture
def codec() -> Codec:
    """One vault for the whole test."""
    return Codec(Vault(MemoryKeys()))


@pytest.fixture
def sqlite_home(codec: Codec, tmp_path: Path) -> SqliteHome:
    return SqliteHome(codec, tmp_path / "events.db")


def test_a_position_is_never_used_twice(sqlite_home: SqliteHome) -> None:
    """Not even after the end of the log was cut off: views may still hold those positions."""
    with closing(sqlite_home.open()) as store:
        positions = store.append([new("s"), new("t"), new("u")])
    sqlite_home.execute(f"DELETE FROM stored_events WHERE rowid > {positions[0]}")
    with closing(sqlite_home.open()) as store:
        assert store.head() == positions[0]
        assert store.append([new("v")]) > [positions[-1]]


def test_a_locked_file_is_unavailable_until_it_is_let_go(
    sqlite_home: SqliteHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appends and checks are refused, reads go on, and nothing has to be opened again."""
    monkeypatch.setattr("svc.log.sqlite._BUSY_TIMEOUT", "PRAGMA busy_timeout = 0")
    with closing(sqlite_home.open()) as store:
        store.append([new("s")])
        with closing(sqlite3.connect(sqlite_home.path, isolation_level=None)) as shell:
            shell.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked"):
                store.append([new("t")])
            with pytest.raises(StoreUnavailable, match="locked"):
                store.check_writable()
            assert len(store.read_after(0)) == 1
            shell.execute("ROLLBACK")
        store.check_writable()
        store.append([new("t")])
        assert len(store.read_after(0)) == 2


def test_a_full_disk_is_unavailable_until_there_is_room(sqlite_home: SqliteHome, codec: Codec) -> None:
    """SQLite's own error for a full database; the log is whole before, during and after."""
    sqlite_home.open().close()
    small_disk = SplitDatastore(sqlite_home.path, (*WRITER_PRAGMAS, "PRAGMA max_page_count = 8"))
    with closing(EventStore(SqliteRecorder(small_disk), codec)) as store:
        store.append([new("s")])
        with pytest.raises(StoreUnavailable, match="full"):
            store.append([new("t", event=prompt("".join(map(chr, range(33, 40_000)))))])
        assert len(store.read_after(0)) == 1
        store.append([new("t")])
        assert len(store.read_after(0)) == 2


def test_a_file_that_is_no_database_is_unavailable(sqlite_home: SqliteHome) -> None:
    sqlite_home.path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(StoreUnavailable, match=r"events\.db"):
        sqlite_home.open()
    assert sqlite_home.path.read_bytes().startswith(b"not a database")


def test_the_file_is_written_as_the_house_asks(sqlite_home: SqliteHome) -> None:
    """WAL, and a writing connection that says itself that every commit is synced."""
    with closing(SplitDatastore(sqlite_home.path)) as datastore:
        SqliteRecorder(datastore).create_table()
        with datastore.get_connection(commit=True) as writer:
            cursor = writer.cursor()
            cursor.execute("PRAGMA synchronous")
            assert cursor.fetchone()[0] == 2
            cursor.execute("PRAGMA journal_mode")
            assert cursor.fetchone()[0] == "wal"
        with datastore.get_connection(commit=False) as reader, pytest.raises(sqlite3.OperationalError):
            reader.cursor().execute("DELETE FROM stored_events")


def test_a_check_writes_to_the_disk(sqlite_home: SqliteHome) -> None:
    """The probe is a real write: the write-ahead log grows."""
    with closing(sqlite_home.open()) as store:
        store.append([new("s")])
        log = sqlite_home.path.with_name("events.db-wal")
        before_bytes = log.stat().st_size
        store.check_writable()
        assert log.stat().st_size > before_bytes


def test_topics_are_found_without_reading_the_log(sqlite_home: SqliteHome) -> None:
    """People and keys among a million captures cost what people and keys cost."""
    sqlite_home.open().close()
    plan = sqlite_home.execute(
        "EXPLAIN QUERY PLAN SELECT state FROM stored_events INDEXED BY stored_events_topic "
        "WHERE topic IN ('a', 'b') ORDER BY rowid"
    )
    assert any("stored_events_topic" in str(row) for row in plan)


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
