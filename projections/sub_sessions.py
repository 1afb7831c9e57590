"""Sub-sessions as they are listed: graded, trivial, or just now going on."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import msgspec

from aggregates.grades import rubric_letter, score_of
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.verdicts import BOOLEANS, BooleanName, Intent, applicable
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.sub_session_rows import Detail, unmask

TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240


class Applicability(msgspec.Struct, frozen=True, kw_only=True):
    """Which booleans apply to the sub-session's intent."""

    goal_explicit: bool
    scope_bounded: bool
    references_concrete: bool
    context_sufficient: bool
    verification_requested: bool
    root_cause_oriented: bool
    plan_first: bool


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """How a sub-session is called, and by whom. Texts are None once they have been forgotten."""

    title: str | None
    summary: str | None
    title_source: str


class RubricItem(Named, frozen=True, kw_only=True):
    """The grade of one sub-session. A boolean is None where it does not apply or nothing was judged."""

    score_v3_sub_session_id: str
    intent_class: str
    letter_grade: str | None
    confidence: float | None
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None
    applicability: Applicability
    judge_status: str


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


class _Row(msgspec.Struct, frozen=True):
    sub_session_id: str
    agent_session_id: str
    started_us: int
    last_activity_us: int
    settled: bool
    turns: int
    floor_passed: bool
    trivia_reason: str | None
    intent: Intent | None
    earned: tuple[BooleanName, ...]
    goal_complete: bool
    rework: bool
    total_tokens: int
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    lower_bound_requests: int
    detail: Detail

    @property
    def title(self) -> tuple[TextRef | None, str]:
        """The title that counts, and where it comes from."""
        if self.detail.edited_title is not None:
            return self.detail.edited_title, "user_edited"
        if self.settled and self.intent is not None:
            return self.detail.goal_title, "rubric"
        return self.detail.first_title, "heuristic"

    @property
    def summary(self) -> TextRef | None:
        return self.detail.edited_summary or self.detail.summary


_COLUMNS = (
    "SELECT s.sub_session_id, s.agent_session_id, s.started_us, s.last_activity_us, "
    "s.settles_at_us <= b.log_time_us, s.turns, s.floor_passed, s.trivia_reason, s.intent, s.earned, "
    "s.goal_complete, s.rework_of IS NOT NULL, "
    "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, "
    "s.cost_usd_nano, s.requests, s.unpriced_requests, s.lower_bound_requests, s.detail "
    "FROM bookmark b, sub_sessions s JOIN sessions p ON p.agent_session_id = s.agent_session_id "
    "AND p.organization_id = s.organization_id AND p.developer_id = s.developer_id "
    "WHERE s.organization_id = :organization AND s.developer_id = :developer "
)
_NEWEST_FIRST = "ORDER BY s.started_us DESC, s.sub_session_id LIMIT :limit OFFSET :offset"


def rubric_items(reader: Reader, scope: Scope, limit: int, offset: int) -> list[RubricItem]:
    """Settled sub-sessions above the floor, newest started first."""
    where = "AND s.settles_at_us <= b.log_time_us AND s.floor_passed "
    rows = _select(reader.db, scope, where + _NEWEST_FIRST, limit=limit, offset=offset)
    return [_rubric_item(row, named) for row, named in _with_names(reader, rows)]


def rubric_item(reader: Reader, scope: Scope, sub_session_id: UUID) -> RubricItem | None:
    """One sub-session, under its present or any former id."""
    current = resolve(reader, scope, sub_session_id)
    rows = _select(reader.db, scope, "AND s.sub_session_id = :id", id=str(current))
    return next((_rubric_item(row, named) for row, named in _with_names(reader, rows)), None)


