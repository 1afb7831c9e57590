"""Answers of text models as rows, and as they are derived from: by the turns that their captures belong to now."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from uuid import UUID

from aggregates.judging.rubric import NO_ANSWERS, NO_GAP_ANSWERS, Answers, GapAnswer, JudgeAnswered
from aggregates.sub_sessions.arcs import Arc
from aggregates.sub_sessions.sub_session import (
    OverrideEvent,
    Overrides,
    OverrideTopic,
    OverrideWord,
    gap_overrides,
    override_word_of,
    overrides_of,
)
from projections.facts.rows import Rows
from projections.reader import json_array, pack, unpack


def add_answer(rows: Rows, position: int, event: JudgeAnswered) -> None:
    """The row of an answer; the session of its capture is derived again from that capture's turn on."""
    rows.judge_answers.append((event.agent_session_id, str(event.capture_id), event.kind, position, pack(event)))
    rows.touched_captures.append(str(event.capture_id))


def answers_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> Answers:
    """What was answered about the turns of these arcs."""
    query = (
        "SELECT a.turn_id, j.position, j.body FROM judge_answers j "
        "JOIN turn_alias a ON a.alias_id = j.capture_id WHERE j.agent_session_id = ?"
    )
    turns = {turn_id for arc in arcs for turn_id in arc.turn_ids}
    sessions = sorted({arc.agent_session_id for arc in arcs})
    rows = (row for session in sessions for row in db.execute(query, (session,)) if UUID(row[0]) in turns)
    found = [(turn_id, unpack(body, JudgeAnswered)) for turn_id, _, body in sorted(rows, key=itemgetter(1))]
    if not found:
        return NO_ANSWERS
    rubrics = {UUID(turn_id): answer for turn_id, answer in found if answer.kind == "rubric"}
    outcomes = [each for _, each in found if each.kind == "outcome" and _turns_of(db, each) == turns]
    return Answers(rubrics, outcomes[-1] if outcomes else None)


def _turns_of(db: sqlite3.Connection, answer: JudgeAnswered) -> set[UUID]:
    # A capture that is in no turn is a turn of its own.
    query = "SELECT k.value, a.turn_id FROM json_each(?) k LEFT JOIN turn_alias a ON a.alias_id = k.value"
    found = db.execute(query, (json_array(answer.captures),))
    return {UUID(turn_id or capture_id) for capture_id, turn_id in found}


def gap_answers(db: sqlite3.Connection, session: str) -> Mapping[UUID, GapAnswer]:
    """Turn of a session → what was answered last about the gap before it."""
    query = (
        "SELECT a.turn_id, j.position, j.body FROM judge_answers j JOIN turn_alias a ON a.alias_id = j.capture_id "
        "WHERE j.agent_session_id = ? AND j.kind = 'boundary' ORDER BY j.position"
    )
    found = db.execute(query, (session,)).fetchall()
    if not found:
        return NO_GAP_ANSWERS
    answers = [(UUID(turn_id), position, unpack(body, JudgeAnswered)) for turn_id, position, body in found]
    turns = {turn_id: (position, answer, _turns_of(db, answer)) for turn_id, position, answer in answers}
    return {
        turn_id: GapAnswer(before.pop(), answer, position)
        for turn_id, (position, answer, before) in turns.items()
        if len(before) == 1
    }


def add_correction(rows: Rows, position: int, event: OverrideEvent) -> None:
    """The row of a correction; the session of its capture is derived again from that capture's turn on."""
    capture_id, topic, word = override_word_of(event)
    rows.corrections.append((event.agent_session_id, str(capture_id), topic, position, word))
    rows.touched_captures.append(str(capture_id))


def session_gaps(db: sqlite3.Connection, session: str) -> dict[UUID, bool]:
    """Turn of a session → whether there is a boundary before it, as people said."""
    return gap_overrides(_words(db, session, ("gap",)))


def said_of(db: sqlite3.Connection, arcs: Sequence[Arc]) -> Overrides:
    """What counts of all that people said about the turns of these arcs."""
    turns = {turn_id for arc in arcs for turn_id in arc.turn_ids}
    sessions = dict.fromkeys(arc.agent_session_id for arc in arcs)
    words = [word for session in sessions for word in _words(db, session, ("gap", "goal", "rework", "intent"))]
    return overrides_of(word for word in words if word.turn_id in turns)


def _words(db: sqlite3.Connection, session: str, topics: Iterable[OverrideTopic]) -> list[OverrideWord]:
    query = (
        "SELECT a.turn_id, c.topic, c.said, c.position FROM corrections c "
        "JOIN turn_alias a ON a.alias_id = c.capture_id WHERE c.agent_session_id = ?"
    )
    wanted = set(topics)
    return [OverrideWord(UUID(row[0]), *row[1:]) for row in db.execute(query, (session,)) if row[1] in wanted]
