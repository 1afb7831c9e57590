"""A repricing gives requests and captured responses without a price one of a named revision; what has one keeps it."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from aggregates.prices.prices import PriceBook, Usage
from aggregates.turns.turns import Answer
from projections.facts.prices import answer_price, book_of, price_of
from projections.facts.rows import Reprice, Rows
from projections.reader import pack, unpack

_TOKENS = "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens"
_UNPRICED = f"""
SELECT developer_id, record_id, agent_session_id, model, at_us, {_TOKENS} FROM requests
WHERE organization_id = ? AND at_us >= ? AND at_us < ? AND cost_usd_nano IS NULL
    AND failed = 0 AND position < ?
"""
_PRICE_REQUEST = """
UPDATE requests SET cost_usd_nano = ?, cost_kind = ?, catalog_revision = ?, changed_position = max(changed_position, ?)
WHERE developer_id = ? AND at_us = ? AND record_id = ?
"""
_PRICE_OBSERVATION = "UPDATE observations SET price = ? WHERE agent_session_id = ? AND at_us = ? AND record_id = ?"
_UNPRICED_ANSWERS = """
SELECT a.capture_id, a.received_at_us, a.body FROM sessions s JOIN answers a ON a.agent_session_id = s.agent_session_id
WHERE s.organization_id = ? AND a.received_at_us >= ? AND a.received_at_us < ? AND a.price IS NULL AND a.position < ?
"""


def reprice(db: sqlite3.Connection, repricings: Iterable[Reprice], rows: Rows) -> None:
    """Price what each repricing found without a price at its place in the log, and note in `rows` what it touched."""
    for repricing in repricings:
        book = book_of(db, repricing.catalog_revision, repricing.position)
        if book is not None:
            _price_requests(db, repricing, book, rows)
            _price_answers(db, repricing, book, rows)


def _price_requests(db: sqlite3.Connection, repricing: Reprice, book: PriceBook, rows: Rows) -> None:
    asked = (repricing.organization_id, repricing.from_us, repricing.to_us, repricing.position)
    for developer, record, session, model, at_us, *tokens in db.execute(_UNPRICED, asked).fetchall():
        price = price_of(book, model, at_us, Usage(*tokens))
        if price is None:
            continue
        given = (price.cost_usd_nano, price.kind, price.catalog_revision, repricing.position)
        db.execute(_PRICE_REQUEST, (*given, developer, at_us, record))
        if session is not None:
            db.execute(_PRICE_OBSERVATION, (pack(price), session, at_us, record))
            rows.touched_times.append((session, at_us))


def _price_answers(db: sqlite3.Connection, repricing: Reprice, book: PriceBook, rows: Rows) -> None:
    asked = (repricing.organization_id, repricing.from_us, repricing.to_us, repricing.position)
    for capture, received_us, body in db.execute(_UNPRICED_ANSWERS, asked).fetchall():
        price = answer_price(book, unpack(body, Answer), received_us)
        if price is not None:
            db.execute("UPDATE answers SET price = ? WHERE capture_id = ?", (pack(price), capture))
            rows.touched_captures.append(capture)


COLUMNS: dict[str, type[str] | type[int] | type[bool]] = {
    "organization_id": str,
    "developer_id": str,
    "at_us": int,
    "record_id": str,
    "agent_session_id": str,
    "prompt_id": str,
    "request_id": str,
    "failed": bool,
    "sidechain": bool,
    "model": str,
    "status_code": int,
    "retry_after_ms": int,
    "duration_ms": int,
    "input_tokens": int,
    "output_tokens": int,
    "cache_read_tokens": int,
    "cache_write_tokens": int,
    "cache_write_1h_tokens": int,
    "cost_usd_nano": int,
    "cost_kind": str,
    "catalog_revision": int,
    "superseded": bool,
    "position": int,
    "changed_position": int,
}
"""What the archive takes of each row: ids, numbers, flags and the model's name; no words."""
_CHANGED = (
    f"SELECT {', '.join(COLUMNS)} FROM requests WHERE changed_position > ? AND changed_position <= ? "
    "ORDER BY organization_id, at_us, developer_id, record_id"
)


def stretch_end(db: sqlite3.Connection, after: int, rows_max: int) -> int:
    """How far in the log the next `rows_max` changed rows go: whole positions, even of more rows; at least `after`."""
    beyond = _position(db, "SELECT changed_position", after, f"ORDER BY changed_position LIMIT 1 OFFSET {rows_max}")
    if beyond is None:
        return _position(db, "SELECT max(changed_position)", after) or after
    return _position(db, "SELECT max(changed_position)", after, f"AND changed_position < {beyond}") or beyond


def changed_rows(db: sqlite3.Connection, after: int, up_to: int) -> Iterator[tuple[Any, ...]]:
    """The rows that last changed in (after, up_to], by organization and time; fields as in `COLUMNS`."""
    return db.execute(_CHANGED, (after, up_to))


def _position(db: sqlite3.Connection, select: str, after: int, rest: str = "") -> int | None:
    row = db.execute(f"{select} FROM requests WHERE changed_position > ? {rest}", (after,)).fetchone()
    return None if row is None else row[0]