def trivia(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TriviaItem]:
    """Settled sub-sessions below the floor that started in the window, newest first."""
    where = (
        "AND s.settles_at_us <= b.log_time_us AND NOT s.floor_passed "
        "AND s.started_us >= :start AND s.started_us < :end "
    )
    bound = {"start": window.start_us, "end": window.end_us, "limit": limit, "offset": offset}
    rows = _select(reader.db, scope, where + _NEWEST_FIRST, **bound)
    return [
        TriviaItem(
            score_v3_sub_session_id=row.sub_session_id,
            reason=row.trivia_reason or "too_few_turns",
            created_at=iso(row.started_us),
            title=named.title,
            summary=named.summary,
        )
        for row, named in _with_names(reader, rows)
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
    rows = _select(reader.db, scope, where + _NEWEST_FIRST, **bound)
    return [_realtime_row(row, named) for row, named in _with_names(reader, rows)]


def resolve(reader: Reader, scope: Scope, sub_session_id: UUID) -> UUID | None:
    """The sub-session that now holds the turn which this id once named; its id is that of its opening turn."""
    query = (
        "SELECT p.sub_session_id FROM turn_alias a JOIN prompts p ON p.turn_id = a.turn_id "
        "WHERE a.alias_id = ? AND p.organization_id = ? AND p.developer_id = ?"
    )
    owner = (str(scope.organization_id), str(scope.developer_id))
    row = reader.db.execute(query, (str(sub_session_id), *owner)).fetchone()
    return None if row is None else UUID(row[0])


def _select(db: sqlite3.Connection, scope: Scope, where: str, **bound: object) -> list[_Row]:
    owner = {"organization": str(scope.organization_id), "developer": str(scope.developer_id)}
    return [_row(values) for values in db.execute(_COLUMNS + where, owner | bound)]


def _row(values: tuple[Any, ...]) -> _Row:
    fields = dict(zip(_Row.__struct_fields__, values, strict=True))
    for flag in ("settled", "floor_passed", "goal_complete", "rework"):
        fields[flag] = bool(fields[flag])
    return _Row(**(fields | {"earned": unmask(fields["earned"]), "detail": unpack(fields["detail"], Detail)}))


def _with_names(reader: Reader, rows: Iterable[_Row]) -> Iterator[tuple[_Row, Named]]:
    listed = list(rows)
    texts = reader.texts(ref for row in listed for ref in (row.title[0], row.summary))
    for row in listed:
        ref, source = row.title
        named = Named(
            title=_shown(texts, ref, TITLE_CHARS_MAX),
            summary=_shown(texts, row.summary, SUMMARY_CHARS_MAX),
            title_source=source,
        )
        yield row, named


def _shown(texts: dict[TextRef, str | None], ref: TextRef | None, characters: int) -> str | None:
    """On one line and within its bound."""
    text = None if ref is None else texts[ref]
    return None if text is None else " ".join(text.split())[:characters]


def _rubric_item(row: _Row, named: Named) -> RubricItem:
    applies = () if row.intent is None else applicable(row.intent)
    judged: dict[str, Any] = {name: (name in row.earned if name in applies else None) for name in BOOLEANS}
    return RubricItem(
        score_v3_sub_session_id=row.sub_session_id,
        intent_class=row.intent or "unclassified",
        letter_grade=_letter(row),
        confidence=None if row.intent is None else row.detail.confidence,
        applicability=Applicability(**{name: name in applies for name in BOOLEANS}),
        judge_status=row.detail.judge_status,
        **judged,
        **msgspec.structs.asdict(named),
    )


def _letter(row: _Row) -> str | None:
    score = None if row.intent is None else score_of(len(row.earned), len(applicable(row.intent)))
    return None if score is None else rubric_letter(score)


def _realtime_row(row: _Row, named: Named) -> RealtimeRow:
    latest = row.detail.latest_score
    known_cost = row.requests and not row.unpriced_requests
    qualifies = row.floor_passed and row.intent is not None
    return RealtimeRow(
        sub_session_id=row.sub_session_id,
        score_v3_sub_session_id=row.sub_session_id,
        agent_session_id=row.agent_session_id,
        is_preview=not row.settled,
        substance_floor_passed=row.floor_passed,
        letter_grade=_letter(row),
        prompt_grade=None if latest is None else rubric_letter(latest),
        intent_class=row.intent or "unclassified",
        goal_complete=row.goal_complete if row.settled else None,
        rework=row.rework if row.settled else None,
        crushed=qualifies and row.goal_complete and not row.rework if row.settled else None,
        started_at=iso(row.started_us),
        ended_at=iso(row.last_activity_us) if row.settled else None,
        turns=row.turns,
        total_tokens=row.total_tokens if row.requests else None,
        cost_usd=row.cost_usd_nano / 1_000_000_000 if known_cost else None,
        unpriced_requests=row.unpriced_requests,
        lower_bound_requests=row.lower_bound_requests,
        **msgspec.structs.asdict(named),
    )
