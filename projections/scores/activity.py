"""Where the time of a range went: the tasks worked on, the files touched, the models used."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope, Span
from aggregates.scores.grades import Interval, Tally, score_of
from aggregates.times import US_PER_SECOND, Window, iso
from aggregates.turns.observation import Observation
from aggregates.turns.turn import IDLE_US, ModelTotals, Turn, active_us
from aggregates.turns.turns import NO_ACTIVITY
from projections.reader import Reader, TextRef, bound, sum_in_halves, unpack, whole_sums
from projections.sub_sessions.rows import (
    IN_RANGE,
    NANO,
    NEWEST_FIRST,
    QUALIFIES,
    SHOWN_CRUSHED,
    UNCLASSIFIED,
    select,
    started_in,
    turns_in,
)

SLOT_US = 15 * 60 * US_PER_SECOND
"""Every zone in use differs from UTC by whole quarters of an hour, so a quarter never lies in two of its hours."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TaskTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long one sub-session was worked on. What is judged at settling is None while it is open."""

    sub_session_id: str
    title: str | None  # None once it has been forgotten
    intent_class: str
    started_at: str
    ended_at: str | None
    active_seconds: float
    crushed: bool | None


class TaskTimes(msgspec.Struct, frozen=True):
    """One page of tasks, and the active time of all tasks of the range."""

    items: list[TaskTime]
    total_active_seconds: float


class TouchedFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened to one file in the sub-sessions of a range."""

    path: str | None  # None once it has been forgotten
    sub_sessions: int  # how many looked at it or changed it
    edits: int  # 0: only looked at
    lines_added: int | None  # None where some edit came without its lines
    lines_removed: int | None
    edits_without_lines: int
    """Edits in turns that reported no changed line of this file at all: their lines are unknown."""
    last_touched_at: str


class ModelTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model on one kind of task. A sub-session that several models worked on counts for each of them."""

    model: str | None  # None where nobody said which model, or whether any, was asked
    intent_class: str
    sub_sessions: int
    qualifying: int  # settled, above the floor and classified
    crushed: int
    undecided: int  # of the qualifying ones, those of which nobody can say whether the goal was reached
    completion_rate: float | None  # 100 x crushed / qualifying; None where nothing qualifies
    interval: Interval | None  # of the completion rate
    total_tokens: int | None  # this model's own; None where some of it is unknown
    unreported_sub_sessions: int  # how many have tokens of this model that nobody reported
    cost_usd: float | None  # this model's own; None where some of it is unknown
    unpriced_requests: int
    lower_bound_requests: int  # how many of the priced requests may have cost more


