"""The one task that decides about people: what it says of them is what the log holds, also after a disk that lied."""

from collections.abc import Sequence
from uuid import UUID

import pytest
import trio
from eventsourcing.persistence import OperationalError, StoredEvent

from aggregates.event import Refused
from aggregates.people.acts import CreateOrganization
from aggregates.people.directory import Organization
from svc.actors.administration import Administration
from svc.log.codec import Codec
from svc.log.journal import Journal
from svc.log.store import StoreUnavailable
from svc.log.vault import Vault
from tests.support.memory import FixedClock, MemoryKeys, MemoryRecorder, open_memory_store

ORGANIZATION = CreateOrganization(organization_id=UUID(int=1), name="One")


class Lying(MemoryRecorder):
    """Stores what it is given, and says that this failed for as long as it lies."""

    lies = True

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: object) -> Sequence[int] | None:
        positions = super().insert_events(stored_events)
        if self.lies:
            raise OperationalError("disk I/O error")
        return positions


async def test_what_was_decided_although_it_was_said_to_have_failed_is_known_to_the_next_decision(
    nursery: trio.Nursery,
) -> None:
    """Else the directory and the log would differ until a restart, and every further change of the same be refused."""
    disk = Lying()
    store = open_memory_store(Codec(Vault(MemoryKeys())), disk)
    journal = Journal(store, threaded=False)
    administration = Administration(store, journal, FixedClock(1))
    await nursery.start(journal.run)
    await nursery.start(administration.run)
    with pytest.raises(StoreUnavailable):
        await administration.send(ORGANIZATION)
    assert administration.directory.all(Organization) == []
    disk.lies = False
    assert isinstance(await administration.send(ORGANIZATION), Refused)
    assert [each.name for each in administration.directory.all(Organization)] == ["One"]
    another = CreateOrganization(organization_id=UUID(int=2), name="Two")
    assert isinstance(await administration.send(another), Organization)
    assert [each.name for each in Administration(store, journal, FixedClock(1)).directory.all(Organization)] == [
        "One",
        "Two",
    ]
