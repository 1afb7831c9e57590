"""What was said in a turn: which prompt it is called by, and where its words stand in the log."""

import sqlite3

from aggregates.observation import Observation
from aggregates.turn import Turn
from projections.bodies import unpack
from projections.reader import TextRef


def prompt_id(turn: Turn) -> str:
    """The id that a capture of it was answered with; that of the turn where only the agent's own log told of it."""
    return str(turn.turn_id if turn.from_log else turn.capture_id)


def response_ref(db: sqlite3.Connection, turn: Turn) -> TextRef | None:
    """The words of its answer; None where they were not captured."""
    position = turn.response_position
    if position is None or turn.response is None:
        return None
    query = (
        "SELECT body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? AND position = ? "
        "ORDER BY at_us DESC, record_id DESC"
    )
    span = (turn.agent_session_id, turn.started_us, turn.last_activity_us, position)
    for row in db.execute(query, span):
        seen = unpack(row[0], Observation)
        if seen.kind == "response":
            return TextRef(position, "words", seen.text)
    return TextRef(position, "response")  # a plugin captured it
