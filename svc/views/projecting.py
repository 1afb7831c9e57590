"""Bringing views up to the log: one step, used by the live projector and by replay alike."""

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import structlog
from msgspec.structs import replace

from aggregates.event import DeveloperEvent, Event, Scope
from projections.apply import Bookmark, apply, bookmark, pass_over
from projections.derive.integrity import TextsUnavailable
from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.reader import FetchEvents, is_passing
from svc.limits import READ_BYTES_MAX
from svc.log.codec import CorruptEvent, RecordedEvent
from svc.log.store import EventStore, StoreUnavailable
from svc.views.retained import readings_of_log
from svc.views.views import current_file, new_file, open_writer, point_to, remove_others

GIVE_WAY_SQLITE_STEPS = 1_000
"""Steps of SQLite's machine between two looks at the clock: 0.7 ms apart, at most 5; 500 cost a tenth more."""
READ_PIECES = 10
"""A batch of facts is read from the log in so many pieces: all 500 at once would take 20 ms without a look."""
USUAL_EVENT_SECONDS = 0.005
"""So much processor time deriving may take for each event before it counts in its developer's budget: by the hundred
events take a fifth of it, alone at the end of a long session twice as much."""

log = structlog.get_logger()
_READ = frozenset({"prompt", "response", "words"})
"""The words that conclusions need; the others, whole exports among them, stay sealed, for opening takes time."""


Cost = tuple[UUID, float]  # a developer, and by how many seconds of processor time their facts took longer than usual


class Stepped(NamedTuple):
    """What a step came to."""

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
        """What went beyond the usual for so many facts."""
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
        wanted = list(positions)
        try:
            found = store.read_positions(wanted, open_words=_READ)
            return {position: _with_retained(store, each).event for position, each in found.items()}
        except CorruptEvent:
            # One at a time, so that the corrupt one takes no other with it.
            return {} if len(wanted) == 1 else {p: event for each in wanted for p, event in fetch([each]).items()}
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
