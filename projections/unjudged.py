"""What a text model is to be asked: about settled sub-sessions, with their words, which stand in the log."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

import msgspec

from aggregates.judge_events import JudgeAnswered
from aggregates.pasted import look
from aggregates.scope import Scope
from aggregates.times import US_PER_SECOND
from aggregates.turn import (
    API_ERROR,
    CHANGE,
    CHECK_FAILED,
    CHECK_OK,
    COMMIT,
    INTERRUPTED,
    PULL_REQUEST,
    REJECTED,
    REVERT,
    Turn,
)
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.sub_session_rows import PromptBody
from projections.turn_texts import response_ref

PROMPT_CHARACTERS_MAX = 6_000
CONTEXT_CHARACTERS_MAX = 600
EARLIER_MAX = 3
"""Of the prompts before the one that is judged."""
_US_PER_DAY = 86_400 * US_PER_SECOND

OBSERVED = {
    CHANGE: "a file was changed",
    CHECK_OK: "a check passed",
    CHECK_FAILED: "a check failed",
    COMMIT: "it was committed",
    PULL_REQUEST: "a pull request was opened",
    REVERT: "work was taken back",
    API_ERROR: "the agent ended on an API error",
    INTERRUPTED: "the developer interrupted the agent",
    REJECTED: "the developer refused a tool call",
}


class Wanted(msgspec.Struct, frozen=True):
    """Which sub-sessions are asked about."""

    model: str
    version: int
    """Of the prompt texts."""
    days: int
    sub_sessions: int
    prompts: int


class Question(msgspec.Struct, frozen=True):
    """One question, with the data that it is about."""

    kind: Literal["rubric", "outcome"]
    scope: Scope
    agent_session_id: str
    capture_id: UUID
    captures: tuple[UUID, ...]
    """Of an outcome."""
    payload: dict[str, Any]


Key = tuple[str, int]
"""A sub-session, and when it was last active: one that goes on is another one to ask about."""


class _Said(msgspec.Struct, frozen=True):
    """A turn with its own words."""

    turn: Turn
    status: str
    prompt: str | None
    response: str | None


def unjudged(
    reader: Reader, wanted: Wanted, may_leave: Callable[[UUID], bool], done: Collection[Key]
) -> list[tuple[Key, list[Question]]]:
    """Settled sub-sessions above the floor with what is to be asked about them, which may be nothing."""
    query = (
        "SELECT s.sub_session_id, s.last_activity_us, s.organization_id, s.developer_id "
        "FROM bookmark b CROSS JOIN sub_sessions s WHERE s.settles_at_us <= b.log_time_us AND s.floor_passed "
        "AND s.settles_at_us > b.log_time_us - ? ORDER BY s.settles_at_us DESC, s.sub_session_id"
    )
    found: list[tuple[Key, list[Question]]] = []
    for name, active_us, organization_id, developer_id in reader.db.execute(query, (wanted.days * _US_PER_DAY,)):
        scope = Scope(UUID(organization_id), UUID(developer_id))
        if (name, active_us) not in done and may_leave(scope.organization_id):
            found.append(((name, active_us), list(_questions(reader, scope, name, wanted))))
        if len(found) >= wanted.sub_sessions:
            break
    return found


def _questions(reader: Reader, scope: Scope, name: str, wanted: Wanted) -> Iterator[Question]:
    said = _said(reader, name)
    prompts = [each.prompt for each in said]
    for nth, each in enumerate(said[: wanted.prompts]):
        if each.status in ("ok", "unclassified") and each.prompt and not _answered(reader.db, each.turn, wanted):
            earlier = [text[:CONTEXT_CHARACTERS_MAX] for text in prompts[max(nth - EARLIER_MAX, 0) : nth] if text]
            payload: dict[str, Any] = {"earlier": earlier, "prompt": each.prompt[:PROMPT_CHARACTERS_MAX]}
            yield _question("rubric", scope, each.turn, (), payload)
    captures = tuple(each.turn.capture_id for each in said)
    if any(prompts) and not _answered(reader.db, said[-1].turn, wanted, captures):
        told = said if len(said) <= wanted.prompts else [*said[: wanted.prompts - 1], said[-1]]
        course = {"turns": [_told(each) for each in told], "next": _next(reader, said[-1].turn)}
        yield _question("outcome", scope, said[-1].turn, captures, course)


def _question(
    kind: Literal["rubric", "outcome"], scope: Scope, turn: Turn, captures: tuple[UUID, ...], payload: dict[str, Any]
) -> Question:
    return Question(kind, scope, turn.agent_session_id, turn.capture_id, captures, payload)


def _told(said: _Said) -> Mapping[str, Any]:
    """The end of an answer says more than its beginning."""
    return {
        "asked": None if said.prompt is None else said.prompt[:CONTEXT_CHARACTERS_MAX],
        "answer_ended": None if said.response is None else said.response[-CONTEXT_CHARACTERS_MAX:],
        "observed": [OBSERVED[mark] for mark in said.turn.work.marks if mark in OBSERVED][-EARLIER_MAX * 4 :],
    }


def _said(reader: Reader, name: str) -> list[_Said]:
    query = (
        "SELECT t.body, p.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id "
        "WHERE p.sub_session_id = ? ORDER BY t.started_us, t.turn_id"
    )
    rows = [(unpack(turn, Turn), unpack(body, PromptBody)) for turn, body in reader.db.execute(query, (name,))]
    answers = [response_ref(reader.db, turn) for turn, _ in rows]
    texts = reader.texts([*(body.prompt for _, body in rows), *answers])
    return [
        _Said(turn, body.rubric.status, _own(texts, body.prompt), _text(texts, answer))
        for (turn, body), answer in zip(rows, answers, strict=True)
    ]


def _next(reader: Reader, last: Turn) -> str | None:
    """What the developer asked after it, in the same agent session."""
    query = (
        "SELECT p.body FROM turns t JOIN prompts p ON p.turn_id = t.turn_id WHERE t.agent_session_id = ? "
        "AND (t.started_us, t.turn_id) > (?, ?) ORDER BY t.started_us, t.turn_id LIMIT 1"
    )
    row = reader.db.execute(query, (last.agent_session_id, last.started_us, str(last.turn_id))).fetchone()
    ref = None if row is None else unpack(row[0], PromptBody).prompt
    own = None if ref is None else _own(reader.texts([ref]), ref)
    return None if own is None else own[:CONTEXT_CHARACTERS_MAX]


def _text(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    return None if ref is None else texts[ref]


def _own(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    """Without what was pasted, which never earns a grade."""
    text = _text(texts, ref)
    return None if text is None else look(text).own.strip()


def _answered(db: sqlite3.Connection, turn: Turn, wanted: Wanted, captures: Sequence[UUID] | None = None) -> bool:
    """Whether this model answered before, to this prompt text; about the outcome of just these captures."""
    kind = "rubric" if captures is None else "outcome"
    query = "SELECT body FROM judge_answers WHERE agent_session_id = ? AND capture_id = ? AND kind = ?"
    row = db.execute(query, (turn.agent_session_id, str(turn.capture_id), kind)).fetchone()
    if row is None:
        return False
    answer = unpack(row[0], JudgeAnswered)
    same = captures is None or set(answer.captures) == set(captures)
    return same and (answer.model, answer.prompt_version) == (wanted.model, wanted.version)
