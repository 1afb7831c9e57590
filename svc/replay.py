"""Building views anew from the first event of the log, beside the ones that serve."""

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from projections.apply import bookmark
from projections.rows import Digesters
from projections.schema import key_of, table_names
from svc.limits import PROJECT_EVENTS_MAX
from svc.projecting import step
from svc.store import EventStore
from svc.views import open_writer

Progress = Callable[[int, int], None]
"""Called with the events applied so far, and the events there are."""


def build(
    path: Path,
    store: EventStore,
    digesters: Digesters,
    progress: Progress,
    *,
    batch_events: int = PROJECT_EVENTS_MAX,
    up_to: int | None = None,
) -> int:
    """Bring the views file at `path` up to a position, by default the end of the log; the position reached.

    A file that was built in part goes on where it stopped, so an interrupted build is resumed by building again.
    """
    end = store.head() if up_to is None else up_to
    db = open_writer(path)
    try:
        # Nobody reads this file yet: a crash only means that it is built again.
        db.execute("PRAGMA synchronous=OFF")
        position = bookmark(db).position
        progress(position, end)
        while position < end:
            position = step(db, store, digesters, min(batch_events, end - position))
            progress(position, end)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return position
    finally:
        db.close()


def digests(db: sqlite3.Connection) -> dict[str, str]:
    """SHA-256 over every table in the order of its primary key: equal digests, equal tables."""
    return {table: _digest(db, table) for table in table_names()}


def _digest(db: sqlite3.Connection, table: str) -> str:
    digest = hashlib.sha256()
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(key_of(table))}"):
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def copy_of(path: Path, target: Path) -> sqlite3.Connection:
    """A copy of a views file as it is at this moment, made while it may be written."""
    source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    copy = sqlite3.connect(target, check_same_thread=False)
    with source:
        source.backup(copy)
    source.close()
    return copy
