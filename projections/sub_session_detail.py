"""One sub-session in full: its figures, its floor, the files and models of its work."""

import sqlite3
from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from aggregates.floor import Floor
from aggregates.scope import Scope
from aggregates.turn import FileWork, ModelUsage, Turn
from aggregates.work import UNKNOWN_MODEL
from projections.bodies import unpack
from projections.reader import Reader, TextRef
from projections.sub_session_shown import NANO, select, with_names
from projections.sub_sessions import SpeedRow, resolve, speed_fields

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
