"""One sub-session in full: its figures, its floor, the files and models of its work."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.judging.floor import Floor
from aggregates.reading.verdicts import Intent, Rubric, applicable
from aggregates.scores.grades import rubric_letter, score_of
from aggregates.times import iso
from aggregates.turns.turn import FileWork, ModelUsage, Turn
from aggregates.turns.work import UNKNOWN_MODEL
from projections.derive.sessions import prompt_id, response_ref
from projections.derive.sub_session_rows import PromptBody
from projections.reader import Reader, TextRef, unpack
from projections.sub_sessions.listing import SpeedRow, resolve, speed_fields
from projections.sub_sessions.shown import NANO, Applicability, applicability, booleans, select, with_names

FILES_MAX = 500
"""Of a sub-session that touched more files, those edited most are shown."""


class FloorShown(msgspec.Struct, frozen=True, kw_only=True):
    """What it holds against the substance floor; `reason` is None above it."""

    passed: bool
    turns: int
    """Turns that do more than navigate."""
    lines: int
    """Added and removed."""
    mutating_calls: int
    reason: str | None


class FileShown(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one file."""

    path: str | None
    """None once it has been forgotten."""
    edits: int
    """0: only looked at."""
    lines_added: int | None
    """None where some edit came without its lines."""
    lines_removed: int | None


class ModelShown(msgspec.Struct, frozen=True, kw_only=True):
    """What one model was asked for. `model` is None where it was not reported."""

    model: str | None
    requests: int
    total_tokens: int | None
    cost_usd: float | None
    unpriced_requests: int


class SubSessionDetail(SpeedRow, frozen=True, kw_only=True):
    """One sub-session, open or settled."""

    summary: str | None
    title_source: str
    is_preview: bool
    judge_status: str
    floor: FloorShown
    agent_session_ids: list[str]
    files: list[FileShown]
    """Those edited most first."""
    models: list[ModelShown]
    """Those asked most first."""


def sub_session_detail(reader: Reader, scope: Scope, sub_session_id: UUID) -> SubSessionDetail | None:
    """One sub-session, under its present or any former id; None where the developer has none of it."""
    current = resolve(reader, scope, sub_session_id)
    rows = select(reader.db, scope, "AND s.sub_session_id = :id", id=str(current))
    for row, named in with_names(reader, rows):
        turns = turns_of(reader.db, row.sub_session_id)
        return SubSessionDetail(
            is_preview=not row.settled,
            judge_status=row.detail.judge_status,
            floor=floor_shown(row.detail.floor),
            agent_session_ids=list(row.detail.agent_session_ids),
            files=_files(reader, turns),
            models=_models(turns),
            **speed_fields(row),
            **msgspec.structs.asdict(named),
        )
    return None


def turns_of(db: sqlite3.Connection, sub_session_id: str) -> list[Turn]:
    """The turns of a sub-session, in time order."""
    query = (
        "SELECT t.body FROM prompts p JOIN turns t ON t.turn_id = p.turn_id WHERE p.sub_session_id = ? "
        "ORDER BY p.at_us, p.turn_id"
    )
    return [unpack(row[0], Turn) for row in db.execute(query, (sub_session_id,))]


def floor_shown(floor: Floor) -> FloorShown:
    """The floor as the wire names it."""
    return FloorShown(
        passed=floor.passed,
        turns=floor.countable_turns,
        lines=floor.changed_lines,
        mutating_calls=floor.mutating_calls,
        reason=floor.reason,
    )


# --- files ----------------------------------------------------------------------------------------------------


class _File(msgspec.Struct):
    path: TextRef
    edits: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    lines_known: bool = True

    def add(self, work: FileWork) -> None:
        """One more turn touched it."""
        self.edits += work.edits
        self.lines_added += work.lines_added
        self.lines_removed += work.lines_removed
        self.lines_known &= not work.edits or work.lines_added + work.lines_removed > 0


def _files(reader: Reader, turns: Iterable[Turn]) -> list[FileShown]:
    found: dict[int, _File] = {}
    for turn in turns:
        for work in turn.work.files:
            path = TextRef(work.position, "words", work.path)
            found.setdefault(work.digest, _File(path)).add(work)
    ranked = sorted(found.items(), key=lambda each: (-each[1].edits, each[0]))[:FILES_MAX]
    texts = reader.texts(file.path for _, file in ranked)
    return [
        FileShown(
            path=texts[file.path],
            edits=file.edits,
            lines_added=file.lines_added if file.lines_known else None,
            lines_removed=file.lines_removed if file.lines_known else None,
        )
        for _, file in ranked
    ]


# --- models ---------------------------------------------------------------------------------------------------


def _models(turns: Iterable[Turn]) -> list[ModelShown]:
    by_model: dict[str, list[ModelUsage]] = {}
    for turn in turns:
        for usage in turn.work.usage:
            by_model.setdefault(usage.model, []).append(usage)
    shown = [_model(model, usage) for model, usage in sorted(by_model.items())]
    return sorted(shown, key=lambda each: -each.requests)


def _model(model: str, usage: Sequence[ModelUsage]) -> ModelShown:
    spent = spent_on(usage)
    return ModelShown(
        model=None if model == UNKNOWN_MODEL else model,
        requests=sum(each.requests for each in usage),
        total_tokens=spent.tokens,
        cost_usd=spent.cost_usd,
        unpriced_requests=spent.unpriced_requests,
    )


