"""The views on disk: which file serves, and connections to it.

A file is called `views-<schema>-r<rules>-<n>.db`; `views.current` names the one that serves. A database file is never
renamed or replaced under an open connection: a new one is built beside it and the pointer is moved.
"""

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from projections.reader import SCHEMA_VERSION, create_tables
from svc.log.vault import sync
from svc.process import MIB_BYTES, STORE_BUSY_TIMEOUT_MS
from svc_http.ports import UnknownRules

VIEWS_WAL_BYTES = 8 * MIB_BYTES
"""What the views' write-ahead log is cut to once its readers let it; a long read beside a rebuild lets it grow."""

POINTER = "views.current"
NAME = re.compile(r"views-(\d+)-r(\d+)-(\d+)\.db")
_COPIES = re.compile(r"(verify|check)-[a-z0-9_]{8}")  # of commands of former versions that were killed


def current_file(folder: Path, rules_version: int) -> Path | None:
    """The file that serves, where it is there and was built for these tables and these rules."""
    try:
        name = (folder / POINTER).read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    match = NAME.fullmatch(name)
    if match is None or (int(match[1]), int(match[2])) != (SCHEMA_VERSION, rules_version):
        return None
    path = folder / name
    return path if path.exists() else None


def new_file(folder: Path, rules_version: int) -> Path:
    numbers = [int(match[3]) for path in folder.iterdir() if (match := NAME.fullmatch(path.name))]
    return folder / f"views-{SCHEMA_VERSION}-r{rules_version}-{max(numbers, default=0) + 1}.db"


def point_to(path: Path) -> None:
    """Make a file the one that serves, atomically and durably: a replay does not sync what it writes."""
    draft = path.with_name(POINTER + ".draft")
    draft.write_text(path.name + "\n", encoding="ascii")
    for written in (path, draft):
        sync(written)
    draft.replace(path.with_name(POINTER))


def remove(path: Path) -> None:
    """Delete a views file; open connections keep what they see."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove_others(folder: Path, keep: Path) -> None:
    for path in list(folder.iterdir()):
        if _COPIES.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
        views = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
        if NAME.fullmatch(views.name) and views != keep:
            remove(views)


def open_writer(path: Path | str) -> sqlite3.Connection:
    """The one connection that writes; the tables are made where they are missing. For any one thread at a time."""
    db = sqlite3.connect(path, timeout=STORE_BUSY_TIMEOUT_MS / 1_000, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        # A crash may cost the last transactions: they are projected again from the log, which is synced in full.
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA journal_size_limit={VIEWS_WAL_BYTES}")
        db.execute("PRAGMA cache_size=-32768")
        create_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads, for any one thread at a time."""
    uri, wait_seconds = f"{path.absolute().as_uri()}?mode=ro", STORE_BUSY_TIMEOUT_MS / 1_000
    return sqlite3.connect(uri, timeout=wait_seconds, uri=True, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """A views file as it is at this moment, while it may be written: until the end its write-ahead log grows."""
    with contextlib.closing(open_reader(path)) as db:
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield db


class ViewsDamaged(sqlite3.DatabaseError):
    """A page or a row of the views cannot be read; only new views help. The message names the file."""


RULES_VERSION = 2  # the set that serves unless another one is asked for
RULE_SETS: frozenset[int] = frozenset({RULES_VERSION})  # every set that this program can apply


def checked(rules_version: int | None) -> int:
    """The rule set asked for, or the serving one. Raises `UnknownRules`."""
    wanted = RULES_VERSION if rules_version is None else rules_version
    if wanted not in RULE_SETS:
        known = ", ".join(map(str, sorted(RULE_SETS)))
        raise UnknownRules(f"there is no rule set {wanted}; this version of svc has {known}")
    return wanted
