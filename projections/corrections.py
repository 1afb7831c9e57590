"""What people said against the judges, as the derivation reads it: by the turns that their captures are part of now."""

import sqlite3
from collections.abc import Iterable, Sequence
from uuid import UUID

from aggregates.arcs import Arc
from aggregates.corrections import CorrectionEvent, Said, Topic, Word, gaps, said, word_of
from projections.rows import Rows

LATEST_WINS = (
    "ON CONFLICT DO UPDATE SET position = excluded.position, said = excluded.said WHERE excluded.position > position"
)
"""Per capture and topic, whatever the order in which the facts are applied."""


def add_correction(rows: Rows, position: int, event: CorrectionEvent) -> None:
    """The row of a correction; the session of its capture is derived again from that capture's turn on."""
    capture_id, topic, word = word_of(event)
    rows.corrections.append((event.agent_session_id, str(capture_id), topic, position, word))
    rows.touched_captures.append(str(capture_id))


def session_gaps(db: sqlite3.Connection, session: str) -> dict[UUID, bool]:
    """Turn of a session → whether there is a boundary before it, as people said."""
    return gaps(_words(db, session, ("gap",)))


def said_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> Said:
    """What stands of all that was said about the turns of these arcs."""
    turns = {turn_id for arc in arcs for turn_id in arc.turn_ids}
    sessions = dict.fromkeys(arc.agent_session_id for arc in arcs)
    words = [word for session in sessions for word in _words(db, session, ("gap", "goal", "rework", "intent"))]
    return said(word for word in words if word.turn_id in turns)


def _words(db: sqlite3.Connection, session: str, topics: Iterable[Topic]) -> list[Word]:
    query = (
        "SELECT a.turn_id, c.topic, c.said, c.position FROM corrections c "
        "JOIN turn_alias a ON a.alias_id = c.capture_id WHERE c.agent_session_id = ?"
    )
    wanted = set(topics)
    return [Word(UUID(row[0]), *row[1:]) for row in db.execute(query, (session,)) if row[1] in wanted]
