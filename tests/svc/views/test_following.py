"""Following the views of a service over a real folder: from a start on, as they move, and until it is asked to stop."""

from pathlib import Path
from uuid import uuid4

import trio
import trio.testing

from aggregates.capture.events import CapturePrompt
from aggregates.event import Scope
from svc.service import RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views.views import POINTER
from tests.support.memory import FixedClock

NOW_US = 1_780_000_000 * 1_000_000


def settings(folder: Path) -> Settings:
    return Settings(var=str(folder / "var"))


async def prompt(service: RunningService, scope: Scope, number: int) -> None:
    command = CapturePrompt(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        prompt_id=uuid4(),
        agent_session_id=f"s{number}",
        source="claude-code",
        text="Fix src/a.py and run pytest",
    )
    await service.send(command)


async def filled(folder: Path) -> Scope:
    async with open_service(settings(folder), clock=FixedClock(NOW_US)) as service:
        made = await initialize(service, folder / "var")
        assert made is not None
        scope = Scope(made.organization_id, made.developer_id)
        await prompt(service, scope, 1)
    return scope


async def test_a_look_just_after_a_start_waits_for_views_that_are_nearly_there(tmp_path: Path) -> None:
    """They are built from the log; whoever looks at once sees all of it."""
    scope = await filled(tmp_path)
    (tmp_path / "var" / POINTER).unlink()
    async with open_service(settings(tmp_path), clock=FixedClock(NOW_US)) as service:
        assert (await service.standing(scope)).position == service.store.head()


async def test_what_is_followed_moves_with_the_log_and_ends_with_the_server(tmp_path: Path) -> None:
    """A change wakes who waits for it, the same step again does not; after the end nobody waits."""
    scope = await filled(tmp_path)
    async with open_service(settings(tmp_path), clock=FixedClock(NOW_US)) as service:
        began = await service.standing(scope)
        with trio.move_on_after(0.05) as waited:
            await service.moved(began.steps)
        assert waited.cancelled_caught
        async with trio.open_nursery() as nursery:
            nursery.start_soon(prompt, service, scope, 2)
            with trio.fail_after(5):
                assert await service.moved(began.steps)
        now = await service.standing(scope)
        assert now.position > began.position
        assert now.changed > began.steps
        assert (await service.standing(Scope(scope.organization_id, uuid4()))).changed == 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stopped_soon, service)
            with trio.fail_after(5):
                assert not await service.moved(10**6)
        assert not await service.moved(0)


async def test_a_replay_is_a_change_for_everybody(tmp_path: Path) -> None:
    scope = await filled(tmp_path)
    async with open_service(settings(tmp_path), clock=FixedClock(NOW_US)) as service:
        began = await service.standing(scope)
        service.start_replay(None)
        with trio.fail_after(10):
            assert await service.moved(began.steps)
        now = await service.standing(scope)
        assert (now.position, now.changed) == (began.position, now.steps)


async def _stopped_soon(service: RunningService) -> None:
    await trio.testing.wait_all_tasks_blocked(0.01)
    service.stop_following()
