"""The archive lane within the service: what is read, before and after, across restarts, rebuilds and failures."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from aggregates.event import Unavailable
from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import Coverage, TeamWindow
from svc.archive.folder import Archive
from svc.archive.lane import ArchiveLane, Budget
from svc.views.replay import build
from svc.views.views import new_file
from tests.support.household import NOW_US, Household, household, no_progress
from tests.support.requests import fingerprint

ALWAYS = Window(0, 2 * NOW_US)


async def works(house: Household, number: int) -> None:
    """Among other records one request."""
    await house.records("Fix src/a.py and run pytest", NOW_US + number)


async def spent(house: Household) -> tuple[int, Coverage]:
    """The owner's requests on any day, and where they were found."""
    asked = TeamWindow(ALWAYS, (Stay(house.owner.developer_id, ALWAYS.start_us, ALWAYS.end_us),))
    (found,) = await house.service.team_spending(house.owner, [asked])
    return found.spent[house.owner.developer_id].requests, found.coverage


async def archived(house: Household) -> int:
    """Rows in the archive after the lane has looked; views hold all that was sent."""
    await house.level()
    await house.service.archive.catch_up()
    with closing(Archive(house.var, house.service.store.fingerprint)) as archive:
        return sum(file.row_count for file in archive.files())


async def test_a_read_is_the_same_before_and_after_archiving(tmp_path: Path) -> None:
    async with household(tmp_path / "var") as house:
        for number in range(3):
            await works(house, number)
            assert (await spent(house))[0] == number + 1
        before, not_archived = await spent(house)
        assert await archived(house) == 3
        assert (await spent(house))[0] == before
        assert (not_archived.read_batches, (await spent(house))[1].read_batches) == (0, 1)


async def test_views_that_are_built_anew_are_not_archived_again(tmp_path: Path) -> None:
    """Another file from the same log, under a running server and after a restart."""
    folder = tmp_path / "var"
    async with household(folder) as house:
        await works(house, 1)
        assert await archived(house) == 1
        service, path = house.service, new_file(folder)
        build(path, service.store, service.vault.digester, no_progress)
        await service.projector.exchange(path)
        assert await archived(house) == 1
        await works(house, 2)
        assert await archived(house) == 2
    for views in folder.glob("views*"):
        views.unlink()
    async with household(folder) as house:
        assert await archived(house) == 2
        assert (await spent(house))[0] == 2


@pytest.mark.parametrize(
    ("budget", "reason"),
    [({"archive_read_files_max": 0}, "file_budget"), ({"archive_read_bytes_max": 0}, "byte_budget")],
)
async def test_the_budgets_are_settings(tmp_path: Path, budget: dict[str, Any], reason: str) -> None:
    """What is archived then is out of reach; what is not yet is in the tables."""
    async with household(tmp_path / "var", **budget) as house:
        await works(house, 1)
        assert await archived(house) == 1
        await works(house, 2)
        requests, coverage = await spent(house)
        assert (coverage.reason, coverage.dropped_files, requests) == (reason, 1, 1)


async def test_an_archive_that_cannot_be_opened_is_a_matter_of_time(tmp_path: Path) -> None:
    """The read is refused for now; once the folder is in order again, it is answered."""
    async with household(tmp_path / "var") as house:
        await works(house, 1)
        (tmp_path / "var" / "archive").write_text("somebody put a file here")
        with pytest.raises(Unavailable, match="cannot be read"):
            await spent(house)
        (tmp_path / "var" / "archive").unlink()
        assert (await spent(house))[0] == 1


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
