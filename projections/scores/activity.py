"""Where the time of a range went: how long each task was worked on, and which files were touched."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope, Span
from aggregates.scores.grades import svc_score
from aggregates.times import US_PER_SECOND, Window, iso
from aggregates.turns.turn import Observation, Turn
from aggregates.turns.turns import NO_ACTIVITY
from aggregates.turns.work import IDLE_US, ModelTotals, active_us
from projections.derive.sub_session_rows import Detail
from projections.reader import Reader, TextRef, unpack
from projections.sub_sessions.listing import CRUSHED, QUALIFIES, SETTLED, bounds, started_in
from projections.sub_sessions.shown import TITLE_CHARS_MAX


class TaskTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long one sub-session was worked on. What is judged at settling is None while it is open."""

    sub_session_id: str
    title: str | None
    """None once it has been forgotten."""
    intent_class: str
    started_at: str
    ended_at: str | None
    active_seconds: float
    crushed: bool | None


class TaskTimes(msgspec.Struct, frozen=True):
    """One page of tasks, and the active time of all tasks of the range."""

    items: list[TaskTime]
    total_active_seconds: float


def task_time(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> TaskTimes:
    """The sub-sessions that started in the range, newest first."""
    active = dict(active_times(reader.db, scope, window))
    query = (
        f"SELECT s.sub_session_id, s.started_us, s.last_activity_us, {SETTLED}, s.intent, {CRUSHED}, s.detail "
        f"{started_in()} ORDER BY s.started_us DESC, s.sub_session_id LIMIT ? OFFSET ?"
    )
    rows = reader.db.execute(query, (*bounds(scope, window), limit, offset)).fetchall()
    titles = [_title(unpack(row[6], Detail), settled=bool(row[3]), classified=row[4] is not None) for row in rows]
    texts = reader.texts(titles)
    items = [
        TaskTime(
            sub_session_id=name,
            title=_shown(texts, title),
            intent_class=intent or "unclassified",
            started_at=iso(started_us),
            ended_at=iso(last_activity_us) if settled else None,
            active_seconds=active[name] / US_PER_SECOND,
            crushed=bool(crushed) if settled else None,
        )
        for (name, started_us, last_activity_us, settled, intent, crushed, _), title in zip(rows, titles, strict=True)
    ]
    return TaskTimes(items, sum(active.values()) / US_PER_SECOND)


def active_times(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[str, int]]:
    """The active microseconds of every sub-session of the range."""
    query = f"SELECT s.sub_session_id, s.active_us {started_in()}"
    for name, active in db.execute(query, bounds(scope, window)):
        yield name, _seen_active_us(db, name) if active is None else active


def _seen_active_us(db: sqlite3.Connection, sub_session_id: str) -> int:
    """Where a turn was long. Not kept, but looked up: more may be seen within a turn that stays as it is."""
    return active_us(at_us for turn in _turns(db, sub_session_id) for at_us in _instants(db, turn))


def _turns(db: sqlite3.Connection, sub_session_id: str) -> list[Turn]:
    query = "SELECT t.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id WHERE p.sub_session_id = ?"
    return [unpack(body, Turn) for (body,) in db.execute(query, (sub_session_id,))]


def _instants(db: sqlite3.Connection, turn: Turn) -> Iterator[int]:
    """When something of a turn was seen; what happened in between matters only where the turn was long."""
    yield from (turn.started_us, turn.last_activity_us)
    if turn.last_activity_us - turn.started_us > IDLE_US:
        query = "SELECT at_us, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ?"
        span = (turn.agent_session_id, turn.started_us, turn.last_activity_us)
        for at_us, body in db.execute(query, span):
            if unpack(body, Observation).kind not in NO_ACTIVITY:
                yield at_us


def _title(detail: Detail, *, settled: bool, classified: bool) -> TextRef | None:
    """The title that counts: a person's, else the goal's once it is known, else the first prompt's."""
    if detail.edited_title is not None:
        return detail.edited_title
    return detail.goal_title if settled and classified else detail.first_title


def _shown(texts: dict[TextRef, str | None], ref: TextRef | None) -> str | None:
    text = None if ref is None else texts[ref]
    return None if text is None else " ".join(text.split())[:TITLE_CHARS_MAX]


# --- files ----------------------------------------------------------------------------------------------------


class TouchedFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What happened to one file in the sub-sessions of a range."""

    path: str | None
    """None once it has been forgotten."""
    sub_sessions: int
    """How many looked at it or changed it."""
    edits: int
    """0: only looked at."""
    lines_added: int | None
    """None where some edit came without its lines."""
    lines_removed: int | None
    edits_without_lines: int
    """Edits in turns that reported no changed line of this file at all: their lines are unknown."""
    last_touched_at: str


class _Touched(msgspec.Struct, frozen=True):
    """A file, summed up over sub-sessions."""

    digest: int
    path: TextRef
    edits: int
    lines_added: int
    lines_removed: int
    edits_without_lines: int
    seen: list[tuple[int, str]]
    """For each sub-session, the last moment of its turns that touched the file, and the sub-session."""

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What was worked on most comes first."""
        latest_us, _ = max(self.seen)
        return -self.edits, -len(self.seen), -latest_us, self.digest


def files(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TouchedFile]:
    """The files that sub-sessions of the range touched, those edited most often first."""
    ranked = sorted(_touched(reader.db, scope, window), key=lambda file: file.rank)
    page = ranked[offset : offset + limit]
    texts = reader.texts(file.path for file in page)
    turns = _TurnsOf(reader.db)
    return [_touched_file(reader.db, file, texts[file.path], turns) for file in page]


_FILES = (
    "SELECT f.digest, f.edits, f.lines_added, f.lines_removed, f.edits_without_lines, f.seen_us, f.sub_session_id, "
    "f.position, f.path_start, f.path_end "
    f"{started_in('JOIN sub_session_files f ON f.sub_session_id = s.sub_session_id ')} ORDER BY s.started_us"
)


def _touched(db: sqlite3.Connection, scope: Scope, window: Window) -> list[_Touched]:
    files: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in db.execute(_FILES, bounds(scope, window)):
        files[row[0]].append(row)
    return [_summed(rows) for rows in files.values()]


def _summed(rows: Sequence[tuple[Any, ...]]) -> _Touched:
    """One file, its sub-sessions in time order; the path is read where it was first told."""
    (digest, *_), edits, added, removed, without_lines, seen_us, names, *_ = zip(*rows, strict=True)
    position, start, end = rows[0][-3:]
    ref = TextRef(position, "words", Span(start, end))
    seen = list(zip(seen_us, names, strict=True))
    return _Touched(digest, ref, sum(edits), sum(added), sum(removed), sum(without_lines), seen)


class _TurnsOf(dict[str, list[Turn]]):
    """The turns of sub-sessions, each looked up once: the files of a page lie mostly in the same few."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, sub_session_id: str) -> list[Turn]:
        turns = self[sub_session_id] = _turns(self._db, sub_session_id)
        return turns


def _touched_file(db: sqlite3.Connection, file: _Touched, path: str | None, turns: _TurnsOf) -> TouchedFile:
    known = not file.edits_without_lines
    return TouchedFile(
        path=path,
        sub_sessions=len(file.seen),
        edits=file.edits,
        lines_added=file.lines_added if known else None,
        lines_removed=file.lines_removed if known else None,
        edits_without_lines=file.edits_without_lines,
        last_touched_at=iso(_last_touched_us(db, file, turns)),
    )


def _last_touched_us(db: sqlite3.Connection, file: _Touched, turns: _TurnsOf) -> int:
    """When the last tool call on the file was seen. A turn does not say, so its observations are looked at."""
    latest_us = 0
    for seen_us, name in sorted(file.seen, reverse=True):
        if seen_us <= latest_us:
            break
        for turn in turns[name]:
            if turn.last_activity_us > latest_us and file.digest in turn.work.touched_files:
                latest_us = max(latest_us, _touched_us(db, turn, file.digest))
    return latest_us


def _touched_us(db: sqlite3.Connection, turn: Turn, digest: int) -> int:
    query = (
        "SELECT at_us, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? ORDER BY at_us DESC"
    )
    for at_us, body in db.execute(query, (turn.agent_session_id, turn.started_us, turn.last_activity_us)):
        tool = unpack(body, Observation).tool
        if tool is not None and tool.file_digest == digest:
            return int(at_us)
    return turn.started_us  # told of before its prompt, by whose name it belongs here: the nearest time that is known


# Which models worked on which kinds of task in a range, how often they got there, and at what cost.

NANO = 1_000_000_000


class ModelTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model on one kind of task. A sub-session that several models worked on counts for each of them."""

    model: str | None
    """None where nobody said which model, or whether any, was asked."""
    intent_class: str
    sub_sessions: int
    qualifying: int
    """Settled, above the floor and classified."""
    crushed: int
    completion_rate: float | None
    """100 x crushed / qualifying; None where nothing qualifies."""
    total_tokens: int | None
    """This model's own; None where some of it is unknown."""
    unreported_sub_sessions: int
    """How many have tokens of this model that nobody reported."""
    cost_usd: float | None
    """This model's own; None where some of it is unknown."""
    unpriced_requests: int
    lower_bound_requests: int
    """How many of the priced requests may have cost more."""


class _Row(msgspec.Struct, frozen=True):
    """One sub-session for one model."""

    qualifies: bool
    crushed: bool
    totals: ModelTotals


_Key = tuple[str | None, str]


_MODELS = list[ModelTotals]


def model_task(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[ModelTask]:
    """One row for each pair of model and intent class, the most frequent first."""
    pairs: dict[_Key, list[_Row]] = {}
    for key, row in _rows(reader.db, scope, window):
        pairs.setdefault(key, []).append(row)
    ranked = sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0][0] or "", pair[0][1]))
    return [_model_task(key, rows) for key, rows in ranked[offset : offset + limit]]


