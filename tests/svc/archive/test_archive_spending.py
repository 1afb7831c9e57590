"""Spending read from files and views together is what the views alone would tell, or the read says that it is not; and
the lane within the service: before and after, across restarts, rebuilds and failures."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest
import trio
import trio.testing
from hypothesis import given, strategies as st
from structlog.testing import capture_logs

from aggregates.event import Unavailable
from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import Coverage, Reading, TeamWindow, live_part
from svc.archive import lane
from svc.archive.folder import Archive
from svc.archive.lane import ArchiveLane, Budget, spending
from svc.views.replay import build
from svc.views.views import new_file
from tests.fuzz.odd import examples
from tests.support.facts import ANA, BEN, DAY, HOUR, MONDAY, empty_views
from tests.support.household import NOW_US, Household, household, no_progress
from tests.support.requests import ACME, archive_all, fingerprint, put, request_row

MIDNIGHT = MONDAY - 9 * HOUR
WEEK = Window(MIDNIGHT, MIDNIGHT + 7 * DAY)
PLENTY = Budget(files_max=1_000, bytes_max=1_000_000_000)
ALL_WEEK = TeamWindow(WEEK, (Stay(ANA.developer_id, WEEK.start_us, WEEK.end_us),))


@pytest.fixture
def views() -> Iterator[sqlite3.Connection]:
    """Views without a row."""
    with closing(empty_views()) as db:
        yield db


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """An empty archive."""
    with closing(Archive(tmp_path, fingerprint)) as opened:
        yield opened


def read(
    archive: Archive,
    views: sqlite3.Connection,
    asked: TeamWindow = ALL_WEEK,
    budget: Budget = PLENTY,
    acme: UUID = ACME,
) -> Reading:
    """From both."""
    return spending(archive, acme, asked, live_part(views, acme, asked, archive.position), budget)


def four_days(archive: Archive, views: sqlite3.Connection) -> None:
    """A request a day from Monday on, two files each: a row of every day changed later, and got another price."""
    for day in range(4):
        put(views, request_row(day, 1 + day, at_us=MONDAY + day * DAY))
    archive_all(archive, views)
    for day in range(4):
        put(views, request_row(day, 5 + day, at_us=MONDAY + day * DAY, cost_usd_nano=20_000_000))
    archive_all(archive, views)


def requests(found: Reading) -> int:
    """How many of Ana's count."""
    return found.spent[ANA.developer_id].requests if ANA.developer_id in found.spent else 0


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 9),  # which request
        st.fixed_dictionaries(
            {
                "superseded": st.integers(0, 1),
                "failed": st.sampled_from([0, 0, 0, 1]),
                "cost_usd_nano": st.none() | st.integers(0, 2**62),
                "input_tokens": st.none() | st.integers(0, 2**62),
            }
        ),
        st.sampled_from(["wait", "wait", "archive"]),
    ),
    max_size=15,
)


@examples(12)
@given(CHANGES)
def test_wherever_a_row_lies_it_counts_once(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, dict[str, Any], str]]
) -> None:
    """Rows come and change, are archived or not yet, in many files: the sums are the views' own."""
    with (
        pytest.MonkeyPatch.context() as patch,
        duckdb.connect() as shared,
        closing(empty_views()) as views,
        closing(Archive(tmp_path_factory.mktemp("var"), fingerprint)) as archive,
    ):
        patch.setattr(lane, "connected", lambda root, spill: nullcontext(shared))
        developers = (ANA.developer_id, BEN.developer_id, UUID(int=1))
        for position, (number, fields, then) in enumerate(changes, 1):
            own: dict[str, Any] = {"at_us": MONDAY + number % 5 * DAY, "developer_id": developers[number % 3]}
            put(views, request_row(number, position, **own, **fields))
            if then != "wait":
                archive_all(archive, views, rows_max=2)
        stays = (Stay(developers[0], MIDNIGHT, MIDNIGHT + 3 * DAY), Stay(developers[1], MIDNIGHT + DAY, WEEK.end_us))
        asked = TeamWindow(WEEK, stays)
        found = read(archive, views, asked)
        assert found.coverage.reason == "complete"
        assert found.spent == live_part(views, ACME, asked, 0).spent


