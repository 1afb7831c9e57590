"""What a text model is to be asked: about settled sub-sessions, with their words, which stand in the log.

Two rounds. First where it begins and ends, as far as the embedded judge is unsure; then, of what has become of it, what
its prompts ask for and whether the goal was reached: an answer about turns that part company is for naught.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.judging.answers import JudgeAnswered, JudgeKind
from aggregates.reading.pasted import look
from aggregates.sub_sessions.arcs import Arc, Gap, unsure_gaps
from aggregates.times import US_PER_SECOND
from aggregates.turns.turn import (
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
from projections.derive.sessions import arcs_of, response_ref, turns_of
from projections.derive.sub_session_rows import PromptBody
from projections.facts.answers import session_gaps
from projections.reader import Reader, TextRef, unpack

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


# The words that a question to a text model is about, and what was observed in phrases of our own.

CONTEXT_CHARACTERS_MAX = 600


EARLIER_MAX = 3
"""Of the prompts before the one that is judged."""


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


class Spoken(msgspec.Struct, frozen=True):
    """A turn with its own words."""

    turn: Turn
    status: str
    """Of its rubric."""
    prompt: str | None
    """Without what was pasted, which never earns a grade."""
    response: str | None

    @property
    def asked(self) -> str | None:
        """So much of the prompt as is told where another one is judged."""
        return None if self.prompt is None else self.prompt[:CONTEXT_CHARACTERS_MAX]

    def told(self) -> Mapping[str, Any]:
        """The course of the turn. The end of an answer says more than its beginning."""
        return {
            "asked": self.asked,
            "answer_ended": None if self.response is None else self.response[-CONTEXT_CHARACTERS_MAX:],
            "observed": [OBSERVED[mark] for mark in self.turn.work.marks if mark in OBSERVED][-EARLIER_MAX * 4 :],
        }


def spoken(reader: Reader, turns: Sequence[Turn]) -> list[Spoken]:
    """These turns with their words, one read of the log for all."""
    bodies = [_body(reader.db, turn) for turn in turns]
    prompts = [None if body is None else body.prompt for body in bodies]
    answers = [response_ref(reader.db, turn) for turn in turns]
    texts = reader.texts([*prompts, *answers])
    return [
        Spoken(
            turn=turn,
            status="skipped" if body is None else body.rubric.status,
            prompt=_own(texts, prompt),
            response=_text(texts, answer),
        )
        for turn, body, prompt, answer in zip(turns, bodies, prompts, answers, strict=True)
    ]


def _body(db: sqlite3.Connection, turn: Turn) -> PromptBody | None:
    row = db.execute("SELECT body FROM prompts WHERE turn_id = ?", (str(turn.turn_id),)).fetchone()
    return None if row is None else unpack(row[0], PromptBody)


def _text(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    return None if ref is None else texts[ref]


def _own(texts: Mapping[TextRef, str | None], ref: TextRef | None) -> str | None:
    text = _text(texts, ref)
    return None if text is None else look(text).own.strip()


# Gaps of a sub-session that the embedded boundary judge is unsure of, for a text model to be asked about.

_JUDGED = ("topic", "commit")


def unsure_of(db: sqlite3.Connection, sub_session_id: str) -> tuple[list[Gap], int]:
    """Those within it, and that before it, the least sure first; and how many of its agent sessions were answered."""
    arcs = arcs_of(db, sub_session_id)
    found = [gap for arc in arcs for gap in _of_arc(db, arc)]
    found.sort(key=lambda gap: (abs(gap.logit), gap.turn.started_us, gap.turn.turn_id))
    return found, _answered_gaps(db, {arc.agent_session_id for arc in arcs})


def _of_arc(db: sqlite3.Connection, arc: Arc) -> list[Gap]:
    spoken = session_gaps(db, arc.agent_session_id)
    before = _arc_before(db, arc) if arc.opened_by in _JUDGED else None
    return unsure_gaps([] if before is None else turns_of(db, [before]), turns_of(db, [arc]), spoken)


def _arc_before(db: sqlite3.Connection, arc: Arc) -> Arc | None:
    """In the same agent session."""
    query = (
        "SELECT body FROM arcs WHERE agent_session_id = ? AND (started_us, arc_id) < (?, ?) "
        "ORDER BY started_us DESC, arc_id DESC LIMIT 1"
    )
    row = db.execute(query, (arc.agent_session_id, arc.started_us, str(arc.arc_id))).fetchone()
    return None if row is None else unpack(row[0], Arc)


def _answered_gaps(db: sqlite3.Connection, sessions: set[str]) -> int:
    query = "SELECT count(*) FROM judge_answers WHERE agent_session_id = ? AND kind = 'boundary'"
    count: int = sum(db.execute(query, (session,)).fetchone()[0] for session in sorted(sessions))
    return count
