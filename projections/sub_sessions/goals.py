"""Goals as a person looks for them: by time, kind, outcome, agent and words of the title; and what they come to."""

from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.capture.commands import TRANSCRIPT_SUFFIX
from aggregates.event import Scope
from aggregates.reading.verdicts import Intent
from aggregates.times import Window
from projections.reader import Reader, bound, json_array
from projections.sub_sessions.rows import CRUSHED, NANO, QUALIFIES, SETTLED, SubSessionRow, find, owned, select

Outcome = Literal["reached", "not_reached", "undecided", "rework", "not_counted", "live"]
SEARCHED_MAX = 2_000
"""So many goals are looked through for words or an agent: what they hold of these is read from the log."""
_CHUNK = 200  # of these at once
_ALL_TIME = Window(0, 2**62)
_IN_WINDOW = "AND s.started_us >= :start AND s.started_us < :end "
_BY_OUTCOME: dict[Outcome, str] = {
    "reached": f"AND {CRUSHED} ",
    "not_reached": f"AND {QUALIFIES} AND s.goal_complete = 0 AND s.rework_of IS NULL ",
    "undecided": f"AND {QUALIFIES} AND s.goal_complete IS NULL ",
    "rework": f"AND {QUALIFIES} AND s.goal_complete IS NOT NULL AND s.rework_of IS NOT NULL ",
    "not_counted": f"AND {SETTLED} AND NOT (s.floor_passed AND s.intent IS NOT NULL) ",
    "live": f"AND NOT ({SETTLED}) ",
}
_ORDER = "ORDER BY s.started_us DESC, s.sub_session_id LIMIT :limit OFFSET :offset"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which goals; None is any."""

    window: Window | None = None
    kind: Intent | None = None
    outcome: Outcome | None = None
    agent: str | None = None
    said: bool = False  # only those that a person said something about
    words: str = ""


class GoalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A goal in a list."""

    sub_session_id: str
    title: str | None  # None where its words were not captured, or were forgotten
    title_source: str
    summary: str | None
    kind: str
    agent: str | None
    outcome: Outcome
    trivia_reason: str | None  # why it does not count, where it is below the floor
    floor_turns: int
    floor_lines: int
    floor_calls: int
    started_us: int
    ended_us: int
    turns: int
    letter_grade: str | None
    total_tokens: int | None
    cost_usd: float | None
    unpriced_requests: int
    said: bool  # whether a person said something about it


class GoalPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: list[GoalRow]
    total: int | None  # how many there are; None where they were looked through
    more: bool
    searched: int  # how many were looked through for words or an agent; 0 without either
    complete: bool  # whether all there are were looked through


def outcome_of(row: SubSessionRow) -> Outcome:
    if not row.settled:
        return "live"
    if not row.floor_passed or row.intent is None:
        return "not_counted"
    if row.goal_complete is None:
        return "undecided"
    if row.rework:
        return "rework"
    return "reached" if row.goal_complete else "not_reached"


def goals(reader: Reader, scope: Scope, wanted: Wanted, limit: int, offset: int) -> GoalPage:
    """The newest first."""
    where, more = _where(wanted)
    if wanted.words.strip() or wanted.agent is not None:
        return _searched(reader, scope, wanted, where, more, limit, offset)
    rows = select(reader, scope, where + _ORDER, wanted.window or _ALL_TIME, limit=limit, offset=offset, **more)
    count = f"SELECT count(*) {owned()}{where}"
    (total,) = reader.db.execute(count, bound(scope, wanted.window or _ALL_TIME, **more)).fetchone()
    shown = shown_rows(reader, rows)
    return GoalPage(rows=shown, total=total, more=offset + len(rows) < total, searched=0, complete=True)


def _where(wanted: Wanted) -> tuple[str, dict[str, Any]]:
    where, more = _IN_WINDOW, {}
    if wanted.kind is not None:
        where += "AND s.intent = :kind "
        more["kind"] = wanted.kind
    if wanted.outcome is not None:
        where += _BY_OUTCOME[wanted.outcome]
    if wanted.said:
        where += "AND s.overridden "
    return where, more


def _searched(
    reader: Reader, scope: Scope, wanted: Wanted, where: str, more: dict[str, Any], limit: int, offset: int
) -> GoalPage:
    """What was said is sealed in the log, so it is read, the newest first, up to a bound that is told."""
    words, searched, complete = wanted.words.casefold().split(), 0, False
    window = wanted.window or _ALL_TIME
    found: list[GoalRow] = []
    while searched < SEARCHED_MAX and len(found) <= offset + limit:
        rows = select(reader, scope, where + _ORDER, window, limit=_CHUNK, offset=searched, **more)
        searched += len(rows)
        titled = [row for row in rows if all(word in (row.title or "").casefold() for word in words)]
        found += [row for row in shown_rows(reader, titled) if wanted.agent in (None, row.agent)]
        if len(rows) < _CHUNK:
            complete = True
            break
    rows_shown = found[offset : offset + limit]
    return GoalPage(rows=rows_shown, total=None, more=len(found) > offset + limit, searched=searched, complete=complete)


def shown_rows(reader: Reader, rows: list[SubSessionRow]) -> list[GoalRow]:
    """With the agent that was worked with, and whether a person said something."""
    ids = json_array([row.sub_session_id for row in rows])
    query = (
        "SELECT s.sub_session_id, s.overridden FROM json_each(?) i JOIN sub_sessions s ON s.sub_session_id = i.value"
    )
    said = dict(reader.db.execute(query, (ids,)).fetchall())
    places = {row.sub_session_id: ref.position for row in rows if (ref := row.detail.first_title) is not None}
    sources = reader.sources(places.values())
    agents = {name: sources.get(place, "").removesuffix(TRANSCRIPT_SUFFIX) for name, place in places.items()}
    return [_shown(row, bool(said[row.sub_session_id]), agents.get(row.sub_session_id) or None) for row in rows]


def _shown(row: SubSessionRow, said: bool, agent: str | None) -> GoalRow:
    floor = row.detail.floor
    return GoalRow(
        sub_session_id=row.sub_session_id,
        title=row.title,
        title_source=row.title_source,
        summary=row.summary,
        kind=row.intent_class,
        agent=agent,
        outcome=outcome_of(row),
        trivia_reason=row.trivia_reason,
        floor_turns=floor.countable_turns,
        floor_lines=floor.changed_lines,
        floor_calls=floor.mutating_calls,
        started_us=row.started_us,
        ended_us=row.ended_us,
        turns=row.turns,
        letter_grade=row.figures()["letter_grade"],
        total_tokens=row.total_tokens,
        cost_usd=row.cost_usd_nano / NANO if row.requests and not row.unpriced_requests else None,
        unpriced_requests=row.unpriced_requests,
        said=said,
    )


def goal_row(reader: Reader, scope: Scope, sub_session_id: UUID) -> GoalRow | None:
    """One goal, under its present or any former id; None where the developer has none of it."""
    row = find(reader, scope, sub_session_id)
    return None if row is None else shown_rows(reader, [row])[0]


def newest_us(reader: Reader, scope: Scope) -> int | None:
    """When the newest goal began; None without any."""
    (found,) = reader.db.execute(f"SELECT max(s.started_us) {owned()}", bound(scope)).fetchone()
    return None if found is None else int(found)
