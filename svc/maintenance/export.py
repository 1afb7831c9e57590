"""A developer's own data as files: every event with its words, and what was concluded, as JSON Lines and as Parquet.

Row by row, so that memory stays bounded however much there is. Nothing of anybody else is in it.
"""

import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from sqlite_utils import Database

from aggregates.event import Mendable, Scope, Words
from aggregates.reading.verdicts import BOOLEANS
from aggregates.retained import ReadingsRetained
from projections.facts.rows import COLUMNS as REQUEST_COLUMNS
from projections.reader import Reader
from projections.sub_sessions.detail import prompt_rows
from projections.sub_sessions.rows import Applicabilities, select
from svc.archive.folder import Columns, connected, copy_rows
from svc.log.store import EventStore
from svc.maintenance.backup import DRAFT
from svc.process import MIB_BYTES
from svc.views.replay import Progress
from svc.views.views import current_file, snapshot

EXPORT_PAGE = 200  # sub-sessions, or prompts, that an export reads at a time
EXPORT_ROW_BYTES_MIN = MIB_BYTES  # for the longest line of an export as Parquet; more where one is longer

_APPLICABILITY = {name: f"{name}_applicability" for name in BOOLEANS}
"""Columns that say why a boolean is null: it does not apply, or nobody can tell."""
_SUB_SESSIONS: Columns = {
    **dict.fromkeys(("score_v3_sub_session_id", "agent_session_id", "title", "summary", "title_source"), str),
    **dict.fromkeys(("intent_class", "letter_grade", "started_at", "ended_at", "trivia_reason", "rework_of"), str),
    **dict.fromkeys(("undecided_reason", "judge_status", "judge_reason", *_APPLICABILITY.values()), str),
    **dict.fromkeys(("duration_seconds", "cost_usd", "outcome_confidence"), float),
    **dict.fromkeys(("turns", "total_tokens", "requests", "unpriced_requests", "lower_bound_requests"), int),
    **dict.fromkeys(("upper_bound_requests", "unmeasured_requests", "unsure_count"), int),
    **dict.fromkeys(("is_preview", "substance_floor_passed", "goal_complete", "rework", "crushed", *BOOLEANS), bool),
}
_PROMPTS: Columns = {
    **dict.fromkeys(("prompt_id", "score_v3_sub_session_id", "submitted_at", "prompt_text", "response_text"), str),
    **dict.fromkeys(("model", "judge_status", "judge_reason", "intent_class", "letter_grade", "unit_prompt_id"), str),
    **dict.fromkeys(_APPLICABILITY.values(), str),
    **dict.fromkeys(("elapsed_ms", "tokens", "unpriced_requests", "unmeasured_requests", "unsure_count"), int),
    **dict.fromkeys(("cost_usd", "standing_score", "score"), float),
    **dict.fromkeys(BOOLEANS, bool),
}


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    events: int
    sub_sessions: int
    prompts: int
    requests: int


def export(var: Path, store: EventStore, developer_id: UUID, target: Path, heard: Progress) -> Exported:
    """Write all data of one developer into a new folder. Raises `Mendable`."""
    if target.exists():
        raise Mendable(f"{target} is there already; an export never replaces anything, so choose another folder")
    views = current_file(var)
    if views is None:
        raise Mendable(f"{var} holds no tables to export; start the server once, or run `svc replay`")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + DRAFT)
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    try:
        with snapshot(views) as db:
            reader = Reader(db, lambda wanted: {p: each.event for p, each in store.read_positions(wanted).items()})
            query = "SELECT DISTINCT organization_id FROM sessions WHERE developer_id = ? ORDER BY 1"
            scopes = [Scope(UUID(row[0]), developer_id) for row in db.execute(query, (str(developer_id),))]
            events, _ = _write(draft / "events.jsonl", _events(store, developer_id, heard))
            exported = Exported(
                folder=str(target),
                events=events,
                sub_sessions=_write_table(draft, "sub_sessions", _SUB_SESSIONS, _sub_sessions(reader, scopes)),
                prompts=_write_table(draft, "prompts", _PROMPTS, _prompts(reader, scopes)),
                requests=_write_table(draft, "requests", REQUEST_COLUMNS, _requests(db, scopes)),
            )
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return exported


def _events(store: EventStore, developer_id: UUID, heard: Progress) -> Iterator[Mapping[str, Any]]:
    head = store.head()
    for _, some, _, reached in store.pieces(0, head, open_words=True):
        for each in some:
            event = each.event
            if getattr(event, "developer_id", None) == developer_id and not isinstance(event, ReadingsRetained):
                fields = {
                    name: _plain(value.text) if isinstance(value, Words) else value
                    for name, value in msgspec.structs.asdict(event).items()
                }
                yield {"position": each.position, "topic": event.TOPIC, **fields}
        heard(reached, head)


def _sub_sessions(reader: Reader, scopes: Iterable[Scope]) -> Iterator[Mapping[str, Any]]:
    for scope in scopes:
        offset = 0
        while page := select(reader, scope, "{newest_first}", limit=EXPORT_PAGE, offset=offset):
            for figures in (row.figures() for row in page):
                yield figures | _applicability(figures["applicability"])
            offset += len(page)


def _prompts(reader: Reader, scopes: Iterable[Scope]) -> Iterator[Mapping[str, Any]]:
    query = "SELECT sub_session_id FROM sub_sessions WHERE organization_id = ? AND developer_id = ? ORDER BY started_us"
    for scope in scopes:
        for (name,) in reader.db.execute(query, (str(scope.organization_id), str(scope.developer_id))).fetchall():
            offset = 0
            while page := prompt_rows(reader, scope, UUID(name), EXPORT_PAGE, offset):
                for row in page:
                    judged: dict[str, Any] = {}
                    if row.rubric is not None:
                        judged = msgspec.structs.asdict(row.rubric) | _applicability(row.rubric.applicability)
                    yield judged | msgspec.structs.asdict(row)
                offset += len(page)


def _applicability(of: Applicabilities) -> dict[str, str]:
    return {column: of[name] for name, column in _APPLICABILITY.items()}


def _requests(db: sqlite3.Connection, scopes: Iterable[Scope]) -> Iterator[Mapping[str, Any]]:
    requests = Database(db, recursive_triggers=False).table("requests")
    for scope in scopes:
        whose = (str(scope.developer_id), str(scope.organization_id))
        for row in requests.rows_where("developer_id = ? AND organization_id = ?", whose, order_by="at_us, record_id"):
            yield {name: bool(row[name]) if kind is bool else row[name] for name, kind in REQUEST_COLUMNS.items()}


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    count = longest = 0
    with path.open("xb") as file:
        for row in rows:
            longest = max(longest, file.write(msgspec.json.encode(row) + b"\n"))
            count += 1
    return count, longest


def _write_table(folder: Path, name: str, columns: Columns, rows: Iterable[Mapping[str, Any]]) -> int:
    lines = folder / f"{name}.jsonl"
    count, longest = _write(lines, ({column: _plain(row.get(column)) for column in columns} for row in rows))
    with connected(folder, folder / "spill") as duck:
        copy_rows(duck, lines, columns, folder / f"{name}.parquet", max(longest, EXPORT_ROW_BYTES_MIN))
    shutil.rmtree(folder / "spill", ignore_errors=True)
    return count


def _plain(value: Any) -> Any:
    """Replace lone surrogates, which a client may send and UTF-8 has no form for."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
