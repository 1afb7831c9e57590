"""The catalog as facts need it, and prices as they are stored beside what was observed.

A price is made once, by the newest valid revision at the request's place in the log; a repricing fills in missing ones.
"""

import sqlite3
from typing import TypeVar

import msgspec

from aggregates.prices.catalog import Snapshot
from aggregates.prices.prices import Price, PriceBook, Usage, price_book
from aggregates.turns.turn import Observation
from aggregates.turns.turns import Answer
from projections.reader import unpack

END_POSITION = 2**63 - 1
"""After every position of the log."""
_BOOKS_MAX = 4
_books: dict[tuple[int, str], PriceBook | None] = {}
"""Books that were read lately, by revision and checksum: a snapshot is large, and asked for in every batch."""


def newest_book(db: sqlite3.Connection) -> PriceBook | None:
    """The prices of the newest valid revision; None before there is one."""
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
    """What the catalog says these tokens cost; None where it does not know, or there is none."""
    if book is None or model is None:
        return None
    found = book.price(model, at_us, usage)
    return found if isinstance(found, Price) else None


def answer_price(book: PriceBook | None, answer: Answer, at_us: int) -> Price | None:
    """What a captured response cost by the catalog, where its capture did not say."""
    if answer.cost_usd_nano is not None:
        return None
    counts = (answer.input_tokens, answer.output_tokens, answer.cache_read_tokens, answer.cache_write_tokens)
    return price_of(book, answer.model, at_us, Usage(*counts))


_Priced = TypeVar("_Priced", Observation, Answer)


def priced(kind: type[_Priced], body: bytes, price: bytes | None) -> _Priced:
    """What was observed, with the cost it was given where its agent told none."""
    seen = unpack(body, kind)
    if price is None:
        return seen
    given = unpack(price, Price)
    lower_bound = given.kind == "catalog_lower_bound"
    return msgspec.structs.replace(seen, cost_usd_nano=given.cost_usd_nano, lower_bound=lower_bound)
