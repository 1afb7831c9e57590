"""Overrides: what one is about, found among the sub-sessions as they are now, and how often there are any."""

from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.sub_sessions.arcs import Arc
from aggregates.sub_sessions.overrides import OVERRIDE_FIELDS, OverrideField
from aggregates.turns.turn import Turn
from projections.reader import Reader, unpack
from projections.sub_sessions.rows import bound, resolve, turns_in


class Place(msgspec.Struct, frozen=True):
    """A turn as overrides name it: by the capture whose text is read."""

    agent_session_id: str
    capture_id: UUID


class Overridable(msgspec.Struct, frozen=True):
    """One sub-session as it is now, as far as an override must know it."""

    sub_session_id: UUID
    turns: tuple[Place, ...]
    """In time order; the first opens it."""
    joins_at: Place | None
    """The turn before which a boundary would have to go for it to join the one before; None where nothing is before.

    Where the id that was asked for names a part that was joined already, the turn that opens that part.
    """


def overridable(reader: Reader, scope: Scope, sub_session_id: UUID) -> Overridable | None:
    """The sub-session under its present or any former id; None where the developer has none of it."""
    current = resolve(reader, scope, sub_session_id)
    if current is None:
        return None
    turns = turns_in(reader.db, str(current))
    part = _part_of(reader, sub_session_id)
    if part != current:
        joins_at = next((_place(turn) for turn in turns if turn.turn_id == part), None)
    else:
        joins_at = _place(turns[0]) if _has_previous(reader, scope, turns[0]) else None
    return Overridable(current, tuple(map(_place, turns)), joins_at)


def _part_of(reader: Reader, named: UUID) -> UUID | None:
    """The arc that holds the turn of this id; a sub-session that was joined of several is called by its first."""
    query = (
        "SELECT a.turn_id, r.body FROM turn_alias a JOIN prompts p ON p.turn_id = a.turn_id "
        "JOIN arcs r ON r.sub_session_id = p.sub_session_id WHERE a.alias_id = ?"
    )
    arcs = ((UUID(turn_id), unpack(body, Arc)) for turn_id, body in reader.db.execute(query, (str(named),)))
    return next((arc.arc_id for turn_id, arc in arcs if turn_id in arc.turn_ids), None)


def _has_previous(reader: Reader, scope: Scope, first: Turn) -> bool:
    query = (
        "SELECT 1 FROM arcs WHERE organization_id = :organization AND developer_id = :developer "
        "AND (started_us, arc_id) < (:started, :turn) LIMIT 1"
    )
    found = reader.db.execute(query, bound(scope, started=first.started_us, turn=str(first.turn_id)))
    return found.fetchone() is not None


def _place(turn: Turn) -> Place:
    return Place(turn.agent_session_id, turn.capture_id)


class Agreement(msgspec.Struct, frozen=True, rename="camel"):
    """How often people let stand what was judged, of one field."""

    field: OverrideField
    overrides: int
    sub_sessions: int
    agreement_rate: float | None
    """None without any sub-session."""


class Accuracy(msgspec.Struct, frozen=True, rename="camel"):
    """Over the sub-sessions that started in the last days."""

    rows: list[Agreement]
    window_days: int


def accuracy(reader: Reader, scope: Scope, window_days: int, from_us: int) -> Accuracy:
    """All four fields, over the sub-sessions that started from a time on, open or settled, above the floor or below."""
    bits = ", ".join(f"coalesce(sum(overridden >> {bit} & 1), 0)" for bit, _ in enumerate(OVERRIDE_FIELDS))
    query = (
        f"SELECT count(*), {bits} FROM sub_sessions "
        "WHERE organization_id = :organization AND developer_id = :developer AND started_us >= :start"
    )
    count, *overrides = reader.db.execute(query, bound(scope, start=from_us)).fetchone()
    rates = [1 - each / count if count else None for each in overrides]
    return Accuracy(list(map(Agreement, OVERRIDE_FIELDS, overrides, [count] * len(rates), rates)), window_days)
