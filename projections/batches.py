"""Stage 1 of a batch: what facts say, as rows. It asks no table, so another process can do it ahead of the writer."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from aggregates.events import CatalogPublished, Event
from aggregates.prices import PriceBook, price_book
from projections.facts import add_fact
from projections.rows import Digesters, Rows


class Fact(Protocol):
    """An event with its place in the log."""

    @property
    def position(self) -> int: ...
    @property
    def event(self) -> Event: ...


Broken = list[tuple[int, str]]
"""Positions of facts that break a rule, and how."""


class Batch(msgspec.Struct, frozen=True):
    """Some facts of the log that follow each other, as rows."""

    position: int
    """Of the last fact."""
    checksum: bytes
    """Of the last fact's event."""
    events: int
    newest_us: int
    """The newest time of receipt among them."""
    rows: Rows
    broken: Broken


Priced = tuple[Fact, PriceBook | None]
"""A fact with the newest valid catalog at its place in the log."""


def read_batch(
    facts: Sequence[Fact], checksum: bytes, digesters: Digesters, prices: PriceBook | None
) -> tuple[Batch, PriceBook | None]:
    """The rows of facts, and the newest valid catalog after them. `prices`: the one before the first of them."""
    with_prices, prices = priced(facts, prices)
    rows, broken = _read_facts(with_prices, digesters)
    newest_us = max([fact.event.received_at_us for fact in facts])
    return Batch(facts[-1].position, checksum, len(facts), newest_us, rows, broken), prices


def _read_facts(facts: Sequence[Priced], digesters: Digesters) -> tuple[Rows, Broken]:
    rows = Rows()
    try:
        for fact, book in facts:
            add_fact(rows, fact.position, fact.event, digesters, book)
    except Exception:
        # One of them breaks a rule, and what it left in the rows may be half of it.
        return read_singly(facts, digesters)
    return rows, []


def read_singly(facts: Iterable[Priced], digesters: Digesters) -> tuple[Rows, Broken]:
    """Of a fact that breaks a rule nothing is kept; of the others all is."""
    rows = Rows()
    broken: Broken = []
    for fact, book in facts:
        own = Rows()
        try:
            add_fact(own, fact.position, fact.event, digesters, book)
            rows.extend(own)
        except Exception as error:
            broken.append((fact.position, reason(error)))
    return rows, broken


def priced(facts: Iterable[Fact], prices: PriceBook | None) -> tuple[list[Priced], PriceBook | None]:
    """The facts with their catalogs, and the newest valid one after them."""
    found: list[Priced] = []
    for fact in facts:
        found.append((fact, prices))
        if isinstance(fact.event, CatalogPublished):
            prices = price_book(fact.event.snapshot) or prices
    return found, prices


def reason(error: Exception) -> str:
    """The kind of error and where it arose; never its text, which may quote a prompt."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    place = "" if traceback is None else f" in {traceback.tb_frame.f_code.co_qualname}, line {traceback.tb_lineno}"
    return f"{type(error).__name__}{place}"
