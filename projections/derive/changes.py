"""What happened to each sub-session lately, and at which position of the log: for event streams.

These rows are no conclusions: they depend on how facts were cut into batches. Digests leave them out, a replay keeps
none, and nothing may be derived from them. They are kept from when a file serves (`start_feed`), and for a day.
Triggers remember what sub-sessions were before a batch, wherever they are written.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Literal, get_args

import msgspec

from aggregates.event import Scope
from projections.facts.rows import Rows
from projections.reader import Reader, owner
from projections.schema import columns_of

Kind = Literal["opened", "merged", "edited", "overridden", "updated", "settled", "judged"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What can happen to a sub-session, in the order it is told in.

- opened: it is there.
- merged: it is part of another one now; its id leads there.
- edited: a person named it, or split or joined it.
- overridden: a person spoke against a verdict or the intent.
- settled: its time has passed; from now on it counts.
- judged: its verdicts are shown, or are others than they were.
- updated: anything else about it.
"""
KEPT_US = 24 * 3_600_000_000
"""How long a change is kept, by the time of the log."""
_VERDICTS = ("floor_passed", "trivia_reason", "intent", "earned", "sure", "goal_complete", "rework_of")
_Columns = Mapping[str, object]
"""A row of `sub_sessions` by column."""


class Change(msgspec.Struct, frozen=True):
    """The newest time that something happened to a sub-session."""

    kind: Kind
    sub_session_id: str
    agent_session_id: str
    position: int
    at_us: int


class Changes(msgspec.Struct, frozen=True):
    """What one developer is to be told."""

    position: int
    """Everything up to here is told with these."""
    told: tuple[Change, ...] | None
    """By position; None where it is not known, or too much: everything is to be fetched again."""
    views: str = ""
    """The file of the views that told it: a replay puts another one in its place."""


def latest(reader: Reader, scope: Scope) -> Changes:
    """Where somebody begins who has seen nothing yet."""
    return Changes(_position(reader.db), (), _file(reader.db))


def changes_since(reader: Reader, scope: Scope, position: int, limit: int, views: str | None = None) -> Changes:
    """What happened to this developer's sub-sessions after a position that was told; at most `limit` things.

    `views`: the file that told it, where that is known: where its feed begins, nothing came before.
    """
    db = reader.db
    until, file = _position(db), _file(db)
    kept = _is_kept(db, position if views is None else position + 1)
    if not kept or position > until or views not in (None, file):
        return Changes(until, None, file)
    query = (
        "SELECT kind, sub_session_id, agent_session_id, position, at_us FROM changes "
        "WHERE organization_id = ? AND developer_id = ? AND position > ? LIMIT ?"
    )
    found = [Change(*row) for row in db.execute(query, (*owner(scope), position, limit + 1))]
    if len(found) > limit:
        return Changes(until, None, file)
    return Changes(until, tuple(sorted(found, key=_order)), file)


def changes_after_pause(reader: Reader, scope: Scope, position: int, since_us: int, limit: int) -> Changes:
    """The same after a pause; `told` is None where the position is older than `since_us`."""
    until = _position(reader.db)
    told_us = reader.received_us(position) if 0 < position <= until else None
    if told_us is None or told_us < since_us:
        return Changes(until, None, _file(reader.db))
    return changes_since(reader, scope, position, limit)


def _order(change: Change) -> tuple[int, str, int]:
    return change.position, change.sub_session_id, KINDS.index(change.kind)


def _position(db: sqlite3.Connection) -> int:
    position: int = db.execute("SELECT position FROM bookmark").fetchone()[0]
    return position


def _file(db: sqlite3.Connection) -> str:
    """The name of the views' file."""
    path: str = db.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    return path.replace("\\", "/").rpartition("/")[2]


def _log_time_us(db: sqlite3.Connection) -> int:
    log_time_us: int = db.execute("SELECT log_time_us FROM bookmark").fetchone()[0]
    return log_time_us


def start_feed(db: sqlite3.Connection, after: int) -> None:
    """Keep what changes beyond this position, unless changes are kept already."""
    db.execute("UPDATE change_feed SET from_position = ? WHERE from_position IS NULL", (after + 1,))


def _is_kept(db: sqlite3.Connection, position: int) -> bool:
    return db.execute("SELECT 1 FROM change_feed WHERE from_position <= ?", (position,)).fetchone() is not None


class Watched(msgspec.Struct, frozen=True):
    """A batch under way whose changes are kept."""

    position: int
    log_time_us: int
    """Before the batch."""


def watch(db: sqlite3.Connection, position: int) -> Watched | None:
    """Have sub-sessions remembered as they are before the batch that ends here; None where no changes are kept."""
    if not _is_kept(db, position):
        return None
    for statement in _WATCHING:
        db.execute(statement)
    return Watched(position, _log_time_us(db))


_COLUMNS = columns_of("sub_sessions")
_NAMES = ", ".join(_COLUMNS)
_OLD = ", ".join(f"OLD.{name}" for name in _COLUMNS)
_WATCHING = (
    f"CREATE TEMP TABLE IF NOT EXISTS were ({_NAMES}, was_there, PRIMARY KEY (sub_session_id))",
    "CREATE TEMP TRIGGER IF NOT EXISTS watch_insert AFTER INSERT ON main.sub_sessions BEGIN "
    "INSERT OR IGNORE INTO were (sub_session_id, was_there) VALUES (NEW.sub_session_id, 0); END",
    "CREATE TEMP TRIGGER IF NOT EXISTS watch_update AFTER UPDATE ON main.sub_sessions BEGIN "
    f"INSERT OR IGNORE INTO were VALUES ({_OLD}, 1); END",
    "CREATE TEMP TRIGGER IF NOT EXISTS watch_delete AFTER DELETE ON main.sub_sessions BEGIN "
    f"INSERT OR IGNORE INTO were VALUES ({_OLD}, 1); END",
)


