"""Rows of the table `requests`, an archive filled from them, and what other tools find in its files."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb

from aggregates.event import Scope
from projections.facts.rows import COLUMNS
from projections.prices import Coverage, Reading, TeamWindow, live_part
from projections.reader import Reader
from svc.archive.folder import Archive
from svc.archive.lane import archive_changes
from tests.support.facts import ANA, MONDAY

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


ACME = ANA.organization_id


def request_row(number: int = 0, position: int = 1, **fields: Any) -> dict[str, Any]:
    """An answered request of Ana's on Monday morning, for a cent; told apart by its number."""
    usual: dict[str, Any] = dict.fromkeys(COLUMNS) | {
        "organization_id": ACME,
        "developer_id": ANA.developer_id,
        "at_us": MONDAY,
        "record_id": f"record-{number}",
        "agent_session_id": "session-1",
        "failed": 0,
        "sidechain": 0,
        "model": "claude-sonnet-4-5",
        "input_tokens": 100,
        "output_tokens": 20,
        "cost_usd_nano": 10_000_000,
        "cost_kind": "reported",
        "superseded": 0,
        "position": position,
        "changed_position": position,
    }
    row = usual | fields
    return {name: str(value) if isinstance(value, UUID) else value for name, value in row.items()}


def put(views: sqlite3.Connection, *rows: dict[str, Any]) -> None:
    """Write rows; one that is there already is changed."""
    names, marks = ", ".join(COLUMNS), ", ".join(f":{name}" for name in COLUMNS)
    views.executemany(f"INSERT OR REPLACE INTO requests ({names}) VALUES ({marks})", rows)


def spending_in_views(reader: Reader, scope: Scope, asked: Sequence[TeamWindow]) -> list[Reading]:
    """Every request of the windows from the views alone, as if nothing were archived."""
    return [Reading(live_part(reader.db, scope.organization_id, each, 0).spent, Coverage()) for each in asked]
