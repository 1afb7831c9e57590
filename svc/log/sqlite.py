"""The log in one SQLite file, on the library's recorder.

What differs from the library's own, and why: positions are an AUTOINCREMENT key, since an implicit rowid is given out
again after the end of the table was deleted; topics are indexed, so that people and keys are found without reading
every capture; the connection that writes has each commit synced; others only read, and never block it (WAL).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import DatabaseError, IntegrityError, OperationalError
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnection, SQLiteConnectionPool, SQLiteDatastore

from svc.log.codec import Codec
from svc.log.store import STORE_READERS_MAX, EventStore, LogRecorder, StoreUnavailable
from svc.process import STORE_BUSY_TIMEOUT_MS

FORM = 2  # of the log, in the file's `user_version`
CONNECTION_SECONDS = 30.0  # how long a connection is waited for; the one that writes may be deleting texts just now
WRITER_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    # Only macOS looks at this: there a plain fsync leaves the data in the drive's own cache.
    "PRAGMA fullfsync = ON",
    # A text that is taken away is overwritten, and does not stay behind in a free page.
    "PRAGMA secure_delete = ON",
)
_BUSY_TIMEOUT = f"PRAGMA busy_timeout = {STORE_BUSY_TIMEOUT_MS}"
_DAMAGED = (
    "the log is damaged: put the newest backup into a new folder (`svc restore BACKUP --var NEW`), serve that one, and "
    "keep this one until that serves"
)
_HINDERED = "see that the disk has room, that this user may write there, and that no other program holds the file"


class _Connections(SQLiteConnectionPool):
    """The library's, but that each connection begins with these pragmas."""

    def __init__(self, path: Path, size: int, pragmas: Sequence[str]) -> None:
        super().__init__(db_name=str(path), pool_size=size, max_overflow=0, pool_timeout=CONNECTION_SECONDS)
        self._pragmas = pragmas

    def _create_connection(self) -> SQLiteConnection:
        # The library leaves a connection open whose first statement fails, as in a damaged file: one of ours tries it.
        with closing(sqlite3.connect(self.db_name)) as tried:
            tried.execute("PRAGMA journal_mode")
        connection = super()._create_connection()
        try:
            for pragma in self._pragmas:
                connection.cursor().execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection


class SplitDatastore(SQLiteDatastore):
    """One connection that writes, and some that read: the library's pool keeps its lock where a writer cannot open."""

    def __init__(self, path: Path, writer_pragmas: Sequence[str] = WRITER_PRAGMAS) -> None:
        super().__init__(str(path))
        self._path = path
        self.pool = _Connections(path, STORE_READERS_MAX, ["PRAGMA query_only = ON"])
        self._writers = _Connections(path, 1, [_BUSY_TIMEOUT, *writer_pragmas])

    @contextmanager
    def get_connection(self, *, commit: bool) -> Iterator[SQLiteConnection]:
        """The writer's connection, for one thread at a time, or a reader's. SQLite's errors become the library's."""
        pool = self._writers if commit else self.pool
        try:
            connection = pool.get_connection()
            try:
                yield connection
            except IntegrityError:
                raise
            except BaseException:
                # After a failure the next one starts on a new connection, whatever state this one is in.
                connection.close()
                raise
            finally:
                pool.put_connection(connection)
        except sqlite3.Error as error:
            raise OperationalError(_told(self._path, error)) from error
        except DatabaseError as error:
            if (told := _told(self._path, error)) != str(error):
                raise DatabaseError(told) from error
            raise

    def close(self) -> None:
        """Close every connection; the last one folds the write-ahead log into the file."""
        super().close()
        self._writers.close()


class SqliteRecorder(SQLiteApplicationRecorder, LogRecorder):
    def __init__(self, datastore: SQLiteDatastore) -> None:
        super().__init__(datastore)
        self.insert_events_statement = (
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?, ?, ?, ?)"
        )

    def construct_create_table_statements(self) -> list[str]:
        """The library's columns, with positions that are never given out again, and an index of topics."""
        return [
            "CREATE TABLE IF NOT EXISTS stored_events ("
            "rowid INTEGER PRIMARY KEY AUTOINCREMENT, "
            "originator_id TEXT NOT NULL, "
            "originator_version INTEGER NOT NULL, "
            "topic TEXT NOT NULL, "
            "state BLOB NOT NULL, "
            "UNIQUE (originator_id, originator_version)) STRICT",
            "CREATE INDEX IF NOT EXISTS stored_events_topic ON stored_events (topic)",
        ]

    def rows(self, statement: str, values: Sequence[Any] = (), *, writing: bool = False) -> list[sqlite3.Row]:
        with self.datastore.transaction(commit=writing) as cursor:
            cursor.execute(_said(statement), values)
            rows: list[sqlite3.Row] = cursor.fetchall()
            return rows

    def write(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            cursor.executemany(_said(statement), values)

    def sweep(self) -> bool:
        """Truncate the write-ahead log, which still holds overwritten pages; False while a reader needs it."""
        with self.datastore.get_connection(commit=True) as writer:
            cursor = writer.cursor()
            # Nobody who wants to write is kept waiting for a reader.
            cursor.execute("PRAGMA busy_timeout = 0")
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return not cursor.fetchone()[0]
            finally:
                cursor.execute(_BUSY_TIMEOUT)

    def check_writable(self) -> None:
        """Rewrite the page that holds the file's version, unchanged, and sync it."""
        self.rows(f"PRAGMA user_version = {self.form() or FORM}", writing=True)

    def form(self) -> int:
        """0 in a new file."""
        return int(self.rows("PRAGMA user_version")[0][0])

    def close(self) -> None:
        self.datastore.close()


def open_sqlite_store(path: Path, codec: Codec) -> EventStore:
    """Open the log in this file, or make it. Raises StoreUnavailable."""
    recorder = SqliteRecorder(SplitDatastore(path))
    try:
        recorder.create_table()
        recorder.check_writable()
        form = recorder.form()
    except EventSourcingError as error:
        recorder.close()
        raise not_opened(path, error) from error
    if form != FORM:
        recorder.close()
        other = "a newer" if form > FORM else "an older"
        raise StoreUnavailable(
            f"{path}: it is of form {form}, and this program knows form {FORM} only: it was written by {other} svc. "
            "Start that version, or restore a backup of this one"
        )
    return EventStore(recorder, codec)


def not_opened(path: Path, error: Exception) -> StoreUnavailable:
    told = _told(path, error)
    return StoreUnavailable(told if told.startswith(str(path)) else f"{path}: {told}; {_HINDERED}")


def _told(path: Path, error: Exception) -> str:
    """A damaged file with its name and what to do, whenever it shows; anything else as it is."""
    text = str(error)
    is_damaged = any(flaw in text for flaw in ("not a database", "malformed")) and not text.startswith(str(path))
    return f"{path}: {text}; {_DAMAGED}" if is_damaged else text


def _said(statement: str) -> str:
    by_topic = "INDEXED BY stored_events_topic"  # else a log without statistics is read from its beginning
    return statement.format(events="stored_events", position="rowid", by_topic=by_topic).replace("%s", "?")


EVENTS_FILE = "events.db"
KEYS_FOLDER = "keys"
