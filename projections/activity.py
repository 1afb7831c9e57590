"""Where the time of a range went: how long each task was worked on, and which files were touched."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import msgspec

from aggregates.active_time import IDLE_US, active_us
from aggregates.observation import Observation
from aggregates.scope import Scope
from aggregates.times import US_PER_SECOND, iso
from aggregates.turn import FileWork, Turn
from aggregates.turns import NO_ACTIVITY
from aggregates.windows import Window
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.started import CRUSHED, SETTLED, TURNS, bounds, started_in
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
    query = f"SELECT s.sub_session_id, t.body {started_in(TURNS)} ORDER BY s.started_us, s.sub_session_id"
    for name, rows in groupby(db.execute(query, bounds(scope, window)), key=itemgetter(0)):
        turns = [unpack(body, Turn) for _, body in rows]
        yield name, active_us(at_us for turn in turns for at_us in _instants(db, turn))


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


class _Visit(msgspec.Struct, frozen=True):
    """A turn that touched a file."""

    agent_session_id: str
    started_us: int
    last_activity_us: int


class _Touched(msgspec.Struct):
    """A file, summed up turn by turn."""

    digest: int
    path: TextRef
    visits: list[_Visit] = []
    sub_sessions: set[str] = set()
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    edits_without_lines: int = 0

    def add(self, sub_session_id: str, visit: _Visit, work: FileWork) -> None:
        """One more turn touched it."""
        self.visits.append(visit)
        self.sub_sessions.add(sub_session_id)
        self.edits += work.edits
        self.lines_added += work.lines_added
        self.lines_removed += work.lines_removed
        if not work.lines_added + work.lines_removed:
            self.edits_without_lines += work.edits

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What was worked on most comes first."""
        latest_us = max(visit.last_activity_us for visit in self.visits)
        return -self.edits, -len(self.sub_sessions), -latest_us, self.digest


def files(reader: Reader, scope: Scope, window: Window, limit: int, offset: int) -> list[TouchedFile]:
    """The files that sub-sessions of the range touched, those edited most often first."""
    ranked = sorted(_touched(reader.db, scope, window), key=lambda file: file.rank)
    page = ranked[offset : offset + limit]
    texts = reader.texts(file.path for file in page)
    return [_touched_file(reader.db, file, texts[file.path]) for file in page]


def _touched(db: sqlite3.Connection, scope: Scope, window: Window) -> Iterable[_Touched]:
    found: dict[int, _Touched] = {}
    query = f"SELECT s.sub_session_id, t.body {started_in(TURNS)}"
    for name, body in db.execute(query, bounds(scope, window)):
        turn = unpack(body, Turn)
        visit = _Visit(turn.agent_session_id, turn.started_us, turn.last_activity_us)
        for work in turn.work.files:
            file = found.get(work.digest)
            if file is None:
                ref = TextRef(work.position, "words", work.path)
                file = found[work.digest] = _Touched(work.digest, ref)
            file.add(name, visit, work)
    return found.values()


def _touched_file(db: sqlite3.Connection, file: _Touched, path: str | None) -> TouchedFile:
    known = not file.edits_without_lines
    return TouchedFile(
        path=path,
        sub_sessions=len(file.sub_sessions),
        edits=file.edits,
        lines_added=file.lines_added if known else None,
        lines_removed=file.lines_removed if known else None,
        edits_without_lines=file.edits_without_lines,
        last_touched_at=iso(_last_touched_us(db, file)),
    )


def _last_touched_us(db: sqlite3.Connection, file: _Touched) -> int:
    """When the last tool call on the file was seen. A turn does not say, so its observations are looked at."""
    latest_us = 0
    for visit in sorted(file.visits, key=lambda visit: -visit.last_activity_us):
        if visit.last_activity_us <= latest_us:
            break
        latest_us = max(latest_us, _touched_us(db, visit, file.digest))
    return latest_us


def _touched_us(db: sqlite3.Connection, visit: _Visit, digest: int) -> int:
    query = (
        "SELECT at_us, body FROM observations WHERE agent_session_id = ? AND at_us BETWEEN ? AND ? ORDER BY at_us DESC"
    )
    for at_us, body in db.execute(query, (visit.agent_session_id, visit.started_us, visit.last_activity_us)):
        tool = unpack(body, Observation).tool
        if tool is not None and tool.file_digest == digest:
            return int(at_us)
    return visit.started_us  # told of before its prompt, by whose name it belongs here: the nearest time that is known
