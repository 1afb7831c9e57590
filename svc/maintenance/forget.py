"""Forgetting a developer: an order is a fact, and the service carries it out, however often that is broken off.

Each step may be done twice. The person's keys are revoked and memberships ended. What was read from their texts is
appended. Their data key is destroyed while nothing is written. Processes that may know the key are replaced and the
views built anew. The closed texts are deleted from the log. That it is done is a fact, too.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

import structlog
import trio

from aggregates.event import DeveloperEvent
from aggregates.ids import forget_stream
from aggregates.people.commands import ChangeDeveloper, EndMembership, PeopleCommand, RevokeKey
from aggregates.people.records import Key, Membership
from aggregates.retained import DeveloperForgotten, ForgetOrdered, ReadingsRetained
from svc.actors.administration import Administration
from svc.limits import ORDERS_SECONDS, RESTART_SECONDS_MAX
from svc.log.codec import NewEvent, RecordedEvent
from svc.log.store import EventStore
from svc.maintenance.delete_texts import TextDeleter, aside
from svc.maintenance.keys import Piece, pieces
from svc.views.rebuilding import Rebuilding

log = structlog.get_logger()
FORGOTTEN_NAME = "Forgotten"


def open_orders(store: EventStore) -> list[ForgetOrdered]:
    """Orders that are not carried out yet."""
    newest: dict[UUID, RecordedEvent] = {}
    for recorded in store.read_topics([ForgetOrdered.TOPIC, DeveloperForgotten.TOPIC]):
        assert isinstance(recorded.event, DeveloperEvent)
        newest[recorded.event.developer_id] = recorded
    return [recorded.event for recorded in newest.values() if isinstance(recorded.event, ForgetOrdered)]


class Forgetting:
    """Carries out orders to forget."""

    def __init__(self, texts: TextDeleter, administration: Administration, rebuilding: Rebuilding) -> None:
        self._texts = texts
        self._administration = administration
        self._rebuilding = rebuilding

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
        # The child that keeps the views may know the key: another one takes its place.
        await self._texts.projector.exchange(self._texts.projector.readers.path)
        await self._rebuilding.anew()
        position = 0
        while (piece := await self._texts.next_piece(position, up_to)) is not None:
            position = piece[2]
            await self._texts.delete(each for each in _of(piece, developer_id) if each <= up_to)
        await self._texts.sweep()
        forgotten = DeveloperForgotten(
            received_at_us=self._texts.clock.now_us(),
            organization_id=order.organization_id,
            developer_id=developer_id,
            up_to=up_to,
        )
        await self._texts.append(NewEvent(forget_stream(developer_id), 1, forgotten))
        log.warning("a developer was forgotten", developer_id=str(developer_id))

    def _shutting_out(self, developer_id: UUID) -> Iterable[PeopleCommand]:
        directory = self._administration.directory
        for key in directory.all(Key):
            if key.developer_id == developer_id and not key.revoked:
                yield RevokeKey(credential_id=key.id)
        for membership in directory.all(Membership):
            if membership.developer_id == developer_id and membership.active:
                yield EndMembership(membership_id=membership.id)
        yield ChangeDeveloper(developer_id=developer_id, display_name=FORGOTTEN_NAME, report_schedules=())

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
