"""The archive lane within the service: what is read, before and after, across restarts, rebuilds and failures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from aggregates.capture.events import CapturePrompt, CaptureRecords
from aggregates.event import Scope, Unavailable
from aggregates.people.directory import Membership, Stay
from aggregates.records.record import Record
from aggregates.times import Window
from projections.prices import Reading, TeamWindow
from svc.archive.folder import Archive
from svc.archive.lane import ArchiveLane, Budget
from svc.service import RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views.replay import build
from svc.views.views import new_file
from tests.support.facts import MONDAY
from tests.support.memory import FixedClock
from tests.support.requests import fingerprint


class Running:
    def __init__(self, service: RunningService, scope: Scope) -> None:
        self.service = service
        self.scope = scope
        self.folder = Path()

    async def works(self, number: int) -> None:
        """A prompt, and one request for a cent."""
        session, at_us = f"session-{number}", self.service.now_us()
        record = Record(
            record_id=f"r{number}", at_us=at_us, kind="request", model="m", input_tokens=5, cost_usd_nano=10_000_000
        )
        prompt = CapturePrompt(
            organization_id=self.scope.organization_id,
            developer_id=self.scope.developer_id,
            prompt_id=UUID(int=number),
            agent_session_id=session,
            source="claude-code",
            text="Fix src/a.py and run pytest",
        )
        records = CaptureRecords(
            organization_id=self.scope.organization_id,
            developer_id=self.scope.developer_id,
            agent_session_id=session,
            source="claude-code",
            decoder_version=1,
            records=(record,),
            words="",
        )
        await self.service.send(prompt)
        await self.service.send(records)

    async def spent(self) -> Reading:
        """By the developer, on any day."""
        everything = Window(0, 2 * self.service.now_us())
        stay = Stay(self.scope.developer_id, everything.start_us, everything.end_us)
        (found,) = await self.service.team_spending(self.scope, [TeamWindow(everything, (stay,))])
        return found

    async def rebuild(self) -> None:
        """The views are built anew, and served from."""
        service, path = self.service, new_file(self.folder)
        build(path, service.store, service.vault.digester, lambda done, of: None)
        await service.projector.exchange(path)

    async def archived(self) -> int:
        """Rows in the archive after the lane has looked; views hold all that was sent."""
        await self.service.projector.wait_for(self.service.store.head())
        await self.service.archive.catch_up()
        with closing(Archive(self.folder, self.service.store.fingerprint)) as archive:
            return sum(file.row_count for file in archive.files())


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[Running]:
    """A service over a folder, which is set up where it is new."""
    clock = FixedClock(MONDAY)
    async with open_service(Settings(var=str(folder), **settings), clock=clock) as service:
        await initialize(service, folder)
        (membership,) = service.directory.all(Membership)
        found = Running(service, Scope(membership.organization_id, membership.developer_id))
        found.folder = folder
        yield found


async def test_a_read_is_the_same_before_and_after_archiving(tmp_path: Path) -> None:
    with trio.fail_after(20):
        async with running(tmp_path / "var") as house:
            for number in range(3):
                await house.works(number)
                found = await house.spent()
                assert found.spent[house.scope.developer_id].cost_usd_nano == (number + 1) * 10_000_000
            before = await house.spent()
            assert await house.archived() == 3
            after = await house.spent()
            assert before.spent == after.spent
            assert (before.coverage.read_batches, after.coverage.read_batches) == (0, 1)


async def test_views_that_are_built_anew_are_not_archived_again(tmp_path: Path) -> None:
    """Another file from the same log, under a running server and after a restart."""
    folder = tmp_path / "var"
    with trio.fail_after(60):
        async with running(folder) as house:
            await house.works(1)
            assert await house.archived() == 1
            await house.rebuild()
            assert await house.archived() == 1
            await house.works(2)
            assert await house.archived() == 2
        for views in folder.glob("views*"):
            views.unlink()
        async with running(folder) as house:
            assert await house.archived() == 2
            assert (await house.spent()).spent[house.scope.developer_id].requests == 2


@pytest.mark.parametrize(
    ("budget", "reason"), [("archive_read_files_max", "file_budget"), ("archive_read_bytes_max", "byte_budget")]
)
async def test_the_budgets_are_settings(tmp_path: Path, budget: str, reason: str) -> None:
    """What is archived then is out of reach; what is not yet is in the tables."""
    with trio.fail_after(20):
        async with running(tmp_path / "var", **{budget: 0}) as house:
            await house.works(1)
            assert await house.archived() == 1
            await house.works(2)
            found = await house.spent()
            assert (found.coverage.reason, found.coverage.dropped_files) == (reason, 1)
            assert found.spent[house.scope.developer_id].requests == 1


async def test_an_archive_that_cannot_be_opened_is_a_matter_of_time(tmp_path: Path) -> None:
    """The read is refused for now; once the folder is in order again, it is answered."""
    with trio.fail_after(20):
        async with running(tmp_path / "var") as house:
            await house.works(1)
            (tmp_path / "var" / "archive").write_text("somebody put a file here")
            with pytest.raises(Unavailable, match="cannot be read"):
                await house.spent()
            (tmp_path / "var" / "archive").unlink()
            assert (await house.spent()).spent[house.scope.developer_id].requests == 1


async def test_the_lane_goes_on_after_a_failure(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """It says what was wrong, and looks again soon."""
    looked, well = [], trio.Event()

    class Broken(ArchiveLane):
        async def catch_up(self) -> None:
            looked.append(trio.current_time())
            if len(looked) < 3:
                raise OSError(28, "No space left on device")
            well.set()

    lane = Broken(tmp_path, lambda: pytest.fail("nobody reads"), fingerprint, Budget(1, 1))
    started = trio.current_time()
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lane.run)
            await well.wait()
            nursery.cancel_scope.cancel()
    assert [entry["log_level"] for entry in logs] == ["error", "error"]
    assert [at - started for at in looked] == pytest.approx([3600, 4200, 4800])
