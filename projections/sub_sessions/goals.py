"""Goals as a person looks for them: by time, kind, outcome, agent and words of the title; and what they come to."""

from typing import Any
from uuid import UUID

import msgspec

from aggregates.capture.commands import TRANSCRIPT_SUFFIX
from aggregates.event import Scope
from aggregates.reading.verdicts import Intent
from aggregates.times import Window
from projections.reader import Reader, bound
from projections.sub_sessions.rows import (
    IN_RANGE,
    NEWEST_FIRST,
    OUTCOME,
    GoalOutcome,
    SubSessionRow,
    find,
    owned,
    select,
)

SEARCHED_MAX = 2_000
"""So many goals are looked through for words or an agent: what they hold of these is read from the log."""
_CHUNK = 200  # of these at once
_ALL_TIME = Window(0, 2**62)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which goals; None is any."""

    window: Window | None = None
    kind: Intent | None = None
    outcome: GoalOutcome | None = None
    agent: str | None = None
    said: bool = False  # only those that a person said something about
    words: str = ""


class GoalPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: list[SubSessionRow]
    total: int | None  # how many there are; None where they were looked through
    more: bool
    searched: int  # how many were looked through for words or an agent; 0 without either
    complete: bool  # whether all there are were looked through


def goals(reader: Reader, scope: Scope, wanted: Wanted, limit: int, offset: int) -> GoalPage:
    """The newest first."""
    where, more = _where(wanted)
    if wanted.words.strip() or wanted.agent is not None:
        return _searched(reader, scope, wanted, where, more, limit, offset)
    rows = select(reader, scope, where + NEWEST_FIRST, wanted.window or _ALL_TIME, limit=limit, offset=offset, **more)
    count = f"SELECT count(*) {owned()}{where}"
    (total,) = reader.db.execute(count, bound(scope, wanted.window or _ALL_TIME, **more)).fetchone()
    shown = with_agents(reader, rows)
    return GoalPage(rows=shown, total=total, more=offset + len(rows) < total, searched=0, complete=True)


def _where(wanted: Wanted) -> tuple[str, dict[str, Any]]:
    conditions = {"kind": "AND s.intent = :kind ", "outcome": f"AND {OUTCOME} = :outcome "}
    more = {name: value for name in conditions if (value := getattr(wanted, name)) is not None}
    said = "AND s.overridden " if wanted.said else ""
    return IN_RANGE + "".join(conditions[name] for name in more) + said, more


def _searched(
    reader: Reader, scope: Scope, wanted: Wanted, where: str, more: dict[str, Any], limit: int, offset: int
) -> GoalPage:
    """What was said is sealed in the log, so it is read, the newest first, up to a bound that is told."""
    words, searched, complete = wanted.words.casefold().split(), 0, False
    window = wanted.window or _ALL_TIME
    found: list[SubSessionRow] = []
    while searched < SEARCHED_MAX and len(found) <= offset + limit:
        rows = select(reader, scope, where + NEWEST_FIRST, window, limit=_CHUNK, offset=searched, **more)
        searched += len(rows)
        titled = [row for row in rows if all(word in (row.title or "").casefold() for word in words)]
        found += [row for row in with_agents(reader, titled) if wanted.agent in (None, row.agent)]
        if len(rows) < _CHUNK:
            complete = True
            break
    rows_shown = found[offset : offset + limit]
    return GoalPage(rows=rows_shown, total=None, more=len(found) > offset + limit, searched=searched, complete=complete)


def with_agents(reader: Reader, rows: list[SubSessionRow]) -> list[SubSessionRow]:
    """The same rows, with the agent that was worked with where it is known."""
    places = {row.sub_session_id: ref.position for row in rows if (ref := row.detail.first_title) is not None}
    sources = reader.sources(places.values())
    for row in rows:
        row.agent = sources.get(places.get(row.sub_session_id, -1), "").removesuffix(TRANSCRIPT_SUFFIX) or None
    return rows


def goal_row(reader: Reader, scope: Scope, sub_session_id: UUID) -> SubSessionRow | None:
    """One goal, under its present or any former id; None where the developer has none of it."""
    row = find(reader, scope, sub_session_id)
    return None if row is None else with_agents(reader, [row])[0]


def newest_us(reader: Reader, scope: Scope) -> int | None:
    """When the newest goal began; None without any."""
    (found,) = reader.db.execute(f"SELECT max(s.started_us) {owned()}", bound(scope)).fetchone()
    return None if found is None else int(found)
