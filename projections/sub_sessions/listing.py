"""Sub-sessions as they are listed: graded, trivial, or just now going on."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.scores.grades import rubric_letter
from aggregates.times import Window, iso
from projections.reader import Reader
from projections.sub_sessions.shown import (
    IN_WINDOW,
    IS_SETTLED,
    NEWEST_FIRST,
    UNCLASSIFIED,
    Applicability,
    Named,
    Row,
    applicability,
    booleans,
    select,
    with_names,
)


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-session with its rubric. A boolean is None where it does not apply or nothing was judged."""

    score_v3_sub_session_id: str
    title: str | None
    intent_class: str
    letter_grade: str | None
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None


class RubricItem(Graded, frozen=True, kw_only=True):
    """The grade of one sub-session, and how sure the judge is."""

    summary: str | None
    title_source: str
    confidence: float | None
    applicability: Applicability
    judge_status: str


class SpeedRow(Graded, frozen=True, kw_only=True):
    """What one sub-session took and came to. What is judged at settling is None while it is open."""

    agent_session_id: str
    started_at: str
    ended_at: str | None
    duration_seconds: float | None
    turns: int
    total_tokens: int | None
    cost_usd: float | None
    """None where a request has no price."""
    unpriced_requests: int
    lower_bound_requests: int
    """Of the requests in `cost_usd`, those that may have cost more."""
    goal_complete: bool | None
    outcome_confidence: float | None
    rework: bool | None
    rework_of: str | None
    """The earlier sub-session that it takes back or repeats."""
    crushed: bool | None


