"""Second pass: the arcs near a change are grouped into sub-sessions again, and each is concluded."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from aggregates.event import Scope
from aggregates.judging.rubric import BLANK_LINE, JoinedReading, joined_prompts, unit_turns
from aggregates.sub_sessions.arcs import REWORK_WINDOW_US, Arc, ReworkView, belongs_to, rework_of
from aggregates.sub_sessions.sub_session import conclude
from aggregates.turns.turn import Parts, Turn
from projections.derive.sessions import RebuiltSession, answers_of, arcs_of, neighbour, said_of, text_of, turns_of
from projections.derive.sub_session_rows import insert_sub_session
from projections.facts.rows import Digesters
from projections.reader import Reader, bodies, json_array, owner, pack, unpack


class GroupedArc(NamedTuple):
    arc: Arc
    sub_session_id: str | None  # what it was last part of; None for an arc that is new


class PromptTexts(NamedTuple):
    reader: Reader
    digesters: Digesters


def rebuild_sub_sessions(
    db: sqlite3.Connection, scope: Scope, rebuilt: Sequence[RebuiltSession], texts: PromptTexts
) -> None:
    before = [arc for each in rebuilt for arc in each.before]
    after = [arc for each in rebuilt for arc in each.after]
    times = [arc.started_us for arc in (*before, *after)]
    if not times:
        return
    start_us, last_us = _group_start_us(db, scope, min(times)), max(times)
    # A sub-session that loses an arc has changed, even where every arc that it keeps is as it was.
    changed = {str(arc.arc_id) for arc in after} | _write_arcs(db, scope, before, after)
    groups = _groups(db, scope, start_us, last_us)
    reach = "organization_id = ? AND developer_id = ? AND started_us BETWEEN ? AND ?"
    stale = db.execute(f"SELECT sub_session_id FROM sub_sessions WHERE {reach}", (*owner(scope), start_us, last_us))
    gone = {name for (name,) in stale} | {name for group in groups for _, name in group if name is not None}
    unchanged = [_unchanged(db, group, changed) for group in groups]
    fresh = [[each.arc for each in group] for group, name in zip(groups, unchanged, strict=True) if name is None]
    _write_anew(db, scope, gone.difference(unchanged), fresh, texts)


def refresh_title(db: sqlite3.Connection, turn_id: str, texts: PromptTexts) -> None:
    """Conclude the sub-session that holds a turn again: a person edited its title."""
    query = (
        "SELECT p.sub_session_id, p.organization_id, p.developer_id FROM turn_alias a "
        "JOIN prompts p ON p.turn_id = a.turn_id WHERE a.alias_id = ?"
    )
    for name, organization_id, developer_id in db.execute(query, (turn_id,)).fetchall():
        scope = Scope(UUID(organization_id), UUID(developer_id))
        _write_anew(db, scope, {name}, [arcs_of(db, name)], texts)


def _group_start_us(db: sqlite3.Connection, scope: Scope, from_us: int) -> int:
    """Where the sub-session before a time starts, so that no sub-session is cut in two."""
    before = "SELECT max(started_us) FROM arcs WHERE organization_id = ? AND developer_id = ? AND started_us < ?"
    begun = (
        "SELECT min(s.started_us) FROM arcs a JOIN sub_sessions s ON s.sub_session_id = a.sub_session_id "
        "WHERE a.organization_id = ? AND a.developer_id = ? AND a.started_us = ?"
    )
    earliest_us: int | None = db.execute(before, (*owner(scope), from_us)).fetchone()[0]
    start_us = from_us
    while earliest_us is not None and earliest_us < start_us:
        start_us = earliest_us
        earliest_us = db.execute(begun, (*owner(scope), start_us)).fetchone()[0]
    return start_us


def _write_arcs(db: sqlite3.Connection, scope: Scope, before: Iterable[Arc], after: Iterable[Arc]) -> set[str]:
    """Replace arcs, those that stay keeping their sub-session's id; the ids of sub-sessions that lost an arc."""
    gone = {str(arc.arc_id) for arc in before} - {str(arc.arc_id) for arc in after}
    delete = "DELETE FROM arcs WHERE arc_id = ? RETURNING sub_session_id"
    lost = {name for arc_id in gone for (name,) in db.execute(delete, (arc_id,)) if name is not None}
    db.executemany(
        "INSERT INTO arcs (arc_id, organization_id, developer_id, agent_session_id, started_us, body) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (arc_id) DO UPDATE SET "
        "agent_session_id = excluded.agent_session_id, started_us = excluded.started_us, body = excluded.body",
        [(str(arc.arc_id), *owner(scope), arc.agent_session_id, arc.started_us, pack(arc)) for arc in after],
    )
    return lost


