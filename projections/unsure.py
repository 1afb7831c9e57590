"""Gaps of a sub-session that the embedded boundary judge is unsure of, for a text model to be asked about."""

import sqlite3

from aggregates.arcs import Arc
from aggregates.unsure_gaps import Gap, unsure_gaps
from projections.arc_rows import arcs_of, turns_of
from projections.bodies import unpack
from projections.corrections import session_gaps

_JUDGED = ("topic", "commit")


def unsure_of(db: sqlite3.Connection, sub_session_id: str) -> tuple[list[Gap], int]:
    """Those within it, and that before it, the least sure first; and how many of its agent sessions were answered."""
    arcs = arcs_of(db, sub_session_id)
    found = [gap for arc in arcs for gap in _of_arc(db, arc)]
    found.sort(key=lambda gap: (abs(gap.logit), gap.turn.started_us, gap.turn.turn_id))
    return found, _answered(db, {arc.agent_session_id for arc in arcs})


def _of_arc(db: sqlite3.Connection, arc: Arc) -> list[Gap]:
    spoken = session_gaps(db, arc.agent_session_id)
    before = _arc_before(db, arc) if arc.opened_by in _JUDGED else None
    return unsure_gaps([] if before is None else turns_of(db, [before]), turns_of(db, [arc]), spoken)


def _arc_before(db: sqlite3.Connection, arc: Arc) -> Arc | None:
    """In the same agent session."""
    query = (
        "SELECT body FROM arcs WHERE agent_session_id = ? AND (started_us, arc_id) < (?, ?) "
        "ORDER BY started_us DESC, arc_id DESC LIMIT 1"
    )
    row = db.execute(query, (arc.agent_session_id, arc.started_us, str(arc.arc_id))).fetchone()
    return None if row is None else unpack(row[0], Arc)


def _answered(db: sqlite3.Connection, sessions: set[str]) -> int:
    query = "SELECT count(*) FROM judge_answers WHERE agent_session_id = ? AND kind = 'boundary'"
    count: int = sum(db.execute(query, (session,)).fetchone()[0] for session in sorted(sessions))
    return count