def test_another_organization_is_never_looked_at(archive: Archive, views: sqlite3.Connection) -> None:
    """Though the developer is the same."""
    put(views, request_row(1))
    archive_all(archive, views)
    found = read(archive, views, acme=UUID(int=7))
    assert (found.spent, found.coverage.read_batches) == ({}, 0)


def test_days_outside_the_window_are_not_opened(archive: Archive, views: sqlite3.Connection) -> None:
    four_days(archive, views)
    monday = Window(MIDNIGHT, MIDNIGHT + DAY)
    asked = TeamWindow(monday, (Stay(ANA.developer_id, monday.start_us, monday.end_us),))
    found = read(archive, views, asked, Budget(files_max=2, bytes_max=1_000_000))
    assert (found.coverage.reason, requests(found)) == ("complete", 1)


def test_a_large_window_is_read_in_batches(
    archive: Archive, views: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    four_days(archive, views)
    monkeypatch.setattr(lane, "ARCHIVE_READ_ROWS_MAX", 4)
    found = read(archive, views)
    assert (found.coverage.read_batches, requests(found)) == (2, 4)


# --- budgets and damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("files_max", "counted", "dropped"), [(8, 4, 0), (7, 3, 2), (4, 2, 4), (1, 0, 8), (0, 0, 8)])
def test_a_budget_of_files(
    archive: Archive, views: sqlite3.Connection, files_max: int, counted: int, dropped: int
) -> None:
    """The newest days are read, each whole; the rest is dropped, and the read says so."""
    four_days(archive, views)
    found = read(archive, views, budget=Budget(files_max, 1_000_000))
    assert (requests(found), found.coverage.dropped_files) == (counted, dropped)
    assert found.coverage.reason == ("complete" if counted == 4 else "file_budget")
    assert found.coverage.unreadable_files == 0


def test_a_budget_of_bytes(archive: Archive, views: sqlite3.Connection) -> None:
    four_days(archive, views)
    size = sum(file.byte_count for file in archive.files())
    assert read(archive, views, budget=Budget(100, size)).coverage.reason == "complete"
    found = read(archive, views, budget=Budget(100, size - 1))
    assert (found.coverage.reason, found.coverage.dropped_files, requests(found)) == ("byte_budget", 2, 3)


def test_what_needs_no_file_needs_no_budget(archive: Archive, views: sqlite3.Connection) -> None:
    """What is not archived yet; a team without members, or a day on which nobody was in it."""
    nothing = Budget(files_max=0, bytes_max=0)
    put(views, request_row(9, 99))
    found = read(archive, views, budget=nothing)
    assert (requests(found), found.coverage.reason, found.coverage.read_batches) == (1, "complete", 0)
    four_days(archive, views)
    later = Stay(ANA.developer_id, MIDNIGHT + 4 * DAY, WEEK.end_us)
    for stays in ((), (later,)):
        assert read(archive, views, TeamWindow(WEEK, stays), nothing).coverage.reason == "complete"
    put(views, request_row(8, 100))
    found = read(archive, views, budget=nothing)
    assert (requests(found), found.coverage.reason) == (1, "file_budget")


def test_a_damaged_file_takes_its_day_with_it(archive: Archive, views: sqlite3.Connection) -> None:
    """The other files of that day may tell what the damaged one takes back: less than was spent, never more."""
    four_days(archive, views)
    broken = archive.files()[1]
    archive.path(broken).write_bytes(b"PAR1 and so on")
    with capture_logs() as logs:
        found = read(archive, views)
    assert (found.coverage.reason, found.coverage.dropped_files, requests(found)) == ("file_budget", 2, 3)
    assert found.coverage.unreadable_files == 1
    assert [entry["file"] for entry in logs] == [broken.name]


def test_files_that_the_library_refuses_are_dropped(archive: Archive, views: sqlite3.Connection) -> None:
    """Should their bytes be as written and yet no Parquet: a read never fails for it."""
    four_days(archive, views)
    file = archive.files()[0]

    def write(path: Path) -> int:
        path.write_bytes(b"no parquet at all")
        return file.row_count

    forged = archive.written(write, file.organization_id, file.day, archive.next_number)
    archive.add([forged], archive.position)
    found = read(archive, views)
    assert (found.coverage.reason, requests(found)) == ("file_budget", 0)
    assert found.coverage.unreadable_files == found.coverage.dropped_files == 9


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
        build(path, service.store, no_progress)
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
