"""The event store: one log of facts behind one small port, on whichever recorder of the eventsourcing
library.

`EventStore` knows events; a `LogRecorder` knows rows. All calls block, so trio code makes them in a
thread; every read may run beside a write and beside other reads. A position is never used twice, not even
after the end of the log was cut off.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Protocol, TypeVar
from uuid import UUID

from eventsourcing.domain import EventSourcingError
from eventsourcing.persistence import IntegrityError, Notification, StoredEvent

from svc.limits import POSITIONS_PER_QUERY_MAX, READ_BYTES_MAX, READ_EVENTS_MAX
from svc.log.codec import Codec, NewEvent, OpenWords, Recorded

_T = TypeVar("_T")
VERSION_END = 2**31
"""Above every version of a stream."""
Group = Sequence[StoredEvent]
"""Events that stand in the log together or not at all, as bytes."""


class Conflict(Exception):
    """A stream already has an event of that version; nothing of the group was stored."""


class StoreUnavailable(Exception):
    """The log cannot be read or written at present: disk full, file locked, device gone. Try again later.

    After a write it may be that the commit happened all the same; whoever asked forgets what it knows and
    reloads.
    """


class KeyUnusable(StoreUnavailable):
    """The key that seals a developer's words is missing, or a new one could not be kept."""


class LogRecorder(Protocol):
    """What the store needs: one of the library's application recorders, with more ways to read."""

    def insert_events(self, stored_events: Sequence[StoredEvent]) -> Sequence[int] | None:
        """Stores all or none and returns their positions; the library's IntegrityError on a conflict."""
        ...

    def max_notification_id(self) -> int | None:
        """The last position, or None in an empty log."""
        ...

    def select_stream(self, stream_id: UUID) -> list[Notification]:
        """All events of a stream in the order of their versions."""
        ...

    def select_newest(self, stream_id: UUID, below_version: int) -> Notification | None:
        """The event of the greatest version below that one; None where there is none."""
        ...

    def select_after(self, position: int, limit_events: int, limit_bytes: int) -> list[Notification]:
        """The events after a position, within both limits, but at least one where there is one."""
        ...

    def select_positions(self, positions: Sequence[int]) -> list[Notification]:
        """The events at these positions, as far as they exist, in any order."""
        ...

    def select_topics(self, topics: Sequence[str]) -> list[Notification]:
        """The events of these topics in the order of their positions."""
        ...

    def select_topics_after(self, topics: Sequence[str], position: int, limit_events: int) -> list[Notification]:
        """The next events of these topics after a position."""
        ...

    def replace_states(self, states: Mapping[int, bytes]) -> None:
        """Stores other bytes at these positions, all or none; what stood there is overwritten on the disk."""
        ...

    def sweep(self) -> bool:
        """Leaves nothing of what was overwritten; False where that has to wait for a reader."""
        ...

    def check_writable(self) -> None:
        """Makes one durable write that changes nothing; raises where that fails."""
        ...

    def close(self) -> None:
        """Lets go of every resource."""
        ...


