"""First pass: the changed tail of a session becomes turns and arcs, whatever the order of facts."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from operator import attrgetter
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec.structs import replace

from aggregates.event import Span
from aggregates.judging.rubric import Answers, GapAnswer, JudgeAnswered
from aggregates.sub_sessions.arcs import Arc, cut_arcs
from aggregates.sub_sessions.sub_session import Overrides, OverrideWord, gap_overrides, overrides_of
from aggregates.turns.turn import CapturedResponse, Observation, Turn
from aggregates.turns.turns import JOIN_WINDOW_US, NO_ACTIVITY, Aliases, Capture, Copies, PlacedObservation, build_turns
from projections.facts.rows import BEGINNING_US, END_US, Touched, insert, priced
from projections.facts.telemetry import TOLD_MAX
from projections.reader import TextRef, bodies, json_array, pack, unpack


class RebuiltSession(msgspec.Struct, frozen=True):
    before: tuple[Arc, ...]
    after: tuple[Arc, ...]


def touched_from(db: sqlite3.Connection, rows: Touched) -> dict[str, int]:
    """For every session a batch touched, the earliest time that may have changed."""
    by_name = (_NAMED, sorted(set(rows.touched_hosts))), (_NAMING, sorted(set(rows.touched_names)))
    asked = *by_name, (_ALIKE, rows.touched_texts), (_ANSWERED, rows.touched_captures)
    found = [db.execute(query, (json_array(keys),)) for query, keys in asked if keys]
    earliest: dict[str, int] = {}
    for session, at_us in chain(rows.touched_times, *found):
        if at_us is not None:
            earliest[session] = min(at_us, earliest.get(session, at_us))
    for session, at_us in db.execute(_COPIED, (json_array(sorted(earliest.items())),)).fetchall():
        earliest[session] = min(at_us, earliest.get(session, at_us))
    return earliest


# Each takes a JSON array of keys and gives, for every key, the session and the earliest time found: one statement for a
# whole batch, since starting one costs more than a look-up.
_EARLIEST = """
SELECT k.value ->> 0, (SELECT min(at_us) FROM {} WHERE agent_session_id = k.value ->> 0 AND {}) FROM json_each(?) k
"""
_NAMED = _EARLIEST.format("captures", "host_prompt_id = k.value ->> 1")
# Observations that name this prompt arrived before it; until now they were assigned by time.
_NAMING = _EARLIEST.format("observations", "prompt_id = k.value ->> 1")
_NEAR = f"at_us BETWEEN (k.value ->> 2) - {JOIN_WINDOW_US} AND k.value ->> 2"
_ALIKE = _EARLIEST.format("captures", f"text_digest = k.value ->> 1 AND {_NEAR}")
_ANSWERED = """
SELECT p.agent_session_id, p.begun_us FROM json_each(?) k JOIN placed_captures p ON p.capture_id = k.value
"""
# In other sessions the turns to which belongs what is told in a session from a time on.
_COPIED = """
SELECT p.agent_session_id, p.begun_us FROM json_each(?) k CROSS JOIN copies c ON c.agent_session_id = k.value ->> 0
AND c.until_us > k.value ->> 1 JOIN placed_captures p ON p.capture_id = c.copy_of
"""


def rebuild_session(db: sqlite3.Connection, session: str, from_us: int) -> RebuiltSession:
    """Build the session's turns and arcs again from the turn before `from_us` on."""
    start_us = _anchor_us(db, session, from_us)
    turns, aliases = _tail_turns(db, session, start_us)
    if not turns and not session_turns(db, session, BEGINNING_US):
        return RebuiltSession((), ())
    _write_turns(db, session, start_us, turns, aliases)
    return recut_session(db, session, start_us, turns if start_us == BEGINNING_US else None)


def recut_session(
    db: sqlite3.Connection, session: str, from_us: int, turns: Sequence[Turn] | None = None
) -> RebuiltSession:
    """Cut the session's turns into arcs again from a time on; the turns stay as they are. `turns`: all of them."""
    base = _arc_to_start_from(db, session, from_us)
    base_us = BEGINNING_US if base is None else base.started_us
    turns = session_turns(db, session, base_us) if turns is None else turns
    opened_by, shift = ("start", None) if base is None else (base.opened_by, base.shift)
    after = cut_arcs(turns, opened_by, shift, session_gaps(db, {session}), gap_answers(db, session))
    query = "SELECT body FROM arcs WHERE agent_session_id = ? AND started_us >= ? ORDER BY started_us, arc_id"
    return RebuiltSession(tuple(bodies(db, Arc, query, (session, base_us))), tuple(after))


