"""Rows of sub-sessions at the time of the newest fact."""

import sqlite3
from collections.abc import Iterator
from pkgutil import get_data
from typing import Any, Literal, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from aggregates.event import Scope
from aggregates.ids import plain
from aggregates.judging.rubric import NO_STANDING, Standing
from aggregates.reading.verdicts import BOOLEANS, Applicability, BooleanName, Intent, UndecidedReason, applicable
from aggregates.scores.grades import Estimate, rubric_letter
from aggregates.times import UNTIMED_US, US_PER_SECOND, Window, iso
from aggregates.turns.turn import Turn
from projections.derive.sub_session_rows import Detail, PromptDetail, unmask
from projections.prices import NANO
from projections.reader import Reader, TextRef, bound, sql, unpack

TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240
MARKS = msgspec.toml.decode(get_data(__name__, "marks.toml") or b"", type=dict[str, dict[str, str]])
UNCLASSIFIED = "unclassified"  # what stands in the place of an intent where there is none

GoalOutcome = Literal["reached", "not_reached", "repeated", "undecided", "going_on", "not_counted"]
Applicabilities = dict[BooleanName, Applicability]
"""Of each boolean whether it is said, is not asked of such an intent, or is asked and nobody can say."""
_S = TypeVar("_S", bound=msgspec.Struct)


