"""The catalog as facts need it, and prices as they are stored beside what was observed.

A price is made once, by the newest valid revision at the request's place in the log; a repricing fills in missing ones.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from aggregates.prices.catalog import Snapshot
from aggregates.prices.prices import Price, PriceBook, Usage, price_book
from aggregates.turns.turn import CapturedResponse, Observation
from projections.facts.rows import Reprice, Rows
from projections.reader import pack, types_of, unpack

END_POSITION = 2**63 - 1  # after every position of the log
_BOOKS_MAX = 4
_books: dict[tuple[int, str], PriceBook | None] = {}
"""Books that were read lately, by revision and checksum: a snapshot is large, and asked for in every batch."""


def newest_book(db: sqlite3.Connection) -> PriceBook | None:
    revisions = "SELECT revision FROM catalogs ORDER BY revision DESC"
    books = (book_of(db, revision) for (revision,) in db.execute(revisions).fetchall())
    return next((book for book in books if book is not None), None)


def book_of(db: sqlite3.Connection, revision: int, before_position: int = END_POSITION) -> PriceBook | None:
    """The prices of one revision; None where there is none before that position, or it is not valid."""
    query = "SELECT checksum FROM catalogs WHERE revision = ? AND position < ?"
    row = db.execute(query, (revision, before_position)).fetchone()
    if row is None:
        return None
    key = (revision, row[0])
    if key not in _books:
        if len(_books) >= _BOOKS_MAX:
            _books.clear()
        body = db.execute("SELECT body FROM catalogs WHERE revision = ?", (revision,)).fetchone()[0]
        _books[key] = price_book(unpack(body, Snapshot))
    return _books[key]


def price_of(book: PriceBook | None, model: str | None, at_us: int, usage: Usage) -> Price | None:
    if book is None or model is None:
        return None
    found = book.price(model, at_us, usage)
    return found if isinstance(found, Price) else None


def answer_price(book: PriceBook | None, answer: CapturedResponse, at_us: int) -> Price | None:
    if answer.cost_usd_nano is not None:
        return None
    counts = (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.cache_write_tokens)
    return price_of(book, answer.model, at_us, Usage(*counts))


_Priced = TypeVar("_Priced", Observation, CapturedResponse)


def priced(kind: type[_Priced], body: bytes, price: bytes | None) -> _Priced:
    """What was observed, with the cost it was given where its agent told none."""
    seen = unpack(body, kind)
    if price is None:
        return seen
    given = unpack(price, Price)
    lower_bound = given.kind == "catalog_lower_bound"
    return msgspec.structs.replace(seen, cost_usd_nano=given.cost_usd_nano, lower_bound=lower_bound)


# A repricing gives requests and captured responses without a price one of a named revision; what has one keeps it.

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
    for developer, record, session, model, at_us, *tokens in db.execute(_UNPRICED, repricing.asked).fetchall():
        price = price_of(book, model, at_us, Usage(*tokens))
        if price is None:
            continue
        given = (price.cost_usd_nano, price.kind, price.catalog_revision, repricing.position)
        db.execute(_PRICE_REQUEST, (*given, developer, at_us, record))
        if session is not None:
            db.execute(_PRICE_OBSERVATION, (pack(price), session, at_us, record))
            rows.touched_times.append((session, at_us))


def _price_answers(db: sqlite3.Connection, repricing: Reprice, book: PriceBook, rows: Rows) -> None:
    for capture, received_us, body in db.execute(_UNPRICED_ANSWERS, repricing.asked).fetchall():
        price = answer_price(book, unpack(body, CapturedResponse), received_us)
        if price is not None:
            db.execute("UPDATE answers SET price = ? WHERE capture_id = ?", (pack(price), capture))
            rows.touched_captures.append(capture)


_TYPES: dict[str, type[str] | type[int]] = {"TEXT": str, "INTEGER": int}
_FLAGS = dict.fromkeys(("failed", "sidechain", "superseded"), bool)
COLUMNS = {"organization_id": str} | {name: _TYPES[kind] for name, kind in types_of("requests").items()} | _FLAGS
"""What the archive takes of each row, the organization first: ids, numbers, flags and the model's name; no words."""

_CHANGED = (
    f"SELECT {', '.join(COLUMNS)} FROM requests WHERE changed_position > ? AND changed_position <= ? "
    "ORDER BY organization_id, at_us, developer_id, record_id"
)


def stretch_end(db: sqlite3.Connection, after: int, rows_max: int) -> int:
    """How far in the log the next `rows_max` changed rows go: whole positions, even of more rows; at least `after`."""
    query = "SELECT changed_position FROM requests WHERE changed_position > ? ORDER BY changed_position LIMIT ?"
    found: list[int] = [position for (position,) in db.execute(query, (after, rows_max + 1))]
    if len(found) <= rows_max:
        return found[-1] if found else after
    return max((position for position in found if position < found[-1]), default=found[-1])


def changed_rows(db: sqlite3.Connection, after: int, up_to: int) -> Iterator[tuple[Any, ...]]:
    """The rows that last changed in (after, up_to], by organization and time; fields as in `COLUMNS`."""
    return db.execute(_CHANGED, (after, up_to))
