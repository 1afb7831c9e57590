"""Following the views of a service over a real folder: from a start on, as they move, and until it is asked to stop."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import trio
import trio.testing

from aggregates.event import Scope
from svc.views.views import POINTER
from tests.support.household import Household, household


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Household]:
    """With a prompt in it, started again over tables that are built anew: whoever looks at once sees all of it."""
    async with household(tmp_path / "var") as first:
        await first.prompt("Fix src/a.py")
    (tmp_path / "var" / POINTER).unlink()
    async with household(tmp_path / "var") as again:
        assert (await again.service.standing(again.owner)).position == again.service.store.head()
        yield again


async def test_what_is_followed_moves_with_the_log_and_ends_with_the_server(house: Household) -> None:
    """A change wakes who waits for it, the same step again does not; after the end nobody waits."""
    service, scope = house.service, house.owner
    began = await service.standing(scope)
    with trio.move_on_after(0.05) as waited:
        await service.moved(began.steps)
    assert waited.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.prompt, "Fix src/b.py")
        with trio.fail_after(5):
            assert await service.moved(began.steps)
    now = await service.standing(scope)
    assert now.position > began.position
    assert now.changed > began.steps
    assert (await service.standing(Scope(scope.organization_id, uuid4()))).changed == 0

    async def stopped_soon() -> None:
        await trio.testing.wait_all_tasks_blocked(0.01)
        service.stop_following()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stopped_soon)
        with trio.fail_after(5):
            assert not await service.moved(10**6)
    assert not await service.moved(0)


async def test_a_replay_is_a_change_for_everybody(house: Household) -> None:
    began = await house.service.standing(house.owner)
    house.service.start_replay(None)
    with trio.fail_after(10):
        assert await house.service.moved(began.steps)
    now = await house.service.standing(house.owner)
    assert (now.position, now.changed) == (began.position, now.steps)