def _anchor_us(db: sqlite3.Connection, session: str, from_us: int) -> int:
    """The start of the turn before the one that holds this time, since its closing may change; else the beginning."""
    query = (
        "SELECT DISTINCT started_us FROM turns WHERE agent_session_id = ? AND started_us <= ? "
        "ORDER BY started_us DESC LIMIT 3"
    )
    found = [row[0] for row in db.execute(query, (session, from_us))]
    return found[1] if len(found) == 3 else BEGINNING_US


def _tail_turns(db: sqlite3.Connection, session: str, start_us: int) -> tuple[list[Turn], list[Aliases]]:
    # Less those that were joined to a turn before.
    query = (
        "SELECT c.body FROM captures c LEFT JOIN turn_alias a ON a.alias_id = c.capture_id "
        "LEFT JOIN turns t ON t.turn_id = a.turn_id AND t.started_us < :start "
        "WHERE c.agent_session_id = :session AND c.at_us >= :start AND t.turn_id IS NULL "
        "AND coalesce(c.home, :session) = :session"
    )
    captures = bodies(db, Capture, query, {"session": session, "start": start_us})
    if not captures and start_us == BEGINNING_US:
        return [], []  # however much was seen: nobody has asked for anything yet
    # A text that an agent wrote names no prompt of a person's, so no work is brought back by its name.
    persons = [capture for capture in captures if capture.reading is None or capture.reading.maker is None]
    hosts = sorted({capture.host_prompt_id for capture in persons if capture.host_prompt_id is not None})
    query = (
        "SELECT t.host_prompt_id FROM json_each(?) h CROSS JOIN turns t "
        "ON t.agent_session_id = ? AND t.host_prompt_id = h.value AND +t.started_us < ?"
    )
    taken = {row[0] for row in db.execute(query, (json_array(hosts), session, start_us))}
    seen = _tail_observations(db, session, start_us, [host for host in hosts if host not in taken], taken)
    copies, copied = _copies(db, session, captures)
    seen = sorted([*seen, *copied], key=attrgetter("at_us", "record_id")) if copied else seen
    query = "SELECT a.capture_id, a.body, a.price FROM json_each(?) i JOIN answers a ON a.capture_id = i.value"
    told = [*captures, *(capture for found in copies.values() for _, capture in found)]
    rows = db.execute(query, (json_array([capture.capture_id for capture in told]),))
    answers = {UUID(capture_id): priced(CapturedResponse, body, price) for capture_id, body, price in rows}
    openings = {turn.turn_id: turn.opening for turn in session_turns(db, session, start_us, start_us)}
    return build_turns(session, captures, answers, seen, openings=openings, taken_names=taken, copies=copies)


def _copies(
    db: sqlite3.Connection, session: str, captures: Sequence[Capture]
) -> tuple[Copies, list[PlacedObservation]]:
    """What other sessions tell of the prompts that these captures are, and what was seen of them there."""
    among = {"session": session, "ids": json_array([capture.capture_id for capture in captures]), "most": TOLD_MAX}
    query = (
        "SELECT c.copy_of, c.agent_session_id, c.body FROM json_each(:ids) k CROSS JOIN copies c ON c.capture_id IN ("
        "SELECT n.capture_id FROM captures n WHERE n.copy_of = k.value ORDER BY n.at_us, n.capture_id LIMIT :most) "
        "AND +c.home = :session ORDER BY c.at_us, c.capture_id"
    )
    copies: dict[UUID, list[tuple[str, Capture]]] = {}
    for first, told_in, body in db.execute(query, among):
        copies.setdefault(UUID(first), []).append((told_in, unpack(body, Capture)))
    seen: dict[int, PlacedObservation] = {}
    query = (
        "SELECT c.place, c.at_us, c.record_id, c.position, c.body, c.price FROM copied c "
        "WHERE c.capture_id = ? AND c.superseded = 0 AND c.told_at_home IS NOT 1"
    )
    # One by one, since SQLite would otherwise look at all that is known of the session.
    for copy in sorted(str(capture.capture_id) for found in copies.values() for _, capture in found):
        for place, *row in db.execute(query, (copy,)):
            told = _placed([row])[0]
            if told.observation.kind not in NO_ACTIVITY:
                seen.setdefault(place, replace(told, observation=replace(told.observation, prompt_id=copy)))
    return copies, list(seen.values())