def _rows(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterator[tuple[_Key, _Row]]:
    query = f"SELECT s.intent, {QUALIFIES}, {CRUSHED}, s.models {started_in()}"
    for intent, qualifies, crushed, models in db.execute(query, bounds(scope, window)):
        for totals in unpack(models, _MODELS):
            yield (totals.model, intent or "unclassified"), _Row(bool(qualifies), bool(crushed), totals)


def _model_task(key: _Key, rows: list[_Row]) -> ModelTask:
    qualifying = sum(row.qualifies for row in rows)
    crushed = sum(row.crushed for row in rows)
    unreported = sum(not row.totals.reported for row in rows)
    unpriced = sum(row.totals.unpriced_requests for row in rows)
    priced = not unpriced and all(row.totals.requests for row in rows)
    return ModelTask(
        model=key[0],
        intent_class=key[1],
        sub_sessions=len(rows),
        qualifying=qualifying,
        crushed=crushed,
        completion_rate=svc_score(crushed, qualifying) if qualifying else None,
        total_tokens=None if unreported else sum(row.totals.tokens for row in rows),
        unreported_sub_sessions=unreported,
        cost_usd=sum(row.totals.cost_usd_nano for row in rows) / NANO if priced else None,
        unpriced_requests=unpriced,
        lower_bound_requests=sum(row.totals.lower_bound_requests for row in rows),
    )


# Buckets of a zone's hours, days and months out of sums that SQL made for each quarter of an hour.
#
# Every zone in use differs from UTC by whole quarters of an hour, so a quarter never lies in two of its hours.

SLOT_US = 15 * 60 * US_PER_SECOND


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def local_time(slot: int, zone: ZoneInfo) -> datetime:
    """What clocks in the zone show when a quarter of an hour, counted since 1970, begins."""
    return (_EPOCH + slot * timedelta(microseconds=SLOT_US)).astimezone(zone)


def hour_start(slot: int, zone: ZoneInfo) -> str:
    """When the zone's hour that holds a quarter began, in UTC; of an hour that clocks repeat, each by itself."""
    minute = local_time(slot, zone).minute
    return iso(slot * SLOT_US - minute * 60 * US_PER_SECOND)
