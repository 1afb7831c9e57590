"""Changed lines by an agent's own counter: they stand in only where none of a session's tool calls tells its lines."""

import sqlite3

from aggregates.observation import Observation
from aggregates.turns import Seen

_COUNTED = """
SELECT at_us, record_id, position, meaning, CASE
    WHEN temporality IS NOT 'cumulative' OR before IS NULL OR before > value THEN value ELSE value - before END
FROM (
    SELECT at_us, record_id, position, meaning, temporality, value,
        lag(value) OVER (PARTITION BY series, start_us ORDER BY at_us, record_id) AS before
    FROM metric_points
    WHERE agent_session_id = ?1 AND meaning IN ('lines_added', 'lines_removed') AND value IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM edit_details WHERE agent_session_id = ?1)
)
WHERE at_us >= ?2 ORDER BY at_us, record_id
"""
"""What was counted since the point before, in time order. A cumulative series that starts anew, or falls, counts from
nothing."""


def line_counts(db: sqlite3.Connection, session: str, start_us: int) -> list[Seen]:
    """The counts from a time on; none where a tool call of the session told its lines."""
    return [
        Seen(at_us, record_id, position, _observation(meaning, round(count)))
        for at_us, record_id, position, meaning, count in db.execute(_COUNTED, (session, start_us))
    ]


def _observation(meaning: str, count: int) -> Observation:
    if meaning == "lines_added":
        return Observation(kind="lines", lines_added=count)
    return Observation(kind="lines", lines_removed=count)


def newly_detailed(db: sqlite3.Connection, sessions: set[str]) -> list[str]:
    """Note sessions whose tool calls tell their lines; those among them whose counters had stood in until now."""
    new = [session for session in sorted(sessions) if _note(db, session)]
    counted = "SELECT 1 FROM metric_points WHERE agent_session_id = ? AND meaning IN ('lines_added', 'lines_removed')"
    return [session for session in new if db.execute(counted, (session,)).fetchone() is not None]


def _note(db: sqlite3.Connection, session: str) -> bool:
    noted = db.execute("INSERT OR IGNORE INTO edit_details VALUES (?) RETURNING 1", (session,)).fetchone()
    return noted is not None