class Spent(msgspec.Struct, frozen=True):
    """What requests came to; None where it is not known."""

    tokens: int | None
    cost_usd: float | None
    unpriced_requests: int


def spent_on(usage: Sequence[ModelUsage]) -> Spent:
    """Tokens of all kinds, and the cost where every request has a price."""
    tokens = sum(u.input_tokens + u.output_tokens + u.cache_read_tokens + u.cache_write_tokens for u in usage)
    unpriced = sum(each.unpriced_requests for each in usage)
    cost_usd = sum(each.cost_usd_nano for each in usage) / NANO
    return Spent(tokens or None, cost_usd if usage and not unpriced else None, unpriced)


# The prompts of one sub-session, one by one: what was said, what it took, and how it was graded.

PAGE_CHARS_MAX = 16 * 1024 * 1024
"""A page whose texts come to more than this ends early: a prompt alone may be megabytes."""


class OwnRubric(msgspec.Struct, frozen=True, kw_only=True):
    """How one prompt was judged by itself. A boolean is None where it does not apply to the prompt's own intent."""

    intent_class: Intent
    confidence: float
    score: float | None
    """100 x true / applicable."""
    letter_grade: str | None
    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None
    applicability: Applicability
    judge_status: str
    judge: str


class PromptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of a sub-session. Texts are None where they were not captured or have been forgotten."""

    prompt_id: str
    score_v3_sub_session_id: str
    """The sub-session's present id, whichever it was asked for by."""
    submitted_at: str
    prompt_text: str | None
    response_text: str | None
    elapsed_ms: int | None
    tokens: int | None
    """Of all kinds; None where nobody reported any."""
    model: str | None
    """The one asked most."""
    cost_usd: float | None
    """None where a request has no price, or none was seen."""
    unpriced_requests: int
    judge_status: str
    rubric: OwnRubric | None
    """None unless it was judged and classified."""
    standing_score: float | None


def prompt_rows(reader: Reader, scope: Scope, sub_session_id: UUID, limit: int, offset: int) -> list[PromptRow] | None:
    """The prompts of a sub-session, under its present or any former id, in time order.

    None where the developer has none of it. A page of very long texts is shorter than its limit, but never empty
    before the end.
    """
    current = resolve(reader, scope, sub_session_id)
    if current is None:
        return None
    rows: list[PromptRow] = []
    characters = 0
    for row in _rows(reader, str(current), limit, offset):
        rows.append(row)
        characters += len(row.prompt_text or "") + len(row.response_text or "")
        if characters > PAGE_CHARS_MAX:
            break
    return rows


_PROMPTS = (
    "SELECT p.sub_session_id, p.at_us, p.standing_score, p.body, t.body FROM prompts p "
    "JOIN turns t ON t.turn_id = p.turn_id WHERE p.sub_session_id = ? "
    "ORDER BY p.at_us, p.turn_id LIMIT ? OFFSET ?"
)


def _rows(reader: Reader, sub_session_id: str, limit: int, offset: int) -> Iterator[PromptRow]:
    """One at a time, so that no more texts are held than are shown."""
    for name, at_us, score, body, turn in reader.db.execute(_PROMPTS, (sub_session_id, limit, offset)):
        yield _row(reader, name, at_us, score, unpack(body, PromptBody), unpack(turn, Turn))


def _row(reader: Reader, name: str, at_us: int, score: float | None, body: PromptBody, turn: Turn) -> PromptRow:
    prompt, response = _texts(reader, body, turn)
    spent = spent_on(body.usage)
    return PromptRow(
        prompt_id=prompt_id(turn),
        score_v3_sub_session_id=name,
        submitted_at=iso(at_us),
        prompt_text=prompt,
        response_text=response,
        elapsed_ms=body.elapsed_ms,
        tokens=spent.tokens,
        model=_model_of(body),
        cost_usd=spent.cost_usd,
        unpriced_requests=spent.unpriced_requests,
        judge_status=body.rubric.status,
        rubric=_own_rubric(body.rubric),
        standing_score=score,
    )


def _texts(reader: Reader, body: PromptBody, turn: Turn) -> tuple[str | None, str | None]:
    """What was asked, and what was answered."""
    refs = (body.prompt, response_ref(reader.db, turn))
    texts = reader.texts(refs)
    prompt, response = (None if ref is None else texts[ref] for ref in refs)
    return prompt, response


def _model_of(body: PromptBody) -> str | None:
    named = [usage for usage in body.usage if usage.model != UNKNOWN_MODEL]
    return max(named, key=lambda usage: (usage.requests, usage.output_tokens)).model if named else None


def _own_rubric(rubric: Rubric) -> OwnRubric | None:
    if rubric.status != "ok" or rubric.intent is None:
        return None
    score = score_of(len(rubric.earned), len(applicable(rubric.intent)))
    return OwnRubric(
        intent_class=rubric.intent,
        confidence=rubric.confidence,
        score=score,
        letter_grade=None if score is None else rubric_letter(score),
        applicability=applicability(rubric.intent),
        judge_status=rubric.status,
        judge=rubric.judge,
        **booleans(rubric.intent, rubric.earned),
    )
