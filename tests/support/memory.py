"""The log in memory, on the library's plain-object recorder, keys in memory and a clock: for fast tests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from eventsourcing.persistence import Notification
from eventsourcing.popo import POPOApplicationRecorder

from svc.actors.actors import Clock
from svc.log.codec import Codec
from svc.log.store import EventStore
from svc.log.vault import Keys


class MemoryRecorder(POPOApplicationRecorder):
    """A list of events; a position is a place in it, counted from 1."""

    def select_stream(self, stream_id: UUID) -> list[Notification]:
        with self._database_lock:
            places = self._stored_events_index.get(str(stream_id), {})
            return [self._at(places[version] + 1) for version in sorted(places)]

    def select_newest(self, stream_id: UUID, below_version: int) -> Notification | None:
        older = [each for each in self.select_stream(stream_id) if each.originator_version < below_version]
        return older[-1] if older else None

    def select_after(self, position: int, limit_events: int, limit_bytes: int) -> list[Notification]:
        found: list[Notification] = []
        size_bytes = 0
        for event in self.select_notifications(position, limit_events, inclusive_of_start=False):
            size_bytes += len(event.state)
            if found and size_bytes > limit_bytes:
                break
            found.append(event)
        return found

    def select_positions(self, positions: Sequence[int]) -> list[Notification]:
        with self._database_lock:
            return [self._at(position) for position in positions if 0 < position <= len(self._stored_events)]

    def select_topics(self, topics: Sequence[str], after: int, limit_events: int | None) -> list[Notification]:
        with self._database_lock:
            later = range(after + 1, len(self._stored_events) + 1)
            return [self._at(place) for place in later if self._stored_events[place - 1].topic in topics][:limit_events]

    def replace_states(self, states: Mapping[int, bytes]) -> None:
        with self._database_lock:
            for position, state in states.items():
                self._stored_events[position - 1] = replace(self._stored_events[position - 1], state=state)

    def sweep(self) -> bool:
        return True

    def check_writable(self) -> None:
        """Memory can always be written."""

    def close(self) -> None:
        """The events stay: a new store over this recorder reopens the log."""

    def _at(self, position: int) -> Notification:
        event = self._stored_events[position - 1]
        return Notification(event.originator_id, event.originator_version, event.topic, event.state, id=position)


def open_memory_store(codec: Codec, recorder: MemoryRecorder | None = None) -> EventStore:
    """Open an empty log, or the one that a recorder holds."""
    return EventStore(recorder or MemoryRecorder(), codec)


class MemoryKeys(Keys):
    def __init__(self) -> None:
        self._keys: dict[UUID, bytes] = {}

    def load(self, developer_id: UUID) -> bytes | None:
        return self._keys.get(developer_id)

    def keep(self, developer_id: UUID, key: bytes) -> bytes:
        return self._keys.setdefault(developer_id, key)

    def destroy(self, developer_id: UUID) -> None:
        self._keys.pop(developer_id, None)

    def there(self) -> frozenset[UUID]:
        return frozenset(self._keys)

    def path_of(self, developer_id: UUID) -> Path:
        return Path(str(developer_id))


class FixedClock(Clock):
    """A clock for tests."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def advance(self, by_us: int) -> None:
        self._now_us += by_us
