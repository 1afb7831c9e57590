"""Two services over one PostgreSQL: they decide as one about people, share jobs, and forget together."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import trio
from eventsourcing.persistence import StoredEvent

from aggregates.event import Refused
from aggregates.people.acts import CreateDeveloper, StartMembership
from aggregates.retained import ForgetOrdered
from svc.jobs import nodes
from svc.jobs.nodes import Leading
from svc.log.opening import make_master_key
from svc.log.postgres import PostgresRecorder, open_recorder
from svc.maintenance.texts import open_orders
from tests.support.household import Household, household

SECONDS = 60


@asynccontextmanager
async def two_nodes(folder: Path, store: str) -> AsyncIterator[tuple[Household, Household]]:
    make_master_key(folder / "master")
    shared: dict[str, Any] = {"store": store, "master_key_file": str(folder / "master")}
    for name in "ab":
        (folder / name).mkdir(0o700)
    async with household(folder / "a", **shared) as first, household(folder / "b", **shared) as second:
        yield first, second


async def until(condition: Callable[[], bool]) -> None:
    """Nobody says when it has come about, so look again and again."""
    for _ in range(SECONDS * 20):
        if condition():
            return
        await trio.sleep(0.05)
    raise AssertionError("it has not come about")


async def together(*houses: Household) -> None:
    head = houses[0].service.store.head()
    with trio.fail_after(SECONDS):
        for house in houses:
            await house.service.reach(head)
            await house.service.projector.wait_for(head)


async def test_people_are_decided_as_by_one(shared_store: str, tmp_path: Path) -> None:
    """Of two who start the same membership at two nodes at once, one is refused; both then know it."""
    async with two_nodes(tmp_path, shared_store) as (first, second):
        assert first.owner == second.owner
        developer_id, replies = uuid4(), []
        created = await first.service.administer(CreateDeveloper(developer_id=developer_id, display_name="Kim"))
        assert not isinstance(created, Refused)

        async def start(house: Household) -> None:
            organization_id = house.owner.organization_id
            command = StartMembership(organization_id=organization_id, developer_id=developer_id, role="member")
            replies.append(await house.service.administer(command))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(start, first)
            nursery.start_soon(start, second)
        assert sorted(isinstance(reply, Refused) for reply in replies) == [False, True]


async def test_who_is_forgotten_is_forgotten_by_every_node(shared_store: str, tmp_path: Path) -> None:
    """No node keeps the key in memory, and both have the same tables as before."""
    async with two_nodes(tmp_path, shared_store) as (first, second):
        await first.work()
        await second.work(second.other, "s2")
        await together(first, second)
        before = first.tables()
        assert second.tables() == before
        whose = first.owner
        sealed = second.service.store.vault.seal(whose.developer_id, "hello")
        order = ForgetOrdered(organization_id=whose.organization_id, developer_id=whose.developer_id)
        await second.service.send(order)
        noted = [house.var / nodes.FORGOTTEN_FILE for house in (first, second)]
        await until(lambda: not open_orders(first.service.store))
        head = first.service.store.head()
        await until(lambda: all(int(path.read_text()) >= head for path in noted))
        await together(first, second)
        assert [house.service.store.vault.open(sealed) for house in (first, second)] == [None, None]
        assert first.tables() == second.tables() == before


async def test_what_a_node_cannot_read_hides_nothing_that_comes_after_it(shared_store: str, tmp_path: Path) -> None:
    async with two_nodes(tmp_path, shared_store) as (first, second):
        store, whose = second.service.store, first.owner.developer_id
        sealed = store.vault.seal(whose, "hello")
        store.vault.keys.destroy(whose)
        for topic in ("membership.started", "developer.forgotten"):
            store.recorder.insert_events([StoredEvent(uuid4(), 1, topic, b"")])
        kim = CreateDeveloper(developer_id=uuid4(), display_name="Kim")
        assert not isinstance(await first.service.administer(kim), Refused)
        await together(first, second)
        assert second.service.directory.name_of(kim.developer_id) == "Kim"
        await until(lambda: store.vault.open(sealed) is None)


async def test_a_job_is_done_by_one_node_and_goes_on_at_another(
    shared_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the node that has its lease stops, another one takes it."""
    monkeypatch.setattr(nodes, "LEASE_RENEW_SECONDS", 0.05)
    with closing(open_recorder(shared_store)) as recorder:
        running: set[str] = set()

        def leading(name: str, recorder: PostgresRecorder) -> Leading:
            async def job() -> None:
                assert not running, "two do it at once"
                running.add(name)
                try:
                    await trio.sleep_forever()
                finally:
                    running.discard(name)

            return Leading(recorder, {"job": job})

        with trio.fail_after(SECONDS):
            async with trio.open_nursery() as others:
                with trio.CancelScope() as scope:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(leading("first", recorder).run)
                        await until(lambda: running == {"first"})
                        others.start_soon(leading("second", recorder).run)
                        await trio.sleep(0.2)
                        assert running == {"first"}
                        scope.cancel()
                await until(lambda: running == {"second"})
                others.cancel_scope.cancel()
