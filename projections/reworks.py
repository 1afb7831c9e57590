"""Stage 2, third pass: which sub-sessions are rework of an earlier one.

A verdict depends on earlier sub-sessions within a week that changed shared files, or, for a revert with no file in
sight, on those of the same agent session. So does the list of later ones to look at again.
"""

import sqlite3
from collections.abc import Iterable

from aggregates.rework import REWORK_WINDOW_US, ReworkView, rework_of
from projections.bodies import unpack


def relink(db: sqlite3.Connection, rewritten: Iterable[str], dependents: Iterable[str]) -> set[str]:
    """Settle again whether these are rework, and all that depend on the rewritten; the ids whose verdict changed."""
    names = sorted(set(rewritten))
    affected = set(names).union(dependents, *(dependents_of(db, name) for name in names))
    return {name for name in sorted(affected) if _settle(db, name)}


def dependents_of(db: sqlite3.Connection, sub_session_id: str) -> set[str]:
    """Later sub-sessions within reach whose verdict may hang on this one, as it is stored now."""
    query = (
        "SELECT l.sub_session_id FROM sub_sessions e JOIN sub_session_files f "
        "ON f.sub_session_id = e.sub_session_id AND f.changed "
        "JOIN sub_session_files g ON g.developer_id = e.developer_id AND g.digest = f.digest "
        "JOIN sub_sessions l ON l.sub_session_id = g.sub_session_id "
        "WHERE e.sub_session_id = :id AND l.organization_id = e.organization_id "
        "AND l.started_us BETWEEN e.last_activity_us AND e.last_activity_us + :window "
        "UNION SELECT l.sub_session_id FROM sub_sessions e JOIN sub_sessions l "
        "ON l.last_agent_session_id = e.last_agent_session_id AND l.reverts "
        "WHERE e.sub_session_id = :id AND l.organization_id = e.organization_id "
        "AND l.started_us BETWEEN e.last_activity_us AND e.last_activity_us + :window"
    )
    rows = db.execute(query, {"id": sub_session_id, "window": REWORK_WINDOW_US})
    return {row[0] for row in rows} - {sub_session_id}


def _settle(db: sqlite3.Connection, sub_session_id: str) -> bool:
    row = db.execute(
        "SELECT rework_view, rework_of FROM sub_sessions WHERE sub_session_id = ?", (sub_session_id,)
    ).fetchone()
    if row is None:
        return False
    verdict = rework_of(unpack(row[0], ReworkView), _earlier(db, sub_session_id))
    named = None if verdict is None else str(verdict)
    if named == row[1]:
        return False
    db.execute("UPDATE sub_sessions SET rework_of = ? WHERE sub_session_id = ?", (named, sub_session_id))
    return True


def _earlier(db: sqlite3.Connection, sub_session_id: str) -> list[ReworkView]:
    query = (
        "SELECT DISTINCT e.sub_session_id, e.rework_view FROM sub_sessions l JOIN sub_session_files f "
        "ON f.sub_session_id = l.sub_session_id "
        "JOIN sub_session_files g ON g.developer_id = l.developer_id AND g.digest = f.digest AND g.changed "
        "JOIN sub_sessions e ON e.sub_session_id = g.sub_session_id "
        "WHERE l.sub_session_id = :id AND e.organization_id = l.organization_id AND e.goal_complete "
        "AND e.last_activity_us BETWEEN l.started_us - :window AND l.started_us "
        "UNION SELECT e.sub_session_id, e.rework_view FROM sub_sessions l JOIN sub_sessions e "
        "ON e.last_agent_session_id = l.last_agent_session_id "
        "WHERE l.sub_session_id = :id AND l.reverts AND e.organization_id = l.organization_id AND e.goal_complete "
        "AND e.last_activity_us BETWEEN l.started_us - :window AND l.started_us"
    )
    rows = db.execute(query, {"id": sub_session_id, "window": REWORK_WINDOW_US})
    return [unpack(row[1], ReworkView) for row in rows if row[0] != sub_session_id]
