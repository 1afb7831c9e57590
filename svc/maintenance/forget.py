"""Forgetting a developer: an order is a fact, and the service carries it out, however often that is broken off.

Each step may be done twice. The person's keys are revoked and memberships ended. What was read from their texts is
appended. Their data key is destroyed while nothing is written. The views are built anew. The closed texts are deleted
from the log. That it is done is a fact, too.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby
from math import inf
from typing import TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import DeveloperEvent, Digester, Event, Scope
from aggregates.ids import forget_stream, retained_stream
from aggregates.judging.rubric import JoinedReading
from aggregates.people.acts import ChangeDeveloper, EndMembership, PeopleAct, RevokeKey
from aggregates.people.directory import Key, Membership
from aggregates.retained import (
    FORM,
    DeveloperForgotten,
    ForgetOrdered,
    ReadingsRetained,
    RetainedReading,
    packed_readings,
    retain_prompt,
    retain_records,
    retain_response,
)
from projections.derive.developers import joined_in
from projections.derive.integrity import texts_alike
from svc.actors.administration import Administration
from svc.log.codec import NewEvent, RecordedEvent
from svc.log.journal import Journal
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.maintenance.keys import Piece, piece_after, pieces
from svc.process import KIB_BYTES, POLL_SECONDS, RESTART_SECONDS_MAX, Clock
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import readings_of_log

KEEP_PAUSE_SECONDS = 0.01  # between two such pieces in a server, so that captures and readers get their turn
ORDERS_SECONDS = 0.5
"""How soon the server looks for orders to forget somebody after the log grew; a look is one search in an index."""
SWEEP_TRIES = 20
"""How often, a quarter of a second apart, the write-ahead log is tried to be emptied before that is put off."""
STANDING_BYTES = 256 * KIB_BYTES
"""Of readings in one fact about forgotten texts; a single batch of telemetry may hold more."""

log = structlog.get_logger()
FORGOTTEN_NAME = "Forgotten"
T = TypeVar("T")
Alike = Mapping[int, Sequence[tuple[int, int, int]]]
"""Position -> where a text begins in that fact, and the position and beginning of a text like it."""
Joined = Mapping[int, Sequence[JoinedReading]]  # position -> what was read of its prompts together with others
READ_FROM = (PromptCaptured, PromptAnswered, RecordsCaptured)


class TextDeleter:
    """Deletes texts of a running service, once what was read from them is kept. Each step may be begun again."""

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
        """Delete all texts at these positions but those of the named fields; how many events had any."""
        wanted = dict.fromkeys(positions, keep)
        # Between commits: the one connection that writes is never waited for with an open transaction.
        return await self.journal.between_commits(partial(self.store.take_words, wanted)) if wanted else 0

    async def sweep(self) -> None:
        """Leave no copy of deleted texts; where a reader needs one for long, a later sweep does it."""
        for _ in range(SWEEP_TRIES):
            if await self.journal.between_commits(self.store.sweep):
                return
            await trio.sleep(POLL_SECONDS)
        log.warning("somebody reads the log for long; what was taken away leaves the write-ahead log later")

    async def append(self, stream_id: UUID, event: Event) -> int:
        newest = await aside(lambda: self.store.read_newest(stream_id))
        (position,) = await self.journal.append(
            [NewEvent(stream_id, 1 if newest is None else newest.version + 1, event)]
        )
        return position

    async def next_piece(self, position: int, up_to: float = inf) -> Piece | None:
        return await aside(partial(piece_after, self.store, position, up_to))


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
    named = {fact.event.agent_session_id for fact in facts if isinstance(fact.event, READ_FROM)}
    sessions = sorted(name for name in named if name is not None)
    alike, joined = _read_together(views, sessions)
    by_scope: dict[Scope, list[RetainedReading]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: fact.position):
        event = fact.event
        assert isinstance(event, DeveloperEvent)
        if readings_of_log(store).standing(event.scope, fact.position) is None:
            standing = _standing(fact.position, event, vault.known_digester(event.developer_id), alike, joined)
            if standing is not None:
                by_scope[Scope(event.organization_id, event.developer_id)].append(standing)
    events = []
    for scope, rows in by_scope.items():
        sizes = accumulate(len(packed_readings([row])) for row in rows)
        for _, part in groupby(zip(sizes, rows, strict=True), key=lambda each: each[0] // STANDING_BYTES):
            fitting = [row for _, row in part]
            retained = ReadingsRetained(
                received_at_us=now_us,
                organization_id=scope.organization_id,
                developer_id=scope.developer_id,
                first=fitting[0].position,
                last=fitting[-1].position,
                form=FORM,
                rows=packed_readings(fitting),
            )
            stream_id = retained_stream(scope.organization_id, scope.developer_id, retained.first)
            events.append(NewEvent(stream_id, 1, retained))
    return events


def _standing(position: int, event: Event, digester: Digester, alike: Alike, joined: Joined) -> RetainedReading | None:
    shown = None
    match event:
        case PromptCaptured():
            shown = retain_prompt(position, event.prompt, digester)
        case PromptAnswered():
            shown = retain_response(position, event.response, digester)
        case RecordsCaptured():
            shown = retain_records(position, event.records, event.words, digester)
    likenesses, together = tuple(alike.get(position, ())), tuple(joined.get(position, ()))
    if shown is None and (likenesses or together):
        shown = RetainedReading(position)
    return None if shown is None else msgspec.structs.replace(shown, alike=likenesses, joined=together)


def _read_together(views: sqlite3.Connection, sessions: Iterable[str]) -> tuple[Alike, Joined]:
    alike: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    joined: dict[int, list[JoinedReading]] = defaultdict(list)
    for session in sessions:
        for one, other in texts_alike(views, session):
            alike[one.position].append((one.start, other.position, other.start))
            alike[other.position].append((other.start, one.position, one.start))
        for reading in joined_in(views, session):
            for position in {position for position, _ in reading.prompts}:
                joined[position].append(reading)
    return alike, joined


def open_orders(store: EventStore) -> list[ForgetOrdered]:
    """Orders that are not carried out yet."""
    newest: dict[UUID, RecordedEvent] = {}
    for recorded in store.read_topics([ForgetOrdered.TOPIC, DeveloperForgotten.TOPIC]):
        assert isinstance(recorded.event, DeveloperEvent)
        newest[recorded.event.developer_id] = recorded
    return [recorded.event for recorded in newest.values() if isinstance(recorded.event, ForgetOrdered)]


class Forgetting:
    def __init__(self, texts: TextDeleter, administration: Administration, rebuilding: Rebuilding) -> None:
        self._texts = texts
        self._administration = administration
        self._rebuilding = rebuilding
        self.carried_out: Callable[[int], object] = lambda _position: None
        """Called with the position at which it stands that somebody is forgotten."""

    async def run(self) -> None:
        """Carry out orders until cancelled, beginning with those that were broken off."""
        position = -1
        while True:
            try:
                await self._texts.journal.wait_beyond(position)
                position = self._texts.journal.head
                for order in await aside(lambda: open_orders(self._texts.store)):
                    await self._forget(order)
                await trio.sleep(ORDERS_SECONDS)
            except Exception:
                position = -1
                log.exception("an order to forget somebody could not be carried out; it is tried again")
                await trio.sleep(RESTART_SECONDS_MAX)

    async def _forget(self, order: ForgetOrdered) -> None:
        developer_id = order.developer_id
        log.warning("a developer is being forgotten", developer_id=str(developer_id))
        for command in self._shutting_out(developer_id):
            await self._administration.send(command)
        up_to = await self._destroy_key(developer_id)
        await self._rebuilding.anew()
        position = 0
        while (piece := await self._texts.next_piece(position, up_to)) is not None:
            position = piece[2]
            await self._texts.delete(_of(piece, developer_id))
        await self._texts.sweep()
        forgotten = DeveloperForgotten(
            received_at_us=self._texts.clock.now_us(),
            organization_id=order.organization_id,
            developer_id=developer_id,
            up_to=up_to,
        )
        self.carried_out(await self._texts.append(forget_stream(developer_id), forgotten))
        log.warning("a developer was forgotten", developer_id=str(developer_id))

    def _shutting_out(self, developer_id: UUID) -> Iterable[PeopleAct]:
        directory = self._administration.directory
        for key in directory.all(Key):
            if key.developer_id == developer_id and not key.revoked:
                yield RevokeKey(credential_id=key.id)
        for membership in directory.all(Membership):
            if membership.developer_id == developer_id and membership.active:
                yield EndMembership(membership_id=membership.id, forgotten=True)
        yield ChangeDeveloper(
            developer_id=developer_id, display_name=FORGOTTEN_NAME, email="", report_schedules=(), report_notices=()
        )

    async def _destroy_key(self, developer_id: UUID) -> int:
        """Seal the readings, then destroy the key; again while new texts came. The position of the last seal."""
        position = 0
        while True:
            up_to = self._texts.journal.head
            while (piece := await self._texts.next_piece(position, up_to)) is not None:
                position = piece[2]
                await self._texts.seal_readings(_of(piece, developer_id))
            if await self._texts.journal.between_commits(partial(self._destroyed, developer_id, position)):
                return position

    def _destroyed(self, developer_id: UUID, sealed_up_to: int) -> bool:
        store = self._texts.store
        if any(_of(piece, developer_id) for piece in pieces(store, sealed_up_to, store.head())):
            return False
        self._texts.vault.destroy(developer_id)
        return True


def _of(piece: Piece, developer_id: UUID) -> list[int]:
    """Positions in a piece of the log that may hold words of a developer."""
    return [
        recorded.position
        for recorded in piece[0]
        if isinstance(event := recorded.event, DeveloperEvent)
        and event.developer_id == developer_id
        and not isinstance(event, ReadingsRetained | ForgetOrdered | DeveloperForgotten)
    ]