def _tail_observations(
    db: sqlite3.Connection, session: str, start_us: int, hosts: Sequence[str], taken: Set[str]
) -> list[PlacedObservation]:
    """From a time on, less what names an earlier prompt that is not `taken`, and all that name one of the hosts."""
    columns = "o.at_us, o.record_id, o.position, o.body, o.price"
    by_time = (
        f"SELECT {columns} FROM observations o LEFT JOIN turns t ON t.agent_session_id = o.agent_session_id "
        "AND t.host_prompt_id = o.prompt_id AND +t.started_us < :start "  # the plus: by the name, not by the time
        "WHERE o.agent_session_id = :session AND o.at_us >= :start AND o.superseded = 0 "
        "AND o.rowid NOT IN (SELECT place FROM copied WHERE agent_session_id = :session) "
        "AND (t.turn_id IS NULL OR o.prompt_id IN (SELECT value FROM json_each(:taken)))"
    )
    by_name = (
        f"SELECT {columns} FROM json_each(:hosts) h CROSS JOIN observations o ON o.prompt_id = h.value "
        "AND o.agent_session_id = :session AND o.at_us < :start AND o.superseded = 0"
    )
    bound = {"session": session, "start": start_us, "hosts": json_array(hosts), "taken": json_array(sorted(taken))}
    rows = db.execute(f"{by_time} UNION ALL {by_name} ORDER BY 1, 2", bound)
    seen = _placed(rows)
    counts = _line_counts(db, session, start_us)
    return sorted(seen + counts, key=lambda each: (each.at_us, each.record_id)) if counts else seen


def _line_counts(db: sqlite3.Connection, session: str, start_us: int) -> list[PlacedObservation]:
    """The counts of changed lines from a time on; none where a tool call of the session told its lines."""
    query = (
        "SELECT at_us, record_id, position, meaning, counted FROM line_counts WHERE agent_session_id = :session "
        "AND at_us >= :start AND :session NOT IN (SELECT agent_session_id FROM edit_details) ORDER BY at_us, record_id"
    )
    return [
        PlacedObservation(at_us, name, position, Observation(kind="lines", **{meaning: round(count)}))
        for at_us, name, position, meaning, count in db.execute(query, {"session": session, "start": start_us})
    ]


def _placed(rows: Iterable[tuple[Any, ...]]) -> list[PlacedObservation]:
    return [PlacedObservation(at_us, name, place, priced(Observation, *told)) for at_us, name, place, *told in rows]


def _write_turns(
    db: sqlite3.Connection, session: str, start_us: int, turns: Sequence[Turn], aliases: Sequence[Aliases]
) -> None:
    if not turns:  # it turned out to be a sub-agent's: nothing answers to their ids any more
        own = "SELECT turn_id FROM turns WHERE agent_session_id = ?"
        db.execute(f"DELETE FROM turn_alias WHERE turn_id IN ({own})", (session,))
    db.execute("DELETE FROM turns WHERE agent_session_id = ? AND started_us >= ?", (session, start_us))
    hosts = {each.turn_id: each.host_prompt_id for each in aliases}
    insert(db, "turns", [(str(t.turn_id), session, t.started_us, hosts[t.turn_id], pack(t)) for t in turns])
    moved = "ON CONFLICT DO UPDATE SET turn_id = excluded.turn_id WHERE turn_id <> excluded.turn_id"
    insert(db, "turn_alias", [(str(alias), str(each.turn_id)) for each in aliases for alias in each.ids], moved)


def _arc_to_start_from(db: sqlite3.Connection, session: str, start_us: int) -> Arc | None:
    """The last arc before this time at whose start no earlier arc's turn stands; None at the session's beginning."""
    query = (
        "SELECT body FROM arcs a WHERE agent_session_id = ? AND started_us < ? AND NOT EXISTS (SELECT 1 FROM turns t "
        "WHERE t.agent_session_id = a.agent_session_id AND t.started_us = a.started_us AND t.turn_id < a.arc_id) "
        "ORDER BY started_us DESC, arc_id DESC LIMIT 1"
    )
    return next(iter(bodies(db, Arc, query, (session, start_us))), None)


def session_turns(db: sqlite3.Connection, session: str, from_us: int, to_us: int = END_US) -> list[Turn]:
    """The turns of a session that started between two times, both included, in order."""
    query = (
        "SELECT body FROM turns WHERE agent_session_id = ? AND started_us BETWEEN ? AND ? ORDER BY started_us, turn_id"
    )
    return bodies(db, Turn, query, (session, from_us, to_us))


def arcs_of(db: sqlite3.Connection, sub_session_id: str) -> list[Arc]:
    query = "SELECT body FROM arcs WHERE sub_session_id = ? ORDER BY started_us, arc_id"
    return bodies(db, Arc, query, (sub_session_id,))


