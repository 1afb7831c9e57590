"""The tables, declared in `schema.toml`, the SQL of reads, in `reads.toml`, and how these read words in the log."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Any, TypeVar

import msgspec

from aggregates.capture.events import MetricsCaptured, PromptAnswered, PromptCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Event, Scope, Span, Words, cut
from aggregates.judging.rubric import JoinedReading
from aggregates.reports.events import ReportCompleted
from aggregates.retained import RetainedWords
from aggregates.sub_sessions.sub_session import TitleEdited
from aggregates.times import Window

SCHEMA_VERSION = 64  # counted up whenever a table or a body changes shape; the views are then built anew from the log


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is declared of a table. Names stand in one text, with commas between."""

    key: str
    columns: str  # each with its type
    indexes: list[str] = []
    named: dict[str, str] = {}  # indexes with too many columns to be called by them
    partial: dict[str, str] = {}  # indexes of some rows, in SQL: sqlite-utils has no word for them
    views: dict[str, str] = {}
    newer: str | None = None  # where a row's key is there already, it is replaced if this holds, in SQL; never if None
    kept: str = ""  # columns that stay then

    @property
    def keys(self) -> tuple[str, ...]:
        return _names(self.key)

    @property
    def types(self) -> dict[str, str]:
        return {name: kind for name, kind in map(str.split, self.columns.split(","))}

    @property
    def on_conflict(self) -> str:
        stay = {*self.keys, *_names(self.kept)}
        told = ", ".join(f"{name} = excluded.{name}" for name in self.types if name not in stay)
        return "NOTHING" if self.newer is None else f"UPDATE SET {told} WHERE {self.newer}"


def create_tables(connection: sqlite3.Connection) -> None:
    """Make tables, indexes and an empty bookmark, unless they are there."""
    if connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,):
        return
    from sqlite_utils import Database  # late: loading it takes a tenth of a second or more; only new views need it

    db = Database(connection, recursive_triggers=False, execute_plugins=False)
    with db.atomic():
        for name, table in declared().items():
            made = db.create_table(name, table.types, pk=table.keys, if_not_exists=True, strict=True)
            for columns in table.indexes:
                made.create_index(_names(columns), if_not_exists=True)
            for index, columns in table.named.items():
                made.create_index(_names(columns), index, if_not_exists=True)
            for index, rest in table.partial.items():
                db.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {name} {rest}")
        for view, query in ((view, query) for table in declared().values() for view, query in table.views.items()):
            db.execute(f"CREATE VIEW IF NOT EXISTS {view} AS {query}")
        db.execute("INSERT OR IGNORE INTO bookmark (id, position, log_time_us, checksum) VALUES (1, 0, 0, x'')")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@cache
def declared() -> dict[str, Table]:
    """In a fixed order, for digests over all of them."""
    found = msgspec.toml.decode(get_data(__name__, "schema.toml") or b"", type=dict[str, Table])
    return dict(sorted(found.items()))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


FetchEvents = Callable[[Iterable[int]], Mapping[int, Event]]
"""Events by position; a position that cannot be read is missing from the answer."""


class TextRef(msgspec.Struct, frozen=True, array_like=True):
    """A text in the log: which fact, which of its words, and where in them."""

    position: int
    field: str  # `prompt`, `cwd`, `response`, `words`, `title`, `summary`, `sections` or `narrative`
    span: Span | None = None

    @property
    def start(self) -> int:
        return 0 if self.span is None else self.span.start