def _groups(db: sqlite3.Connection, scope: Scope, start_us: int, last_changed_us: int) -> list[list[GroupedArc]]:
    """Sub-sessions from here on, up to the first later arc that opened one before and opens one now."""
    query = (
        "SELECT body, sub_session_id FROM arcs "
        "WHERE organization_id = ? AND developer_id = ? AND started_us >= ? ORDER BY started_us, arc_id"
    )
    groups: list[list[GroupedArc]] = []
    for body, name in db.execute(query, (*owner(scope), start_us)):
        arc = unpack(body, Arc)
        if groups and belongs_to([member.arc for member in groups[-1]], arc):
            groups[-1].append(GroupedArc(arc, name))
            continue
        if arc.started_us > last_changed_us and name == str(arc.arc_id):
            break
        groups.append([GroupedArc(arc, name)])
    return groups


def _unchanged(db: sqlite3.Connection, group: Sequence[GroupedArc], changed: set[str]) -> str | None:
    """The sub-session's id where the group holds just the arcs that it held before, and none of them changed."""
    name = str(group[0].arc.arc_id)
    if any(each.sub_session_id != name or str(each.arc.arc_id) in changed for each in group):
        return None
    count = db.execute("SELECT count(*) FROM arcs WHERE sub_session_id = ?", (name,)).fetchone()[0]
    return name if count == len(group) else None


def _write_anew(
    db: sqlite3.Connection, scope: Scope, gone: Collection[str], fresh: Iterable[Sequence[Arc]], texts: PromptTexts
) -> None:
    """Conclude sub-sessions of these arcs in place of those that go, and settle what all of them are rework of."""
    affected = set(gone).union(*(dependents_of(db, name) for name in gone))
    # What was read of several prompts together stands in the rows that go.
    concluded = []
    for arcs in fresh:
        turns = turns_of(db, arcs)
        read = ((unit[0].turn_id, _joined_reading(db, scope, unit, texts)) for unit in unit_turns(turns))
        joined = {turn_id: reading for turn_id, reading in read if reading is not None}
        following = neighbour(db, turns[-1], ">")
        each = conclude(arcs, turns, following, said_of(db, arcs), answers_of(db, arcs), joined)
        concluded.append((arcs, each))
    for name in gone:  # its arcs and turns stay
        for table in ("sub_sessions", "sub_session_files", "sub_session_reverts", "prompts"):
            db.execute(f"DELETE FROM {table} WHERE sub_session_id = ?", (name,))
    for arcs, each in concluded:
        members = [(str(each.sub_session_id), str(arc.arc_id)) for arc in arcs]
        db.executemany("UPDATE arcs SET sub_session_id = ? WHERE arc_id = ?", members)
        insert_sub_session(db, scope, each)
    names = {str(each.sub_session_id) for _, each in concluded}
    for name in sorted(affected.union(names, *(dependents_of(db, name) for name in names))):
        _settle(db, name)


def _joined_reading(
    db: sqlite3.Connection, scope: Scope, unit: Sequence[Turn], texts: PromptTexts
) -> JoinedReading | None:
    """Of several prompts: as it is known, else from the texts; of deleted ones, as it was read while they stood."""
    prompts = joined_prompts(unit)
    if len(prompts) < 2:
        return None
    query = "SELECT joined FROM prompts WHERE turn_id = ? AND joined IS NOT NULL"
    for known in bodies(db, JoinedReading, query, (str(unit[0].turn_id),)):
        if known.prompts == prompts:
            return known
    refs = [text_of(turn) for turn in unit[: len(prompts)]]
    read = texts.reader.texts(refs)
    words = [text for ref in refs if ref is not None and (text := read[ref]) is not None]
    if len(words) < len(prompts):
        return texts.reader.stood_joined(prompts)
    from aggregates.reading.reading import read_prompt  # late: loaded with the first text

    return JoinedReading(prompts, read_prompt(BLANK_LINE.join(words), texts.digesters(scope.developer_id)))


def joined_in(db: sqlite3.Connection, session: str) -> list[JoinedReading]:
    query = (
        "SELECT p.joined FROM turns t JOIN prompts p ON p.turn_id = t.turn_id "
        "WHERE t.agent_session_id = ? AND p.joined IS NOT NULL ORDER BY p.turn_id"
    )
    return bodies(db, JoinedReading, query, (session,))


