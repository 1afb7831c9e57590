"""Rows of integrity flags, and the flags that single facts raise: wrong clocks, sessions of others."""

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
from aggregates.scores.integrity import IntegrityFinding, Skew, clock_skew, foreign_session, skew_day
from aggregates.turns.turns import SKEW_US
from projections.facts.rows import Row, Rows
from projections.reader import owner, pack

_Group = tuple[str, str, str, int]
"""Organization, developer, agent session and day of skewed facts."""


def flag_row(scope: Scope, found: IntegrityFinding, fired_by: object) -> Row:
    name = flag_id(scope.organization_id, scope.developer_id, found.kind, found.agent_session_id, fired_by)
    return (
        str(name),
        *owner(scope),
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


def add_flags(rows: Rows, position: int, event: Event) -> None:
    """What a fact alone tells of."""
    if isinstance(event, ForeignSessionAttempted):
        scope = Scope(event.organization_id, event.developer_id)
        rows.flags.append(flag_row(scope, foreign_session(event.agent_session_id, event.received_at_us), None))
    elif isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured | MetricsCaptured):
        told_us, received_us = _told_us(event), event.received_at_us
        if told_us is not None and told_us - received_us > SKEW_US:
            # No session is an empty name here, so that it can be looked up like any other.
            key = (str(event.organization_id), str(event.developer_id), event.agent_session_id or "")
            rows.skews.append((position, *key, skew_day(received_us), received_us, told_us - received_us))


def _told_us(event: PromptCaptured | PromptAnswered | RecordsCaptured | MetricsCaptured) -> int | None:
    """The latest time that a fact told; one too far ahead is nowhere else believed."""
    match event:
        case PromptCaptured():
            return event.submitted_at_us
        case PromptAnswered():
            return event.responded_at_us
        case RecordsCaptured():
            return max((record.at_us for record in event.records), default=None)
        case MetricsCaptured():
            return max((point.at_us for point in event.points), default=None)


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
