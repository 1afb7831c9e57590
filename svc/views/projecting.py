"""Bringing views up to the log: one step, used by the live projector and by replay alike."""

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary, proxy

import structlog
from msgspec.structs import replace

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import DeveloperEvent, Event, Scope
from aggregates.retained import ReadingsRetained, RetainedReading, RetainedWords, retained_readings
from projections.apply import Bookmark, apply, bookmark, pass_over
from projections.derive.integrity import TextsUnavailable
from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.reader import FetchEvents, is_passing
from svc.log.codec import CorruptEvent, RecordedEvent
from svc.log.store import EventStore, StoreUnavailable
from svc.process import READ_BYTES_MAX
from svc.views.views import current_file, new_file, open_writer, point_to, remove_others

GIVE_WAY_SQLITE_STEPS = 1_000
"""Steps of SQLite's machine between two looks at the clock: 0.7 ms apart, at most 5; 500 cost a tenth more."""
READ_PIECES = 10
"""A batch of facts is read from the log in so many pieces: all 500 at once would take 20 ms without a look."""
USUAL_EVENT_SECONDS = 0.005
"""So much processor time deriving may take for each event before it counts in its developer's budget: by the hundred
events take a fifth of it, alone at the end of a long session twice as much."""

RECALL_EVENTS = 50  # facts about forgotten texts in one read: each holds up to `STANDING_BYTES` of readings
RECALL_CHUNKS_MAX = 64  # how many of them a replay keeps at hand, since developers alternate in the log: some 20 MiB
PLACES = 4_096  # positions that are looked up together: a developer has few facts about them

log = structlog.get_logger()
_READ = frozenset({"prompt", "response", "words"})
"""The words that conclusions need; the others, whole exports among them, stay sealed, for opening takes time."""


Cost = tuple[UUID, float]  # a developer, and by how many seconds of processor time their facts took longer than usual


class Stepped(NamedTuple):
    position: int  # that the views hold now
    changed: Collection[Scope] = ()  # whose sub-sessions
    costs: Sequence[Cost] = ()


class DerivingTime:
    """The processor time of deriving what each developer wrote."""

    def __init__(self) -> None:
        self._seconds: defaultdict[UUID, float] = defaultdict(float)

    @contextmanager
    def measure(self, scope: Scope) -> Iterator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self._seconds[scope.developer_id] += time.thread_time() - began

    def beyond(self, facts: Iterable[RecordedEvent]) -> list[Cost]:
        written = Counter(fact.event.developer_id for fact in facts if isinstance(fact.event, DeveloperEvent))
        usual = ((each, seconds, USUAL_EVENT_SECONDS * written[each]) for each, seconds in self._seconds.items())
        return [(each, seconds - usual_seconds) for each, seconds, usual_seconds in usual if seconds > usual_seconds]


def step(
    db: sqlite3.Connection,
    store: EventStore,
    digesters: Digesters,
    limit_events: int,
    give_way: GiveWay | None = None,
) -> Stepped:
    """Apply the next facts after the bookmark, or pass a corrupt one over.

    `give_way` is called about once a millisecond: between facts, and from within SQLite's statements.
    """
    db.set_progress_handler(give_way, GIVE_WAY_SQLITE_STEPS)
    after = bookmark(db).position
    try:
        facts = _read_facts(store, after, limit_events, give_way)
    except CorruptEvent:
        # One event at a time up to the corrupt one: the others count.
        try:
            facts = _read_facts(store, after, limit_events=1)
        except CorruptEvent as error:
            position = error.position or after + 1
            log.error("a stored event is corrupt and is passed over", position=position, reason=str(error))
            pass_over(db, position, "CorruptEvent", store.fingerprint(position))
            return Stepped(position)
    if not facts:
        return Stepped(after)
    position, took = facts[-1].position, DerivingTime()
    known = (store.fingerprint(position), digesters, _fetching(store))
    changed = apply(db, facts, *known, after=after, give_way=give_way, meter=took.measure)
    return Stepped(position, changed, took.beyond(facts))