class TriviaItem(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-session below the substance floor."""

    score_v3_sub_session_id: str
    reason: str
    created_at: str
    title: str | None
    summary: str | None


class RealtimeRow(Named, frozen=True, kw_only=True):
    """A sub-session as it stands now. What is judged at settling is None while it is a preview."""

    sub_session_id: str
    score_v3_sub_session_id: str
    agent_session_id: str
    is_preview: bool
    substance_floor_passed: bool
    letter_grade: str | None
    prompt_grade: str | None
    intent_class: str
    goal_complete: bool | None
    rework: bool | None
    crushed: bool | None
    started_at: str
    ended_at: str | None
    turns: int
    total_tokens: int | None
    cost_usd: float | None
    """None where a request has no price."""
    unpriced_requests: int
    lower_bound_requests: int
    """Of the requests in `cost_usd`, those that may have cost more."""


def rubric_items(reader: Reader, scope: Scope, limit: int, offset: int) -> list[RubricItem]:
    """Settled sub-sessions above the floor, newest started first."""
    where = IS_SETTLED + "AND s.floor_passed " + NEWEST_FIRST
    return _rubric_items(reader, select(reader.db, scope, where, limit=limit, offset=offset))


def rubric_items_in(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[RubricItem]:
    """Those of them that started in a range."""
    where = IS_SETTLED + "AND s.floor_passed " + IN_WINDOW + NEWEST_FIRST
    return _rubric_items(reader, _page(reader, scope, where, window, limit, offset))


def rubric_item(reader: Reader, scope: Scope, sub_session_id: UUID) -> RubricItem | None:
    """One sub-session, under its present or any former id."""
    current = resolve(reader, scope, sub_session_id)
    rows = select(reader.db, scope, "AND s.sub_session_id = :id", id=str(current))
    return next(iter(_rubric_items(reader, rows)), None)


def speed_rows(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[SpeedRow]:
    """The scored sub-sessions that started in the window: as many as its `total_count`, newest first."""
    where = IS_SETTLED + "AND s.floor_passed AND s.intent IS NOT NULL " + IN_WINDOW + NEWEST_FIRST
    rows = _page(reader, scope, where, window, limit, offset)
    return [SpeedRow(title=named.title, **speed_fields(row)) for row, named in with_names(reader, rows)]


def trivia(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TriviaItem]:
    """Settled sub-sessions below the floor that started in the window, newest first."""
    where = IS_SETTLED + "AND NOT s.floor_passed " + IN_WINDOW + NEWEST_FIRST
    rows = _page(reader, scope, where, window, limit, offset)
    return [
        TriviaItem(
            score_v3_sub_session_id=row.sub_session_id,
            reason=row.trivia_reason or "too_few_turns",
            created_at=iso(row.started_us),
            title=named.title,
            summary=named.summary,
        )
        for row, named in with_names(reader, rows)
    ]


def realtime(
    reader: Reader, scope: Scope, limit: int, offset: int, from_us: int | None, agent_session_id: str | None
) -> list[RealtimeRow]:
    """Open and settled sub-sessions, newest started first, of a time and an agent session where given."""
    where = ""
    if from_us is not None:
        where += "AND s.started_us >= :start "
    if agent_session_id is not None:
        where += "AND s.agent_session_id = :session "
    bound = {"start": from_us, "session": agent_session_id, "limit": limit, "offset": offset}
    rows = select(reader.db, scope, where + NEWEST_FIRST, **bound)
    return [_realtime_row(row, named) for row, named in with_names(reader, rows)]


def resolve(reader: Reader, scope: Scope, sub_session_id: UUID) -> UUID | None:
    """The sub-session that now holds the turn which this id once named; its id is that of its opening turn."""
    query = (
        "SELECT p.sub_session_id FROM turn_alias a JOIN prompts p ON p.turn_id = a.turn_id "
        "WHERE a.alias_id = ? AND p.organization_id = ? AND p.developer_id = ?"
    )
    owner = (str(scope.organization_id), str(scope.developer_id))
    row = reader.db.execute(query, (str(sub_session_id), *owner)).fetchone()
    return None if row is None else UUID(row[0])


def _page(reader: Reader, scope: Scope, where: str, window: Window, limit: int, offset: int) -> list[Row]:
    bound = {"start": window.start_us, "end": window.end_us, "limit": limit, "offset": offset}
    return select(reader.db, scope, where, **bound)


def _rubric_items(reader: Reader, rows: Iterable[Row]) -> list[RubricItem]:
    return [
        RubricItem(
            score_v3_sub_session_id=row.sub_session_id,
            intent_class=row.intent or UNCLASSIFIED,
            letter_grade=row.letter,
            confidence=None if row.intent is None else row.detail.confidence,
            applicability=applicability(row.intent),
            judge_status=row.detail.judge_status,
            **booleans(row.graded_intent, row.earned),
            **msgspec.structs.asdict(named),
        )
        for row, named in with_names(reader, rows)
    ]


def speed_fields(row: Row) -> dict[str, Any]:
    """What a `SpeedRow` shows, all but its title."""
    return {
        "score_v3_sub_session_id": row.sub_session_id,
        "agent_session_id": row.agent_session_id,
        "intent_class": row.intent or UNCLASSIFIED,
        "letter_grade": row.letter,
        "started_at": iso(row.started_us),
        "ended_at": row.ended_at,
        "duration_seconds": row.duration_seconds,
        "turns": row.turns,
        "total_tokens": row.total_tokens,
        "cost_usd": row.cost_usd,
        "unpriced_requests": row.unpriced_requests,
        "lower_bound_requests": row.lower_bound_requests,
        "outcome_confidence": row.detail.outcome.confidence if row.settled else None,
        "rework_of": row.rework_of or None if row.settled else None,
        **row.judged,
        **booleans(row.graded_intent, row.earned),
    }


def _realtime_row(row: Row, named: Named) -> RealtimeRow:
    latest = row.detail.latest_score
    return RealtimeRow(
        sub_session_id=row.sub_session_id,
        score_v3_sub_session_id=row.sub_session_id,
        agent_session_id=row.agent_session_id,
        is_preview=not row.settled,
        substance_floor_passed=row.floor_passed,
        letter_grade=row.letter,
        prompt_grade=None if latest is None else rubric_letter(latest),
        intent_class=row.intent or UNCLASSIFIED,
        started_at=iso(row.started_us),
        ended_at=row.ended_at,
        turns=row.turns,
        total_tokens=row.total_tokens,
        cost_usd=row.cost_usd,
        unpriced_requests=row.unpriced_requests,
        lower_bound_requests=row.lower_bound_requests,
        **row.judged,
        **msgspec.structs.asdict(named),
    )


# The sub-sessions that started in a range, and what hangs on them, for the queries of a range.

PROMPTS = "JOIN prompts p ON p.sub_session_id = s.sub_session_id "


TURNS = f"{PROMPTS}JOIN turns t ON t.turn_id = p.turn_id "


SETTLED = "s.settles_at_us <= b.log_time_us"


QUALIFIES = f"{SETTLED} AND s.floor_passed AND s.intent IS NOT NULL"


CRUSHED = f"{QUALIFIES} AND s.goal_complete AND s.rework_of IS NULL"
"""Conditions of a sub-session `s` at the time `b` of the newest fact."""


Bounds = tuple[str, str, int, int]


def started_in(joined: str = "") -> str:
    """FROM and WHERE over sub-sessions `s` of a scope and range, bound by `bounds`.

    A sub-session and its parent session must be the same developer's. That the bookmark is one row SQLite does not know
    unless told so, and would sort by `started_us` what comes in that order.
    """
    return (
        "FROM bookmark b CROSS JOIN sub_sessions s JOIN sessions o ON o.agent_session_id = s.agent_session_id "
        f"AND o.organization_id = s.organization_id AND o.developer_id = s.developer_id {joined}"
        "WHERE b.id = 1 AND s.organization_id = ? AND s.developer_id = ? AND s.started_us >= ? AND s.started_us < ? "
    )


def bounds(scope: Scope, window: Window) -> Bounds:
    """What the marks of `started_in` stand for."""
    return str(scope.organization_id), str(scope.developer_id), window.start_us, window.end_us


def count_started(reader: Reader, organization_id: UUID, developer_id: UUID | None, window: Window) -> int:
    """How many sub-sessions of an organization, or of one of its developers, started in a range."""
    query = (
        "SELECT count(*) FROM sub_sessions WHERE organization_id = ?1 AND (?2 IS NULL OR developer_id = ?2) "
        "AND started_us >= ?3 AND started_us < ?4"
    )
    developer = None if developer_id is None else str(developer_id)
    count: int = reader.db.execute(query, (str(organization_id), developer, window.start_us, window.end_us)).fetchone()[
        0
    ]
    return count