class EventStore:
    """The log. StoreUnavailable from any call; CorruptEvent from any read; for any thread."""

    def __init__(self, recorder: LogRecorder, codec: Codec) -> None:
        self._recorder = recorder
        self._codec = codec

    def encode(self, events: Sequence[NewEvent]) -> Group:
        """The events as bytes, to be inserted once or more often; see `Codec.to_stored_event` for errors."""
        try:
            return [self._codec.to_stored_event(event) for event in events]
        except OSError as error:
            raise StoreUnavailable(f"the developer's key could not be kept: {error}") from error

    def insert(self, groups: Sequence[Group]) -> list[list[int]]:
        """Makes all groups durable in one transaction, or none; the positions of each. Raises Conflict."""
        stored = [event for group in groups for event in group]
        inserted = _reached(partial(self._recorder.insert_events, stored))
        assert inserted is not None, "an application recorder answers with positions"
        positions = iter(inserted)
        return [[next(positions) for _ in group] for group in groups]

    def append(self, events: Sequence[NewEvent]) -> list[int]:
        """Makes the events durable, all or none; their positions. Raises Conflict, UnstorableEvent."""
        return self.insert([self.encode(events)])[0]

    def rough_bytes(self, events: Sequence[NewEvent]) -> int:
        """About how much memory the events take while they wait to be stored."""
        return sum(self._codec.rough_bytes(new.event) for new in events)

    def head(self) -> int:
        """The last position; 0 in an empty log."""
        return _reached(self._recorder.max_notification_id) or 0

    def read_stream(self, stream_id: UUID, *, open_words: OpenWords = True) -> list[Recorded]:
        """All events of a stream in the order of their versions; empty where there is no such stream."""
        return self._decoded(_reached(partial(self._recorder.select_stream, stream_id)), open_words)

    def read_newest(self, stream_id: UUID, below_version: int = VERSION_END) -> Recorded | None:
        """The newest event of a stream, or the one before a version: streams of large events are read backwards."""
        row = _reached(partial(self._recorder.select_newest, stream_id, below_version))
        return None if row is None else self._codec.to_domain_event(row)

    def read_after(
        self,
        position: int,
        limit_events: int = READ_EVENTS_MAX,
        limit_bytes: int = READ_BYTES_MAX,
        *,
        open_words: OpenWords = True,
    ) -> list[Recorded]:
        """The events after a position (0: from the beginning), no more than both limits allow.

        At least one is returned where there is one, however large; an empty list means the end of the log.
        """
        rows = _reached(partial(self._recorder.select_after, position, limit_events, limit_bytes))
        return self._decoded(rows, open_words)

    def read_positions(self, positions: Iterable[int], *, open_words: OpenWords = True) -> dict[int, Recorded]:
        """The events at these positions; what does not exist is left out. Any number of positions."""
        wanted = sorted(set(positions))
        found: dict[int, Recorded] = {}
        for start in range(0, len(wanted), POSITIONS_PER_QUERY_MAX):
            some = wanted[start : start + POSITIONS_PER_QUERY_MAX]
            rows = _reached(partial(self._recorder.select_positions, some))
            found.update((recorded.position, recorded) for recorded in self._decoded(rows, open_words))
        return found

    def read_topics(self, topics: Iterable[str], *, open_words: OpenWords = True) -> list[Recorded]:
        """All events of these topics by position; meant for the few of people and keys."""
        rows = _reached(partial(self._recorder.select_topics, sorted(set(topics))))
        return self._decoded(rows, open_words)

    def read_topics_after(self, topics: Iterable[str], position: int, limit_events: int) -> list[Recorded]:
        """The next events of these topics after a position, for topics of which there may be many; without words."""
        rows = _reached(partial(self._recorder.select_topics_after, sorted(set(topics)), position, limit_events))
        return self._decoded(rows, open_words=False)

    def take_words(self, keep: Mapping[int, Collection[str]]) -> int:
        """Takes texts away for good from the events at these positions, all but those of the fields named for each.

        How many events had any. Nothing else of them changes: not their checksum, nor their place.
        """
        rows = _reached(partial(self._recorder.select_positions, sorted(keep)))
        states = {row.id: self._codec.without_words(row, keep[row.id]) for row in rows}
        changed = {position: state for position, state in states.items() if state is not None}
        if changed:
            _reached(partial(self._recorder.replace_states, changed))
        return len(changed)

    def sweep(self) -> bool:
        """Leaves no copy of texts that were taken away in the store's files; False where a reader still needs one."""
        return _reached(self._recorder.sweep)

    def fingerprint(self, position: int) -> bytes:
        """16 bytes that tell the event at a position from any other; empty where there is none."""
        rows = _reached(partial(self._recorder.select_positions, [position]))
        return blake2b(b"".join(map(_identity, rows)), digest_size=16).digest() if rows else b""

    def check_writable(self) -> None:
        """Returns when a durable write went through just now; StoreUnavailable otherwise."""
        _reached(self._recorder.check_writable)

    def close(self) -> None:
        """Lets go of files and connections."""
        self._recorder.close()

    def _decoded(self, rows: Iterable[Notification], open_words: OpenWords) -> list[Recorded]:
        return [self._codec.to_domain_event(row, open_words=open_words) for row in rows]


def _identity(row: Notification) -> bytes:
    return f"{row.originator_id} {row.originator_version} {row.topic} ".encode() + row.state[:32]


def _reached(call: Callable[[], _T]) -> _T:
    try:
        return call()
    except IntegrityError as error:
        raise Conflict(str(error)) from error
    except (EventSourcingError, sqlite3.Error, OSError) as error:
        raise StoreUnavailable(str(error)) from error