def _read_facts(
    store: EventStore, after: int, limit_events: int, give_way: GiveWay | None = None
) -> Sequence[RecordedEvent]:
    facts: list[RecordedEvent] = []
    for _ in range(READ_PIECES):
        position = facts[-1].position if facts else after
        wanted = min(-(-limit_events // READ_PIECES), limit_events - len(facts))
        piece = store.read_after(position, wanted, READ_BYTES_MAX // READ_PIECES, open_words=_READ) if wanted else []
        if not piece:
            break
        facts += [_with_retained(store, fact) for fact in piece]
        if give_way is not None:
            give_way()
    return facts


def _fetching(store: EventStore) -> FetchEvents:
    """Reads events whose words the derivation needs again; a corrupt one is missing from the answer."""

    def fetch(positions: Iterable[int]) -> Mapping[int, Event]:
        try:
            found = store.read_whole(positions, open_words=_READ)
            return {position: _with_retained(store, each).event for position, each in found.items()}
        except StoreUnavailable as error:
            raise TextsUnavailable(str(error)) from error

    return fetch


def _with_retained(store: EventStore, fact: RecordedEvent) -> RecordedEvent:
    event = readings_of_log(store).recalled(fact.event, fact.position)
    return fact if event is fact.event else replace(fact, event=event)


def belongs_to_log(mark: Bookmark, store: EventStore) -> bool:
    """Whether views were built from this log; after a restore they may know events that it does not hold."""
    return mark.position == 0 or store.fingerprint(mark.position) == mark.checksum


def serving_file(folder: Path, rules_version: int, store: EventStore) -> Path:
    """The views file to serve from: the one that the pointer names, or a new, empty one where that cannot be trusted.

    Raises `StoreUnavailable` where another program holds the file.
    """
    path = current_file(folder, rules_version)
    reason = "there are none for these tables and rules" if path is None else _flaw(path, store)
    if path is None or reason is not None:
        if store.head():
            log.warning("the views are built anew from the log", reason=reason)
        path = new_file(folder, rules_version)
        open_writer(path).close()
        point_to(path)
    remove_others(folder, path)
    return path


def _flaw(path: Path, store: EventStore) -> str | None:
    try:
        db = open_writer(path)
        try:
            mark = bookmark(db)
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        if is_passing(error):
            raise StoreUnavailable(f"{path.name}: {error}; another program holds it, or the disk does") from error
        return f"{path.name} cannot be read: {error}"
    return None if belongs_to_log(mark, store) else f"{path.name} was built from another log"


# What is kept of deleted texts, by the position of the fact that held them. The facts that hold it come later in the
# log than the texts; they are read when the first such text is missed.

_FIELDS = {
    PromptCaptured.TOPIC: "prompt",
    PromptAnswered.TOPIC: "response",
    RecordsCaptured.TOPIC: "words",
    TracesCaptured.TOPIC: "words",
}


class RetainedReadings:
    """Of one log; for any thread. Raises as the log."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._lock = Lock()
        self._read_up_to = 0
        self._facts: defaultdict[tuple[Scope, int], list[int]] = defaultdict(list)
        """Where facts stand that may tell of a developer's texts, by these texts' positions in steps of `PLACES`."""
        self._chunk = lru_cache(RECALL_CHUNKS_MAX)(self._read_chunk)

    def recalled(self, event: Event, position: int) -> Event:
        """The event, with what is retained of its words where they are gone."""
        if not isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured):
            return event
        name = _FIELDS[event.TOPIC]
        words = getattr(event, name)
        if words is None or words.text is not None:
            return event
        standing = self.standing(event.scope, position)
        return event if standing is None else replace(event, **{name: RetainedWords(None, standing)})

    def standing(self, scope: Scope, position: int) -> RetainedReading | None:
        with self._lock:
            found = self._find(scope, position)
            return self._find(scope, position) if found is None and self._read_more() else found

    def _find(self, scope: Scope, position: int) -> RetainedReading | None:
        chunks = map(self._chunk, self._facts.get((scope, position // PLACES), ()))
        return next((chunk[position] for chunk in chunks if position in chunk), None)

    def _read_chunk(self, sealed_at: int) -> dict[int, RetainedReading]:
        event = self._store.read_positions([sealed_at])[sealed_at].event
        assert isinstance(event, ReadingsRetained)
        return {row.position: row for row in retained_readings(event)}

    def _read_more(self) -> bool:
        """Take in what was retained since; whether there was anything."""
        began_at = self._read_up_to
        while sealed := self._store.read_topics([ReadingsRetained.TOPIC], self._read_up_to, RECALL_EVENTS):
            for recorded in sealed:
                event = recorded.event
                if isinstance(event, ReadingsRetained):
                    for place in range(event.first // PLACES, event.last // PLACES + 1):
                        self._facts[event.scope, place].append(recorded.position)
            self._read_up_to = sealed[-1].position
        return self._read_up_to > began_at


_OF_LOGS: WeakKeyDictionary[EventStore, RetainedReadings] = WeakKeyDictionary()


def readings_of_log(store: EventStore) -> RetainedReadings:
    """The readings of a log, which remember what they read."""
    found = _OF_LOGS.get(store)
    if found is None:
        found = _OF_LOGS[store] = RetainedReadings(proxy(store))
    return found