class CostDoubts(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests lack a price or tokens, and how many may have cost more or less than their price says."""

    unpriced_requests: int
    unmeasured_requests: int
    lower_bound_requests: int
    upper_bound_requests: int


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What every list of goals shows. What is judged at settling is None while it goes on."""

    score_v3_sub_session_id: str
    title: str | None
    title_source: str
    summary: str | None
    outcome: GoalOutcome
    intent_class: str
    kind_told: str | None  # the class where it is likely, else its group ("a change") where that is
    prompt_grade: str | None  # of its latest prompt
    grade_told: str | None  # of all its prompts: `B`, or `between C and B`; None where it may be nearly any
    turns: int
    total_tokens: int | None
    cost_usd: float | None  # None where a request has no price, or none was seen
    unpriced_requests: int
    started_at: str
    duration_seconds: float | None


class SubSessionRow(msgspec.Struct, kw_only=True):
    """A goal: what is judged at settling is None while it is open. API, pages and reports choose fields of it."""

    sub_session_id: str
    agent_session_id: str
    started_us: int
    ended_us: int
    outcome: GoalOutcome
    turns: int
    floor_passed: bool
    trivia_reason: str | None
    intent: Intent | None
    standing: Standing
    goal_complete: bool | None  # None also where the outcome is undecided
    rework: bool | None
    rework_of: str | None  # None also where it is rework and nobody knows of what
    total_tokens: int | None  # None where nobody reported any, or a request told none: no request goes without a token
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    lower_bound_requests: int
    upper_bound_requests: int
    unmeasured_requests: int
    failed_requests: int
    said: bool  # whether a person said something about it
    judged_intent: Intent | None  # without anybody's override, as `judged_rework_of`
    judged_rework_of: str | None
    agent: str | None
    folder: int | None  # the digest of the working directory
    detail: Detail
    title: str | None = None  # None once it has been forgotten, as the summary
    summary: str | None = None
    title_source: str = ""

    @property
    def settled(self) -> bool:
        return self.outcome != "going_on"

    @property
    def crushed(self) -> bool | None:
        return None if self.outcome in ("going_on", "undecided") else self.outcome == "reached"

    @property
    def kind(self) -> str:
        return self.intent or UNCLASSIFIED

    @property
    def graded_intent(self) -> Intent | None:
        """Its intent, where a prompt was graded; a person may have named the intent of one with no prompt to grade."""
        return self.intent if self.detail.judge_status == "ok" else None

    @property
    def graded(self) -> Standing:
        return NO_STANDING if self.graded_intent is None else self.standing

    @property
    def estimate(self) -> Estimate | None:
        return None if self.graded_intent is None else self.detail.estimate

    @property
    def kind_told(self) -> str | None:
        """The kind, or the group of kinds, where that is likely."""
        return self.detail.kind_told or (None if self.graded_intent else self.intent)

    @property
    def unsure_count(self) -> int:
        """How many habits apply of which nobody can tell."""
        return 0 if self.graded_intent is None else len(applicable(self.graded_intent)) - len(self.graded.sure)

    @property
    def cost_usd(self) -> float | None:
        is_known = (self.requests or self.failed_requests) and not self.unpriced_requests
        return self.cost_usd_nano / NANO if is_known else None

    @property
    def undecided_reason(self) -> UndecidedReason | None:
        """Why nobody can say whether its goal was reached; None where somebody can, and while it is open."""
        return self.detail.outcome.undecided if self.settled and self.goal_complete is None else None

    def shown_as(self, kind: type[_S], **more: object) -> _S:
        figures = self.figures() | more
        return kind(**{name: figures[name] for name in kind.__struct_fields__})

    def figures(self) -> dict[str, Any]:
        computed = ("crushed", "kind_told", "unsure_count", "cost_usd", "undecided_reason")
        detail, took_us = self.detail, self.ended_us - self.started_us
        return {
            **{name: getattr(self, name) for name in (*self.__struct_fields__, *computed)},
            "score_v3_sub_session_id": self.sub_session_id,
            "is_preview": not self.settled,
            "substance_floor_passed": self.floor_passed,
            "intent_class": self.kind,
            "prompt_grade": None if detail.latest_score is None else rubric_letter(detail.latest_score),
            "started_at": iso(self.started_us),
            "created_at": iso(self.started_us),
            "reason": self.trivia_reason or "too_few_turns",
            "ended_at": iso(self.ended_us) if self.settled else None,
            "duration_seconds": took_us / US_PER_SECOND if self.settled and not 0 < took_us < UNTIMED_US else None,
            "outcome_confidence": detail.outcome.confidence if self.settled else None,
            "confidence": None if self.intent is None else detail.confidence,
            "judge_status": detail.judge_status,
            "judge_reason": detail.judge_reason,
            "applicability": applicability(self.intent, self.standing),
            **graded(self.estimate),
            **booleans(self.graded),
        }


def graded(found: Estimate | None) -> dict[str, Any]:
    return {
        "score": found and found.score,
        "score_interval": found and found.interval,
        "letter_grade": found and found.letter,
        "grade_told": found and found.told,
    }


def applicability(intent: Intent | None, standing: Standing) -> Applicabilities:
    """Which booleans apply, and which of these are sure; none apply without an intent."""
    said: Applicabilities = dict.fromkeys(BOOLEANS, "does_not_apply")
    said |= dict.fromkeys(() if intent is None else applicable(intent), "unsure")
    return said | dict.fromkeys(standing.sure, "applies")


def booleans(standing: Standing) -> dict[str, bool | None]:
    """Each boolean: earned or missed; None where it does not apply, is unsure, or nothing was judged."""
    return {name: name in standing.earned if name in standing.sure else None for name in BOOLEANS}


_FLAGS = ("floor_passed", "goal_complete", "rework", "said")


def select(
    reader: Reader, scope: Scope, where: str, window: Window | None = None, **more: object
) -> list[SubSessionRow]:
    """A developer's sub-sessions with their texts, narrowed and ordered by `where`, which may name parts of reads."""
    found = reader.db.execute(sql("goals", where=where), bound(scope, window, **more))
    names, rows = [column[0] for column in found.description], []
    for values in found:
        fields = dict(zip(names, values, strict=True))
        fields |= {name: None if fields[name] is None else bool(fields[name]) for name in _FLAGS}
        standing = Standing(unmask(fields.pop("earned")), unmask(fields.pop("sure")))
        rows.append(SubSessionRow(**fields | {"standing": standing, "detail": unpack(fields["detail"], Detail)}))
    titles: list[tuple[TextRef | None, str]] = []
    for row in rows:
        detail, is_judged = row.detail, row.settled and row.intent
        goal = (detail.goal_title, "rubric") if is_judged else (detail.first_title, "heuristic")
        titles.append(goal if detail.edited_title is None else (detail.edited_title, "user_edited"))
    summaries = [row.detail.edited_summary or row.detail.summary for row in rows]
    texts = reader.texts((*(ref for ref, _ in titles), *summaries))
    for row, (title, source), summary in zip(rows, titles, summaries, strict=True):
        row.title, row.title_source = one_line(texts, title, TITLE_CHARS_MAX), source
        row.summary = one_line(texts, summary, SUMMARY_CHARS_MAX)
    return rows


def listed(
    kind: type[_S], reader: Reader, scope: Scope, where: str, window: Window | None = None, **more: object
) -> list[_S]:
    """A page of them as a shape declares, the newest first."""
    return [row.shown_as(kind) for row in select(reader, scope, f"{where} {{newest_first}}", window, **more)]


def one_line(
    texts: dict[TextRef, str | None], ref: TextRef | None, characters: int, read: int | None = None
) -> str | None:
    """So much of a text on one line, of its first `read` characters; None where there is none, or no more."""
    text = None if ref is None else texts[ref]
    return None if text is None else plain(" ".join(text[:read].split()))[:characters]


def find(reader: Reader, scope: Scope, sub_session_id: UUID) -> SubSessionRow | None:
    """One sub-session, under its present or any former id; None where the developer has none of it."""
    current = resolve(reader, scope, sub_session_id)
    return next(iter(select(reader, scope, "AND s.sub_session_id = :id", id=str(current))), None)


def begun_by(reader: Reader, scope: Scope, start: str) -> list[str]:
    """The ids of at most two goals that begin so; former ids where no present one does."""
    found = (reader.db.execute(sql(read), bound(scope, start=start)) for read in ("begun_by", "formerly_begun_by"))
    return next((ids for rows in found if (ids := [name for (name,) in rows])), [])


def resolve(reader: Reader, scope: Scope, sub_session_id: UUID) -> UUID | None:
    """The sub-session that now holds the turn which this id once named; its id is that of its opening turn."""
    row = reader.db.execute(sql("present_id"), bound(scope, id=str(sub_session_id))).fetchone()
    return None if row is None else UUID(row[0])


class JudgedTurn(NamedTuple):
    turn: Turn
    body: PromptDetail


def judged_turns(db: sqlite3.Connection, sub_session_id: str, limit: int = -1, offset: int = 0) -> Iterator[JudgedTurn]:
    """In time order."""
    for turn, body in db.execute(sql("judged_turns"), (sub_session_id, limit, offset)):
        yield JudgedTurn(unpack(turn, Turn), unpack(body, PromptDetail))


def turns_in(db: sqlite3.Connection, sub_session_id: str) -> list[Turn]:
    return [each.turn for each in judged_turns(db, sub_session_id)]


def first_and_last(reader: Reader, scope: Scope, window: Window) -> tuple[int | None, int | None]:
    """When the oldest and the newest sub-session of a window began."""
    # Each by itself is the first row of an index; both in one query would read all rows.
    oldest_us, newest_us = reader.db.execute(sql("first_and_last"), bound(scope, window)).fetchone()
    return oldest_us, newest_us
