"""What a query reads from: the views, read-only, and the words that rows point at."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from aggregates.capture.events import MetricsCaptured, PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Event, Span, Words, cut
from aggregates.reports.events import ReportCompleted
from aggregates.retained import Stood
from aggregates.sub_sessions.events import TitleEdited

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


# What an error of the tables' file means: its pages are damaged, it cannot be used now, or a query is wrong.

_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_NOT_NOW = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
    )
)
_NO_TEXT = "Could not decode to UTF-8"
"""How Python begins where a text is none; it gives that no code."""


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, so that only another one helps. A locked one, or a full disk, is not."""
    if not isinstance(error, sqlite3.Error):
        return False
    return _code(error) in _DAMAGED or str(error).startswith(_NO_TEXT)


def is_passing(error: BaseException) -> bool:
    """Whether the file cannot be used at the moment, as somebody holds it or the disk is full or gone."""
    return isinstance(error, sqlite3.Error) and _code(error) in _NOT_NOW


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; that of a wrong query where it gave none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


# Values to bytes and back, for the body columns.

_T = TypeVar("_T")
_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


class BodyDamaged(Exception):
    """A body column holds what no `pack` has written; what it holds is not repeated."""


def pack(value: object) -> bytes:
    return _encoder.encode(value)


def unpack(data: bytes, kind: type[_T]) -> _T:
    """The value that `pack` was given. Raises `BodyDamaged`."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.msgpack.Decoder(kind)
    try:
        value: _T = decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise BodyDamaged(f"a body is no {kind}") from error
    return value


# Sums beyond 63 bits of numbers that fit into them: SQLite's own fails there, and what a client tells may be large.

_LOW_BITS = 30


def sum_in_halves(name: str) -> str:
    """Two columns, in the SQL that SQLite and DuckDB share: the upper and the lower bits by themselves."""
    return f"coalesce(sum({name} >> {_LOW_BITS}), 0), coalesce(sum({name} & {2**_LOW_BITS - 1}), 0)"


def whole_sums(halves: Sequence[int]) -> list[int]:
    return [(high << _LOW_BITS) + low for high, low in zip(halves[::2], halves[1::2], strict=True)]
