"""Third pass: which sub-sessions are rework of an earlier one.

A verdict depends on earlier sub-sessions within a week that changed shared files, or, for a revert with no file in
sight, on those of the same agent session. So does the list of later ones to look at again.

What counts follows what people said: of this sub-session, and of the goals of earlier ones. What was judged without
them stands beside it.
"""

import sqlite3
from collections.abc import Iterable
from uuid import UUID

from msgspec.structs import replace

from aggregates.sub_sessions.merging import REWORK_WINDOW_US, ReworkView, rework_of
from projections.reader import unpack

OF_NONE_KNOWN = ""
"""`rework_of` where a person says that it is rework, and no rule finds of what."""


def link_rework(db: sqlite3.Connection, rewritten: Iterable[str], dependents: Iterable[str]) -> None:
    """Settle again whether these are rework, and all that depend on the rewritten."""
    names = sorted(set(rewritten))
    affected = set(names).union(dependents, *(dependents_of(db, name) for name in names))
    for name in sorted(affected):
        _settle(db, name)


def dependents_of(db: sqlite3.Connection, sub_session_id: str) -> set[str]:
    """Later sub-sessions within reach whose verdict may hang on this one, as it is stored now."""
    query = (
        # The week first, then its files: a file may have been changed for years.
        "SELECT l.sub_session_id FROM sub_sessions e CROSS JOIN sub_sessions l "
        "ON l.organization_id = e.organization_id AND l.developer_id = e.developer_id "
        "AND l.started_us BETWEEN e.last_activity_us AND e.last_activity_us + :window "
        "WHERE e.sub_session_id = :id AND EXISTS (SELECT 1 FROM sub_session_files f JOIN sub_session_files g "
        "ON g.sub_session_id = l.sub_session_id AND g.digest = f.digest "
        "WHERE f.sub_session_id = e.sub_session_id AND f.changed) "
        "UNION SELECT l.sub_session_id FROM sub_sessions e JOIN sub_sessions l "
        "ON l.last_agent_session_id = e.last_agent_session_id AND l.reverts "
        "WHERE e.sub_session_id = :id AND l.organization_id = e.organization_id "
        "AND l.started_us BETWEEN e.last_activity_us AND e.last_activity_us + :window"
    )
    rows = db.execute(query, {"id": sub_session_id, "window": REWORK_WINDOW_US})
    return {row[0] for row in rows} - {sub_session_id}


def _settle(db: sqlite3.Connection, sub_session_id: str) -> None:
    query = "SELECT rework_view, said_rework, rework_of, judged_rework_of FROM sub_sessions WHERE sub_session_id = ?"
    row = db.execute(query, (sub_session_id,)).fetchone()
    if row is None:
        return
    view, earlier = unpack(row[0], ReworkView), _earlier(db, sub_session_id)
    found = judged = _name(rework_of(view, (each for each, _ in earlier)))
    if any(each.goal_complete != complete for each, complete in earlier):
        judged = _name(rework_of(view, (replace(each, goal_complete=complete) for each, complete in earlier)))
    counted = _as_said(found, row[1], judged)
    if (counted, judged) != row[2:]:
        db.execute(
            "UPDATE sub_sessions SET rework_of = ?, judged_rework_of = ? WHERE sub_session_id = ?",
            (counted, judged, sub_session_id),
        )


def _name(verdict: UUID | None) -> str | None:
    return None if verdict is None else str(verdict)


def _as_said(found: str | None, said: int | None, judged: str | None) -> str | None:
    """What it counts as rework of, once a person has said whether it is."""
    if said is None:
        return found
    return (found or judged or OF_NONE_KNOWN) if said else None


def _earlier(db: sqlite3.Connection, sub_session_id: str) -> list[tuple[ReworkView, bool]]:
    """Those it may be rework of, and whether each was judged complete, whatever people said."""
    query = (
        "SELECT e.sub_session_id, e.rework_view, e.judged_goal_complete FROM sub_sessions l CROSS JOIN sub_sessions e "
        "ON e.organization_id = l.organization_id AND e.developer_id = l.developer_id "
        "AND e.last_activity_us BETWEEN l.started_us - :window AND l.started_us "
        "WHERE l.sub_session_id = :id AND (e.goal_complete OR e.judged_goal_complete) "
        "AND EXISTS (SELECT 1 FROM sub_session_files f JOIN sub_session_files g "
        "ON g.sub_session_id = e.sub_session_id AND g.digest = f.digest AND g.changed "
        "WHERE f.sub_session_id = l.sub_session_id) "
        "UNION SELECT e.sub_session_id, e.rework_view, e.judged_goal_complete FROM sub_sessions l JOIN sub_sessions e "
        "ON e.last_agent_session_id = l.last_agent_session_id "
        "WHERE l.sub_session_id = :id AND l.reverts AND e.organization_id = l.organization_id "
        "AND (e.goal_complete OR e.judged_goal_complete) "
        "AND e.last_activity_us BETWEEN l.started_us - :window AND l.started_us"
    )
    rows = db.execute(query, {"id": sub_session_id, "window": REWORK_WINDOW_US})
    return [(unpack(row[1], ReworkView), bool(row[2])) for row in rows if row[0] != sub_session_id]
