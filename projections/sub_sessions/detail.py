"""One sub-session in full: its figures, its floor, the files and models of its work; and its prompts."""

from collections.abc import Sequence
from statistics import median
from typing import Any
from uuid import UUID

import msgspec

from aggregates.event import Scope, Span, shaped
from aggregates.judging.rubric import Standing
from aggregates.prices.prices import Usage
from aggregates.reading.verdicts import Intent, kind_told
from aggregates.records.record import TOKEN_KINDS
from aggregates.scores.grades import Interval, estimate
from aggregates.times import iso
from aggregates.turns.turn import UNKNOWN_MODEL, ModelUsage
from projections.derive.sessions import arcs_of, prompt_id, response_ref, session_gaps, text_of
from projections.derive.sub_session_rows import ModelTotals
from projections.facts.rows import newest_book, price_of
from projections.prices import NANO, Spent
from projections.reader import Reader, TextRef, bodies, bound, sql
from projections.sub_sessions import rows as goals
from projections.sub_sessions.listing import SubSession

FILES_MAX = 500  # of a sub-session that touched more files, those edited most are shown
MEDIAN_OF_GOALS = 200
PAGE_CHARS_MAX = 16 * 1024 * 1024
"""A page whose texts come to more than this ends early: a prompt alone may be megabytes."""


class FloorShown(msgspec.Struct, frozen=True):
    """What it holds against the substance floor; `reason` is None above it."""

    passed: bool
    turns: int  # turns that do more than navigate
    lines: int  # added and removed
    mutating_calls: int
    reason: str | None


class FileShown(msgspec.Struct, frozen=True):
    path: str | None  # None once it has been forgotten
    edits: int  # 0: only looked at
    lines_added: int | None  # None where some edit came without its lines
    lines_removed: int | None


class Used(goals.CostDoubts, frozen=True, kw_only=True):
    """What a turn took, or a goal of one model. Tokens are None where a request told none, or nobody any."""

    model: str | None  # of several the one asked most; None where it was not reported
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None
    cost_usd: float | None  # None where a request has no price, or none was seen


