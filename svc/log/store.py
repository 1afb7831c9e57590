"""The event store: the log of facts behind a small port, the place where a further database plugs in.

`EventStore` knows events, `LogRecorder` (the port) knows rows. All calls block, so trio code makes them in a thread.
`tests/svc/log/test_store_contract.py` is the contract; a new recorder runs it by one more parameter.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

import trio
from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import IntegrityError, Notification, StoredEvent

from aggregates.event import NewEvent, RecordedEvent, Unavailable
from svc.log.codec import Codec, CorruptEvent, OpenWords
from svc.process import READ_BYTES_MAX

READ_EVENTS_MAX = 1_000  # in one read of the log: enough to make its fixed cost vanish, few enough to interrupt
POSITIONS_PER_QUERY_MAX = 500  # in one statement; SQLite takes 999 variables even in its oldest builds

STORE_READERS_MAX = 8  # connections that read the log: projector, requests that show words, actors; 2 MiB each
PIECE_EVENTS = 500  # that a retention, a forgetting, an export or a verification takes at a time: half a second at most
READS = trio.CapacityLimiter(STORE_READERS_MAX)  # threads that read the log: as many as connections
_P = ParamSpec("_P")
_T = TypeVar("_T")
VERSION_END = 2**31  # above every version of a stream
EVENTS_END = 2**62  # more than any log holds
NO_STREAM = UUID(int=0)  # of an event whose own cannot be read
Heard = Callable[[CorruptEvent], object] | None  # is told of what cannot be read, which is left out then
Group = Sequence[StoredEvent]  # events that stand in the log together or not at all, as bytes


class Conflict(Exception):
    """A stream already has an event of that version; nothing of the group was stored."""


class StoreUnavailable(Unavailable):
    """The log cannot be read or written now. A write may have committed: its caller looks again at what it knows."""

    told = "the event store cannot be used at present"


class KeyUnusable(StoreUnavailable):
    """The key that seals a developer's words is missing, or a new one could not be kept."""

    told = "the developer's key cannot be used; the server's log says why"


# Conditions of writes where several nodes share a log: each holds in the transaction of the write, or it is refused.
# One process needs none. A task enters its fences once; whatever it writes from then on carries them, also by way of
# actors, the journal and threads.


class LeaseFence(NamedTuple):  # nobody has taken the lease over since
    name: str
    epoch: int


class TopicsFence(NamedTuple):  # no event of these topics stands after this position
    topics: tuple[str, ...]
    after: int


Fence = LeaseFence | TopicsFence
_FENCES: ContextVar[tuple[Fence, ...]] = ContextVar("fences", default=())
current_fences = _FENCES.get  # those of this task, or of the task that started this thread


@contextmanager
def fenced(*fences: Fence) -> Iterator[None]:
    """Put these fences on every write of the block, besides those that there are."""
    token = _FENCES.set((*_FENCES.get(), *fences))
    try:
        yield
    finally:
        _FENCES.reset(token)


class Piece(NamedTuple):  # a stretch of the log
    after: int  # a position
    events: list[RecordedEvent]
    corrupt: list[CorruptEvent]  # what cannot be read
    reached: int  # the position

    @property
    def all(self) -> list[RecordedEvent | CorruptEvent]:
        """In the order of the log."""
        return sorted([*self.events, *self.corrupt], key=attrgetter("position"))


def leave_out(_corrupt: CorruptEvent) -> None:
    """The projector names it where it passes it over, and so does `svc verify`."""


