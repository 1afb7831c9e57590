"""Requests in the order in which they changed: what the archive takes from the views."""

import sqlite3
from collections.abc import Iterator
from typing import Any

COLUMNS: dict[str, type[str] | type[int] | type[bool]] = {
    "organization_id": str,
    "developer_id": str,
    "at_us": int,
    "record_id": str,
    "agent_session_id": str,
    "prompt_id": str,
    "request_id": str,
    "failed": bool,
    "sidechain": bool,
    "model": str,
    "status_code": int,
    "retry_after_ms": int,
    "duration_ms": int,
    "input_tokens": int,
    "output_tokens": int,
    "cache_read_tokens": int,
    "cache_write_tokens": int,
    "cache_write_1h_tokens": int,
    "cost_usd_nano": int,
    "cost_kind": str,
    "catalog_revision": int,
    "superseded": bool,
    "position": int,
    "changed_position": int,
}
"""What is taken of each row: ids, numbers, flags and the model's name; no words."""

_CHANGED = (
    f"SELECT {', '.join(COLUMNS)} FROM requests WHERE changed_position > ? AND changed_position <= ? "
    "ORDER BY organization_id, at_us, developer_id, record_id"
)


def stretch_end(db: sqlite3.Connection, after: int, rows_max: int) -> int:
    """How far in the log the next rows to take go: whole positions, and no more than `rows_max` rows.

    Only a position that changed more rows than that by itself is taken whole all the same. `after` itself where
    nothing has changed since.
    """
    beyond = _position(db, "SELECT changed_position", after, f"ORDER BY changed_position LIMIT 1 OFFSET {rows_max}")
    if beyond is None:
        return _position(db, "SELECT max(changed_position)", after) or after
    return _position(db, "SELECT max(changed_position)", after, f"AND changed_position < {beyond}") or beyond


def changed_rows(db: sqlite3.Connection, after: int, up_to: int) -> Iterator[tuple[Any, ...]]:
    """The rows that last changed in (after, up_to], by organization and time; fields as in `COLUMNS`."""
    return db.execute(_CHANGED, (after, up_to))


def _position(db: sqlite3.Connection, select: str, after: int, rest: str = "") -> int | None:
    row = db.execute(f"{select} FROM requests WHERE changed_position > ? {rest}", (after,)).fetchone()
    return None if row is None else row[0]