class Reader:
    """One consistent look at the views, with the texts its rows point at."""

    def __init__(self, db: sqlite3.Connection, fetch: FetchEvents) -> None:
        self.db = db
        self._fetch = fetch
        self._last: dict[int, Event] = {}

    def over(self, db: sqlite3.Connection) -> "Reader":
        """Other views of the same log."""
        return Reader(db, self._fetch)

    def texts(self, refs: Iterable[TextRef | None]) -> dict[TextRef, str | None]:
        """The text of every reference; None where the words have been forgotten."""
        wanted = {ref for ref in refs if ref is not None}
        events = self._events(ref.position for ref in wanted)
        words = {ref: _words(events.get(ref.position), ref.field) or Words(None) for ref in wanted}
        return {ref: told.text if ref.span is None else cut(told, ref.span) for ref, told in words.items()}

    def stood_alike(self, one: TextRef, other: TextRef) -> bool:
        """Whether two texts, one deleted by now, were found alike while both were there."""
        events = self._events((one.position, other.position))
        for mine, its in ((one, other), (other, one)):
            words = _words(events.get(mine.position), mine.field)
            if isinstance(words, RetainedWords) and (mine.start, its.position, its.start) in words.standing.alike:
                return True
        return False

    def stood_joined(self, prompts: Sequence[tuple[int, int]]) -> JoinedReading | None:
        """What was read of these prompts together, where a text of them has been deleted since."""
        for event in self._events(position for position, _ in prompts).values():
            words = next((held for name in _FIELDS.get(type(event), ()) if (held := getattr(event, name))), None)
            kept = words.standing.joined if isinstance(words, RetainedWords) else ()
            if found := next((each for each in kept if each.prompts == tuple(prompts)), None):
                return found
        return None

    def calls(self, records: Iterable[tuple[int, str]]) -> dict[tuple[int, str], tuple[str | None, str | None]]:
        """Of records of batches the tool, and its shell command unless it has been forgotten."""
        wanted = set(records)
        found = self._events(position for position, _ in wanted)
        return {
            (at, record.record_id): (record.tool, cut(event.words, record.command))
            for at, event in found.items()
            if isinstance(event, RecordsCaptured)
            for record in event.records
            if (at, record.record_id) in wanted
        }

    def export(self, position: int) -> str | None:
        """The part of an OTLP export that a fact came with, as JSON, unless it has been forgotten."""
        event = self._events((position,)).get(position)
        raw = event.raw if isinstance(event, RecordsCaptured | MetricsCaptured) else None
        return None if raw is None else raw.text

    def _events(self, positions: Iterable[int]) -> Mapping[int, Event]:
        """Those that the last call wanted too are at hand: one export holds the words of many prompts and tools."""
        wanted = set(positions)
        self._last = {at: event for at, event in self._last.items() if at in wanted}
        if missing := sorted(wanted - self._last.keys()):
            self._last |= self._fetch(missing)
        return self._last


def _words(event: Event | None, field: str) -> Words | None:
    known = _FIELDS.get(type(event), ())
    words: Words | None = getattr(event, field) if field in known else None
    return words


_FIELDS: dict[type, tuple[str, ...]] = {
    PromptCaptured: ("prompt", "cwd"),
    PromptAnswered: ("response",),
    RecordsCaptured: ("words",),
    TracesCaptured: ("words",),
    TitleEdited: ("title", "summary"),
    ReportCompleted: ("sections", "narrative"),
}
"""The words of each kind of event that rows point at."""
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_LATER = "BUSY INTERRUPT LOCKED IOERR FULL CANTOPEN READONLY PERM NOMEM PROTOCOL"
_NOT_NOW = frozenset(getattr(sqlite3, f"SQLITE_{name}") for name in _LATER.split())
_NO_TEXT = "Could not decode to UTF-8"  # how Python begins where a text is none; it gives that no code


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is broken, so that only another one helps."""
    return isinstance(error, sqlite3.Error) and (_code(error) in _DAMAGED or str(error).startswith(_NO_TEXT))


def is_passing(error: BaseException) -> bool:
    """Whether it may succeed later: the file is locked, the disk is full or gone, or the statement was broken off."""
    return isinstance(error, sqlite3.Error) and _code(error) in _NOT_NOW


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; that of a wrong query where it gave none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


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


_LOW_BITS = 30


def bodies(db: sqlite3.Connection, kind: type[_T], query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[_T]:
    return [unpack(row[0], kind) for row in db.execute(query, values)]


def json_array(values: object) -> str:
    """Values as SQLite's `json_each` takes them."""
    return msgspec.json.encode(values).decode()


# Read with the module: a server that has no file handle left still reads.
_READS: dict[str, dict[str, str]] = msgspec.toml.decode(get_data(__name__, "reads.toml") or b"")


def sql(read: str, **parts: object) -> str:
    """A read of `reads.toml`; `parts` are what it names in braces beside the parts of the file."""
    return filled(_READS["reads"][read], **parts)


@lru_cache(maxsize=512)
def filled(text: str, **parts: object) -> str:
    while "{" in text:
        text = text.format_map(_READS["parts"] | parts)
    return text


@lru_cache(maxsize=1_024)  # an id is written out anew each time, and asked for some times with every event
def owner(scope: Scope) -> tuple[str, str]:
    return str(scope.organization_id), str(scope.developer_id)


def sum_in_halves(name: str) -> str:
    """A sum as two columns, in the SQL that SQLite and DuckDB share: one of more than 63 bits fails SQLite."""
    return f"coalesce(sum({name} >> {_LOW_BITS}), 0), coalesce(sum({name} & {2**_LOW_BITS - 1}), 0)"


def whole_sums(halves: Sequence[int]) -> list[int]:
    return [(high << _LOW_BITS) + low for high, low in zip(halves[::2], halves[1::2], strict=True)]


def bound(scope: Scope, window: Window | None = None, **more: object) -> dict[str, object]:
    ends = {} if window is None else {"start": window.start_us, "end": window.end_us}
    return {"organization": str(scope.organization_id), "developer": str(scope.developer_id), **ends, **more}
