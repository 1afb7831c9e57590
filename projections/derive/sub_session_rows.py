"""Writing one concluded sub-session as rows."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.judging.boundary import as_typed
from aggregates.judging.rubric import Floor
from aggregates.reading import verdicts
from aggregates.scores.grades import Estimate, Spread, estimate, spread
from aggregates.sub_sessions import sub_session
from aggregates.sub_sessions.arcs import ReworkView
from aggregates.sub_sessions.sub_session import Overrides, SubSession
from aggregates.turns.turn import (
    CHANGE,
    COMMIT,
    FILES_MAX,
    UNKNOWN_MODEL,
    FileWork,
    ModelUsage,
    Turn,
    active_by_turns_us,
)
from projections.derive.sessions import prompt_id, text_of
from projections.facts.rows import Row, insert
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
    judge_status: verdicts.JudgeStatus
    confidence: float
    outcome: verdicts.OutcomeVerdict
    latest_score: float | None  # the standing score of its latest classified prompt, 0-100
    judge_reason: verdicts.UnclassifiedReason | None  # why no prompt could be classified, where that is known
    estimate: Estimate | None  # of what its prompts show together; None where none was judged
    kind_told: str | None


class ModelTotals(msgspec.Struct, frozen=True, array_like=True):
    model: str | None  # none where nobody said which model, or whether any, was asked
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd_nano: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0
    unmeasured_requests: int = 0
    upper_bound_requests: int = 0
    reported: bool = False  # no request goes without a token: where none is counted, none was reported


class PromptDetail(msgspec.Struct, frozen=True, array_like=True):
    prompt: TextRef | None
    response_position: int | None
    elapsed_ms: int | None
    rubric: verdicts.Rubric
    usage: tuple[ModelUsage, ...]
    unit_prompt_id: str | None  # the id of the prompt that leads its grading unit, where that is another one
    standing: Estimate | None


def mask(names: Iterable[verdicts.BooleanName]) -> int:
    """A set of booleans as bits, the first boolean lowest."""
    wanted = frozenset(names)
    return sum(1 << bit for bit, name in enumerate(verdicts.BOOLEANS) if name in wanted)


@cache
def unmask(bits: int) -> tuple[verdicts.BooleanName, ...]:
    """In rubric order; there are 128 masks."""
    return tuple(name for bit, name in enumerate(verdicts.BOOLEANS) if bits >> bit & 1)


def work_by_file(turns: Iterable[Turn]) -> list[list[tuple[Turn, FileWork]]]:
    """What was done to each file that was looked at or changed, in the order of their digests."""
    found: dict[int, list[tuple[Turn, FileWork]]] = {}
    for turn in turns:
        for work in turn.work.files:
            found.setdefault(work.digest, []).append((turn, work))
    return [found[digest] for digest in sorted(found)]


def model_totals(turns: Sequence[Turn]) -> list[ModelTotals]:
    """Of every model that was asked; without any known request, of none by name."""
    usages: dict[str, list[ModelUsage]] = {}
    for usage in (usage for turn in turns for usage in turn.work.usage):
        usages.setdefault(usage.model, []).append(usage)
    totals = [
        ModelTotals(
            model=None if model == UNKNOWN_MODEL else model,
            reported=all(each.tokens > 0 and not each.unmeasured_requests for each in own),
            **{name: sum(getattr(each, name) for each in own) for name in sub_session.SUMMED},
        )
        for model, own in usages.items()
    ]
    return totals or [ModelTotals(None, reported=any(turn.work.failed_requests for turn in turns))]


def insert_sub_session(db: sqlite3.Connection, scope: Scope, concluded: SubSession) -> None:
    """Write every row of a sub-session; whether it is rework is settled afterwards."""
    name, said, detail = str(concluded.sub_session_id), concluded.said, _detail(db, concluded)
    turns = [judged.turn for judged in concluded.prompts]
    files, graded = work_by_file(turns), detail.estimate
    same = ("started_us", "last_activity_us", "ended_us", "settles_at_us", "intent", "judged_intent", "goal_complete")
    row = {
        **{field: getattr(concluded, field) for field in (*same, "reverts")},
        "sub_session_id": name,
        "organization_id": str(scope.organization_id),
        "developer_id": str(scope.developer_id),
        "last_agent_session_id": concluded.agent_session_ids[-1],
        "floor_passed": concluded.floor.passed,
        "rework_of": None,
        "judged_goal_complete": concluded.judged_complete,
        "judged_rework_of": None,
        "said_rework": said.rework,
        "rework_view": pack(_rework_view(concluded, files)),
        "agent_session_id": concluded.agent_session_ids[0],
        "turns": len(turns),
        "trivia_reason": concluded.floor.reason,
        "earned": mask(concluded.standing.earned),
        "sure": mask(concluded.standing.sure),
        "drawn": said.drawn,
        "overridden": _overridden(said, detail, boundary=said.boundary),
        "reviewed": _overridden(said, detail, boundary=said.gaps_reviewed),
        **concluded.totals,
        "active_us": active_by_turns_us([(turn.started_us, turn.last_activity_us) for turn in turns]),
        "agent": next((turn.agent for turn in turns if turn.agent is not None), None),
        "folder": next((turn.cwd_digest for turn in turns if turn.cwd_digest is not None), None),
        "score": graded.score if graded and graded.told and detail.judge_status == "ok" else None,  # lists sort by it
        "models": pack(model_totals(turns)),
        "detail": pack(detail),
    }
    columns = ", ".join(row)
    db.execute(f"INSERT INTO sub_sessions ({columns}) VALUES (:{columns.replace(', ', ', :')})", row)
    insert(db, "sub_session_files", [_file_row(concluded, works) for works in files])
    # The sub-sessions whose files it takes back are found by name, however the paths were written.
    taken = dict.fromkeys(parts[-1] for parts in concluded.reverted if parts)
    insert(db, "sub_session_reverts", [(name, each, concluded.started_us) for each in taken])
    insert(db, "prompts", _prompts(name, scope, concluded))


def _file_row(concluded: SubSession, works: Sequence[tuple[Turn, FileWork]]) -> Row:
    first = works[0][1]
    edits, added, removed = (sum(getattr(work, name) for _, work in works) for name in _COUNTED)
    without_lines = sum(work.edits for _, work in works if not work.lines_added + work.lines_removed)
    # No call on it came after the last moment of the turns that touched it.
    seen_us, ended_us = max(turn.last_activity_us for turn, _ in works), concluded.last_activity_us
    work_done = edits > 0, edits, added, removed, without_lines, seen_us
    place = first.position, first.path.start, first.path.end, ended_us, first.parts[-1] if first.parts else None
    return str(concluded.sub_session_id), first.digest, *work_done, *place


_COUNTED = ("edits", "lines_added", "lines_removed")


def _overridden(said: Overrides, detail: Detail, *, boundary: bool) -> int:
    """What people overrode of it, as bits, the first field lowest; a title of one's own is an override of the label."""
    holds: dict[sub_session.OverrideField, bool] = {
        "boundary": boundary,
        "completion": said.complete is not None,
        "rollback": said.rework is not None,
        "label": said.intent is not None or detail.edited_title is not None,
    }
    return sum(1 << bit for bit, field in enumerate(sub_session.OVERRIDE_FIELDS) if holds[field])


