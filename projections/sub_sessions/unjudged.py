"""What a text model is asked about settled sub-sessions: first where they begin and end, then what they came to."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.judging.rubric import BLANK_LINE, JudgeAnswered, JudgeKind, unit_turns
from aggregates.sub_sessions.arcs import Arc, Gap, unsure_gaps
from aggregates.times import US_PER_DAY
from aggregates.turns.turn import Turn
from projections.derive.sessions import arcs_of, neighbour, response_ref, session_gaps, turns_of
from projections.derive.sub_session_rows import PromptDetail
from projections.reader import Reader, TextRef, bodies, bound, sql, unpack
from projections.sub_sessions.rows import MARKS, find, turns_in

PROMPT_CHARACTERS_MAX = 6_000
PASTED_CHARACTERS_MAX = 2_000
CONTEXT_CHARACTERS_MAX = 600
EARLIER_MAX = 3  # of the prompts before the one that is judged
GAP_CHARACTERS_MAX = 1_500  # of a prompt that may open another topic
GAPS_MAX, GAPS_BYTES_MAX = 8, 20_000  # of one question about a session's gaps
OBSERVED = MARKS["observed"]


class QuestionBounds(msgspec.Struct, frozen=True):
    """Which sub-sessions are asked about."""

    model: str | None  # None: a developer's own agent is asked, with whatever model
    version: int  # of the prompt texts
    days: int
    sub_sessions: int
    prompts: int
    gaps: int  # of one agent session, in all


class About(NamedTuple):
    agent_session_id: str
    capture_id: UUID
    captures: tuple[UUID, ...]  # of an outcome all prompts, of a boundary the one before, of a unit all of it


class Question(msgspec.Struct, frozen=True):
    """One question, with the data that it is about."""

    kind: JudgeKind
    scope: Scope
    about: tuple[About, ...]  # of boundaries each gap, else one
    payload: dict[str, Any]


class QuestionRound(NamedTuple):
    """A sub-session, when it was last active, and the round: one that goes on is another one to ask about."""

    sub_session_id: str
    active_us: int
    about: Literal["boundaries", "verdicts"]


class TurnWords(msgspec.Struct, frozen=True):
    turn: Turn
    status: str  # of its rubric
    prompt: str | None  # without what was pasted
    pasted: str
    response: str | None

    def exchange(self, characters_max: int = CONTEXT_CHARACTERS_MAX) -> dict[str, Any]:
        """So much of what was asked, and how it was answered: the end of an answer says more than its beginning."""
        answer = None if self.response is None else self.response[-CONTEXT_CHARACTERS_MAX:]
        return {"asked": None if self.prompt is None else self.prompt[:characters_max], "answer_ended": answer}

    def course(self, characters_max: int = CONTEXT_CHARACTERS_MAX) -> dict[str, Any]:
        observed = [OBSERVED[mark] for mark in self.turn.work.marks if mark in OBSERVED]
        return {**self.exchange(characters_max), "observed": observed[-EARLIER_MAX * 4 :]}


def unjudged(
    reader: Reader,
    wanted: QuestionBounds,
    may_leave: Callable[[UUID], bool],
    done: Collection[QuestionRound],
    of: Scope | None = None,
    only: str | None = None,
) -> list[tuple[QuestionRound, list[Question]]]:
    """Settled sub-sessions, each with its questions of now, maybe none; below the floor only about boundaries.

    `of`: those of one developer alone; `only`: this one alone.
    """
    organization, developer = (None, None) if of is None else (str(of.organization_id), str(of.developer_id))
    named: dict[str, Any] = {"organization": organization, "developer": developer, "only": only}
    named["since_us"] = wanted.days * US_PER_DAY
    found: list[tuple[QuestionRound, list[Question]]] = []
    told: dict[str, list[Question]] = {}  # by agent session: its sub-sessions share a question about their gaps
    for name, active_us, organization_id, developer_id, floor in reader.db.execute(sql("to_ask"), named):
        scope = Scope(UUID(organization_id), UUID(developer_id))
        last = QuestionRound(name, active_us, "verdicts")
        if last not in done and may_leave(scope.organization_id):
            first = QuestionRound(name, active_us, "boundaries")
            sessions = [] if first in done else sorted({arc.agent_session_id for arc in arcs_of(reader.db, name)})
            new = {each: list(_gaps(reader, scope, each, wanted)) for each in sessions if each not in told}
            told |= new
            if any(told[each] for each in sessions):
                found.append((first, [question for each in new.values() for question in each]))
            else:
                found.append((last, list(_verdicts(reader, scope, name, wanted)) if floor else []))
        if len(found) >= wanted.sub_sessions:
            break
    return found


def _gaps(reader: Reader, scope: Scope, session: str, wanted: QuestionBounds) -> Iterator[Question]:
    """Which prompts of a session open another topic, of those that the embedded judge is least sure of."""
    gaps, turns = unsure_of(reader.db, session)
    new = [gap for gap in gaps if not _answered(reader.db, "boundary", gap.turn, wanted, (gap.arc[-1].capture_id,))]
    query = "SELECT count(*) FROM judge_answers WHERE agent_session_id = ? AND kind = 'boundary'"
    new = new[: max(wanted.gaps - reader.db.execute(query, (session,)).fetchone()[0], 0)]
    seen = {turn.turn_id for gap in new for turn in _shown(gap)}
    shown = {number: turn for number, turn in enumerate(turns, 1) if turn.turn_id in seen}
    words = dict(zip(shown, _words(reader, [*shown.values()]), strict=True))
    for part, payload in gap_payloads(new, words):
        about = (About(gap.turn.agent_session_id, gap.turn.capture_id, (gap.arc[-1].capture_id,)) for gap in part)
        yield Question("boundary", scope, tuple(about), payload)


def gap_payloads(gaps: Sequence[Gap], words: Mapping[int, TurnWords]) -> Iterator[tuple[list[Gap], dict[str, Any]]]:
    """All gaps in one question, or halves where that is too large. `words`: by the turn's number in its session."""
    by_turn = {gap.turn.turn_id: gap for gap in gaps}
    numbers = [number for number, each in words.items() if each.turn.turn_id in by_turn and each.prompt]
    part = [by_turn[words[number].turn.turn_id] for number in numbers]
    shown = {turn.turn_id for gap in part for turn in _shown(gap)}
    turns = [
        {"turn": number, **each.course(GAP_CHARACTERS_MAX if number in numbers else CONTEXT_CHARACTERS_MAX)}
        for number, each in words.items()
        if each.turn.turn_id in shown
    ]
    payload, half = {"turns": turns, "gaps": numbers}, len(part) // 2
    if len(part) > GAPS_MAX or (half and len(msgspec.json.encode(payload)) > GAPS_BYTES_MAX):
        yield from gap_payloads(part[:half], words)
        yield from gap_payloads(part[half:], words)
    elif part:
        yield part, payload


