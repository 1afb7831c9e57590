"""The archive's folder and the list of the files that count.

The list, a small SQLite file beside the folder, also says how far in the log the files go. A new file is written and
synced; then the list gets it, in one transaction with the place in the log. Files are never changed. Whoever opens the
folder removes what is not listed, as a crash leaves it behind: no row is lost, none counts twice.
"""

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import structlog

from aggregates.capture.events import DECODER_VERSION
from aggregates.times import INSTANT_MAX_US, US_PER_DAY
from projections.reader import SCHEMA_VERSION
from svc.log.vault import sync
from svc.process import MIB_BYTES, STORE_BUSY_TIMEOUT_MS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ARCHIVE_MEMORY_BYTES_MAX = 128 * MIB_BYTES  # that the Parquet library may take before it uses the disk; usual are 25
ARCHIVE_ROW_BYTES_MAX = 2 * MIB_BYTES  # of one row as JSON on its way into a file; a few hundred are usual
ARCHIVE_SPILL_BYTES_MAX = 1024 * MIB_BYTES  # what the Parquet library may put down on disk while it works

log = structlog.get_logger()
ARCHIVE = "archive"  # its folder
ARCHIVE_MANIFEST = "archive.db"
WORK = "work"  # what is put down while files are made; nothing in it outlives the work
_OURS = re.compile(r"requests-\d+\.parquet(\.draft)?")  # former versions wrote drafts
ARCHIVE_VERSION = 3  # counted up when a column changes its name, type or meaning; then it is written anew
MADE_OF = 100 * (1_000 * ARCHIVE_VERSION + SCHEMA_VERSION) + DECODER_VERSION
"""Rows of other tables, or of another reading, may say something else."""
Fingerprint = Callable[[int], bytes]  # tells the event at a position from any other; empty where there is none


class ArchiveFile(msgspec.Struct, frozen=True):
    name: str  # its path within the archive's folder
    organization_id: str
    day: str  # YYYY-MM-DD, UTC
    number: int
    row_count: int
    byte_count: int
    digest: bytes  # SHA-256


class Archive:
    """The files that count. For one thread; close and open it again after any failure."""

    def __init__(self, var: Path, fingerprint: Fingerprint) -> None:
        self.root = (var / ARCHIVE).absolute()
        self.fingerprint = fingerprint
        self._unreadable: set[str] = set()
        deleted = not self.root.is_dir()
        _make_folder(self.root)
        self._db = _opened(var / ARCHIVE_MANIFEST)
        try:
            position, checksum = self._db.execute("SELECT position, checksum FROM state").fetchone()
            if position and (deleted or fingerprint(position) != checksum):
                reason = "its folder was deleted" if deleted else "it was made from another log"
                log.warning("the archive is written anew", reason=reason, position=position)
                with self._db:
                    self._db.execute("DELETE FROM files")
                    self._db.execute("UPDATE state SET position = 0, checksum = x''")
            listed = {self.path(file) for file in self.files()}
            for path in self.root.glob("org=*/day=*/requests-*"):
                if _OURS.fullmatch(path.name) and path not in listed:
                    path.unlink()
            shutil.rmtree(self.root / WORK, ignore_errors=True)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._db.close()

    @property
    def position(self) -> int:
        """How far in the log the files go."""
        return int(self._db.execute("SELECT position FROM state").fetchone()[0])

    @property
    def next_number(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(number), 0) + 1 FROM files").fetchone()[0])

    def files(self, where: str = "true ORDER BY number", bound: Sequence[str] = ()) -> list[ArchiveFile]:
        fields = ", ".join(ArchiveFile.__struct_fields__)
        return [ArchiveFile(*row) for row in self._db.execute(f"SELECT {fields} FROM files WHERE {where}", bound)]

    def path(self, file: ArchiveFile) -> Path:
        return self.root / file.name

    def is_readable(self, file: ArchiveFile) -> bool:
        """Whether a file is, byte for byte, what was written. A damaged one is logged once."""
        flaw = flaw_of(self.path(file), file.byte_count, file.digest)
        if flaw is None:
            self._unreadable.discard(file.name)
        elif file.name not in self._unreadable:
            log.error("a file of the archive cannot be read and is left out", file=file.name, reason=flaw)
            self._unreadable.add(file.name)
        return flaw is None

    @contextmanager
    def working(self) -> Iterator[Path]:
        folder = self.root / WORK
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def written(self, write: Callable[[Path], int], organization_id: str, day: str, number: int, /) -> ArchiveFile:
        """A new file, synced, and its entry for the list. `write` fills it and says how many rows it has."""
        folder = self.root / f"org={organization_id}" / f"day={day}"
        _make_folder(folder)
        path = folder / f"requests-{number:09}.parquet"
        row_count = write(path)
        sync(path)
        sync(folder)
        name = str(path.relative_to(self.root))
        return ArchiveFile(name, organization_id, day, number, row_count, path.stat().st_size, digest_of(path))

    def add(self, files: Sequence[ArchiveFile], position: int) -> None:
        """List new files, and note how far they go, in one transaction."""
        with self._db:
            self._db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", map(msgspec.structs.astuple, files))
            self._db.execute("UPDATE state SET position = ?, checksum = ?", (position, self.fingerprint(position)))