class LogRecorder(ABC):
    """What a database must offer: rows of events, each at a position. All reads are made of `rows`.

    Threads: any method may be called from any thread, and reads may run beside a write and beside other reads.
    Positions: from 1, growing in the order of commit, with gaps allowed. No event appears later at a smaller position
    than a reader has seen (a sequence alone promises less). None is used twice, not even after the end was cut off.
    Errors: the library's IntegrityError for a stream version that is taken; any other EventSourcingError, or OSError,
    where the database cannot be used now. After such an error of a write it may have committed all the same.
    Statements: in the SQL that all databases know, `%s` for a value. `{events}` is the table, `{position}` its column
    of positions, `{by_topic}` asks for the index of topics.
    """

    is_shared = False  # whether other nodes write as well

    @abstractmethod
    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Store all or none, durable on return; their positions in this order. IntegrityError: nothing was stored,
        since a version is taken, or since one of `fences` does not hold."""

    @abstractmethod
    def max_notification_id(self) -> int | None:
        """The last position; None in an empty log."""

    @abstractmethod
    def rows(self, statement: str, values: Sequence[Any] = (), *, writing: bool = False) -> Sequence[Any]:
        """The rows of one statement, a transaction of its own, with values by the names of columns."""

    @abstractmethod
    def write(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """Do it once with each of these, all or none, within the fences of who calls; what is overwritten is gone."""

    @abstractmethod
    def sweep(self) -> bool:
        """Leave no copy of overwritten bytes; False where a reader still needs one."""

    @abstractmethod
    def check_writable(self) -> None:
        """Make one durable write that changes nothing."""

    def wait_for_news(self, seconds: float) -> None:
        """Return when another node has appended, after that many seconds at the latest; never raises."""
        time.sleep(seconds)

    @abstractmethod
    def close(self) -> None: ...

    def select(self, where: str, values: Sequence[Any]) -> list[Notification]:
        return [_notification(row) for row in self.rows(_SELECT + where, values)]

    def select_after(self, position: int, limit_events: int, limit_bytes: int) -> list[Notification]:
        """The next events within both limits, but at least one where there is one; its memory is bounded, too."""
        return self.select(_NEXT, [position, position, limit_events, limit_bytes])

    def replace_states(self, states: Mapping[int, bytes]) -> None:
        """Store other bytes at these positions."""
        changed = [(state, position) for position, state in states.items()]
        self.write("UPDATE {events} SET state = %s WHERE {position} = %s", changed)


_SELECT = "SELECT originator_id, originator_version, topic, state, {position} AS position FROM {events} "
# Sizes first: a thousand events may hold more than memory does.
_NEXT = (
    "WHERE {position} > %s AND {position} <= (SELECT max(at) FROM ("
    "SELECT at, sum(size) OVER (ORDER BY at) AS bytes, min(at) OVER () AS first FROM ("
    "SELECT {position} AS at, length(state) AS size FROM {events} WHERE {position} > %s ORDER BY {position} LIMIT %s"
    ") page) sized WHERE bytes <= %s OR at = first) ORDER BY {position}"
)


def _notification(row: Mapping[str, Any]) -> Notification:
    stream_id = row["originator_id"]
    if isinstance(stream_id, str):
        try:
            stream_id = UUID(stream_id)
        except ValueError:
            stream_id = NO_STREAM  # so its checksum does not fit
    return Notification(stream_id, row["originator_version"], row["topic"], row["state"], row["position"])


def _marks(values: Collection[object]) -> str:
    return ", ".join(["%s"] * len(values)) or "NULL"


class EventStore:
    """The log. Any call may raise StoreUnavailable, any read CorruptEvent; for any thread."""

    def __init__(self, recorder: LogRecorder, codec: Codec) -> None:
        self.recorder, self._codec, self.vault = recorder, codec, codec.vault
        self.shared = recorder if recorder.is_shared else None

    def encode(self, events: Sequence[NewEvent]) -> Group:
        """The events as bytes, to be inserted once or more often. Raises UnstorableEvent."""
        try:
            return [self._codec.to_stored_event(event) for event in events]
        except OSError as error:
            raise StoreUnavailable(f"the developer's key could not be kept: {error}") from error

    def insert(self, groups: Sequence[Group], fences: Sequence[Fence] = ()) -> list[list[int]]:
        """Make all groups durable in one transaction, or none; the positions of each. Raises Conflict."""
        assert self.shared is not None or not fences, "one process needs no fence"
        stored = [event for group in groups for event in group]
        inserted = _reached(self.recorder.insert_events, stored, fences=fences)
        assert inserted is not None, "an application recorder answers with positions"
        positions = iter(inserted)
        return [[next(positions) for _ in group] for group in groups]

    def append(self, events: Sequence[NewEvent]) -> list[int]:
        """Make the events durable, all or none; their positions. Raises Conflict, UnstorableEvent."""
        return self.insert([self.encode(events)])[0]

    def head(self) -> int:
        return _reached(self.recorder.max_notification_id) or 0

    def read_stream(self, stream_id: UUID, *, open_words: OpenWords = True) -> list[RecordedEvent]:
        rows = self._select("WHERE originator_id = %s ORDER BY originator_version", [stream_id.hex])
        return self._decoded(rows, open_words)

    def read_newest(
        self, stream_id: UUID, below_version: int = VERSION_END, heard: Heard = None
    ) -> RecordedEvent | None:
        """The newest event of a stream, or the one before a version; None where it is corrupt and `heard`."""
        newest = "WHERE originator_id = %s AND originator_version < %s ORDER BY originator_version DESC LIMIT 1"
        found = self._decoded(self._select(newest, [stream_id.hex, below_version]), open_words=True, heard=heard)
        return found[0] if found else None

    def version(self, stream_id: UUID) -> int:
        """That of a stream's newest event, also of a corrupt one; 0 where there is none."""
        newest = "SELECT coalesce(max(originator_version), 0) AS version FROM {events} WHERE originator_id = %s"
        return int(_reached(self.recorder.rows, newest, [stream_id.hex])[0]["version"])

    def read_after(
        self,
        position: int,
        limit_events: int = READ_EVENTS_MAX,
        limit_bytes: int = READ_BYTES_MAX,
        *,
        open_words: OpenWords = True,
    ) -> list[RecordedEvent]:
        """The events after a position within both limits, but at least one where there is one; none: it ends."""
        rows = _reached(self.recorder.select_after, position, limit_events, limit_bytes)
        return self._decoded(rows, open_words)

    def pieces(
        self, after: int, up_to: float = inf, topics: Collection[str] = (), most: int = 0, *, open_words: bool = False
    ) -> Iterator[Piece]:
        """The log, or its events of these topics, after a position and up to another; corrupt ones are skipped."""
        while after < up_to:
            if topics:
                rows = self._of_topics(topics, after, most or PIECE_EVENTS)
            else:
                rows = _reached(self.recorder.select_after, after, PIECE_EVENTS, READ_BYTES_MAX)
            if not rows:
                return
            corrupt = list[CorruptEvent]()
            events = self._decoded([row for row in rows if row.id <= up_to], open_words, corrupt.append)
            piece = Piece(after, events, corrupt, int(min(rows[-1].id, up_to)))
            yield piece
            after = piece.reached

    def read_positions(
        self, positions: Iterable[int], *, open_words: OpenWords = True, heard: Heard = None
    ) -> dict[int, RecordedEvent]:
        """The events at these positions; what does not exist is left out, and what is corrupt where it is `heard`."""
        wanted = sorted(set(positions))
        found: dict[int, RecordedEvent] = {}
        for start in range(0, len(wanted), POSITIONS_PER_QUERY_MAX):
            rows = self._at(wanted[start : start + POSITIONS_PER_QUERY_MAX])
            found.update((recorded.position, recorded) for recorded in self._decoded(rows, open_words, heard))
        return found

    def read_topics(self, topics: Iterable[str], *, open_words: OpenWords = True) -> list[RecordedEvent]:
        """All events of these topics, which are few."""
        return self._decoded(self._of_topics(topics, 0, EVENTS_END), open_words)

    def take_words(self, keep: Mapping[int, Collection[str]]) -> int:
        """Delete the texts at these positions, except those of the fields named for each; how many events had any."""
        states = {row.id: self._codec.without_words(row, keep[row.id]) for row in self._at(sorted(keep))}
        changed = {position: state for position, state in states.items() if state is not None}
        if changed:
            _reached(self.recorder.replace_states, changed)
        return len(changed)

    def sweep(self) -> bool:
        return _reached(self.recorder.sweep)

    def fingerprint(self, position: int) -> bytes:
        """16 bytes that tell the event at a position from any other; empty without an event."""
        for row in self._at([position]):
            named = f"{row.originator_id} {row.originator_version} {row.topic} ".encode()
            return blake2b(named + row.state[:32], digest_size=16).digest()
        return b""

    def check_writable(self) -> None:
        _reached(self.recorder.check_writable)

    def close(self) -> None:
        self.recorder.close()

    def _select(self, where: str, values: Sequence[Any]) -> list[Notification]:
        return _reached(self.recorder.select, where, values)

    def _of_topics(self, topics: Iterable[str], after: int, limit_events: int) -> Sequence[Notification]:
        named = sorted(set(topics))
        where = f"{{by_topic}} WHERE topic IN ({_marks(named)}) AND {{position}} > %s ORDER BY {{position}} LIMIT %s"
        return self._select(where, [*named, after, limit_events])

    def _at(self, positions: Sequence[int]) -> list[Notification]:
        return self._select(f"WHERE {{position}} IN ({_marks(positions)})", positions)

    def _decoded(self, rows: Iterable[Notification], open_words: OpenWords, heard: Heard = None) -> list[RecordedEvent]:
        found = []
        for row in rows:
            try:
                found.append(self._codec.to_domain_event(row, open_words=open_words))
            except CorruptEvent as error:
                if heard is None:
                    raise
                heard(error)
            except OSError as error:
                raise StoreUnavailable(f"a developer's key cannot be read: {error}") from error
        return found


def _reached(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    try:
        return call(*args, **kwargs)
    except IntegrityError as error:
        raise Conflict(str(error)) from error
    except (EventSourcingError, OSError) as error:
        raise StoreUnavailable(str(error)) from error
