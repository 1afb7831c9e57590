"""What a query reads from: the views, read-only, and the words that rows point at."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping

import msgspec

from aggregates.events import (
    Event,
    MetricsCaptured,
    PromptAnswered,
    PromptCaptured,
    RecordsCaptured,
    ReportCompleted,
    TitleEdited,
)
from aggregates.standing import Stood
from aggregates.words import Span, Words, cut

FetchEvents = Callable[[Iterable[int]], Mapping[int, Event]]
"""Events by position; a position that cannot be read is missing from the answer."""


class TextRef(msgspec.Struct, frozen=True, array_like=True):
    """A text in the log: which fact, which of its words, and where in them."""

    position: int
    field: str
    """`prompt`, `response`, `words`, `title`, `summary`, `sections` or `narrative`."""
    span: Span | None = None

    @property
    def start(self) -> int:
        """Where it begins in those words."""
        return 0 if self.span is None else self.span.start


class Reader:
    """One consistent look at the views, with the texts its rows point at."""

    def __init__(self, db: sqlite3.Connection, fetch: FetchEvents) -> None:
        self.db = db
        self._fetch = fetch

    def texts(self, refs: Iterable[TextRef | None]) -> dict[TextRef, str | None]:
        """The text of every reference; None where the words have been forgotten."""
        wanted = {ref for ref in refs if ref is not None}
        events = self._fetch(sorted({ref.position for ref in wanted}))
        return {ref: _text(events.get(ref.position), ref) for ref in wanted}

    def stood_alike(self, one: TextRef, other: TextRef) -> bool:
        """Whether two texts of which one is gone were found alike while both were there."""
        events = self._fetch((one.position, other.position))
        for mine, its in ((one, other), (other, one)):
            words = _words(events.get(mine.position), mine.field)
            if isinstance(words, Stood) and (mine.start, its.position, its.start) in words.standing.alike:
                return True
        return False

    def received_us(self, position: int) -> int | None:
        """When the fact at a position was received; None where there is none, or it cannot be read."""
        event = self._fetch((position,)).get(position)
        return None if event is None else event.received_at_us

    def command(self, position: int, record_id: str) -> str | None:
        """The shell command that a record of a batch tells of; None where none was told, or it has been forgotten."""
        event = self._fetch((position,)).get(position)
        if not isinstance(event, RecordsCaptured):
            return None
        spans = (record.command for record in event.records if record.record_id == record_id)
        return cut(event.words, next(spans, None))

    def export(self, position: int) -> str | None:
        """The part of an OTLP export that a fact came with, as JSON; None where it had none, or it has been forgotten.

        One at a time: each may be as large as an export may be.
        """
        event = self._fetch((position,)).get(position)
        raw = event.raw if isinstance(event, RecordsCaptured | MetricsCaptured) else None
        return None if raw is None else raw.text


def _text(event: Event | None, ref: TextRef) -> str | None:
    words = _words(event, ref.field)
    if words is None:
        return None
    return words.text if ref.span is None else cut(words, ref.span)


def _words(event: Event | None, field: str) -> Words | None:
    match event, field:
        case PromptCaptured(), "prompt":
            return event.prompt
        case PromptAnswered(), "response":
            return event.response
        case RecordsCaptured(), "words":
            return event.words
        case TitleEdited(), "title":
            return event.title
        case TitleEdited(), "summary":
            return event.summary
        case ReportCompleted(), "sections":
            return event.sections
        case ReportCompleted(), "narrative":
            return event.narrative
        case _:
            return None
