"""Forgetting a developer: an order is a fact, and the service carries it out, however often that is broken off.

The steps, each of which may be done twice: the person's keys are revoked and memberships ended; what stands of their
texts is appended; their data key is destroyed, while nothing is being written; processes that may know the key are
replaced and the views built anew; the closed texts are taken out of the log; that it is done is a fact, too.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

import structlog

from aggregates.event import DeveloperEvent
from aggregates.ids import forget_stream
from aggregates.people.commands import ChangeDeveloper, EndMembership, PeopleCommand, RevokeKey
from aggregates.retained import DeveloperForgotten, ForgetOrdered, StandingSealed
from svc.actors.administration import Administration
from svc.log.codec import NewEvent, Recorded
from svc.log.store import EventStore
from svc.maintenance.delete_texts import House, append_to, next_piece, positions_of, sweep, take, tell_what_stands
from svc.maintenance.keys import Piece, pieces
from svc.views.rebuilding import Rebuilding

log = structlog.get_logger()
FORGOTTEN_NAME = "Forgotten"


def open_orders(store: EventStore) -> list[ForgetOrdered]:
    """The orders that are not carried out yet."""
    newest: dict[UUID, Recorded] = {}
    for recorded in store.read_topics([ForgetOrdered.TOPIC, DeveloperForgotten.TOPIC]):
        assert isinstance(recorded.event, DeveloperEvent)
        newest[recorded.event.developer_id] = recorded
    return [recorded.event for recorded in newest.values() if isinstance(recorded.event, ForgetOrdered)]


class Forgetting:
    """Carries out orders to forget."""

    def __init__(self, house: House, administration: Administration, rebuilding: Rebuilding) -> None:
        self._house = house
        self._administration = administration
        self._rebuilding = rebuilding

    async def carry_out(self, order: ForgetOrdered) -> None:
        """Forget a developer. Nothing is lost where this is broken off: it is begun again."""
        developer_id = order.developer_id
        log.warning("a developer is being forgotten", developer_id=str(developer_id))
        for command in self._shutting_out(developer_id):
            await self._administration.send(command)
        up_to = await self._destroy(developer_id)
        await self._begin_anew()
        await self._take_texts(developer_id, up_to)
        forgotten = DeveloperForgotten(
            received_at_us=self._house.clock.now_us(),
            organization_id=order.organization_id,
            developer_id=developer_id,
            up_to=up_to,
        )
        await append_to(self._house, NewEvent(forget_stream(developer_id), 1, forgotten))
        log.warning("a developer was forgotten", developer_id=str(developer_id))

    def _shutting_out(self, developer_id: UUID) -> Iterable[PeopleCommand]:
        directory = self._administration.directory
        mine = str(developer_id)
        for key in directory.keys():  # noqa: SIM118 - no mapping
            if key.developer_id == mine and not key.revoked:
                yield RevokeKey(credential_id=UUID(key.key_id))
        for membership in directory.memberships():
            if membership.developer_id == mine and membership.active:
                yield EndMembership(membership_id=UUID(membership.membership_id))
        yield ChangeDeveloper(developer_id=developer_id, display_name=FORGOTTEN_NAME, report_schedules=())

    async def _destroy(self, developer_id: UUID) -> int:
        house, position = self._house, 0
        while True:
            up_to = house.journal.head
            while (piece := await next_piece(house, position, up_to)) is not None:
                position = piece[2]
                await tell_what_stands(house, _of(piece, developer_id))
            if await house.journal.between_commits(partial(self._destroyed, developer_id, position)):
                return position

    def _destroyed(self, developer_id: UUID, told_up_to: int) -> bool:
        store = self._house.store
        if any(_of(piece, developer_id) for piece in pieces(store, told_up_to, store.head())):
            return False
        self._house.vault.destroy(developer_id)
        return True

    async def _begin_anew(self) -> None:
        await self._house.projector.exchange(self._house.projector.readers.path)
        await self._rebuilding.anew()

    async def _take_texts(self, developer_id: UUID, up_to: int) -> None:
        house, position = self._house, 0
        while (piece := await next_piece(house, position, up_to)) is not None:
            position = piece[2]
            await take(house, [each for each in _of(piece, developer_id) if each <= up_to])
        await sweep(house)


def _of(piece: Piece, developer_id: UUID) -> list[int]:

    def theirs(recorded: Recorded) -> bool:
        event = recorded.event
        return (
            isinstance(event, DeveloperEvent)
            and event.developer_id == developer_id
            and not isinstance(event, StandingSealed | ForgetOrdered | DeveloperForgotten)
        )

    return positions_of(piece[0], theirs)