def _shown(gap: Gap) -> tuple[Turn, ...]:
    return (*gap.arc[:1], *gap.arc[1:][-EARLIER_MAX:], gap.turn)


def _verdicts(reader: Reader, scope: Scope, name: str, wanted: QuestionBounds) -> Iterator[Question]:
    turns = _words(reader, turns_in(reader.db, name))
    said = {each.turn.turn_id: each for each in turns}
    for unit in unit_turns(each.turn for each in turns[: wanted.prompts]):
        lead, captures = said[unit[0].turn_id], tuple(turn.capture_id for turn in unit) if len(unit) > 1 else ()
        words = [said[turn.turn_id] for turn in unit]
        texts = [each.prompt for each in words if each.prompt]
        pasted = "\n".join(each.pasted for each in words if each.pasted)
        known = _answered(reader.db, "rubric", lead.turn, wanted, captures)
        if lead.status in ("ok", "unclassified") and (texts or pasted) and not known:
            nth = turns.index(lead)
            payload = {
                "earlier": [one.exchange() for one in turns[max(nth - EARLIER_MAX, 0) : nth] if one.prompt],
                "prompt": BLANK_LINE.join(texts)[:PROMPT_CHARACTERS_MAX],
                "pasted": pasted[:PASTED_CHARACTERS_MAX],
            }
            about = About(lead.turn.agent_session_id, lead.turn.capture_id, captures)
            yield Question("rubric", scope, (about,), payload)
    last, captures = turns[-1].turn, tuple(each.turn.capture_id for each in turns)
    row = find(reader, scope, UUID(name))
    open_to = row is not None and not row.detail.outcome.evident and any(each.prompt for each in turns)
    if open_to and not _answered(reader.db, "outcome", last, wanted, captures):
        shown = turns if len(turns) <= wanted.prompts else [*turns[: wanted.prompts - 1], turns[-1]]
        following = neighbour(reader.db, last, ">")
        asked = None if following is None else _words(reader, [following])[0].exchange()["asked"]
        course = {"turns": [each.course() for each in shown], "next": asked}
        yield Question("outcome", scope, (About(last.agent_session_id, last.capture_id, captures),), course)


