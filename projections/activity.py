"""Where the time of a range went: how long each task was worked on, and which files were touched."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from aggregates.active_time import IDLE_US, active_us
from aggregates.observation import Observation
from aggregates.scope import Scope
from aggregates.times import US_PER_SECOND, iso
from aggregates.turn import Turn
from aggregates.turns import NO_ACTIVITY
from aggregates.windows import Window
from aggregates.words import Span
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.started import CRUSHED, SETTLED, bounds, started_in
from projections.sub_session_rows import Detail
from projections.sub_session_shown import TITLE_CHARS_MAX


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
