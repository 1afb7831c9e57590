"""Who goes first while one process does everything: captures before the views, and a waiting reader before captures."""

from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path

import pytest
import trio
import trio.testing

from aggregates.capture.events import SessionClaimed
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.views.projector import Pace, Projector, ThreadWorker, Worker
from svc.views.views import RULES_VERSION, new_file, open_writer
from tests.support.facts import ANA, MONDAY
from tests.support.log import new

FACTS = 400


def claim(session: str) -> SessionClaimed:
    """A fact that makes one row."""
    return SessionClaimed(
        received_at_us=MONDAY,
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        agent_session_id=session,
    )


class Place:
    """A log of some facts, views that hold none of them, and a journal that writes nothing, so what it takes waits."""

    def __init__(self, var: Path) -> None:
        self.store, self.vault = open_log(var)
        self.store.append([new(f"s{number}", event=claim(f"s{number}")) for number in range(FACTS)])
        path = new_file(var, RULES_VERSION)
        open_writer(path).close()
        self.journal = Journal(self.store)
        self.rests = 0
        self.at_rest: Callable[[], None] = lambda: None
        self.projector = Projector(path, self.journal, self._worker)

    def _worker(self, path: Path, captures_first: Callable[[], bool]) -> Worker:
        looks = count()
        pace = Pace(captures_first, lambda: next(looks) / 1_000, self._rest)
        return ThreadWorker(path, self.store, self.vault.digester, pace)

    def _rest(self, _seconds: float) -> None:
        self.rests += 1
        self.at_rest()

    async def capture(self) -> None:
        """Wait for the journal."""
        await self.journal.append([new("another", event=claim("another"))])


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """See `Place`."""
    made = Place(tmp_path)
    yield made
    await made.projector.close()
    made.store.close()


async def projected(place: Place, nursery: trio.Nursery) -> None:
    """Until the views hold all facts; nobody is said to wait for it."""
    nursery.start_soon(place.projector.run)
    while place.projector.position < FACTS:
        await place.projector.wait_beyond(place.projector.position)


async def test_the_projector_gives_way_between_slices_while_captures_wait(place: Place) -> None:
    """And all the same it brings the views up."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.capture)
        with trio.fail_after(30):
            await projected(place, nursery)
        nursery.cancel_scope.cancel()
    assert place.rests > 20


async def test_without_captures_it_never_rests(place: Place) -> None:
    """A rest would only delay what comes next."""
    async with trio.open_nursery() as nursery:
        with trio.fail_after(30):
            await projected(place, nursery)
        nursery.cancel_scope.cancel()
    assert place.rests == 0


async def test_a_reader_that_waits_ends_the_rests(place: Place) -> None:
    """From the slice on in which it came, and until it is served."""
    async with trio.open_nursery() as nursery:

        def reader_comes() -> None:
            nursery.start_soon(place.projector.wait_for, FACTS)

        def third_rest() -> None:
            if place.rests == 3:
                trio.from_thread.run_sync(reader_comes)
                while not place.projector.wanted:
                    trio.from_thread.run(trio.lowlevel.checkpoint)

        place.at_rest = third_rest
        nursery.start_soon(place.capture)
        with trio.fail_after(30):
            await projected(place, nursery)
        nursery.cancel_scope.cancel()
    assert place.rests == 3


async def test_views_that_are_far_behind_are_brought_up_without_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many captures come, the lag has a bound."""
    monkeypatch.setattr("svc.views.projector.LAG_EVENTS_MAX", FACTS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.capture)
        await trio.testing.wait_all_tasks_blocked()
        assert place.journal.busy
        assert not place.projector.gives_way()
        monkeypatch.setattr("svc.views.projector.LAG_EVENTS_MAX", FACTS + 1)
        assert place.projector.gives_way()
        nursery.cancel_scope.cancel()
