"""A backfill has sub-sessions of a range judged again: their sessions are derived anew, from the first of them on."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from aggregates.backfill_events import BackfillAdvanced
from projections.reader import Reader
from projections.rows import Rejudge, Rows


class Piece(NamedTuple):
    """How far one piece of a range goes, and how many sub-sessions start in it."""

    to_us: int
    sub_sessions: int


_STARTED = (
    "FROM sub_sessions WHERE organization_id = :organization AND (:developer IS NULL OR developer_id = :developer) "
    "AND started_us >= :start AND started_us < :end "
)
_SESSIONS = (
    "SELECT a.agent_session_id, min(a.started_us) FROM arcs a WHERE a.organization_id = :organization "
    "AND (:developer IS NULL OR a.developer_id = :developer) AND a.sub_session_id IN "
    f"(SELECT sub_session_id {_STARTED}) GROUP BY a.agent_session_id"
)


def add_rejudging(rows: Rows, event: BackfillAdvanced) -> None:
    """What a piece of a backfill asks for."""
    developer_id = None if event.developer_id is None else str(event.developer_id)
    rows.rejudgings.append(Rejudge(str(event.organization_id), developer_id, event.from_us, event.to_us))


def rejudge(db: sqlite3.Connection, rejudgings: Iterable[Rejudge], rows: Rows) -> None:
    """Note in `rows` what is to be derived again. The same facts under the same rules give the same rows."""
    for asked in rejudgings:
        bound = {
            "organization": asked.organization_id,
            "developer": asked.developer_id,
            "start": asked.from_us,
            "end": asked.to_us,
        }
        rows.touched_times += db.execute(_SESSIONS, bound).fetchall()


def count_started(reader: Reader, organization_id: UUID, developer_id: UUID | None, from_us: int, to_us: int) -> int:
    """How many sub-sessions of an organization, or of one of its developers, started in a range."""
    bound = _bound(organization_id, developer_id, from_us, to_us)
    count: int = reader.db.execute(f"SELECT count(*) {_STARTED}", bound).fetchone()[0]
    return count


def next_piece(
    reader: Reader, organization_id: UUID, developer_id: UUID | None, from_us: int, to_us: int, most: int
) -> Piece:
    """The next piece of a range: about `most` sub-sessions, and all that start in the same microsecond as the last."""
    bound = _bound(organization_id, developer_id, from_us, to_us)
    query = f"SELECT started_us {_STARTED}ORDER BY started_us LIMIT 1 OFFSET :most"
    beyond = reader.db.execute(query, bound | {"most": most}).fetchone()
    end_us = to_us if beyond is None else max(beyond[0], from_us + 1)
    return Piece(end_us, count_started(reader, organization_id, developer_id, from_us, end_us))


def _bound(organization_id: UUID, developer_id: UUID | None, from_us: int, to_us: int) -> dict[str, object]:
    return {
        "organization": str(organization_id),
        "developer": None if developer_id is None else str(developer_id),
        "start": from_us,
        "end": to_us,
    }
