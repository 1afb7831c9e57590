"""What a text model is to be asked: about settled sub-sessions, with their words, which stand in the log.

Two rounds. First where it begins and ends, as far as the embedded judge is unsure; then, of what has become of it, what
its prompts ask for and whether the goal was reached: an answer about turns that part company is for naught.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec

from aggregates.judge_events import JudgeAnswered, JudgeKind
from aggregates.scope import Scope
from aggregates.times import US_PER_SECOND
from aggregates.turn import Turn
from projections.bodies import unpack
from projections.question_texts import EARLIER_MAX, spoken
from projections.reader import Reader
from projections.unsure import unsure_of

PROMPT_CHARACTERS_MAX = 6_000
_US_PER_DAY = 86_400 * US_PER_SECOND


class Wanted(msgspec.Struct, frozen=True):
    """Which sub-sessions are asked about."""

    model: str
    version: int
    """Of the prompt texts."""
    days: int
    sub_sessions: int
    prompts: int
    gaps: int
    """Of one agent session, in all."""


class Question(msgspec.Struct, frozen=True):
    """One question, with the data that it is about."""

    kind: JudgeKind
    scope: Scope
    agent_session_id: str
    capture_id: UUID
    captures: tuple[UUID, ...]
    """Of an outcome every prompt; of a boundary the prompt before it."""
    payload: dict[str, Any]


class Key(NamedTuple):
    """A sub-session, when it was last active, and the round: one that goes on is another one to ask about."""

    sub_session_id: str
    active_us: int
    about: Literal["boundaries", "verdicts"]


def unjudged(
    reader: Reader, wanted: Wanted, may_leave: Callable[[UUID], bool], done: Collection[Key]
) -> list[tuple[Key, list[Question]]]:
    """Settled sub-sessions with what is to be asked about them now, which may be nothing.

    Below the floor that is where they begin and end, and no more: a boundary too many leaves trivia behind.
    """
    query = (
        "SELECT s.sub_session_id, s.last_activity_us, s.organization_id, s.developer_id, s.floor_passed "
        "FROM bookmark b CROSS JOIN sub_sessions s WHERE s.settles_at_us <= b.log_time_us "
        "AND s.settles_at_us > b.log_time_us - ? ORDER BY s.settles_at_us DESC, s.sub_session_id"
    )
    found: list[tuple[Key, list[Question]]] = []
    for name, active_us, organization_id, developer_id, floor in reader.db.execute(query, (wanted.days * _US_PER_DAY,)):
        scope = Scope(UUID(organization_id), UUID(developer_id))
        last = Key(name, active_us, "verdicts")
        if last not in done and may_leave(scope.organization_id):
            first = Key(name, active_us, "boundaries")
            gaps = [] if first in done else list(_gaps(reader, scope, name, wanted))
            verdicts = [] if gaps or not floor else list(_verdicts(reader, scope, name, wanted))
            found.append((first, gaps) if gaps else (last, verdicts))
        if len(found) >= wanted.sub_sessions:
            break
    return found


def _gaps(reader: Reader, scope: Scope, name: str, wanted: Wanted) -> Iterator[Question]:
    """Whether a prompt opens another topic: those that the embedded judge is least sure of."""
    gaps, answered = unsure_of(reader.db, name)
    new = [gap for gap in gaps if not _answered(reader.db, "boundary", gap.turn, wanted, (gap.arc[-1].capture_id,))]
    for gap in new[: max(wanted.gaps - answered, 0)]:
        *arc, now = spoken(reader, (*gap.arc[:1], *gap.arc[1:][-EARLIER_MAX:], gap.turn))
        if now.prompt:
            told = {"earlier": [each.told() for each in arc], "prompt": now.prompt[:PROMPT_CHARACTERS_MAX]}
            yield _question("boundary", scope, gap.turn, (gap.arc[-1].capture_id,), told)


def _verdicts(reader: Reader, scope: Scope, name: str, wanted: Wanted) -> Iterator[Question]:
    said = spoken(reader, _turns(reader.db, name))
    for nth, each in enumerate(said[: wanted.prompts]):
        known = _answered(reader.db, "rubric", each.turn, wanted)
        if each.status in ("ok", "unclassified") and each.prompt and not known:
            earlier = [one.asked for one in said[max(nth - EARLIER_MAX, 0) : nth] if one.prompt]
            payload: dict[str, Any] = {"earlier": earlier, "prompt": each.prompt[:PROMPT_CHARACTERS_MAX]}
            yield _question("rubric", scope, each.turn, (), payload)
    last, captures = said[-1].turn, tuple(each.turn.capture_id for each in said)
    if any(each.prompt for each in said) and not _answered(reader.db, "outcome", last, wanted, captures):
        told = said if len(said) <= wanted.prompts else [*said[: wanted.prompts - 1], said[-1]]
        course = {"turns": [each.told() for each in told], "next": _next(reader, last)}
        yield _question("outcome", scope, last, captures, course)


def _question(
    kind: JudgeKind, scope: Scope, turn: Turn, captures: tuple[UUID, ...], payload: dict[str, Any]
) -> Question:
    return Question(kind, scope, turn.agent_session_id, turn.capture_id, captures, payload)


def _turns(db: sqlite3.Connection, name: str) -> list[Turn]:
    query = (
        "SELECT t.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id "
        "WHERE p.sub_session_id = ? ORDER BY t.started_us, t.turn_id"
    )
    return [unpack(row[0], Turn) for row in db.execute(query, (name,))]


def _next(reader: Reader, last: Turn) -> str | None:
    """What the developer asked after it, in the same agent session."""
    query = (
        "SELECT t.body FROM turns t JOIN prompts p ON p.turn_id = t.turn_id WHERE t.agent_session_id = ? "
        "AND (t.started_us, t.turn_id) > (?, ?) ORDER BY t.started_us, t.turn_id LIMIT 1"
    )
    row = reader.db.execute(query, (last.agent_session_id, last.started_us, str(last.turn_id))).fetchone()
    return None if row is None else spoken(reader, [unpack(row[0], Turn)])[0].asked


def _answered(
    db: sqlite3.Connection, kind: JudgeKind, turn: Turn, wanted: Wanted, captures: Sequence[UUID] = ()
) -> bool:
    """Whether this model answered before, to this prompt text, about just these captures."""
    query = "SELECT body FROM judge_answers WHERE agent_session_id = ? AND capture_id = ? AND kind = ?"
    row = db.execute(query, (turn.agent_session_id, str(turn.capture_id), kind)).fetchone()
    if row is None:
        return False
    answer = unpack(row[0], JudgeAnswered)
    same = set(answer.captures) == set(captures)
    return same and (answer.model, answer.prompt_version) == (wanted.model, wanted.version)