def _prompts(name: str, scope: Scope, concluded: SubSession) -> list[Row]:
    rows: list[Row] = []
    for judged in concluded.prompts:
        turn, own = judged.turn, judged.rubric
        counted = concluded.qualifies and own.status == "ok"
        led_by = None if judged.lead is None else prompt_id(judged.lead)
        standing = spread(judged.standing.chances) if judged.standing.chances else None
        told = turn.response_position, turn.elapsed_ms, own, turn.work.usage, led_by, standing and standing.estimate
        place = str(turn.turn_id), name, *owner(scope), turn.started_us
        bits = mask(judged.standing.earned), mask(judged.standing.sure), mask(own.earned)
        joined = None if judged.joined is None else pack(judged.joined)
        bodies = pack(PromptDetail(text_of(turn), *told)), joined
        rows.append((*place, own.status, counted, *bits, *_expected(judged, standing, concluded.intent), *bodies))
    return rows


def _expected(judged: sub_session.JudgedPrompt, standing: Spread | None, intent: verdicts.Intent | None) -> Row:
    """Its scores and how they spread; of each boolean the chance in thousandths, which SQLite sums exactly."""
    if standing is None:
        return (None,) * (4 + len(verdicts.BOOLEANS))
    chances = verdicts.given(judged.standing.chances, intent)
    scores = standing.estimate.score, verdicts.expected_score(judged.rubric.chances)
    likely = {boolean: round(1_000 * chance) for boolean, chance in chances.items()}
    return *scores, standing.variance, pack(standing.letters), *(likely.get(boolean) for boolean in verdicts.BOOLEANS)


