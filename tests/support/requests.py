"""Rows of the table `requests` as the projection writes them, for tests of what reads them."""

import sqlite3
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from aggregates.event import Scope
from projections.facts.prices import COLUMNS
from projections.prices import Coverage, Reading, TeamWindow, live_part
from projections.reader import Reader
from tests.support.facts import ANA, MONDAY

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
