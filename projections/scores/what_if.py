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
from projections.reader import Reader, bound, json_array, sql
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
    for event in command.facts:
        capture_id, words = override_words_of(event)
        session, at = event.agent_session_id, (event.agent_session_id, str(capture_id))
        rows = [(*at, topic, 2**62, said) for topic, said in words]  # behind every position of a log
        trial.db.executemany("INSERT OR REPLACE INTO corrections VALUES (?, ?, ?, ?, ?)", rows)
        for (started_us,) in trial.db.execute(sql("started_of_turn"), at):
            touched[session] = min(started_us, touched.get(session, started_us))
    rebuilt = [recut_session(trial.db, session, from_us) for session, from_us in touched.items()]
    rebuild_sub_sessions(trial.db, scope, rebuilt, PromptTexts(trial, lambda _developer_id: _DIGESTER))


def _copy_neighbours(reader: Reader, scope: Scope, at_us: int, command: Override, copy: sqlite3.Connection) -> None:
    """What the goals within reach of a time are derived from, and all of the sessions that are cut again."""
    copy.executescript(";".join(statement for (statement,) in reader.db.execute(sql("schema"))))
    recut = json_array(sorted({fact.agent_session_id for fact in command.facts}))
    named = bound(scope, Window(at_us - _REACH_US, at_us + _REACH_US), at=at_us, limit=NEIGHBOURS_MAX)
    near = [name for (name,) in reader.db.execute(sql("near_goals"), named)]
    held = (name for (name,) in reader.db.execute(sql("goals_of_sessions"), (recut,)))
    close = list(dict.fromkeys((*near[:BORDERING], *held)))
    near = list(dict.fromkeys((*near, *close)))
    sessions = [name for (name,) in reader.db.execute(sql("sessions_of_goals"), (json_array(near),))]
    parts = [name for (name,) in reader.db.execute(sql("sessions_of_goals"), (json_array(close),))]
    for keys, of, tables in (
        (near, "rows_of_goals", ("sub_sessions", "sub_session_files", "sub_session_reverts", "arcs")),
        (close, "rows_of_goals", ("prompts",)),
        (sessions, "rows_of_sessions", ("sessions",)),
        (parts, "rows_of_sessions", ("turns", "corrections", "judge_answers")),
        (parts, "rows_of_aliases", ("turn_alias",)),
    ):
        for table in tables:
            rows = reader.db.execute(sql(of, table=table), (json_array(keys),)).fetchall()
            if rows:
                copy.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    copy.execute("INSERT INTO bookmark VALUES (?, ?, ?, ?)", reader.db.execute("SELECT * FROM bookmark").fetchone())