def turns_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> list[Turn]:
    """In time order, since arcs that a person joined may overlap."""
    ids = json_array([turn_id for arc in arcs for turn_id in arc.turn_ids])
    query = "SELECT t.body FROM json_each(?) i JOIN turns t ON t.turn_id = i.value ORDER BY t.started_us, t.turn_id"
    return bodies(db, Turn, query, (ids,))


def arc_before(db: sqlite3.Connection, arc: Arc) -> Arc | None:
    query = (
        "SELECT body FROM arcs WHERE agent_session_id = ? AND (started_us, arc_id) < (?, ?) "
        "ORDER BY started_us DESC, arc_id DESC LIMIT 1"
    )
    return next(iter(bodies(db, Arc, query, (arc.agent_session_id, arc.started_us, str(arc.arc_id)))), None)


def neighbour(db: sqlite3.Connection, turn: Turn, side: Literal["<", ">"]) -> Turn | None:
    order = "DESC" if side == "<" else "ASC"
    query = (
        f"SELECT body FROM turns WHERE agent_session_id = ? AND (started_us, turn_id) {side} (?, ?) "
        f"ORDER BY started_us {order}, turn_id {order} LIMIT 1"
    )
    return next(iter(bodies(db, Turn, query, (turn.agent_session_id, turn.started_us, str(turn.turn_id)))), None)


def prompt_id(turn: Turn) -> str:
    """The id that a capture of it was answered with; that of the turn where only the agent's own log told of it."""
    return str(turn.turn_id if turn.from_log else turn.capture_id)


def text_of(turn: Turn, part: Literal["title", "summary"] | None = None) -> TextRef | None:
    """Where what a person wrote, or a part of it, stands in the log; None where the prompt's text was not captured."""
    prompt = turn.prompt
    if prompt is None:
        return None
    start, end = prompt.start, prompt.start + prompt.characters
    if part is not None:
        start, end = msgspec.structs.astuple(prompt.title if part == "title" else prompt.summary)
    start, end = start + turn.words_start, end + turn.words_start  # 0 unless it is a log record's
    return TextRef(turn.position, "words" if turn.from_log else "prompt", Span(start, end))


_SESSIONS = "SELECT value FROM json_each(:sessions)"
_TOLD_IN = f"({_SESSIONS} UNION SELECT agent_session_id AS value FROM copies WHERE home IN ({_SESSIONS}))"


def answer_of(db: sqlite3.Connection, turn: Turn) -> tuple[TextRef, int] | None:
    """Where its answer stands, if it was captured, and when it was given."""
    position = turn.response_position
    if position is None or turn.response is None:
        return None
    bound = {"sessions": json_array([turn.agent_session_id]), "position": position, "lead": str(turn.capture_id)}
    bound |= {"from": turn.started_us, "to": turn.last_activity_us}
    within = f"FROM {_TOLD_IN} i CROSS JOIN"
    query = (
        f"SELECT o.at_us, o.record_id, o.position, o.body, o.price {within} observations o "
        "ON o.agent_session_id = i.value AND o.at_us BETWEEN :from AND :to WHERE o.position = :position "
        "ORDER BY o.at_us DESC, o.record_id DESC"
    )
    for seen in _placed(db.execute(query, bound)):
        if seen.observation.kind == "response":
            return TextRef(position, "words", seen.observation.text), seen.at_us
    query = (
        f"SELECT a.body, c.at_us {within} answers a ON a.agent_session_id = i.value "
        "JOIN captures c ON c.capture_id = :lead WHERE a.position = :position"
    )
    for body, prompted_us in db.execute(query, bound):
        return TextRef(position, "response"), unpack(body, CapturedResponse).answered_us(prompted_us)
    return None


def response_ref(db: sqlite3.Connection, turn: Turn) -> TextRef | None:
    """The words of its answer, if they were captured."""
    found = answer_of(db, turn)
    return None if found is None else found[0]


def seen_in(db: sqlite3.Connection, turn: Turn) -> list[PlacedObservation]:
    """What was seen of it, in time order: less what names another turn, or came after a later one began."""
    query = (
        "SELECT o.at_us, o.record_id, o.position, o.body, o.price FROM observations o LEFT JOIN turns t "
        "ON t.agent_session_id = o.agent_session_id AND t.host_prompt_id = o.prompt_id "
        "WHERE o.agent_session_id = :session AND o.at_us BETWEEN :start AND :end AND o.superseded = 0 "
        "AND (t.turn_id = :turn OR t.turn_id IS NULL AND NOT EXISTS (SELECT 1 FROM turns n "
        "WHERE n.agent_session_id = :session AND n.started_us > :start AND n.started_us <= o.at_us)) "
    )
    span = {"session": turn.agent_session_id, "start": turn.started_us, "end": turn.last_activity_us}
    own = _placed(db.execute(query, span | {"turn": str(turn.turn_id)}))
    return sorted([*own, *copied_to(db, turn)], key=attrgetter("at_us", "record_id"))