def keep_changes(db: sqlite3.Connection, rows: Rows, watched: Watched) -> None:
    """Write down what the batch changed, and delete what is too old."""
    log_time_us = _log_time_us(db)
    settling = "WHERE settles_at_us > ? AND settles_at_us <= ?"
    db.execute(
        f"INSERT OR IGNORE INTO were SELECT {_NAMES}, 1 FROM sub_sessions {settling}",
        (watched.log_time_us, log_time_us),
    )
    said = _said(db, rows)
    changes = [
        (row["sub_session_id"], kind, *(row[name] for name in _OWNER), watched.position, log_time_us)
        for was, now in _touched(db)
        if (row := now or was) is not None
        for kind in _kinds(was, now, said.get(str(row["sub_session_id"]), set()), watched.log_time_us, log_time_us)
    ]
    db.executemany("INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", changes)
    db.execute("DELETE FROM were")
    _let_go(db, log_time_us - KEPT_US)


_OWNER = ("organization_id", "developer_id", "agent_session_id")


def _touched(db: sqlite3.Connection) -> Iterator[tuple[_Columns | None, _Columns | None]]:
    """Every sub-session that was written, as it was and as it is; None where it was not or is not there."""
    was, now = (", ".join(f"{table}.{name}" for name in _COLUMNS) for table in ("w", "s"))
    query = (
        f"SELECT w.was_there, s.sub_session_id IS NOT NULL, {was}, {now} "
        "FROM were w LEFT JOIN sub_sessions s ON s.sub_session_id = w.sub_session_id"
    )
    for was_there, is_there, *values in db.execute(query).fetchall():
        half = len(_COLUMNS)
        before, after = dict(zip(_COLUMNS, values, strict=False)), dict(zip(_COLUMNS, values[half:], strict=True))
        yield before if was_there else None, after if is_there else None


def _kinds(was: _Columns | None, now: _Columns | None, said: set[Kind], before_us: int, now_us: int) -> set[Kind]:
    """What happened to one sub-session in a batch. That it was updated goes without saying where more is said."""
    if now is None:
        return set() if was is None else {"merged"}
    kinds: set[Kind] = {"opened"} if was is None else set(said)
    was_settled = was is not None and _settles_us(was) <= before_us
    if _settles_us(now) <= now_us:
        if not was_settled:
            kinds |= {"settled", "judged"} if now["floor_passed"] else {"settled"}
        elif was is not None and not said and any(was[name] != now[name] for name in _VERDICTS):
            kinds.add("judged")
    return kinds or (set() if was == now else {"updated"})


def _settles_us(row: _Columns) -> int:
    settles_us = row["settles_at_us"]
    assert isinstance(settles_us, int)
    return settles_us


def _said(db: sqlite3.Connection, rows: Rows) -> dict[str, set[Kind]]:
    """What people said of sub-sessions, by the one that holds the turn they spoke of."""
    said: dict[str, set[Kind]] = {}
    for alias_id in rows.touched_turns:
        _note(db, said, "edited", _HOLDING, alias_id)
    for _, capture_id, topic, *_ in rows.corrections:
        _note(db, said, "edited" if topic == "gap" else "overridden", _HOLDING, capture_id)
        if topic == "gap":
            _note(db, said, "edited", _HOLDING_PREVIOUS, capture_id)
    return said


_HOLDING = "SELECT p.sub_session_id FROM turn_alias a JOIN prompts p ON p.turn_id = a.turn_id WHERE a.alias_id = ?"
_HOLDING_PREVIOUS = """
SELECT p.sub_session_id FROM turn_alias a JOIN turns t ON t.turn_id = a.turn_id
JOIN turns e ON e.agent_session_id = t.agent_session_id AND (e.started_us, e.turn_id) < (t.started_us, t.turn_id)
JOIN prompts p ON p.turn_id = e.turn_id
WHERE a.alias_id = ? ORDER BY e.started_us DESC, e.turn_id DESC LIMIT 1
"""


def _note(db: sqlite3.Connection, said: dict[str, set[Kind]], kind: Kind, query: str, alias_id: object) -> None:
    for (name,) in db.execute(query, (alias_id,)).fetchall():
        said.setdefault(name, set()).add(kind)


def _let_go(db: sqlite3.Connection, before_us: int) -> None:
    gone = db.execute("DELETE FROM changes WHERE at_us < ? RETURNING position", (before_us,)).fetchall()
    if gone:
        db.execute("UPDATE change_feed SET from_position = max(from_position, ?)", max(gone))


def next_due_us(db: sqlite3.Connection) -> int | None:
    """The earliest time at which an open sub-session settles if nothing more happens."""
    query = "SELECT min(s.settles_at_us) FROM bookmark b JOIN sub_sessions s ON s.settles_at_us > b.log_time_us"
    due_us: int | None = db.execute(query).fetchone()[0]
    return due_us
