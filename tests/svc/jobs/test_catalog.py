"""The task that publishes catalogs: what is served when the newest is damaged, a refresh fails, or a process ends."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
import trio
from msgspec import structs
from trio.testing import MockClock, wait_all_tasks_blocked

from aggregates.decide import TimePassed
from aggregates.event import NewEvent, Refused
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.prices.catalog import CatalogPublished, PublishCatalog, Published, Repriced, RequestsRepriced, Snapshot
from svc.jobs.catalog import (
    CATALOG_FIRST_REFRESH_SECONDS,
    CATALOG_REFRESH_SECONDS,
    CATALOG_RETRY_SECONDS,
    Catalog,
    CatalogSource,
)
from svc.log.codec import Codec
from svc.log.journal import Journal
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import Vault
from svc_http.ports import NotRefreshed
from tests.support.basics import FixedClock, MemoryKeys, MemoryRecorder, open_memory_store
from tests.support.catalogs import document, lookup, snapshot
from tests.support.tables import table

ACME = UUID(int=1)
T0_US = 1_790_000_000_000_000


class Source(CatalogSource):
    """A source whose answers the test sets; None is a failure."""

    def __init__(self) -> None:
        super().__init__("prices.json", network=True)
        self.says: PublishCatalog | None = None
        self.asked = 0
        self.held: list[str | None] = []

    async def at_start(self, held: str | None, now_us: int) -> PublishCatalog | None:
        self.held.append(held)
        return await self.newest(now_us)

    async def newest(self, now_us: int) -> PublishCatalog:
        self.asked += 1
        if self.says is None:
            raise NotRefreshed("prices.json: No such file or directory")
        return self.says


class House:
    """One log, and the catalogs that are opened over it one after the other."""

    def __init__(self) -> None:
        self.recorder = MemoryRecorder()
        self.store: EventStore = open_memory_store(Codec(Vault(MemoryKeys())), self.recorder)
        self.clock = FixedClock(T0_US)
        self.source = Source()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Catalog]:
        """A catalog as a process opens it; the block's end is the process's."""
        journal = Journal(self.store)
        catalog = Catalog(self.store, journal, self.clock, lambda: {ACME}, self.source)
        async with trio.open_nursery() as nursery:
            await nursery.start(journal.run)
            yield catalog
            nursery.cancel_scope.cancel()

    def store_directly(self, given: Snapshot, version: int) -> None:
        event = CatalogPublished(received_at_us=T0_US, source="elsewhere", snapshot=given)
        self.store.append([NewEvent(CATALOG_STREAM, version, event)])


@pytest.fixture
def house() -> House:
    return House()


def command(name: str = "claude-test-4") -> PublishCatalog:
    return PublishCatalog(document=document(lookup(name)), source="prices.json")


def served(catalog: Catalog) -> tuple[int, str, bool]:
    """The revision, its one model, and whether it is stale."""
    found = catalog.served
    assert found is not None
    return found.snapshot.catalog_revision, found.snapshot.exact_lookups[0].external_model_id, found.stale


async def test_what_is_published_is_served_and_outlives_the_process(house: House) -> None:
    """Every revision stays; after a restart the newest one was refreshed when it was stored."""
    async with house.opened() as catalog:
        assert catalog.served is None
        for name in ("a", "b"):
            assert isinstance(await catalog.send(command(name)), Published)
            house.clock.advance(5)
        assert served(catalog) == (2, "b", False)
    async with house.opened() as again:
        assert served(again) == (2, "b", False)
        assert again.served is not None
        assert again.served.refreshed_at_us == T0_US + 5
        assert [(each.catalog_revision, each.valid) for each in await again.revisions(10)] == [(2, True), (1, True)]
        assert [each.catalog_revision for each in await again.revisions(1)] == [2]


async def test_the_same_prices_publish_nothing_but_are_news(house: House) -> None:
    """`refreshed_at` moves, the revision does not, and staleness is over."""
    async with house.opened() as catalog:
        await catalog.send(command())
        with pytest.raises(NotRefreshed):
            await catalog.refresh()
        assert served(catalog) == (1, "claude-test-4", True)
        assert catalog.served is not None
        assert "prices.json: No such file" in (catalog.served.fault or "")
        house.clock.advance(7)
        house.source.says = command()
        reply = await catalog.refresh()
        assert (reply.catalog_revision, reply.changed) == (1, False)
        assert served(catalog) == (1, "claude-test-4", False)
        assert catalog.served is not None
        assert catalog.served.refreshed_at_us == T0_US + 7
    assert house.store.head() == 1


async def test_prices_that_break_a_rule_never_replace_those_that_hold(house: House) -> None:
    """From a source they make what is served stale; a refused document is no failure of the source."""
    twice = PublishCatalog(document=document(lookup("a"), lookup("a")), source="prices.json")
    house.source.says = twice
    async with house.opened() as catalog:
        with pytest.raises(NotRefreshed, match=r"prices\.json: exact_lookups\[1\]\.external_model_id repeats"):
            await catalog.refresh()
        assert catalog.served is None
        await catalog.send(command())
        assert isinstance(await catalog.send(twice), Refused)
        assert served(catalog) == (1, "claude-test-4", False)
        with pytest.raises(NotRefreshed):
            await catalog.refresh()
        assert served(catalog) == (1, "claude-test-4", True)


FALSE = structs.replace(snapshot(revision=3), checksum_sha256="0" * 64)


def damaged(house: House) -> None:
    house.store_directly(snapshot(revision=3), 3)
    house.recorder.replace_states({house.store.head(): b"other bytes"})


@table(
    "spoil",
    {
        "a broken rule": lambda house: house.store_directly(snapshot(lookup("a"), lookup("a"), revision=3), 3),
        "a wrong checksum": lambda house: house.store_directly(FALSE, 3),
        "a wrong revision": lambda house: house.store_directly(snapshot(revision=9), 3),
        "something else": lambda house: house.store.append([NewEvent(CATALOG_STREAM, 3, TimePassed(received_at_us=1))]),
        "damaged bytes": damaged,
    },
)
async def test_the_newest_valid_revision_is_served_whatever_came_after_it(
    house: House, spoil: Callable[[House], object]
) -> None:
    """An invalid revision is listed with its fault, keeps its number, and is never served."""
    async with house.opened() as catalog:
        await catalog.send(command("a"))
        await catalog.send(command("b"))
    spoil(house)
    async with house.opened() as catalog:
        assert served(catalog) == (2, "b", False)
        newest, *older = await catalog.revisions(10)
        assert (newest.catalog_revision, newest.valid, bool(newest.fault)) == (3, False, True)
        assert [(each.catalog_revision, each.valid) for each in older] == [(2, True), (1, True)]
        assert isinstance(await catalog.send(command("c")), Published)
        assert served(catalog) == (4, "c", False)


async def test_where_every_revision_is_invalid_none_is_served(house: House) -> None:
    house.store_directly(FALSE, 3)
    async with house.opened() as catalog:
        assert catalog.served is None
        assert [each.valid for each in await catalog.revisions(10)] == [False]


async def test_orders_to_reprice_have_a_stream_of_their_own(house: House) -> None:
    """They go on counting after a restart, and revisions have no gaps."""
    order = RequestsRepriced(organization_id=ACME, from_us=1, to_us=2)
    async with house.opened() as catalog:
        assert isinstance(await catalog.send(order), Refused)
        await catalog.send(command("a"))
        assert isinstance(await catalog.send(order), Repriced)
    async with house.opened() as catalog:
        assert isinstance(await catalog.send(order), Repriced)
        await catalog.send(command("b"))
        assert served(catalog) == (2, "b", False)
    assert [each.version for each in house.store.read_stream(REPRICING_STREAM)] == [1, 2]


async def test_after_a_failed_write_the_log_is_looked_at_before_the_next_decision(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit may have happened all the same: then the next revision is the one after it."""
    async with house.opened() as catalog:
        await catalog.send(command("a"))
        insert = house.store.insert

        def insert_and_break(*arguments: object) -> None:
            insert(*arguments)  # type: ignore[arg-type]
            raise StoreUnavailable("the disk went away just after")

        monkeypatch.setattr(house.store, "insert", insert_and_break)
        with pytest.raises(StoreUnavailable):
            await catalog.send(command("b"))
        monkeypatch.setattr(house.store, "insert", insert)
        assert served(catalog) == (2, "b", False)
        reply = await catalog.send(command("c"))
        assert isinstance(reply, Published)
        assert reply.catalog_revision == 3


