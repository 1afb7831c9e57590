"""The prompts of one sub-session, one by one: what was said, what it took, and how it was graded."""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from aggregates.grades import rubric_letter, score_of
from aggregates.scope import Scope
from aggregates.times import iso
from aggregates.turn import Turn
from aggregates.verdicts import Intent, Rubric, applicable
from aggregates.work import UNKNOWN_MODEL
from projections.bodies import unpack
from projections.reader import Reader
from projections.sub_session_detail import spent_on
from projections.sub_session_rows import PromptBody
from projections.sub_session_shown import Applicability, applicability, booleans
from projections.sub_sessions import resolve
from projections.turn_texts import prompt_id, response_ref

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
        model=_model(body),
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


def _model(body: PromptBody) -> str | None:
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
