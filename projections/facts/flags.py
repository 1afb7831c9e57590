"""Rows of integrity flags, and those flags that single facts tell of: clocks that are wrong, sessions of others.

What turns tell of is found in `signs.py`.
"""

import sqlite3
from collections.abc import Iterable
from uuid import UUID

import msgspec

from aggregates.capture.events import (
    ForeignSessionAttempted,
    MetricsCaptured,
    PromptAnswered,
    PromptCaptured,
    RecordsCaptured,
)
from aggregates.event import Event, Scope
from aggregates.ids import flag_id
from aggregates.scores.integrity import Found, Skew, clock_skew, foreign_session, skew_day
from aggregates.turns.turns import SKEW_US
from projections.facts.rows import Row, Rows
from projections.reader import pack

EARLIEST_WINS = (
    "ON CONFLICT DO UPDATE SET detected_at_us = excluded.detected_at_us, details = excluded.details "
    "WHERE excluded.detected_at_us < detected_at_us"
)
"""Of a flag that one fact alone tells of."""
_Group = tuple[str, str, str, int]
"""Organization, developer, agent session and day of skewed facts."""


def flag_row(scope: Scope, found: Found, fired_by: object) -> Row:
    name = flag_id(scope.organization_id, scope.developer_id, found.kind, found.agent_session_id, fired_by)
    return (
        str(name),
        str(scope.organization_id),
        str(scope.developer_id),
        found.kind,
        found.detected_us,
        found.agent_session_id,
        None if found.turn_id is None else str(found.turn_id),
        found.count,
        found.window_seconds,
        pack(found.details),
    )


def insert_flags(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    db.executemany("INSERT INTO flags VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


# --- stage 1: what a fact shows -------------------------------------------------------------------------------


def add_flags(rows: Rows, position: int, event: Event) -> None:
    """What a fact alone tells of."""
    if isinstance(event, ForeignSessionAttempted):
        scope = Scope(event.organization_id, event.developer_id)
        rows.flags.append(flag_row(scope, foreign_session(event.agent_session_id, event.received_at_us), None))
    elif isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured | MetricsCaptured):
        told_us = _told_us(event)
        if told_us is not None and told_us - event.received_at_us > SKEW_US:
            owner = (str(event.organization_id), str(event.developer_id))
            # No session is an empty name here, so that it can be looked up like any other.
            session, day = event.agent_session_id or "", skew_day(event.received_at_us)
            ahead_us = told_us - event.received_at_us
            rows.skews.append((position, *owner, session, day, event.received_at_us, ahead_us))


def _told_us(event: PromptCaptured | PromptAnswered | RecordsCaptured | MetricsCaptured) -> int | None:
    """The latest time that a fact told; where it lies too far ahead, that of receipt replaces it everywhere else."""
    match event:
        case PromptCaptured():
            return event.submitted_at_us
        case PromptAnswered():
            return event.responded_at_us
        case RecordsCaptured():
            return max((record.at_us for record in event.records), default=None)
        case MetricsCaptured():
            return max((point.at_us for point in event.points), default=None)


# --- stage 2: the days of skewed facts ------------------------------------------------------------------------


def flag_skews(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Find the flag of every session and day that these new rows of `skews` belong to again."""
    for organization_id, developer_id, session, day in sorted({msgspec.convert(row[1:5], _Group) for row in rows}):
        query = (
            "SELECT received_us, ahead_us FROM skews WHERE organization_id = ? AND developer_id = ? "
            "AND agent_session_id = ? AND day = ?"
        )
        skews = [Skew(*found) for found in db.execute(query, (organization_id, developer_id, session, day))]
        scope = Scope(UUID(organization_id), UUID(developer_id))
        row = flag_row(scope, clock_skew(session or None, skews), day)
        db.execute("DELETE FROM flags WHERE flag_id = ?", (row[0],))
        insert_flags(db, [row])
