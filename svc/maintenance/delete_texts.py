"""Deletes texts from the log of a running service, after the numbers read from them are kept as a fact."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import inf
from typing import TypeVar

import msgspec
import structlog
import trio

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import DeveloperEvent, Event, Scope
from aggregates.ids import retained_stream
from aggregates.retained import (
    FORM,
    ReadingsRetained,
    RetainedReading,
    packed_readings,
    retain_prompt,
    retain_records,
    retain_response,
)
from projections.derive.integrity import texts_alike
from svc.limits import KEEP_PAUSE_SECONDS, POLL_SECONDS, STANDING_BYTES, SWEEP_TRIES
from svc.log.codec import NewEvent, RecordedEvent
from svc.log.folder import Clock
from svc.log.journal import Journal
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.maintenance.keys import Piece, piece_after
from svc.views.projecting import readings_of_log
from svc.views.projector import Projector

log = structlog.get_logger()
T = TypeVar("T")
Alike = Mapping[int, Sequence[tuple[int, int, int]]]
"""Position -> where a text begins in that fact, and the position and beginning of a text like it."""
READ_FROM = (PromptCaptured, PromptAnswered, RecordsCaptured)
"""Facts whose words are read."""


class TextDeleter:
    """Deletes texts in steps that may be broken off and begun again."""

    def __init__(self, store: EventStore, vault: Vault, journal: Journal, projector: Projector, clock: Clock) -> None:
        self.store = store
        self.vault = vault
        self.journal = journal
        self.projector = projector
        self.clock = clock

    async def seal_readings(self, positions: Iterable[int]) -> None:
        """Append what was read from the texts at these positions, where nobody has yet."""
        wanted = sorted(positions)
        if not wanted:
            return
        await self.projector.wait_for(wanted[-1])

        def sealed() -> list[NewEvent]:
            with self.projector.readers.reading() as views:
                return _sealing_events(self.store, self.vault, views, wanted, self.clock.now_us())

        for event in await aside(sealed):
            await self.journal.append([event])

    async def delete(self, positions: Iterable[int], keep: Collection[str] = ()) -> int:
        """Delete all texts at these positions but those of the named fields; how many events had any.

        Between commits, so that the one connection that writes is never waited for with an open transaction.
        """
        wanted = dict.fromkeys(positions, keep)
        return await self.journal.between_commits(partial(self.store.take_words, wanted)) if wanted else 0

    async def sweep(self) -> None:
        """Leave no copy of deleted texts; where a reader needs one for long, a later sweep does it."""
        for _ in range(SWEEP_TRIES):
            if await self.journal.between_commits(self.store.sweep):
                return
            await trio.sleep(POLL_SECONDS)
        log.warning("somebody reads the log for long; what was taken away leaves the write-ahead log later")

    async def append(self, event: NewEvent) -> None:
        """Append an event after the newest of its stream."""
        newest = await aside(lambda: self.store.read_newest(event.stream_id))
        version = 1 if newest is None else newest.version + 1
        await self.journal.append([NewEvent(event.stream_id, version, event.event)])

    async def next_piece(self, position: int, up_to: float = inf) -> Piece | None:
        """The next piece of the log after a position; None at the end, or from `up_to` on."""
        return None if position >= up_to else await aside(partial(piece_after, self.store, position))


async def aside(work: Callable[[], T]) -> T:
    """Do something in a thread, and leave others some time."""
    done = await trio.to_thread.run_sync(work)
    await trio.sleep(KEEP_PAUSE_SECONDS)
    return done


def _sealing_events(
    store: EventStore, vault: Vault, views: sqlite3.Connection, positions: Iterable[int], now_us: int
) -> list[NewEvent]:
    """What must be appended before the texts at these positions may go. `views` hold these positions already."""
    facts = [fact for fact in store.read_positions(positions).values() if isinstance(fact.event, READ_FROM)]
    alike = _alike(views, facts)
    by_scope: dict[Scope, list[RetainedReading]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.position):
        event = fact.event
        assert isinstance(event, DeveloperEvent)
        standing = _standing(store, vault, fact.position, event, alike)
        if standing is not None:
            by_scope[Scope(event.organization_id, event.developer_id)].append(standing)
    return [
        _sealing_event(scope, rows, now_us) for scope, all_rows in by_scope.items() for rows in _fitting_facts(all_rows)
    ]


def _standing(
    store: EventStore, vault: Vault, position: int, event: DeveloperEvent, alike: Alike
) -> RetainedReading | None:
    if readings_of_log(store).standing(event.organization_id, event.developer_id, position) is not None:
        return None
    shown = _shown(vault, position, event) or (RetainedReading(position) if position in alike else None)
    return None if shown is None else msgspec.structs.replace(shown, alike=tuple(alike.get(position, ())))


def _shown(vault: Vault, position: int, event: Event) -> RetainedReading | None:
    match event:
        case PromptCaptured():
            return retain_prompt(position, event.prompt, vault.known_digester(event.developer_id))
        case PromptAnswered():
            return retain_response(position, event.response, vault.known_digester(event.developer_id))
        case RecordsCaptured():
            return retain_records(position, event.records, event.words, vault.known_digester(event.developer_id))
        case _:
            return None


def _alike(views: sqlite3.Connection, facts: Iterable[RecordedEvent]) -> Alike:
    sessions = {fact.event.agent_session_id for fact in facts if isinstance(fact.event, READ_FROM)}
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for session in sorted(name for name in sessions if name is not None):
        for one, other in texts_alike(views, session):
            found[one.position].append((one.start, other.position, other.start))
            found[other.position].append((other.start, one.position, one.start))
    return found


def _fitting_facts(rows: Sequence[RetainedReading]) -> Iterator[list[RetainedReading]]:
    sizes = 0
    parts = []
    for row in rows:
        sizes += len(packed_readings([row]))
        parts.append((sizes // STANDING_BYTES, row))
    for _, part in groupby(parts, key=lambda each: each[0]):
        yield [row for _, row in part]


def _sealing_event(scope: Scope, rows: Sequence[RetainedReading], now_us: int) -> NewEvent:
    sealed = ReadingsRetained(
        received_at_us=now_us,
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=FORM,
        rows=packed_readings(rows),
    )
    return NewEvent(retained_stream(scope.organization_id, scope.developer_id, rows[0].position), 1, sealed)
