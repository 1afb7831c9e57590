"""Writing one concluded sub-session as rows, and taking it away again."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from uuid import UUID

import msgspec
from msgspec.structs import replace

from aggregates.event import Scope
from aggregates.judging.boundary import as_typed
from aggregates.judging.floor import Floor
from aggregates.judging.rubric import own_standing, rated
from aggregates.reading.verdicts import (
    BOOLEANS,
    BooleanName,
    JudgeStatus,
    OutcomeVerdict,
    Rubric,
    UnclassifiedReason,
    applicable,
)
from aggregates.sub_sessions.arcs import ReworkView
from aggregates.sub_sessions.sub_session import OVERRIDE_FIELDS, OverrideField, Overrides, SubSession
from aggregates.turns.observation import Parts
from aggregates.turns.turn import FILES_MAX, ModelUsage, Turn, active_by_turns_us, file_totals, model_totals
from projections.derive.sessions import prompt_id, text_of
from projections.reader import TextRef, json_array, owner, pack


class Detail(msgspec.Struct, frozen=True, array_like=True):
    """What is shown of a sub-session but never searched or summed."""

    agent_session_ids: tuple[str, ...]
    opened_by: str
    closed_by: str | None
    floor: Floor
    first_title: TextRef | None  # from the first prompt, while it is open
    goal_title: TextRef | None  # from the prompt that says what is wanted, once it has settled
    summary: TextRef | None
    edited_title: TextRef | None
    edited_summary: TextRef | None
    judge_status: JudgeStatus
    confidence: float
    outcome: OutcomeVerdict
    latest_score: float | None  # the standing score of its latest classified prompt, 0-100
    judge_reason: UnclassifiedReason | None = None  # why none of its prompts could be classified, where that is known


class PromptDetail(msgspec.Struct, frozen=True, array_like=True):
    """What is shown of a prompt but never searched or summed."""

    prompt: TextRef | None
    response_position: int | None
    elapsed_ms: int | None
    rubric: Rubric
    usage: tuple[ModelUsage, ...]
    unit_prompt_id: str | None = None  # the id of the prompt that leads its grading unit, where that is another one


def mask(names: Iterable[BooleanName]) -> int:
    """A set of booleans as bits, the first boolean lowest."""
    wanted = frozenset(names)
    return sum(1 << bit for bit, name in enumerate(BOOLEANS) if name in wanted)


@cache
def unmask(bits: int) -> tuple[BooleanName, ...]:
    """The booleans a mask names, in rubric order; there are 128 masks."""
    return tuple(name for bit, name in enumerate(BOOLEANS) if bits >> bit & 1)


_TABLES = ("sub_sessions", "sub_session_files", "sub_session_reverts", "prompts")


def delete_sub_session(db: sqlite3.Connection, sub_session_id: str) -> None:
    """Take every row of a sub-session away; its arcs and turns stay."""
    for table in _TABLES:
        db.execute(f"DELETE FROM {table} WHERE sub_session_id = ?", (sub_session_id,))


def insert_sub_session(db: sqlite3.Connection, scope: Scope, concluded: SubSession) -> None:
    """Write every row of a sub-session; whether it is rework is settled afterwards."""
    totals, detail = concluded.totals, _detail(db, concluded)
    turns = [judged.turn for judged in concluded.prompts]
    said = concluded.said
    row = {
        "sub_session_id": str(concluded.sub_session_id),
        "organization_id": str(scope.organization_id),
        "developer_id": str(scope.developer_id),
        "last_agent_session_id": concluded.agent_session_ids[-1],
        "started_us": concluded.started_us,
        "last_activity_us": concluded.last_activity_us,
        "settles_at_us": concluded.settles_at_us,
        "floor_passed": int(concluded.floor.passed),
        "goal_complete": concluded.goal_complete,
        "reverts": int(concluded.reverts),
        "rework_of": None,
        "judged_intent": concluded.judged_intent,
        "judged_goal_complete": concluded.judged_complete,
        "judged_rework_of": None,
        "said_rework": None if said.rework is None else int(said.rework),
        "rework_view": pack(_rework_view(concluded)),
        "agent_session_id": concluded.agent_session_ids[0],
        "turns": len(concluded.prompts),
        "trivia_reason": concluded.floor.reason,
        "intent": concluded.intent,
        "earned": mask(concluded.standing.earned),
        "sure": mask(concluded.standing.sure),
        "drawn": int(said.drawn),
        "overridden": _overridden(said, detail),
        "reviewed": _overridden(replace(said, boundary=said.gaps_reviewed), detail),
        **{field: getattr(totals, field) for field in totals.__struct_fields__},
        "ended_us": concluded.ended_us,
        "active_us": active_by_turns_us([(turn.started_us, turn.last_activity_us) for turn in turns]),
        "models": pack(model_totals(turns)),
        "detail": pack(detail),
    }
    _insert(db, "sub_sessions", row)
    _insert_files(db, str(concluded.sub_session_id), turns, concluded.last_activity_us)
    _insert_reverts(db, concluded)
    _insert_prompts(db, str(concluded.sub_session_id), scope, concluded)


def _insert_reverts(db: sqlite3.Connection, concluded: SubSession) -> None:
    """So that the sub-sessions whose files it takes back are found by name, however the paths were written."""
    names = dict.fromkeys(map(_last_name, concluded.reverted))
    rows = [(str(concluded.sub_session_id), name, concluded.started_us) for name in names if name is not None]
    db.executemany("INSERT INTO sub_session_reverts VALUES (?, ?, ?)", rows)


def _last_name(parts: Parts) -> int | None:
    return parts[-1] if parts else None


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, object]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def _overridden(said: Overrides, detail: Detail) -> int:
    """What people overrode of it, as bits, the first field lowest; a title of one's own is an override of the label."""
    holds: dict[OverrideField, bool] = {
        "boundary": said.boundary,
        "completion": said.complete is not None,
        "rollback": said.rework is not None,
        "label": said.intent is not None or detail.edited_title is not None,
    }
    return sum(1 << bit for bit, field in enumerate(OVERRIDE_FIELDS) if holds[field])


