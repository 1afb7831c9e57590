"""Bringing views up to the log: one step, used by the live projector and by replay alike."""

import sqlite3
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from uuid import UUID
from weakref import WeakKeyDictionary

import msgspec
import structlog
from msgspec.structs import replace

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Event, Scope
from aggregates.retained import Standing, StandingSealed, Stood, rows_of
from projections.apply import Bookmark, apply, bookmark, pass_over
from projections.derive.integrity import TextsUnavailable
from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.reader import FetchEvents, is_passing
from svc.limits import GIVE_WAY_SQLITE_STEPS, READ_BYTES_MAX, READ_PIECES, RECALL_CHUNKS_MAX, RECALL_EVENTS
from svc.log.codec import CorruptEvent, Recorded
from svc.log.store import EventStore, StoreUnavailable
from svc.views.views import current_file, new_file, open_writer, point_to, remove_others

log = structlog.get_logger()
_READ = frozenset({"prompt", "response", "words"})
"""The words that something is concluded from. The others, whole exports among them, stay closed: opening takes time."""


def step(
    db: sqlite3.Connection,
    store: EventStore,
    digesters: Digesters,
    limit_events: int,
    give_way: GiveWay | None = None,
) -> int:
    """Apply the next facts after the bookmark; the position that the views hold then.

    `give_way` is called about once a millisecond: between facts, and from within SQLite's statements.
    """
    db.set_progress_handler(give_way, GIVE_WAY_SQLITE_STEPS)
    position = bookmark(db).position
    try:
        facts = _read_facts(store, position, limit_events, give_way)
    except CorruptEvent:
        return _step_to_corrupt(db, store, digesters)
    return _apply(db, position, facts, store, digesters, give_way)


def _read_facts(
    store: EventStore, after: int, limit_events: int, give_way: GiveWay | None = None
) -> Sequence[Recorded]:
    """The next facts after a position, with what stands of their words where those are gone."""
    facts: list[Recorded] = []
    for _ in range(READ_PIECES):
        position = facts[-1].position if facts else after
        wanted = min(-(-limit_events // READ_PIECES), limit_events - len(facts))
        piece = store.read_after(position, wanted, READ_BYTES_MAX // READ_PIECES, open_words=_READ) if wanted else []
        if not piece:
            break
        facts += [_recalled(store, fact) for fact in piece]
        if give_way is not None:
            give_way()
    return facts


def _step_to_corrupt(db: sqlite3.Connection, store: EventStore, digesters: Digesters) -> int:
    """One event at a time up to the corrupt one, which is listed and passed over; the others count."""
    after = bookmark(db).position
    try:
        facts = _read_facts(store, after, limit_events=1)
    except CorruptEvent as error:
        position = error.position or after + 1
        log.error("a stored event is corrupt and is passed over", position=position, reason=str(error))
        pass_over(db, position, "CorruptEvent", store.fingerprint(position))
        return position
    return _apply(db, after, facts, store, digesters)


def _apply(
    db: sqlite3.Connection,
    after: int,
    facts: Sequence[Recorded],
    store: EventStore,
    digesters: Digesters,
    give_way: GiveWay | None = None,
) -> int:
    if not facts:
        return after
    checksum = store.fingerprint(facts[-1].position)
    apply(db, facts, checksum, digesters, _fetching(store), after=after, give_way=give_way)
    return facts[-1].position


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


# Finding what stands of texts that are gone: the facts that tell of it are read when the first of them is missed.

_Stretch = tuple[int, int, int]
"""First and last position, and that of the fact which tells of them; it need not tell of all between."""
_FIELDS = {
    PromptCaptured.TOPIC: "prompt",
    PromptAnswered.TOPIC: "response",
    RecordsCaptured.TOPIC: "words",
    TracesCaptured.TOPIC: "words",
}
"""The words of each kind of fact that something is concluded from."""


class Recollection:
    """What stands, by position, of one log. For one thread at a time; StoreUnavailable, CorruptEvent as the log."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._read_up_to = 0
        self._stretches: dict[Scope, list[_Stretch]] = {}
        self._furthest: dict[Scope, list[int]] = {}
        """How far the stretches of a scope reach, up to each of them."""
        self._chunks: OrderedDict[int, dict[int, Standing]] = OrderedDict()

    def recalled(self, event: Event, position: int) -> Event:
        """The event, its words saying what stands of them where they are gone and something does."""
        if not isinstance(event, PromptCaptured | PromptAnswered | RecordsCaptured):
            return event
        name = _FIELDS[event.TOPIC]
        words = getattr(event, name)
        if words is None or words.text is not None:
            return event
        standing = self.standing(event.organization_id, event.developer_id, position)
        return event if standing is None else replace(event, **{name: Stood(None, standing)})

    def standing(self, organization_id: UUID, developer_id: UUID, position: int) -> Standing | None:
        """What stands of the texts of a fact; None where nothing does."""
        found = self._find(Scope(organization_id, developer_id), position)
        if found is None and self._read_more():
            found = self._find(Scope(organization_id, developer_id), position)
        return found

    def _find(self, scope: Scope, position: int) -> Standing | None:
        """Stretches seldom overlap: what is old goes before what is new, unless a clock ran ahead."""
        stretches, furthest = self._stretches.get(scope, []), self._furthest.get(scope, [])
        place = bisect_right(stretches, position, key=lambda stretch: stretch[0]) - 1
        while place >= 0 and furthest[place] >= position:
            _, last, told_at = stretches[place]
            if last >= position and (found := self._chunk(told_at).get(position)) is not None:
                return found
            place -= 1
        return None

    def _chunk(self, told_at: int) -> dict[int, Standing]:
        chunk = self._chunks.get(told_at)
        if chunk is None:
            event = self._store.read_positions([told_at])[told_at].event
            assert isinstance(event, StandingSealed)
            chunk = self._chunks[told_at] = {row.position: row for row in rows_of(event)}
            while len(self._chunks) > RECALL_CHUNKS_MAX:
                self._chunks.popitem(last=False)
        self._chunks.move_to_end(told_at)
        return chunk

    def _read_more(self) -> bool:
        """Take in what was told since; whether there was anything."""
        begun_at = self._read_up_to
        while told := self._store.read_topics_after([StandingSealed.TOPIC], self._read_up_to, RECALL_EVENTS):
            for recorded in told:
                event = recorded.event
                if isinstance(event, StandingSealed):
                    scope = Scope(event.organization_id, event.developer_id)
                    self._stretches.setdefault(scope, []).append((event.first, event.last, recorded.position))
            self._read_up_to = told[-1].position
        if self._read_up_to > begun_at:
            for scope, stretches in self._stretches.items():
                stretches.sort()
                self._furthest[scope] = list(accumulate((last for _, last, _ in stretches), max))
        return self._read_up_to > begun_at


_OF_STORES: WeakKeyDictionary[EventStore, Recollection] = WeakKeyDictionary()


def recollection_of(store: EventStore) -> Recollection:
    """The one of a log, which remembers what it read."""
    found = _OF_STORES.get(store)
    if found is None:
        found = _OF_STORES[store] = Recollection(store)
    return found