def copied_to(db: sqlite3.Connection, turn: Turn) -> list[PlacedObservation]:
    """What belongs to it and was seen in other sessions only."""
    query = (
        "SELECT c.at_us, c.record_id, c.position, c.body, c.price FROM copied c "
        "JOIN turn_alias a ON a.alias_id = c.copy_of WHERE c.home = ? AND a.turn_id = ? AND c.superseded = 0 "
        "AND c.told_at_home IS NOT 1 GROUP BY c.place"
    )
    return _placed(db.execute(query, (turn.agent_session_id, str(turn.turn_id))))


# What people and text models said of the turns of a session, by the turns that their captures belong to now.


def answers_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> Answers:
    turns = {turn_id for arc in arcs for turn_id in arc.turn_ids}
    rubrics, outcome, for_others = dict[frozenset[UUID], JudgeAnswered](), None, None
    for turn_id, _, body in _judged(db, {arc.agent_session_id for arc in arcs}, "j.kind <> 'boundary'"):
        if turn_id in turns:
            answer = unpack(body, JudgeAnswered)
            if answer.agent is not None and for_others is None:
                for_others = Answers(dict(rubrics), outcome)  # those of the gateway come first
            about = _turns_of(db, answer)
            if answer.kind == "rubric":
                rubrics[frozenset((turn_id, *about))] = answer
            elif about == turns:
                outcome = answer
    return Answers(rubrics, outcome, for_others)


def _turns_of(db: sqlite3.Connection, answer: JudgeAnswered) -> set[UUID]:
    # A capture that is in no turn is a turn of its own.
    query = "SELECT k.value, a.turn_id FROM json_each(?) k LEFT JOIN turn_alias a ON a.alias_id = k.value"
    return {UUID(turn or capture) for capture, turn in db.execute(query, (json_array(answer.captures),))}


def gap_answers(db: sqlite3.Connection, session: str) -> Mapping[UUID, GapAnswer]:
    """Turn of a session → what was answered last about the gap before it."""
    latest = {turn_id: (position, body) for turn_id, position, body in _judged(db, {session}, "j.kind = 'boundary'")}
    found = {turn_id: (position, unpack(body, JudgeAnswered)) for turn_id, (position, body) in latest.items()}
    return {
        turn_id: GapAnswer(before.pop(), answer, position)
        for turn_id, (position, answer) in found.items()
        if len(before := _turns_of(db, answer)) == 1
    }


def _judged(db: sqlite3.Connection, sessions: Collection[str], which: str) -> list[tuple[UUID, int, bytes]]:
    """The gateway's before those of one's own agent, which stand, each in the order of the log; packed, for of a long
    session most are about other sub-sessions."""
    query = (
        f"SELECT a.turn_id, j.position, j.body FROM {_TOLD_IN} i "
        "CROSS JOIN judge_answers j ON j.agent_session_id = i.value "
        f"JOIN turn_alias a ON a.alias_id = j.capture_id WHERE {which} ORDER BY j.own, j.position"
    )
    rows = db.execute(query, {"sessions": json_array(sorted(sessions))})
    return [(UUID(turn_id), position, body) for turn_id, position, body in rows]


def session_gaps(db: sqlite3.Connection, sessions: Collection[str]) -> dict[UUID, bool]:
    """Turn of some sessions → whether there is a boundary before it, as people said."""
    return gap_overrides(override_words(db, sessions))


def said_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> Overrides:
    turns = {turn_id for arc in arcs for turn_id in arc.turn_ids}
    words = [each for each in override_words(db, {arc.agent_session_id for arc in arcs}) if each.turn_id in turns]
    return overrides_of(words, {arc.arc_id for arc in arcs}, parted=arcs[-1].parted)


def override_words(db: sqlite3.Connection, sessions: Collection[str]) -> list[OverrideWord]:
    query = (
        f"SELECT a.turn_id, c.topic, c.said, c.position FROM {_TOLD_IN} i "
        "CROSS JOIN corrections c ON c.agent_session_id = i.value JOIN turn_alias a ON a.alias_id = c.capture_id "
        "ORDER BY c.position"
    )
    rows = db.execute(query, {"sessions": json_array(sorted(sessions))})
    return [OverrideWord(UUID(row[0]), *row[1:]) for row in rows]
