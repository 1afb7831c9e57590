"""What the figures would become by a word about a goal: it is taken in a copy in memory, by the very same rules."""

import sqlite3
from contextlib import closing
from uuid import UUID

import msgspec

from aggregates.event import Digester, Scope
from aggregates.scores.grades import Tally
from aggregates.sub_sessions.arcs import REWORK_WINDOW_US
from aggregates.sub_sessions.sub_session import Override, override_words_of
from aggregates.times import US_PER_DAY, Window
from projections.derive.developers import PromptTexts, rebuild_sub_sessions
from projections.derive.sessions import recut_session
from projections.reader import Reader, bound, json_array
from projections.scores.score import tally
from projections.sub_sessions.rows import GoalOutcome, find, select, turns_in

NEIGHBOURS_MAX = 200
"""So many goals are copied, those nearest in time: those farther off may be rework of it, but border on it never."""
BORDERING = 20  # of these the turns, too: they may be joined with it
_REACH_US = REWORK_WINDOW_US + US_PER_DAY
_DIGESTER = Digester(b"a key that opens nothing")
"""For prompts that were never graded together before: what is digested of them is compared with nothing."""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """A goal as it counts, and as it would."""

    title: str | None
    started_us: int
    before: GoalOutcome
    after: list[GoalOutcome]  # of the goals that would hold its turns, in time order
    now: Tally  # of a range of time
    then: Tally


def what_if(reader: Reader, scope: Scope, sub_session_id: UUID, command: Override, window: Window) -> WhatIf | None:
    """None where the developer has no such sub-session."""
    row = find(reader, scope, sub_session_id)
    if row is None:
        return None
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        _copy_neighbours(reader, scope, row.started_us, command, copy)
        trial = reader.over(copy)
        before = tally(trial, scope, window)
        _take(trial, scope, command)
        now, after = tally(reader, scope, window), tally(trial, scope, window)
        turns = [str(each.turn_id) for each in turns_in(reader.db, row.sub_session_id)]
        holding = (
            "AND s.sub_session_id IN (SELECT p.sub_session_id FROM json_each(:turns) t JOIN prompts p "
            "ON p.turn_id = t.value) ORDER BY s.started_us, s.sub_session_id"
        )
        return WhatIf(
            title=row.title,
            started_us=row.started_us,
            before=row.outcome,
            after=[each.outcome for each in select(trial, scope, holding, turns=json_array(turns))],
            now=now,
            then=Tally(*(getattr(now, n) + getattr(after, n) - getattr(before, n) for n in Tally.__struct_fields__)),
        )


def _take(trial: Reader, scope: Scope, command: Override) -> None:
    """The word becomes rows, and what hangs on them is derived again."""
    touched: dict[str, int] = {}
    turn_of = (
        "SELECT t.started_us FROM turns t JOIN turn_alias a ON a.turn_id = t.turn_id "
        "WHERE t.agent_session_id = ? AND a.alias_id = ?"
    )
    for event in command.facts:
        capture_id, words = override_words_of(event)
        session, at = event.agent_session_id, (event.agent_session_id, str(capture_id))
        rows = [(*at, topic, 2**62, said) for topic, said in words]  # behind every position of a log
        trial.db.executemany("INSERT OR REPLACE INTO corrections VALUES (?, ?, ?, ?, ?)", rows)
        for (started_us,) in trial.db.execute(turn_of, at):
            touched[session] = min(started_us, touched.get(session, started_us))
    rebuilt = [recut_session(trial.db, session, from_us) for session, from_us in touched.items()]
    rebuild_sub_sessions(trial.db, scope, rebuilt, PromptTexts(trial, lambda _developer_id: _DIGESTER))


def _copy_neighbours(reader: Reader, scope: Scope, at_us: int, command: Override, copy: sqlite3.Connection) -> None:
    """What the goals within reach of a time are derived from, and all of the sessions that are cut again."""
    copy.executescript(";".join(statement for (statement,) in reader.db.execute(_SCHEMA)))
    reach = Window(at_us - _REACH_US, at_us + _REACH_US)
    recut = json_array(sorted({fact.agent_session_id for fact in command.facts}))
    named = bound(scope, reach, at=at_us, limit=NEIGHBOURS_MAX)
    near = [name for (name,) in reader.db.execute(_NEAR, named)]
    close = list(dict.fromkeys((*near[:BORDERING], *(n for (n,) in reader.db.execute(_RECUT, (recut,))))))
    near = list(dict.fromkeys((*near, *close)))
    sessions = [name for (name,) in reader.db.execute(_SESSIONS, (json_array(near),))]
    parts = [name for (name,) in reader.db.execute(_SESSIONS, (json_array(close),))]
    for keys, of, tables in (
        (near, _OF_GOALS, ("sub_sessions", "sub_session_files", "sub_session_reverts", "arcs")),
        (close, _OF_GOALS, ("prompts",)),
        (sessions, _OF_SESSIONS, ("sessions",)),
        (parts, _OF_SESSIONS, ("turns", "corrections", "judge_answers")),
        (parts, _ALIASES, ("turn_alias",)),
    ):
        for table in tables:
            rows = reader.db.execute(of.format(table), (json_array(keys),)).fetchall()
            if rows:
                copy.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    copy.execute("INSERT INTO bookmark VALUES (?, ?, ?, ?)", reader.db.execute("SELECT * FROM bookmark").fetchone())


_SCHEMA = "SELECT sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' ORDER BY type DESC"  # tables, then indexes
_NEAR = (
    "SELECT sub_session_id FROM sub_sessions WHERE organization_id = :organization AND developer_id = :developer "
    "AND started_us >= :start AND started_us < :end ORDER BY abs(started_us - :at) LIMIT :limit"
)
_RECUT = "SELECT DISTINCT r.sub_session_id FROM json_each(?) k JOIN arcs r ON r.agent_session_id = k.value"
_SESSIONS = "SELECT DISTINCT r.agent_session_id FROM json_each(?) k JOIN arcs r ON r.sub_session_id = k.value"
_OF_GOALS = "SELECT x.* FROM json_each(?) k JOIN {} x ON x.sub_session_id = k.value"
_OF_SESSIONS = "SELECT x.* FROM json_each(?) k JOIN {} x ON x.agent_session_id = k.value"
_ALIASES = (
    "WITH k AS (SELECT value FROM json_each(?)), named (id) AS ("
    "SELECT capture_id FROM k JOIN captures ON agent_session_id = value "
    "UNION SELECT turn_id FROM k JOIN turns ON agent_session_id = value "
    "UNION SELECT capture_id FROM k JOIN corrections ON agent_session_id = value "
    "UNION SELECT capture_id FROM k JOIN judge_answers ON agent_session_id = value) "
    "SELECT x.* FROM named JOIN {} x ON x.alias_id = named.id"
)
