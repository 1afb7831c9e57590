"""Taking texts away for good, after what stands of them has been told."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple, TypeVar

import msgspec
import structlog
import trio

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import DeveloperEvent, Event, Scope
from aggregates.ids import standing_stream
from aggregates.retained import FORM, Standing, StandingSealed, of_prompt, of_records, of_response, packed_rows
from projections.derive.integrity import texts_alike
from svc.limits import KEEP_PAUSE_SECONDS, POLL_SECONDS, STANDING_BYTES, SWEEP_TRIES
from svc.log.codec import NewEvent, Recorded
from svc.log.folder import Clock
from svc.log.journal import Journal
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.maintenance.keys import Piece, piece_after
from svc.views.projecting import recollection_of
from svc.views.projector import Projector

log = structlog.get_logger()
T = TypeVar("T")


class House(NamedTuple):
    """What it takes to take something away in a running service."""

    store: EventStore
    vault: Vault
    journal: Journal
    projector: Projector
    clock: Clock


async def tell_what_stands(house: House, positions: Iterable[int]) -> int:
    """Append what stands of the texts at these positions, as far as nobody has yet; how many facts that took."""
    wanted = sorted(positions)
    if not wanted:
        return 0
    await house.projector.wait_for(wanted[-1])

    def told() -> list[NewEvent]:
        with house.projector.readers.reading() as views:
            return standing_events(house.store, house.vault, views, wanted, house.clock.now_us())

    events = await aside(told)
    for event in events:
        await house.journal.append([event])
    return len(events)


async def take(house: House, positions: Iterable[int], keep: Collection[str] = ()) -> int:
    """Take all texts at these positions away but those of the named fields; how many events had any.

    Between commits, so that the one connection that writes is never waited for with an open transaction.
    """
    wanted = dict.fromkeys(positions, keep)
    return await house.journal.between_commits(partial(house.store.take_words, wanted)) if wanted else 0


async def sweep(house: House) -> None:
    """Leave no copy of what was taken; where readers need one for long, the next time does it."""
    for _ in range(SWEEP_TRIES):
        if await house.journal.between_commits(house.store.sweep):
            return
        await trio.sleep(POLL_SECONDS)
    log.warning("somebody reads the log for long; what was taken away leaves the write-ahead log later")


async def append_to(house: House, event: NewEvent) -> None:
    """Append an event after the newest of its stream."""
    newest = await aside(lambda: house.store.read_newest(event.stream_id))
    version = 1 if newest is None else newest.version + 1
    await house.journal.append([NewEvent(event.stream_id, version, event.event)])


async def next_piece(house: House, position: int, up_to: int | None = None) -> Piece | None:
    """The next piece of the log after a position; None where that is the end, or as far as somebody wants to go."""
    if up_to is not None and position >= up_to:
        return None
    return await aside(partial(piece_after, house.store, position))


async def aside(work: Callable[[], T]) -> T:
    """Do something in a thread, and leave others some time."""
    done = await trio.to_thread.run_sync(work)
    await trio.sleep(KEEP_PAUSE_SECONDS)
    return done


def positions_of(events: Iterable[Recorded], wanted: Callable[[Recorded], bool]) -> list[int]:
    """Where the events are that somebody wants."""
    return [event.position for event in events if wanted(event)]


# Writing down what stands of texts before they go: the readings, and which neighbours were alike.

Alike = Mapping[int, Sequence[tuple[int, int, int]]]
"""By position: where a text begins in the fact there, and the position and beginning of the text it is alike with."""
READ_FROM = (PromptCaptured, PromptAnswered, RecordsCaptured)
"""Facts from whose words something is concluded."""


def standing_events(
    store: EventStore, vault: Vault, views: sqlite3.Connection, positions: Iterable[int], now_us: int
) -> list[NewEvent]:
    """What is to be appended before the words at these positions may go; nothing where it was appended before.

    `views`: such that hold these positions. Texts of one developer in one organization are told of together.
    """
    facts = [fact for fact in store.read_positions(positions).values() if isinstance(fact.event, READ_FROM)]
    alike = _alike(views, facts)
    by_scope: dict[Scope, list[Standing]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.position):
        event = fact.event
        assert isinstance(event, DeveloperEvent)
        standing = _standing(store, vault, fact.position, event, alike)
        if standing is not None:
            by_scope[Scope(event.organization_id, event.developer_id)].append(standing)
    return [_told(scope, rows, now_us) for scope, all_rows in by_scope.items() for rows in _stretches(all_rows)]


def _standing(store: EventStore, vault: Vault, position: int, event: DeveloperEvent, alike: Alike) -> Standing | None:
    if recollection_of(store).standing(event.organization_id, event.developer_id, position) is not None:
        return None
    shown = _shown(vault, position, event)
    if shown is None and position in alike:
        shown = Standing(position)
    if shown is None:
        return None
    return msgspec.structs.replace(shown, alike=tuple(alike.get(position, ())))


def _shown(vault: Vault, position: int, event: Event) -> Standing | None:
    match event:
        case PromptCaptured():
            return of_prompt(position, event.prompt, vault.known_digester(event.developer_id))
        case PromptAnswered():
            return of_response(position, event.response, vault.known_digester(event.developer_id))
        case RecordsCaptured():
            return of_records(position, event.records, event.words, vault.known_digester(event.developer_id))
        case _:
            return None


def _alike(views: sqlite3.Connection, facts: Iterable[Recorded]) -> Alike:
    sessions = {fact.event.agent_session_id for fact in facts if isinstance(fact.event, READ_FROM)}
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for session in sorted(name for name in sessions if name is not None):
        for one, other in texts_alike(views, session):
            found[one.position].append((one.start, other.position, other.start))
            found[other.position].append((other.start, one.position, one.start))
    return found


def _stretches(rows: Sequence[Standing]) -> Iterator[list[Standing]]:
    sizes = 0
    parts = []
    for row in rows:
        sizes += len(packed_rows([row]))
        parts.append((sizes // STANDING_BYTES, row))
    for _, part in groupby(parts, key=lambda each: each[0]):
        yield [row for _, row in part]


def _told(scope: Scope, rows: Sequence[Standing], now_us: int) -> NewEvent:
    told = StandingSealed(
        received_at_us=now_us,
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        first=rows[0].position,
        last=rows[-1].position,
        form=FORM,
        rows=packed_rows(rows),
    )
    return NewEvent(standing_stream(scope.organization_id, scope.developer_id, rows[0].position), 1, told)
