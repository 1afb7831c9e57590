"""Taking texts away for good, after what stands of them has been told."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple, TypeVar

import structlog
import trio

from svc.clock import Clock
from svc.codec import NewEvent, Recorded
from svc.journal import Journal
from svc.keeping.sealing import standing_events
from svc.keeping.walking import Piece, piece_after
from svc.limits import KEEP_PAUSE_SECONDS, POLL_SECONDS, SWEEP_TRIES
from svc.projector import Projector
from svc.store import EventStore
from svc.vault import Vault

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
