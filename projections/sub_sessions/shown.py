"""A sub-session as lists show it: its row, what follows from the row, and its texts."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from aggregates.event import Scope
from aggregates.reading.verdicts import BOOLEANS, BooleanName, Intent, applicable
from aggregates.scores.grades import rubric_letter, score_of
from aggregates.times import US_PER_SECOND, iso
from projections.derive.sub_session_rows import Detail, unmask
from projections.reader import Reader, TextRef, unpack

TITLE_CHARS_MAX = 60
SUMMARY_CHARS_MAX = 240
NANO = 1_000_000_000
UNCLASSIFIED = "unclassified"
"""What stands in the place of an intent where there is none."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """How a sub-session is called, and by whom. Texts are None once they have been forgotten."""

    title: str | None
    summary: str | None
    title_source: str


class Applicability(msgspec.Struct, frozen=True, kw_only=True):
    """Which booleans apply to an intent."""

    goal_explicit: bool
    scope_bounded: bool
    references_concrete: bool
    context_sufficient: bool
    verification_requested: bool
    root_cause_oriented: bool
    plan_first: bool


class Row(msgspec.Struct, frozen=True):
    """One row of `sub_sessions`, with its parent session's and at the time of the newest fact."""

    sub_session_id: str
    agent_session_id: str
    started_us: int
    last_activity_us: int
    settled: bool
    turns: int
    floor_passed: bool
    trivia_reason: str | None
    intent: Intent | None
    earned: tuple[BooleanName, ...]
    goal_complete: bool
    rework_of: str | None
    """None where it is no rework; blank where it is, and nobody knows of what."""
    tokens: int
    """What was reported; `total_tokens` tells whether anything was."""
    cost_usd_nano: int
    requests: int
    unpriced_requests: int
    lower_bound_requests: int
    detail: Detail

    @property
    def title(self) -> tuple[TextRef | None, str]:
        """The title that counts, and where it comes from."""
        if self.detail.edited_title is not None:
            return self.detail.edited_title, "user_edited"
        if self.settled and self.intent is not None:
            return self.detail.goal_title, "rubric"
        return self.detail.first_title, "heuristic"

    @property
    def summary(self) -> TextRef | None:
        return self.detail.edited_summary or self.detail.summary

    @property
    def graded_intent(self) -> Intent | None:
        """Its intent, where a prompt was graded; a person may have named the intent of one with no prompt to grade."""
        return self.intent if self.detail.judge_status == "ok" else None

    @property
    def letter(self) -> str | None:
        """Of its booleans; None where nothing was graded."""
        intent = self.graded_intent
        score = None if intent is None else score_of(len(self.earned), len(applicable(intent)))
        return None if score is None else rubric_letter(score)

    @property
    def judged(self) -> dict[str, Any]:
        """What is judged at settling; None while it is open."""
        if not self.settled:
            return dict.fromkeys(("goal_complete", "rework", "crushed"))
        rework = self.rework_of is not None
        qualifies = self.floor_passed and self.intent is not None
        return {
            "goal_complete": self.goal_complete,
            "rework": rework,
            "crushed": qualifies and self.goal_complete and not rework,
        }

    @property
    def ended_at(self) -> str | None:
        """None while it is open."""
        return iso(self.last_activity_us) if self.settled else None

    @property
    def duration_seconds(self) -> float | None:
        """From the first prompt to the agent's last activity; None while it is open."""
        return (self.last_activity_us - self.started_us) / US_PER_SECOND if self.settled else None

    @property
    def total_tokens(self) -> int | None:
        """None where nobody reported any: no request goes without a token."""
        return self.tokens or None

    @property
    def cost_usd(self) -> float | None:
        """None where a request has no price, or none was seen."""
        return self.cost_usd_nano / NANO if self.requests and not self.unpriced_requests else None


_COLUMNS = (
    "SELECT s.sub_session_id, s.agent_session_id, s.started_us, s.last_activity_us, "
    "s.settles_at_us <= b.log_time_us, s.turns, s.floor_passed, s.trivia_reason, s.intent, s.earned, "
    "s.goal_complete, s.rework_of, "
    "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens, "
    "s.cost_usd_nano, s.requests, s.unpriced_requests, s.lower_bound_requests, s.detail "
    "FROM bookmark b, sub_sessions s JOIN sessions p ON p.agent_session_id = s.agent_session_id "
    "AND p.organization_id = s.organization_id AND p.developer_id = s.developer_id "
    "WHERE s.organization_id = :organization AND s.developer_id = :developer "
)

IS_SETTLED = "AND s.settles_at_us <= b.log_time_us "
IN_WINDOW = "AND s.started_us >= :start AND s.started_us < :end "
NEWEST_FIRST = "ORDER BY s.started_us DESC, s.sub_session_id LIMIT :limit OFFSET :offset"


def select(db: sqlite3.Connection, scope: Scope, where: str, **bound: object) -> list[Row]:
    """A developer's sub-sessions `s`, at the time `b` of the newest fact, narrowed and ordered by `where`."""
    owner = {"organization": str(scope.organization_id), "developer": str(scope.developer_id)}
    return [_row(values) for values in db.execute(_COLUMNS + where, owner | bound)]


def _row(values: tuple[Any, ...]) -> Row:
    fields = dict(zip(Row.__struct_fields__, values, strict=True))
    for flag in ("settled", "floor_passed", "goal_complete"):
        fields[flag] = bool(fields[flag])
    return Row(**(fields | {"earned": unmask(fields["earned"]), "detail": unpack(fields["detail"], Detail)}))


def with_names(reader: Reader, rows: Iterable[Row]) -> Iterator[tuple[Row, Named]]:
    """Each row with its texts, read together."""
    listed = list(rows)
    texts = reader.texts(ref for row in listed for ref in (row.title[0], row.summary))
    for row in listed:
        ref, source = row.title
        named = Named(
            title=_shown(texts, ref, TITLE_CHARS_MAX),
            summary=_shown(texts, row.summary, SUMMARY_CHARS_MAX),
            title_source=source,
        )
        yield row, named


def _shown(texts: dict[TextRef, str | None], ref: TextRef | None, characters: int) -> str | None:
    """On one line and within its bound."""
    text = None if ref is None else texts[ref]
    return None if text is None else " ".join(text.split())[:characters]


def booleans(intent: Intent | None, earned: Iterable[BooleanName]) -> dict[str, Any]:
    """Each boolean: earned or missed; None where it does not apply or nothing was judged."""
    applies = () if intent is None else applicable(intent)
    held = frozenset(earned)
    return {name: name in held if name in applies else None for name in BOOLEANS}


def applicability(intent: Intent | None) -> Applicability:
    """Which booleans apply; none without an intent."""
    applies = () if intent is None else applicable(intent)
    return Applicability(**{name: name in applies for name in BOOLEANS})