def _rework_view(concluded: SubSession, files: Sequence[Sequence[tuple[Turn, FileWork]]]) -> ReworkView:
    reading = concluded.asked
    changed = (works[0][1].parts for works in files if any(work.edits for _, work in works))
    return ReworkView(
        sub_session_id=concluded.sub_session_id,
        agent_session_id=concluded.agent_session_ids[-1],
        started_us=concluded.started_us,
        ended_us=concluded.last_activity_us,
        goal_complete=concluded.goal_complete is True,
        changed_files=tuple(sorted(concluded.changed_files)),
        touched_files=tuple(works[0][1].digest for works in files),
        goal_tokens=() if reading is None else reading.tokens,
        reverts=concluded.reverts,
        corrects=reading is not None and (reading.corrects or reading.reports_failure),
        reverted=concluded.reverted,
        changed_parts=tuple(changed)[:FILES_MAX],
    )


_AS_CONCLUDED = ("agent_session_ids", "opened_by", "closed_by", "floor", "outcome")


def _detail(db: sqlite3.Connection, concluded: SubSession) -> Detail:
    prompts = concluded.prompts
    typed = as_typed([each.turn for each in prompts])
    first = next((turn for turn in typed if turn.prompt and turn.prompt.navigational is None), prompts[0].turn)
    goal = concluded.goal or first
    title, summary = _edited(db, [each.turn.turn_id for each in prompts])
    reason = next((each.rubric.reason for each in prompts if each.rubric.reason is not None), None)
    statuses = {each.rubric.status for each in prompts}
    order: tuple[verdicts.JudgeStatus, ...] = ("ok", "pending", "failed", "unclassified")
    status: verdicts.JudgeStatus = next((status for status in order if status in statuses), "skipped")
    latest = next((each.standing.chances for each in reversed(prompts) if each.rubric.status == "ok"), ())
    of_goal = (each.rubric.confidence for each in prompts if each.turn is concluded.goal)
    return Detail(
        **{name: getattr(concluded, name) for name in _AS_CONCLUDED},
        first_title=text_of(first, "title"),
        goal_title=text_of(goal, "title"),
        summary=text_of(goal, "summary"),
        edited_title=title,
        edited_summary=summary,
        judge_status=status,
        confidence=1.0 if concluded.said.intent is not None else next(of_goal, 0.0),
        latest_score=verdicts.expected_score(latest),
        judge_reason=reason if status == "unclassified" else None,
        estimate=estimate(concluded.standing.chances),
        kind_told=_kind_told(concluded),
    )


def _kind_told(concluded: SubSession) -> str | None:
    """Where nobody said it, what was seen to be done has to agree with it."""
    chances, works = concluded.standing.chances, [each.turn.work for each in concluded.prompts]
    if concluded.said.intent:
        return verdicts.kind_told(chances)
    changed = any({CHANGE, COMMIT} & {*work.marks} for work in works)
    if changed != (concluded.intent in verdicts.CHANGE_INTENTS) and (changed or all(work.observed for work in works)):
        return None
    first = next((each.rubric.intent for each in concluded.prompts if each.rubric.status == "ok"), None)
    return verdicts.kind_told(chances, by_later=first != concluded.judged_intent)


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
    refs = TextRef(title or 0, "title"), TextRef(summary or 0, "summary")
    return refs[0] if title else None, refs[1] if summary else None