# Third pass: which sub-sessions are rework of an earlier one. That hangs on earlier ones within a week that changed the
# same files, or, for a revert with no file in sight, on those of the same agent session. What counts follows what
# people said, of this sub-session and of the goals of earlier ones; what was judged without them stands beside it.

OF_NONE_KNOWN = ""  # `rework_of` where a person says that it is rework, and no rule finds of what


def dependents_of(db: sqlite3.Connection, sub_session_id: str) -> set[str]:
    """Later sub-sessions within reach whose verdict may hang on this one, as it is stored now."""
    query = "SELECT rework_view FROM sub_sessions WHERE sub_session_id = ?"
    found: set[str] = set()
    for view in bodies(db, ReworkView, query, (sub_session_id,)):
        found |= {row[0] for row in _near(db, _LATER, view, view.changed_files, view.changed_parts, view.ended_us)}
    return found


def _near(
    db: sqlite3.Connection, query: str, view: ReworkView, files: Sequence[int], paths: Iterable[Parts], time_us: int
) -> sqlite3.Cursor:
    """Other sub-sessions of the same developer, by files, by the names of paths, and by the agent session."""
    names = json_array(sorted({parts[-1] for parts in paths if parts}))
    place = {"id": str(view.sub_session_id), "session": view.agent_session_id, "reverts": view.reverts}
    reach = {"files": json_array(files), "names": names, "time": time_us, "window": REWORK_WINDOW_US}
    return db.execute(query, place | reach)


_LATER = """
SELECT l.sub_session_id FROM (
    SELECT f.sub_session_id FROM json_each(:files) k
    CROSS JOIN sub_session_files f ON f.digest = k.value AND f.ended_us >= :time
    UNION SELECT r.sub_session_id FROM json_each(:names) k
    CROSS JOIN sub_session_reverts r ON r.name = k.value AND r.started_us BETWEEN :time AND :time + :window
    UNION SELECT sub_session_id FROM sub_sessions WHERE last_agent_session_id = :session AND reverts
    AND started_us BETWEEN :time AND :time + :window
) near CROSS JOIN sub_sessions l ON l.sub_session_id = near.sub_session_id JOIN sub_sessions own
ON own.sub_session_id = :id AND own.organization_id = l.organization_id AND own.developer_id = l.developer_id
WHERE l.started_us BETWEEN :time AND :time + :window AND l.sub_session_id <> :id
"""  # what starts after a time also ends after it: the index of files knows ends
_EARLIER = """
SELECT e.rework_view, e.judged_goal_complete FROM (
    SELECT f.sub_session_id FROM json_each(:files) k CROSS JOIN sub_session_files f
    ON f.digest = k.value AND f.changed AND f.ended_us BETWEEN :time - :window AND :time
    UNION SELECT f.sub_session_id FROM json_each(:names) k CROSS JOIN sub_session_files f
    ON f.name = k.value AND f.changed AND f.ended_us BETWEEN :time - :window AND :time
    UNION SELECT sub_session_id FROM sub_sessions WHERE :reverts AND last_agent_session_id = :session
    AND last_activity_us BETWEEN :time - :window AND :time
) near CROSS JOIN sub_sessions e ON e.sub_session_id = near.sub_session_id JOIN sub_sessions own
ON own.sub_session_id = :id AND own.organization_id = e.organization_id AND own.developer_id = e.developer_id
WHERE (e.goal_complete OR e.judged_goal_complete) AND e.sub_session_id <> :id
"""


def _settle(db: sqlite3.Connection, sub_session_id: str) -> None:
    columns = "rework_view, said_rework, rework_of, judged_rework_of"
    query = f"SELECT {columns} FROM sub_sessions WHERE sub_session_id = ?"
    row = db.execute(query, (sub_session_id,)).fetchone()
    if row is None:
        return
    view, said = unpack(row[0], ReworkView), row[1]
    rows = _near(db, _EARLIER, view, view.touched_files, view.reverted, view.started_us)
    earlier = [(unpack(body, ReworkView), bool(complete)) for body, complete in rows]
    found = judged = rework_of(view, (each for each, _ in earlier))
    if any(each.goal_complete != complete for each, complete in earlier):
        judged = rework_of(view, (replace(each, goal_complete=complete) for each, complete in earlier))
    counted: UUID | str | None = found
    if said is not None:  # by a person, and that counts
        counted = (found or judged or OF_NONE_KNOWN) if said else None
    settled = tuple(None if each is None else str(each) for each in (counted, judged))
    if settled != row[2:]:
        update = "UPDATE sub_sessions SET rework_of = ?, judged_rework_of = ? WHERE sub_session_id = ?"
        db.execute(update, (*settled, sub_session_id))