def _insert_files(db: sqlite3.Connection, name: str, turns: Sequence[Turn], ended_us: int) -> None:
    rows = [
        (
            name,
            file.digest,
            int(file.edits > 0),
            file.edits,
            file.lines_added,
            file.lines_removed,
            file.edits_without_lines,
            file.seen_us,
            file.position,
            file.path.start,
            file.path.end,
            ended_us,
            _last_name(file.parts),
        )
        for file in file_totals(turns)
    ]
    db.executemany("INSERT INTO sub_session_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _insert_prompts(db: sqlite3.Connection, name: str, scope: Scope, concluded: SubSession) -> None:
    applies = 0 if concluded.intent is None else mask(applicable(concluded.intent))
    rows = []
    for judged in concluded.prompts:
        turn, counted = judged.turn, concluded.qualifies and judged.rubric.status == "ok"
        text, led_by = text_of(turn), None if judged.lead is None else prompt_id(judged.lead)
        body = PromptDetail(text, turn.response_position, turn.elapsed_ms, judged.rubric, turn.work.usage, led_by)
        rows.append(
            (
                str(turn.turn_id),
                name,
                *owner(scope),
                turn.started_us,
                judged.rubric.status,
                int(counted),
                applies,
                mask(judged.standing.earned),
                mask(judged.standing.sure),
                judged.standing.score,
                own_standing(judged.rubric).score,
                pack(body),
                None if judged.joined is None else pack(judged.joined),
                mask(judged.rubric.earned),
                mask(rated(judged.standing, judged.rubric)),
            )
        )
    db.executemany("INSERT INTO prompts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _rework_view(concluded: SubSession) -> ReworkView:
    reading = concluded.asked
    touched = frozenset().union(*(judged.turn.work.touched_files for judged in concluded.prompts))
    files = file_totals(judged.turn for judged in concluded.prompts)
    return ReworkView(
        sub_session_id=concluded.sub_session_id,
        agent_session_id=concluded.agent_session_ids[-1],
        started_us=concluded.started_us,
        ended_us=concluded.last_activity_us,
        goal_complete=concluded.goal_complete is True,
        changed_files=tuple(sorted(concluded.changed_files)),
        touched_files=tuple(sorted(touched)),
        goal_tokens=() if reading is None else reading.tokens,
        reverts=concluded.reverts,
        corrects=reading is not None and (reading.corrects or reading.reports_failure),
        reverted=concluded.reverted,
        changed_parts=tuple(file.parts for file in files if file.edits)[:FILES_MAX],
    )


def _detail(db: sqlite3.Connection, concluded: SubSession) -> Detail:
    first = next(filter(_speaks, as_typed([j.turn for j in concluded.prompts])), concluded.prompts[0].turn)
    goal = concluded.goal or first
    title, summary = _edited(db, [judged.turn.turn_id for judged in concluded.prompts])
    latest = next((judged for judged in reversed(concluded.prompts) if judged.rubric.status == "ok"), None)
    return Detail(
        agent_session_ids=concluded.agent_session_ids,
        opened_by=concluded.opened_by,
        closed_by=concluded.closed_by,
        floor=concluded.floor,
        first_title=text_of(first, None if first.prompt is None else first.prompt.title),
        goal_title=text_of(goal, None if goal.prompt is None else goal.prompt.title),
        summary=text_of(goal, None if goal.prompt is None else goal.prompt.summary),
        edited_title=title,
        edited_summary=summary,
        judge_status=_status(concluded),
        confidence=_confidence(concluded),
        outcome=concluded.outcome,
        latest_score=None if latest is None else latest.standing.score,
        judge_reason=_reason(concluded),
    )


def _speaks(turn: Turn) -> bool:
    return turn.prompt is not None and turn.prompt.navigational is None


def _edited(db: sqlite3.Connection, turn_ids: list[UUID]) -> tuple[TextRef | None, TextRef | None]:
    """A person's latest title, and latest summary, for the sub-session that holds any of these turns."""
    query = (
        "SELECT max(t.position), max(CASE WHEN t.has_summary THEN t.position END) FROM json_each(:turns) i "
        "JOIN turn_alias a ON a.turn_id = i.value JOIN titles t ON t.turn_id = a.alias_id "
        "WHERE t.position > (SELECT coalesce(max(c.position), 0) FROM corrections c "
        "CROSS JOIN turn_alias b ON b.alias_id = c.capture_id "
        "WHERE c.topic = 'title' AND b.turn_id IN (SELECT value FROM json_each(:turns)))"
    )
    title, summary = db.execute(query, {"turns": json_array(turn_ids)}).fetchone()
    return (
        None if title is None else TextRef(title, "title"),
        None if summary is None else TextRef(summary, "summary"),
    )


def _status(concluded: SubSession) -> JudgeStatus:
    statuses = {judged.rubric.status for judged in concluded.prompts}
    order: tuple[JudgeStatus, ...] = ("ok", "pending", "failed", "unclassified")
    return next((status for status in order if status in statuses), "skipped")


def _reason(concluded: SubSession) -> UnclassifiedReason | None:
    if _status(concluded) != "unclassified":
        return None
    return next((judged.rubric.reason for judged in concluded.prompts if judged.rubric.reason is not None), None)


def _confidence(concluded: SubSession) -> float:
    if concluded.said.intent is not None:
        return 1.0
    goal = concluded.goal
    return next((j.rubric.confidence for j in concluded.prompts if goal is not None and j.turn is goal), 0.0)