def _answered(
    db: sqlite3.Connection, kind: JudgeKind, turn: Turn, wanted: QuestionBounds, captures: Sequence[UUID] = ()
) -> bool:
    """Whether this model answered before, to this prompt text, about just these captures; or any own agent."""
    asked = (turn.agent_session_id, str(turn.capture_id), kind, wanted.model is None)
    row = db.execute(sql("answered_question"), asked).fetchone()
    if row is None:
        return False
    answer = unpack(row[0], JudgeAnswered)
    same = set(answer.captures) == set(captures)
    return same and answer.prompt_version == wanted.version and wanted.model in (None, answer.model)


def _words(reader: Reader, turns: Sequence[Turn]) -> list[TurnWords]:
    """These turns with their words, one read of the log for all."""
    from aggregates.reading.prompt_text import pasted_lines, split_pasted  # late: loaded with the first text

    query = "SELECT body FROM prompts WHERE turn_id = ?"
    found = [reader.db.execute(query, (str(turn.turn_id),)).fetchone() for turn in turns]
    bodies = [None if row is None else unpack(row[0], PromptDetail) for row in found]
    prompts = [None if body is None else body.prompt for body in bodies]
    answers = [response_ref(reader.db, turn) for turn in turns]
    texts: dict[TextRef | None, str | None] = dict(reader.texts([*prompts, *answers]).items())
    return [
        TurnWords(
            turn=turn,
            status="skipped" if body is None else body.rubric.status,
            prompt=None if (text := texts.get(prompt)) is None else split_pasted(text).own.strip(),
            pasted="" if text is None else pasted_lines(text),
            response=texts.get(answer),
        )
        for turn, body, prompt, answer in zip(turns, bodies, prompts, answers, strict=True)
    ]


def unsure_of(db: sqlite3.Connection, session: str) -> tuple[list[Gap], list[Turn]]:
    """Gaps of its settled sub-sessions, those the embedded judge is least sure of first; and all of its turns."""
    found, arcs = list[Gap](), bodies(db, Arc, sql("settled_arcs"), (session,))
    spoken = session_gaps(db, {session})
    for before, arc in pairwise([None, *arcs]):
        assert arc is not None
        parted = before is not None and arc.opened_by in ("topic", "commit")
        found += unsure_gaps(turns_of(db, [before]) if before and parted else [], turns_of(db, [arc]), spoken)
    found.sort(key=lambda gap: (abs(gap.logit), gap.turn.started_us, gap.turn.turn_id))
    return found, turns_of(db, arcs)


class Judged(msgspec.Struct, frozen=True):
    """How many verdicts on prompts and settled goals came from whom."""

    embedded: int
    text_model: int
    own_agent: int


def judged(reader: Reader, scope: Scope) -> Judged:
    verdicts, answered, own = reader.db.execute(sql("verdicts"), bound(scope)).fetchone()
    return Judged(max(verdicts - answered, 0), answered - own, own)
