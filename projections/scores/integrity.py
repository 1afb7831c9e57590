"""Integrity flags and trivia as they are read: counted by kind, over periods, and one by one."""

from collections.abc import Sequence
from typing import get_args

import msgspec

from aggregates.event import Scope
from aggregates.judging.outcome import TriviaReason
from aggregates.scores.integrity import KINDS, FlagKind
from aggregates.times import Window, iso, sorted_into
from projections.reader import Reader, bound, unpack
from projections.sub_sessions.rows import SETTLED, started_in

REASONS: tuple[TriviaReason, ...] = get_args(TriviaReason)


class KindCount(msgspec.Struct, frozen=True):
    kind: FlagKind
    count: int


class Integrity(msgspec.Struct, frozen=True):
    """The kinds that were flagged in a window, in the order of scoring.md."""

    by_kind: list[KindCount]


class IntegrityPoint(msgspec.Struct, frozen=True):
    """One period; every kind is listed."""

    period_start: str
    total: int
    by_kind: list[KindCount]


class FlagRow(msgspec.Struct, frozen=True):
    flag_id: str
    kind: FlagKind
    detected_at: str
    agent_session_id: str | None
    score_v3_sub_session_id: str | None
    """That which holds the turn by which it fired, as things stand; None for what is about no turn."""
    count: int
    window_seconds: int
    details: dict[str, int | str]


class ReasonCount(msgspec.Struct, frozen=True):
    reason: TriviaReason
    count: int


class TriviaPoint(msgspec.Struct, frozen=True):
    """One period; every reason is listed, in the order in which they are looked at."""

    period_start: str
    total: int
    by_reason: list[ReasonCount]


_OWN = "f.organization_id = :organization AND f.developer_id = :developer AND f.detected_at_us >= :start"


def integrity(reader: Reader, scope: Scope, window: Window) -> Integrity:
    kinds = [kind for _, kind in _flagged(reader, scope, window)]
    return Integrity([KindCount(kind, kinds.count(kind)) for kind in KINDS if kind in kinds])


def integrity_trend(reader: Reader, scope: Scope, window: Window, periods: Sequence[Window]) -> list[IntegrityPoint]:
    """What was flagged in the range, by the period in which it was; empty periods are there with zeros."""
    sorted_kinds = sorted_into(periods, _flagged(reader, scope, window))
    return [
        IntegrityPoint(iso(period.start_us), len(kinds), [KindCount(kind, kinds.count(kind)) for kind in KINDS])
        for period, kinds in zip(periods, sorted_kinds, strict=True)
    ]


def _flagged(reader: Reader, scope: Scope, window: Window) -> list[tuple[int, FlagKind]]:
    query = f"SELECT f.detected_at_us, f.kind FROM flags f WHERE {_OWN} AND f.detected_at_us < :end"
    return reader.db.execute(query, bound(scope, window)).fetchall()


def recent_flags(reader: Reader, scope: Scope, from_us: int, limit: int, offset: int) -> list[FlagRow]:
    """The flags from a time on, newest first."""
    query = (
        "SELECT f.flag_id, f.kind, f.detected_at_us, f.agent_session_id, p.sub_session_id, f.count, f.window_seconds, "
        "f.details FROM flags f LEFT JOIN prompts p ON p.turn_id = f.turn_id AND p.developer_id = f.developer_id "
        f"AND p.organization_id = f.organization_id WHERE {_OWN} "
        "ORDER BY f.detected_at_us DESC, f.flag_id LIMIT :limit OFFSET :offset"
    )
    rows = reader.db.execute(query, bound(scope, start=from_us, limit=limit, offset=offset))
    return [
        FlagRow(flag_id, kind, iso(at_us), session, sub_session, count, seconds, unpack(details, dict[str, int | str]))
        for flag_id, kind, at_us, session, sub_session, count, seconds, details in rows
    ]


def trivia_trend(reader: Reader, scope: Scope, window: Window, periods: Sequence[Window]) -> list[TriviaPoint]:
    """Settled sub-sessions below the floor that started in the range, by the period they started in."""
    query = f"SELECT s.started_us, s.trivia_reason {started_in()} AND {SETTLED} AND NOT s.floor_passed"
    sorted_reasons = sorted_into(periods, reader.db.execute(query, bound(scope, window)))
    return [
        TriviaPoint(
            iso(period.start_us), len(reasons), [ReasonCount(reason, reasons.count(reason)) for reason in REASONS]
        )
        for period, reasons in zip(periods, sorted_reasons, strict=True)
    ]