def _make_folder(folder: Path) -> None:
    """Make it, and the folders on the way there, so that they last."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)


def _opened(path: Path) -> sqlite3.Connection:
    """The list; made anew where it is damaged, or of another version."""
    db = sqlite3.connect(path, timeout=STORE_BUSY_TIMEOUT_MS / 1_000, check_same_thread=False)
    try:
        db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        version, flaw = (db.execute(f"PRAGMA {asked}").fetchone()[0] for asked in ("user_version", "quick_check"))
        if flaw != "ok" or version not in (0, MADE_OF):
            raise sqlite3.DatabaseError(f"it is of version {version}, not {MADE_OF}" if flaw == "ok" else flaw)
        if not version:
            _make_tables(db)
        return db
    except sqlite3.DatabaseError as error:
        db.close()
        if isinstance(error, sqlite3.OperationalError):
            raise  # the disk is full, or not ours to write: nothing is wrong with the list itself
        log.warning("the archive's manifest cannot be used; the archive is written anew", reason=str(error))
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _opened(path)


def _make_tables(db: sqlite3.Connection) -> None:
    from sqlite_utils import Database  # late: only a new list needs it

    new = Database(db, recursive_triggers=False, execute_plugins=False)
    with new.atomic():
        state, files = {"id": int, "position": int, "checksum": bytes}, ArchiveFile.__annotations__
        table = new.create_table("state", state, pk="id", not_null=state, strict=True)
        table.insert({"id": 1, "position": 0, "checksum": b""})
        table = new.create_table("files", files, pk="name", not_null=files, strict=True)
        table.create_index(("organization_id", "day", "number"))
        new.execute(f"PRAGMA user_version = {MADE_OF}")


def flaw_of(path: Path, byte_count: int, digest: bytes) -> str | None:
    try:
        if path.stat().st_size != byte_count:
            return "its size is not what it was when it was written"
        return None if digest_of(path) == digest else "its bytes are not what was written"
    except OSError as error:
        return error.strerror or type(error).__name__


def digest_of(path: Path) -> bytes:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


Columns = Mapping[str, type[str] | type[int] | type[float] | type[bool]]
_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
_PARQUET = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480"


@contextmanager
def connected(root: Path, spill: Path) -> Iterator["DuckDBPyConnection"]:
    """A connection that sees only files below `root`, and spills to `spill`."""
    import duckdb  # late: it takes a tenth of a second and 13 MB

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{ARCHIVE_MEMORY_BYTES_MAX}B",
        "temp_directory": str(spill),
        "max_temp_directory_size": f"{ARCHIVE_SPILL_BYTES_MAX}B",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_directories = [{_literal(root)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection


def copy_rows(
    duck: "DuckDBPyConnection", lines: Path, columns: Columns, target: Path, row_bytes_max: int = ARCHIVE_ROW_BYTES_MAX
) -> int:
    """Write rows, which are lines of JSON, into a Parquet file; how many."""
    types = ", ".join(f"{name}: '{_TYPES[kind]}'" for name, kind in columns.items())
    options = f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {row_bytes_max}"
    rows = f"SELECT * FROM read_json({_literal(lines)}, {options})"
    copied = duck.execute(f"COPY ({rows}) TO {_literal(target)} ({_PARQUET})").fetchone()
    assert copied is not None, "COPY answers how many rows it wrote"
    return int(copied[0])


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


_FIRST_DAY = date(1970, 1, 1).toordinal()


def day_of(at_us: int) -> str:
    """YYYY-MM-DD in UTC. A time outside the calendar counts as the first or the last day."""
    return date.fromordinal(_FIRST_DAY + min(max(at_us, 0), INSTANT_MAX_US) // US_PER_DAY).isoformat()
