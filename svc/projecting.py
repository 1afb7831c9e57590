"""Bringing views up to the log: one step, used by the live projector and by replay alike."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import structlog

from aggregates.events import Event
from projections.apply import Bookmark, apply, apply_batch, bookmark, pass_over
from projections.batches import Batch
from projections.damage import is_passing
from projections.reader import FetchEvents
from projections.rows import Digesters
from projections.signs import TextsUnavailable
from svc.codec import CorruptEvent, Recorded
from svc.limits import READ_BYTES_MAX
from svc.recollection import recollection_of
from svc.store import EventStore, StoreUnavailable
from svc.views import current_file, new_file, open_writer, point_to, remove_others

log = structlog.get_logger()

_READ = frozenset({"prompt", "response", "words"})
"""The words that something is concluded from. The others, whole exports among them, stay closed: opening takes time."""


def step(
    db: sqlite3.Connection,
    store: EventStore,
    digesters: Digesters,
    limit_events: int,
    limit_bytes: int = READ_BYTES_MAX,
) -> int:
    """Apply the next facts after the bookmark; the position that the views hold then."""
    position = bookmark(db).position
    try:
        facts = read_facts(store, position, limit_events, limit_bytes)
    except CorruptEvent:
        return _step_to_corrupt(db, store, digesters)
    return _apply(db, position, facts, store, digesters)


def read_facts(
    store: EventStore, after: int, limit_events: int, limit_bytes: int = READ_BYTES_MAX
) -> Sequence[Recorded]:
    """The next facts after a position, with what stands of their words where those are gone."""
    facts = store.read_after(after, limit_events, limit_bytes, open_words=_READ)
    return [_recalled(store, fact) for fact in facts]


def _step_to_corrupt(db: sqlite3.Connection, store: EventStore, digesters: Digesters) -> int:
    """One event at a time up to the corrupt one, which is listed and passed over; the others count."""
    after = bookmark(db).position
    try:
        facts = read_facts(store, after, limit_events=1)
    except CorruptEvent as error:
        position = error.position or after + 1
        log.error("a stored event is corrupt and is passed over", position=position, reason=str(error))
        pass_over(db, position, "CorruptEvent", store.fingerprint(position))
        return position
    return _apply(db, after, facts, store, digesters)


def _apply(
    db: sqlite3.Connection, after: int, facts: Sequence[Recorded], store: EventStore, digesters: Digesters
) -> int:
    if not facts:
        return after
    checksum = store.fingerprint(facts[-1].position)
    apply(db, facts, checksum, digesters, _fetching(store), after=after)
    return facts[-1].position


def apply_read(db: sqlite3.Connection, batch: Batch, store: EventStore, digesters: Digesters) -> int:
    """Apply the next facts, which another process read already; the position that the views hold then."""
    after = bookmark(db).position
    facts = partial(read_facts, store, after, batch.events)
    apply_batch(db, batch, facts, digesters, _fetching(store), after=after)
    return batch.position


def _fetching(store: EventStore) -> FetchEvents:
    """Events whose words the derivation needs again; one that is corrupt by now is missing from the answer."""

    def fetch(positions: Iterable[int]) -> Mapping[int, Event]:
        wanted = list(positions)
        try:
            found = store.read_positions(wanted, open_words=_READ)
            return {position: _recalled(store, each).event for position, each in found.items()}
        except CorruptEvent:
            # One at a time, so that the corrupt one takes no other with it; there is nothing to look up in one.
            return {} if len(wanted) == 1 else {p: event for each in wanted for p, event in fetch([each]).items()}
        except StoreUnavailable as error:
            raise TextsUnavailable(str(error)) from error

    return fetch


def _recalled(store: EventStore, fact: Recorded) -> Recorded:
    """A fact, with what stands of its words where they are gone."""
    event = recollection_of(store).recalled(fact.event, fact.position)
    return fact if event is fact.event else msgspec.structs.replace(fact, event=event)


def belongs_to_log(mark: Bookmark, store: EventStore) -> bool:
    """Whether views were built from this very log: after a restore they may know events that it does not hold."""
    return mark.position == 0 or store.fingerprint(mark.position) == mark.checksum


def serving_file(folder: Path, rules_version: int, store: EventStore) -> Path:
    """The views file to serve from: the one that the pointer names, or a new one where that cannot be trusted.

    A new one starts empty; the projector builds it from the log, and until it is level no read is answered. Raises
    `StoreUnavailable` where somebody else holds the file: that is no reason to distrust it.
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
    """Why a views file cannot be trusted; None where it can. Raises `StoreUnavailable` where nobody can tell now."""
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
