"""Building views anew from the first event of the log, beside the ones that serve."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from projections.batches import Batch
from projections.rows import Digesters
from projections.schema import key_of, table_names
from svc.limits import PROJECT_EVENTS_MAX
from svc.projecting import apply_read, step
from svc.store import EventStore
from svc.views import open_writer, remove

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
    ahead: Iterable[Batch] = (),
) -> int:
    """Make the views file at `path`, up to a position, by default the end of the log; the position reached.

    `ahead`: the batches of the log from its first event, as far as another process has read them. What a build that was
    broken off left there is removed: it may be torn.
    """
    end = store.head() if up_to is None else up_to
    remove(path)
    db = open_writer(path)
    try:
        _write_freely(db)
        position = 0
        progress(position, end)
        for batch in ahead:
            position = apply_read(db, batch, store, digesters)
            progress(position, end)
        while position < end:
            position = step(db, store, digesters, min(batch_events, end - position))
            progress(position, end)
        db.execute("PRAGMA journal_mode=WAL")
        return position
    finally:
        db.close()


def _write_freely(db: sqlite3.Connection) -> None:
    """Nobody reads this file yet, and nobody will unless it is finished: a crash may leave it torn."""
    # Within a batch a fact can still be taken back; only a process that ends cannot.
    for pragma in ("journal_mode=MEMORY", "locking_mode=EXCLUSIVE", "synchronous=OFF", "secure_delete=OFF"):
        db.execute(f"PRAGMA {pragma}")


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