def task_time(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> TaskTimes:
    """The sub-sessions that started in the range, newest first."""
    active = dict(active_times(reader.db, scope, window))
    items = [
        row.shown_as(TaskTime, active_seconds=active[row.sub_session_id] / US_PER_SECOND)
        for row in select(reader, scope, IN_RANGE + NEWEST_FIRST, window, limit=limit, offset=offset)
    ]
    return TaskTimes(items, sum(active.values()) / US_PER_SECOND)


def active_times(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[str, int]]:
    """The active microseconds of every sub-session of the range."""
    query = f"SELECT s.sub_session_id, s.active_us {started_in()}"
    for name, active in db.execute(query, bound(scope, window)):
        # Where a turn was long: more may be seen within a turn that stays as it is, so it is not stored.
        yield name, active_us(_instants(db, name)) if active is None else active


def _instants(db: sqlite3.Connection, sub_session_id: str) -> Iterator[int]:
    """When something was seen; what happened within a turn matters only where the turn was long."""
    for turn in turns_in(db, sub_session_id):
        yield from (turn.started_us, turn.last_activity_us)
        if turn.last_activity_us - turn.started_us > IDLE_US:
            yield from (at_us for at_us, seen in _observations(db, turn) if seen.kind not in NO_ACTIVITY)


def _observations(db: sqlite3.Connection, turn: Turn) -> Iterator[tuple[int, Observation]]:
    """What was seen while a turn lasted, the latest first."""
    query = (
        "SELECT at_us, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? ORDER BY at_us DESC"
    )
    for at_us, body in db.execute(query, (turn.agent_session_id, turn.started_us, turn.last_activity_us)):
        yield at_us, unpack(body, Observation)


_FILES = f"""
WITH touched AS (
    SELECT f.*, s.started_us,
        row_number() OVER (PARTITION BY f.digest ORDER BY s.started_us, s.sub_session_id) AS place
    {started_in("JOIN sub_session_files f ON f.sub_session_id = s.sub_session_id ")}
)
SELECT digest, count(*), sum(edits), sum(edits_without_lines), max(position) FILTER (WHERE place = 1),
    max(path_start) FILTER (WHERE place = 1), max(path_end) FILTER (WHERE place = 1),
    json_group_array(json_array(seen_us, sub_session_id)),
    {sum_in_halves("lines_added")}, {sum_in_halves("lines_removed")}
FROM touched GROUP BY digest
ORDER BY sum(edits) DESC, count(*) DESC, max(seen_us) DESC, digest LIMIT :limit OFFSET :offset
"""
"""Files summed over sub-sessions; the path is read where it was first told."""


def files(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TouchedFile]:
    """The files that sub-sessions of the range touched, those edited most often first."""
    rows = reader.db.execute(_FILES, bound(scope, window, limit=limit, offset=offset)).fetchall()
    paths = [TextRef(row[4], "words", Span(row[5], row[6])) for row in rows]
    texts = reader.texts(paths)
    turns = cache(partial(turns_in, reader.db))  # the files of a page lie mostly in the same few sub-sessions
    shown = []
    for path, (digest, count, edits, without_lines, _, _, _, seen, *halves) in zip(paths, rows, strict=True):
        added, removed = (None, None) if without_lines else whole_sums(halves)
        last_us = 0
        for seen_us, name in sorted(msgspec.json.decode(seen), reverse=True):
            if seen_us <= last_us:
                break
            last_us = max((last_us, *(_touched_us(reader.db, turn, digest, last_us) for turn in turns(name))))
        shown.append(
            TouchedFile(
                path=texts[path],
                sub_sessions=count,
                edits=edits,
                lines_added=added,
                lines_removed=removed,
                edits_without_lines=without_lines,
                last_touched_at=iso(last_us),
            )
        )
    return shown


def _touched_us(db: sqlite3.Connection, turn: Turn, digest: int, since_us: int) -> int:
    """When a turn's last tool call on a file was seen, 0 where not since then. A turn does not say, so look."""
    if turn.last_activity_us <= since_us or digest not in turn.work.touched_files:
        return 0
    for at_us, seen in _observations(db, turn):
        if seen.tool is not None and seen.tool.file_digest == digest:
            return at_us
    return turn.started_us  # told before its prompt, and here by the prompt's name: the nearest time that is known


def model_task(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[ModelTask]:
    """One row for each pair of model and intent class, the most frequent first."""
    query = f"SELECT s.intent, {QUALIFIES}, {SHOWN_CRUSHED}, s.rework_of IS NOT NULL, s.models {started_in()}"
    pairs: defaultdict[tuple[str | None, str], list[tuple[Tally, ModelTotals]]] = defaultdict(list)
    for intent, qualifies, crushed, rework, models in reader.db.execute(query, bound(scope, window)):
        undecided = bool(qualifies) and crushed is None
        one = Tally(bool(qualifies), bool(crushed), undecided, undecided and not rework)
        for totals in unpack(models, list[ModelTotals]):
            pairs[totals.model, intent or UNCLASSIFIED].append((one, totals))
    ranked = sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0][0] or "", pair[0][1]))
    return [_model_task(*key, rows) for key, rows in ranked[offset : offset + limit]]


def _model_task(model: str | None, intent_class: str, rows: list[tuple[Tally, ModelTotals]]) -> ModelTask:
    tally = Tally(*(sum(getattr(one, field) for one, _ in rows) for field in Tally.__struct_fields__))
    totals = [row[1] for row in rows]
    unreported = sum(not each.reported for each in totals)
    unpriced = sum(each.unpriced_requests for each in totals)
    priced = not unpriced and all(each.requests for each in totals)
    return ModelTask(
        model=model,
        intent_class=intent_class,
        sub_sessions=len(rows),
        qualifying=tally.total,
        crushed=tally.crushed,
        undecided=tally.undecided,
        completion_rate=score_of(tally.crushed, tally.total),
        interval=tally.interval(),
        total_tokens=None if unreported else sum(each.tokens for each in totals),
        unreported_sub_sessions=unreported,
        cost_usd=sum(each.cost_usd_nano for each in totals) / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=sum(each.lower_bound_requests for each in totals),
    )


def local_time(slot: int, zone: ZoneInfo) -> datetime:
    """What clocks in the zone show when a quarter of an hour, counted since 1970, begins."""
    return (_EPOCH + slot * timedelta(microseconds=SLOT_US)).astimezone(zone)


def hour_start(slot: int, zone: ZoneInfo) -> str:
    """When the zone's hour that holds a quarter began, in UTC; of an hour that clocks repeat, each by itself."""
    return iso(slot * SLOT_US - local_time(slot, zone).minute * 60 * US_PER_SECOND)