class TokenCost(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of tokens of one model, at the list price that held when the goal began."""

    model: str | None
    kind: str  # as the fields of a turn's `used` are called
    tokens: int
    usd_per_million: float
    share: float  # of what all tokens of the goal come to by list price, 0-1


class UnsureGap(msgspec.Struct, frozen=True, kw_only=True):
    """A gap of which a person is asked: one goal or two?"""

    split_turn_idx: int  # the turn after the gap, from 0; 0 is the first one, before which the judge saw a boundary
    prompt_id: str
    submitted_at: str
    preview: str | None  # None once it has been forgotten
    chance: float  # that another goal begins here, 0-1


class SubSessionDetail(SubSession, frozen=True, kw_only=True):
    floor: FloorShown
    agent_session_ids: list[str]
    files: list[FileShown]  # those edited most first
    models: list[Used]  # those asked most first
    token_costs: list[TokenCost]  # the dearest first; none where some have no list price
    median_cost_usd: float | None  # of the developer's newest 200 goals of a known cost
    unsure_gaps: list[UnsureGap]  # where the judge hardly knew whether another goal begins, and nobody said


class OwnRubric(msgspec.Struct, frozen=True, kw_only=True):
    """How one prompt was judged by itself. A boolean is None where it does not apply to the prompt's own intent."""

    goal_explicit: bool | None
    scope_bounded: bool | None
    references_concrete: bool | None
    context_sufficient: bool | None
    verification_requested: bool | None
    root_cause_oriented: bool | None
    plan_first: bool | None
    intent_class: Intent
    kind_told: str | None
    confidence: float
    score: float | None  # as it is expected
    score_interval: Interval | None
    letter_grade: str | None  # of `score`
    grade_told: str | None
    applicability: goals.Applicabilities
    unsure_count: int
    judge_status: str
    judge: str


class PromptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt of a sub-session. Texts are None where they were not captured or have been forgotten."""

    prompt_id: str
    score_v3_sub_session_id: str  # the sub-session's present id, whichever it was asked for by
    submitted_at: str
    prompt_text: str | None
    response_text: str | None
    elapsed_ms: int | None
    tokens: int | None  # of all kinds; None where nobody reported any
    model: str | None  # the one asked most
    cost_usd: float | None  # None where a request has no price, or none was seen
    unpriced_requests: int
    unmeasured_requests: int
    judge_status: str
    judge_reason: str | None
    rubric: OwnRubric | None  # None unless it was judged and classified
    standing_score: float | None
    standing_score_interval: Interval | None
    unit_prompt_id: str | None
    """The earlier prompt that it was judged with, since nothing was answered between them; its rubric is told there.
    None where it was judged by itself."""


def sub_session_detail(reader: Reader, scope: Scope, sub_session_id: UUID) -> SubSessionDetail | None:
    """One sub-session, under its present or any former id; None where the developer has none of it."""
    row = goals.find(reader, scope, sub_session_id)
    if row is None:
        return None
    floor, query = row.detail.floor, "SELECT models FROM sub_sessions WHERE sub_session_id = ?"
    (models,) = bodies(reader.db, list[ModelTotals], query, (row.sub_session_id,))
    costs_nano = reader.db.execute(sql("known_costs"), bound(scope, limit=MEDIAN_OF_GOALS)).fetchall()
    asked = sorted((e for e in models if e.requests), key=lambda e: (-e.requests, e.model or UNKNOWN_MODEL))
    return row.shown_as(
        SubSessionDetail,
        floor=FloorShown(floor.passed, floor.countable_turns, floor.changed_lines, floor.mutating_calls, floor.reason),
        agent_session_ids=list(row.detail.agent_session_ids),
        files=_files(reader, row.sub_session_id),
        models=[
            spent.shown_as(Used, model=each.model, **({} if spent.total_tokens else _UNTOLD))
            for each, spent in zip(asked, map(Spent.of_model, asked), strict=True)
        ],
        token_costs=_token_costs(reader, models, row.started_us),
        median_cost_usd=median(nano for (nano,) in costs_nano) / NANO if costs_nano else None,
        unsure_gaps=unsure_gaps(reader, row.sub_session_id),
    )


def _token_costs(reader: Reader, models: Sequence[ModelTotals], at_us: int) -> list[TokenCost]:
    book = newest_book(reader.db)
    taken = [(each.model, kind, tokens) for each in models for kind in TOKEN_KINDS if (tokens := getattr(each, kind))]
    none = dict.fromkeys((*TOKEN_KINDS, "cache_write_1h_tokens"), 0)
    ones = (msgspec.convert(none | {kind: 1}, Usage) for _, kind, _ in taken)
    prices = [price_of(book, model, at_us, one) for (model, *_), one in zip(taken, ones, strict=True)]
    rates = [price.cost_usd_nano for price in prices if price is not None]
    whole = sum(rate * tokens for rate, (*_, tokens) in zip(rates, taken, strict=False))
    if len(rates) < len(taken) or not whole:
        return []
    found = [
        TokenCost(model=model, kind=kind, tokens=tokens, usd_per_million=rate / 1_000, share=rate * tokens / whole)
        for rate, (model, kind, tokens) in zip(rates, taken, strict=True)
    ]
    return sorted(found, key=lambda each: -each.share)


def unsure_gaps(reader: Reader, sub_session_id: str) -> list[UnsureGap]:
    """In time order."""
    arcs = arcs_of(reader.db, sub_session_id)
    chances = {turn_id: chance for arc in arcs for turn_id, chance in arc.unsure}
    if arcs[0].shift is not None and arcs[0].shift.unsure:
        chances[arcs[0].arc_id] = arcs[0].shift.chance
    spoken = session_gaps(reader.db, {arc.agent_session_id for arc in arcs})
    asked = [
        (place, turn)
        for place, turn in enumerate(goals.turns_in(reader.db, sub_session_id) if chances else ())
        if turn.turn_id in chances and turn.turn_id not in spoken
    ]
    refs = {turn.turn_id: text_of(turn, "title") for _, turn in asked}
    texts = reader.texts(list(refs.values()))
    return [
        UnsureGap(
            split_turn_idx=place,
            prompt_id=prompt_id(turn),
            submitted_at=iso(turn.started_us),
            preview=goals.one_line(texts, refs[turn.turn_id], goals.TITLE_CHARS_MAX),
            chance=chances[turn.turn_id],
        )
        for place, turn in asked
    ]


def _files(reader: Reader, sub_session_id: str) -> list[FileShown]:
    rows = reader.db.execute(sql("files_of_goal"), (sub_session_id, FILES_MAX)).fetchall()
    paths = [TextRef(position, "words", Span(start, end)) for position, start, end, *_ in rows]
    texts = reader.texts(paths)
    shown = [FileShown(texts[path], *work) for path, (_, _, _, *work) in zip(paths, rows, strict=True)]
    # Digests are keyed: they would give another order on another machine.
    return sorted(shown, key=lambda file: (-file.edits, file.path or ""))


def prompt_rows(reader: Reader, scope: Scope, sub_session_id: UUID, limit: int, offset: int) -> list[PromptRow] | None:
    """In time order, None where there is no such sub-session; very long texts make a page shorter, never empty."""
    current = goals.resolve(reader, scope, sub_session_id)
    if current is None:
        return None
    rows: list[PromptRow] = []
    characters = 0
    # One at a time, so that no more texts are held than are shown.
    for turn, body in goals.judged_turns(reader.db, str(current), limit, offset):
        refs, usage = (body.prompt, response_ref(reader.db, turn)), used(body.usage)
        texts = reader.texts(refs)
        prompt, response = (None if ref is None else texts[ref] for ref in refs)
        rubric, standing = body.rubric, body.standing
        graded = None
        if rubric.status == "ok" and rubric.intent is not None:
            own = Standing(rubric.earned, (*rubric.earned, *rubric.missed))
            graded = shaped(
                OwnRubric,
                rubric,
                intent_class=rubric.intent,
                kind_told=kind_told(rubric.chances),
                applicability=goals.applicability(rubric.intent, own),
                unsure_count=len(rubric.unsure),
                judge_status=rubric.status,
                **goals.graded(estimate(rubric.chances)),
                **goals.booleans(own),
            )
        row = shaped(
            PromptRow,
            body,
            usage,
            prompt_id=prompt_id(turn),
            score_v3_sub_session_id=str(current),
            submitted_at=iso(turn.started_us),
            prompt_text=prompt,
            response_text=response,
            tokens=usage.total_tokens,
            judge_status=rubric.status,
            judge_reason=rubric.reason,
            rubric=graded,
            standing_score=None if standing is None else standing.score,
            standing_score_interval=None if standing is None else standing.interval,
        )
        rows.append(row)
        characters += len(prompt or "") + len(response or "")
        if characters > PAGE_CHARS_MAX:
            break
    return rows


_UNTOLD: dict[str, Any] = dict.fromkeys(name for name in Used.__struct_fields__ if name.endswith("_tokens"))


def used(usage: Sequence[ModelUsage]) -> Used:
    spent = sum(map(Spent.of_model, usage), Spent())
    named = [each for each in usage if each.model != UNKNOWN_MODEL]
    most = max(named, key=lambda each: (each.requests, each.output_tokens)).model if named else None
    none = ({} if spent.total_tokens else _UNTOLD) | ({} if usage else {"cost_usd": None})
    return spent.shown_as(Used, model=most, **none)
