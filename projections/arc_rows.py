"""Arcs and their turns as they are stored."""

import sqlite3
from collections.abc import Sequence

import msgspec

from aggregates.arcs import Arc
from aggregates.turn import Turn
from projections.bodies import unpack


def arcs_of(db: sqlite3.Connection, sub_session_id: str) -> list[Arc]:
    """Those of a sub-session, in the order of their starts."""
    query = "SELECT body FROM arcs WHERE sub_session_id = ? ORDER BY started_us, arc_id"
    return [unpack(row[0], Arc) for row in db.execute(query, (sub_session_id,))]


def turns_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> list[Turn]:
    """In time order, since arcs that a person joined may overlap."""
    ids = msgspec.json.encode([turn_id for arc in arcs for turn_id in arc.turn_ids]).decode()
    query = "SELECT t.body FROM json_each(?) i JOIN turns t ON t.turn_id = i.value ORDER BY t.started_us, t.turn_id"
    return [unpack(row[0], Turn) for row in db.execute(query, (ids,))]


def arc_before(db: sqlite3.Connection, arc: Arc) -> Arc | None:
    """The arc before one in the same agent session; None where it is the first."""
    query = (
        "SELECT body FROM arcs WHERE agent_session_id = ? AND (started_us, arc_id) < (?, ?) "
        "ORDER BY started_us DESC, arc_id DESC LIMIT 1"
    )
    row = db.execute(query, (arc.agent_session_id, arc.started_us, str(arc.arc_id))).fetchone()
    return None if row is None else unpack(row[0], Arc)
