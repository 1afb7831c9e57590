"""Stage 1 of a batch: what facts say, as rows. It asks no table, so another process can do it ahead of the writer."""

from collections.abc import Iterable, Iterator, Sequence
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


def read_batch(facts: Sequence[Fact], checksum: bytes, digesters: Digesters, prices: PriceBook | None) -> Batch:
    """The rows of facts. `prices`: the newest valid catalog before the first of them."""
    rows, broken = _read_facts(facts, digesters, prices)
    newest_us = max(fact.event.received_at_us for fact in facts)
    return Batch(facts[-1].position, checksum, len(facts), newest_us, rows, broken)


def _read_facts(facts: Sequence[Fact], digesters: Digesters, prices: PriceBook | None) -> tuple[Rows, Broken]:
    rows = Rows()
    try:
        for fact, book in priced(facts, prices):
            add_fact(rows, fact.position, fact.event, digesters, book)
    except Exception:
        # One of them breaks a rule, and what it left in the rows may be half of it.
        return read_singly(facts, digesters, prices)
    return rows, []


def read_singly(facts: Sequence[Fact], digesters: Digesters, prices: PriceBook | None) -> tuple[Rows, Broken]:
    """Of a fact that breaks a rule nothing is kept; of the others all is."""
    rows = Rows()
    broken: Broken = []
    for fact, book in priced(facts, prices):
        own = Rows()
        try:
            add_fact(own, fact.position, fact.event, digesters, book)
            rows.extend(own)
        except Exception as error:
            broken.append((fact.position, reason(error)))
    return rows, broken


def priced(facts: Iterable[Fact], prices: PriceBook | None) -> Iterator[tuple[Fact, PriceBook | None]]:
    """Each fact with the newest valid catalog at its place in the log."""
    for fact in facts:
        yield fact, prices
        prices = prices_after(fact, prices)


def prices_after(fact: Fact, prices: PriceBook | None) -> PriceBook | None:
    """The newest valid catalog once a fact is known."""
    return (price_book(fact.event.snapshot) or prices) if isinstance(fact.event, CatalogPublished) else prices


def reason(error: Exception) -> str:
    """The kind of error and where it arose; never its text, which may quote a prompt."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    place = "" if traceback is None else f" in {traceback.tb_frame.f_code.co_qualname}, line {traceback.tb_lineno}"
    return f"{type(error).__name__}{place}"
