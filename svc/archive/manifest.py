"""Which files make up the archive, and how far in the log they go: one small SQLite file beside the archive's folder.

Position and file names change in one transaction. A file that is not listed does not count, whatever lies on disk.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from projections.schema import SCHEMA_VERSION
from svc.limits import (
    ARCHIVE_COMPACT_FILES_MAX,
    ARCHIVE_COMPACT_FILES_MIN,
    ARCHIVE_SMALL_ROWS_MAX,
    STORE_BUSY_TIMEOUT_MS,
)
from svc.log.vault import sync


class Disk:
    """Every step that changes the disk for good; tests break off between any two. A step that returned lasts."""

    def make_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            self.make_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            sync(folder.parent)

    def sync(self, path: Path) -> None:
        sync(path)

    def commit(self, manifest: sqlite3.Connection) -> None:
        manifest.execute("COMMIT")

    def rename(self, draft: Path, final: Path) -> None:
        draft.replace(final)
        sync(final.parent)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        sync(path.parent)


ARCHIVE_VERSION = 1
"""Counted up whenever a column changes its name, type or meaning; the archive is then written anew from the views."""
_MADE_OF = 1_000 * ARCHIVE_VERSION + SCHEMA_VERSION
"""Rows of other tables may say something else, and are archived anew as well."""
_TABLES = """
CREATE TABLE IF NOT EXISTS state (
    id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, checksum BLOB NOT NULL,
    next_number INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, organization_id TEXT NOT NULL, day TEXT NOT NULL, number INTEGER NOT NULL,
    row_count INTEGER NOT NULL, byte_count INTEGER NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS files_of_day ON files (organization_id, day, number);
"""


class Mark(msgspec.Struct, frozen=True):
    position: int
    checksum: bytes
    """Of the event at that position, to notice a log that was exchanged."""


class ArchiveFile(msgspec.Struct, frozen=True):
    name: str
    """Its path within the archive's folder."""
    organization_id: str
    day: str
    """YYYY-MM-DD, UTC."""
    number: int
    """Later files have higher ones."""
    row_count: int
    byte_count: int
    digest: bytes
    """SHA-256."""


_FILES = f"SELECT {', '.join(ArchiveFile.__struct_fields__)} FROM files"
_CROWDED = (
    "SELECT organization_id, day FROM files WHERE row_count < ? AND name NOT IN (SELECT value FROM json_each(?)) "
    "GROUP BY organization_id, day HAVING count(*) >= ? ORDER BY count(*) DESC, organization_id, day LIMIT 1"
)


class Manifest:
    """The list of files. For one thread."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._disk = disk
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        db = self._db
        # Once files are replaced, going back to an older list would lose them: every commit must last.
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA busy_timeout={STORE_BUSY_TIMEOUT_MS}")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _MADE_OF):
            raise sqlite3.DatabaseError(f"it is of version {version}, not {_MADE_OF}")
        flaw = db.execute("PRAGMA quick_check").fetchone()[0]
        if flaw != "ok":
            raise sqlite3.DatabaseError(flaw)
        if not version:
            self._make()

    def _make(self) -> None:
        # Takes a tenth of a second to import: no later start waits for it.
        from sqlite_utils import Database

        database = Database(self._db, recursive_triggers=False, execute_plugins=False)
        with database.atomic():
            database.executescript(_TABLES)
            database.table("state").insert({"id": 1, "position": 0, "checksum": b"", "next_number": 1}, ignore=True)
            self._db.execute(f"PRAGMA user_version={_MADE_OF}")

    @property
    def mark(self) -> Mark:
        return Mark(*self._db.execute("SELECT position, checksum FROM state").fetchone())

    @property
    def next_number(self) -> int:
        number: int = self._db.execute("SELECT next_number FROM state").fetchone()[0]
        return number

    def files(self) -> list[ArchiveFile]:
        return self._select("ORDER BY number")

    def files_of(self, organization_id: str, first_day: str, last_day: str) -> list[ArchiveFile]:
        """Files of an organization between two days, newest day first."""
        where = "WHERE organization_id = ? AND day BETWEEN ? AND ? ORDER BY day DESC, number"
        return self._select(where, (organization_id, first_day, last_day))

    def crowded(self, without: Iterable[str]) -> list[ArchiveFile]:
        """The smallest files of the day that has the most small files, where they are too many."""
        left_out = msgspec.json.encode(sorted(without)).decode()
        day = self._db.execute(_CROWDED, (ARCHIVE_SMALL_ROWS_MAX, left_out, ARCHIVE_COMPACT_FILES_MIN)).fetchone()
        if day is None:
            return []
        where = (
            "WHERE organization_id = ? AND day = ? AND row_count < ? "
            "AND name NOT IN (SELECT value FROM json_each(?)) ORDER BY row_count, number LIMIT ?"
        )
        return self._select(where, (*day, ARCHIVE_SMALL_ROWS_MAX, left_out, ARCHIVE_COMPACT_FILES_MAX))

    def change(self, added: Sequence[ArchiveFile], removed: Sequence[ArchiveFile], mark: Mark | None) -> None:
        """Add and remove files and move the mark, all in one transaction."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            db.executemany("DELETE FROM files WHERE name = ?", [(file.name,) for file in removed])
            db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", map(msgspec.structs.astuple, added))
            highest = max((file.number for file in added), default=0)
            db.execute("UPDATE state SET next_number = max(next_number, ?)", (highest + 1,))
            if mark is not None:
                db.execute("UPDATE state SET position = ?, checksum = ?", (mark.position, mark.checksum))
            self._disk.commit(db)
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def forget(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM files")
        self._db.execute("UPDATE state SET position = 0, checksum = x''")
        self._disk.commit(self._db)

    def close(self) -> None:
        self._db.close()

    def _select(self, where: str, bound: tuple[object, ...] = ()) -> list[ArchiveFile]:
        return [ArchiveFile(*row) for row in self._db.execute(f"{_FILES} {where}", bound)]