async def test_a_start_takes_what_its_source_has_and_lives_without(house: House) -> None:
    """A source that has nothing leaves what is held, stale; it is told where that came from."""
    async with house.opened() as catalog:
        await catalog.start()
        assert catalog.served is None
        house.source.says = command("a")
        await catalog.start()
        assert served(catalog) == (1, "a", False)
    house.source.says = None
    async with house.opened() as catalog:
        await catalog.start()
        assert served(catalog) == (1, "a", True)
    assert house.source.held == [None, None, "prices.json"]


async def test_prices_are_asked_for_every_day_and_sooner_after_a_failure(house: House, mock_clock: MockClock) -> None:
    """Never before the start has tried; at once where there are none; hourly while it fails, daily after that. A start
    with prices is in no haste: who is started again and again asks nobody."""
    source = house.source
    async with house.opened() as catalog, trio.open_nursery() as nursery:
        nursery.start_soon(catalog.keep_fresh)
        mock_clock.jump(CATALOG_REFRESH_SECONDS)
        await wait_all_tasks_blocked()
        assert source.asked == 0
        await catalog.start()
        await _until(lambda: source.asked == 2)
        source.says = command("a")
        await _asked_after(source, CATALOG_RETRY_SECONDS, mock_clock)
        await _until(lambda: catalog.served is not None)
        await _asked_after(source, CATALOG_REFRESH_SECONDS, mock_clock)
        assert served(catalog) == (1, "a", False)
        nursery.cancel_scope.cancel()
    async with house.opened() as catalog, trio.open_nursery() as nursery:
        nursery.start_soon(catalog.keep_fresh)
        await catalog.start()
        await _asked_after(source, CATALOG_FIRST_REFRESH_SECONDS, mock_clock)
        nursery.cancel_scope.cancel()


async def _asked_after(source: Source, seconds: float, clock: MockClock) -> None:
    """The source is asked when that time has passed, and not a second earlier."""
    before = source.asked
    for passes in (seconds - 1, 1):
        await _until(_all_asleep)
        assert source.asked == before
        clock.jump(passes)
    await _until(lambda: source.asked == before + 1)


async def _until(condition: Callable[[], bool]) -> None:
    """Lets the others, and their threads, go on until it holds."""
    while not condition():
        await trio.lowlevel.checkpoint()


def _all_asleep() -> bool:
    """Whether somebody waits for a time to come, rather than for a thread or the next turn."""
    statistics = trio.lowlevel.current_statistics()
    return statistics.seconds_to_next_deadline not in (math.inf, -math.inf) and statistics.tasks_runnable == 0
