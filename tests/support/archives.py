"""An archive filled from a table of requests, and what other tools find in its files."""

import sqlite3
from pathlib import Path
from typing import Any

import duckdb

from projections.facts.prices import COLUMNS
from svc.archive.folder import Archive
from svc.archive.lane import archive_changes

Row = dict[str, Any]


def fingerprint(position: int) -> bytes:
    """Of the one log that these tests know."""
    return b"event %d" % position


def archive_all(archive: Archive, views: sqlite3.Connection, rows_max: int = 100) -> int:
    """Until everything is archived; how many files that made."""
    made = 0
    while files := archive_changes(archive, views, rows_max):
        made += files
    return made


def stored(root: Path) -> list[Row]:
    """Every row of every file, as any Parquet tool finds them."""
    with duckdb.connect() as plain:
        names = sorted(str(path) for path in root.rglob("*.parquet"))
        if not names:
            return []
        query = f"SELECT {', '.join(COLUMNS)} FROM read_parquet(?, hive_partitioning = false)"
        return [dict(zip(COLUMNS, row, strict=True)) for row in plain.execute(query, [names]).fetchall()]


def newest(rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """By key, the version that was written last."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=lambda each: each["changed_position"]):
        found[row["developer_id"], row["at_us"], row["record_id"]] = row
    return found


def shown(views: sqlite3.Connection) -> dict[tuple[Any, ...], Row]:
    rows = views.execute(f"SELECT {', '.join(COLUMNS)} FROM requests").fetchall()
    return newest([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def on_disk(archive: Archive) -> set[str]:
    return {str(path.relative_to(archive.root)) for path in archive.root.rglob("*") if path.is_file()}


def listed(archive: Archive) -> set[str]:
    return {file.name for file in archive.files()}
