"""The log in one SQLite file, on the library's recorder.

What differs from the library's own, and why: positions are an AUTOINCREMENT key, since an implicit rowid
is given out again after the end of the table was deleted; topics are indexed, so that people and keys are
found without reading every capture; the one connection that writes says itself that each commit is synced;
all others may only read. Neither a reader nor a backup ever blocks the writer (WAL).
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import DatabaseError, IntegrityError, Notification, OperationalError
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteConnection, SQLiteConnectionPool, SQLiteDatastore

from svc.log.codec import Codec
from svc.log.store import STORE_READERS_MAX, EventStore, StoreUnavailable
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
_SELECT = "SELECT originator_id, originator_version, topic, state, rowid FROM stored_events "


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
    """A pool of one connection that writes, and one of some that read.

    The library's own pool never gives its write lock back once the opening of a writer failed, as on a full disk.
    """

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


class SqliteRecorder(SQLiteApplicationRecorder):
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

    def select_stream(self, stream_id: UUID) -> list[Notification]:
        return self._select("WHERE originator_id = ? ORDER BY originator_version", [stream_id.hex])

    def select_newest(self, stream_id: UUID, below_version: int) -> Notification | None:
        where = "WHERE originator_id = ? AND originator_version < ? ORDER BY originator_version DESC LIMIT 1"
        return next(iter(self._select(where, [stream_id.hex, below_version])), None)

    def select_after(self, position: int, limit_events: int, limit_bytes: int) -> list[Notification]:
        found: list[Notification] = []
        size_bytes = 0
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(_SELECT + "WHERE rowid > ? ORDER BY rowid LIMIT ?", (position, limit_events))
            # Row by row: a thousand events may hold more than memory does.
            while (row := cursor.fetchone()) is not None:
                size_bytes += len(row["state"])
                if found and size_bytes > limit_bytes:
                    break
                found.append(_notification(row))
        return found

    def select_positions(self, positions: Sequence[int]) -> list[Notification]:
        return self._select(f"WHERE rowid IN ({_marks(positions)})", positions)

    def select_topics(self, topics: Sequence[str], after: int, limit_events: int | None) -> list[Notification]:
        where = f"INDEXED BY stored_events_topic WHERE topic IN ({_marks(topics)}) AND rowid > ? ORDER BY rowid LIMIT ?"
        return self._select(where, [*topics, after, -1 if limit_events is None else limit_events])

    def replace_states(self, states: Mapping[int, bytes]) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            rows = [(state, position) for position, state in states.items()]
            cursor.executemany("UPDATE stored_events SET state = ? WHERE rowid = ?", rows)

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
        form = self.form()
        with self.datastore.get_connection(commit=True) as writer:
            writer.cursor().execute(f"PRAGMA user_version = {form or FORM}")

    def form(self) -> int:
        """0 in a new file."""
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute("PRAGMA user_version")
            form: int = cursor.fetchone()[0]
            return form

    def close(self) -> None:
        self.datastore.close()

    def _select(self, where: str, values: Sequence[object]) -> list[Notification]:
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute(_SELECT + where, values)
            return [_notification(row) for row in cursor.fetchall()]


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


def _notification(row: sqlite3.Row) -> Notification:
    stream_id, version, topic, state, position = row
    return Notification(UUID(stream_id), version, topic, state, position)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


EVENTS_FILE = "events.db"
KEYS_FOLDER = "keys"
