"""The workers that make reports: a few at a time, found again after a restart, stopped by a cancel, never stuck."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import pytest
import structlog
import trio
from msgspec import structs
from trio.testing import MockClock, wait_all_tasks_blocked

from aggregates.decide import AnyCommand
from aggregates.event import Done, Reply, Unavailable
from aggregates.reports.decide import SOURCE_UNAVAILABLE
from aggregates.reports.events import ReportCancelled, ReportPeriod, ReportRequested
from projections.facts.reports import report_state
from projections.prices import Coverage, Reading, TeamWindow
from projections.reader import Reader
from svc.jobs.reports import REPORT_JOBS_MAX, REPORT_LOOK_SECONDS, REPORT_SECONDS_MAX, ReportJobs
from svc.process import REPORT_RETRY_SECONDS
from svc.views.views import ViewsDamaged
from tests.support.basics import ANA_SCOPE, named
from tests.svc_http.house import DAY_US, House
from tests.svc_http.workshop import unwritten

T = TypeVar("T")


class Desk(House):
    """The service in memory, where work takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.open = trio.Event()
        self.open.set()
        """While it is not set, nothing can be read."""
        self.damage: Exception | None = None  # what the views raise where spending is read from them
        self.level = True
        self.position = 0
        self.views_moved = trio.Event()  # up to where the views hold what other nodes wrote
        self.refusals = 0  # how many of the next commands cannot be stored
        self.working = 0
        self.most = 0
        self.jobs = self.hired()

    def hired(self) -> ReportJobs:
        return ReportJobs(self, self._spend, 1, unwritten, lambda: None)

    async def send(self, command: AnyCommand) -> Reply:
        if self.refusals:
            self.refusals -= 1
            raise Unavailable("the event store cannot be written at present")
        reply = await super().send(command)
        if isinstance(command, ReportRequested | ReportCancelled):
            self.jobs.note(command)
        return reply

    async def reach(self, position: int) -> None:
        while self.position < position:
            await self.views_moved.wait()

    async def read_all(self, query: Callable[[Reader], T]) -> T:
        if not self.level:
            raise Unavailable("the views are being built from the log: 1 of 2 events")
        return query(Reader(self._views, self._fetch))

    async def _spend(self, organization_id: UUID, asked: Sequence[TeamWindow]) -> Sequence[Reading]:
        self.working += 1
        self.most = max(self.most, self.working)
        try:
            await self.open.wait()
            if self.damage is not None:
                raise self.damage
        finally:
            self.working -= 1
        return [Reading({}, Coverage())]

    async def asks(self, name: str, day: int = 0) -> None:
        assert isinstance(await self.send(wanted(name, day)), Done)

    async def state(self, name: str) -> str | None:
        found = await self.read(ANA_SCOPE, report_state, named(name))
        return None if found is None else found.status

    def happened(self, name: str) -> list[str]:
        return [event.TOPIC for event in self.events if getattr(event, "report_id", None) == named(name)]


def about(name: str) -> dict[str, Any]:
    return structs.asdict(ANA_SCOPE) | {"report_id": named(name)}


def wanted(name: str, day: int = 0, **fields: Any) -> ReportRequested:
    period = ReportPeriod(name="daily", start_us=day * DAY_US, end_us=(day + 1) * DAY_US, timezone="UTC")
    return ReportRequested(**{**about(name), "period": period, "language": "en", **fields})


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_what_is_asked_for_on_another_node_is_made_as_soon_as_the_views_hold_it(
    desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The news comes before the views have it; nobody waits for the next look."""
    nursery.start_soon(desk.jobs.run)
    await wait_all_tasks_blocked()
    started = trio.current_time()
    desk.jobs.wake(7)
    await wait_all_tasks_blocked()
    await House.send(desk, wanted("one"))
    await wait_all_tasks_blocked()
    assert await desk.state("one") == "queued"
    desk.position = 7
    desk.views_moved.set()
    await wait_all_tasks_blocked()
    assert await desk.state("one") == "completed"
    assert trio.current_time() == started


async def test_no_more_are_made_at_once_than_there_is_room(desk: Desk, nursery: trio.Nursery) -> None:
    """The others wait, and get their turn in the order in which they were asked for."""
    desk.open = trio.Event()
    nursery.start_soon(desk.jobs.run)
    for day in range(5):
        await desk.asks(f"day {day}", day)
    await wait_all_tasks_blocked()
    states = [await desk.state(f"day {day}") for day in range(5)]
    assert states == ["running"] * REPORT_JOBS_MAX + ["queued"] * (5 - REPORT_JOBS_MAX)
    desk.open.set()
    await wait_all_tasks_blocked()
    assert {await desk.state(f"day {day}") for day in range(5)} == {"completed"}
    assert desk.most == REPORT_JOBS_MAX


async def test_a_cancel_takes_effect_while_it_is_being_made(desk: Desk, nursery: trio.Nursery) -> None:
    """The work stops there and then, and its place is free."""
    desk.open = trio.Event()
    nursery.start_soon(desk.jobs.run)
    await desk.asks("one")
    await wait_all_tasks_blocked()
    assert (await desk.state("one"), desk.working) == ("running", 1)
    await desk.send(ReportCancelled(**about("one")))
    await wait_all_tasks_blocked()
    assert (await desk.state("one"), desk.working) == ("cancelled", 0)
    await desk.asks("two")
    desk.open.set()
    await wait_all_tasks_blocked()
    assert desk.happened("one") == ["report.requested", "report.started", "report.cancelled"]
    assert await desk.state("two") == "completed"


async def test_a_restart_makes_what_was_being_made_and_makes_it_once(desk: Desk) -> None:
    """Queued or running when the process ended: the next one finds both."""
    desk.open = trio.Event()
    async with trio.open_nursery() as first_life:
        first_life.start_soon(desk.jobs.run)
        for day in range(3):
            await desk.asks(f"day {day}", day)
        await wait_all_tasks_blocked()
        first_life.cancel_scope.cancel()
    desk.jobs = desk.hired()
    desk.open.set()
    async with trio.open_nursery() as second_life:
        second_life.start_soon(desk.jobs.run)
        await wait_all_tasks_blocked()
        second_life.cancel_scope.cancel()
    begun_twice = ["report.requested", "report.started", "report.started", "report.completed"]
    assert [desk.happened(f"day {day}") for day in range(2)] == [begun_twice] * 2
    assert desk.happened("day 2") == ["report.requested", "report.started", "report.completed"]


async def test_what_became_of_it_is_kept_however_long_the_log_cannot_be_written(
    desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The work is done once; only its outcome is sent again and again."""
    desk.open = trio.Event()
    nursery.start_soon(desk.jobs.run)
    await desk.asks("one")
    await wait_all_tasks_blocked()
    desk.refusals = 7
    desk.open.set()
    await trio.sleep(60)
    assert desk.happened("one") == ["report.requested", "report.started", "report.completed"]


async def test_nothing_is_begun_while_the_views_are_being_built(
    desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """A report over half of the log would be wrong; it waits, and no attempt is counted."""
    desk.level = False
    nursery.start_soon(desk.jobs.run)
    await desk.asks("one")
    await trio.sleep(600)
    assert await desk.state("one") == "queued"
    desk.level = True
    await trio.sleep(REPORT_LOOK_SECONDS)
    assert await desk.state("one") == "completed"


async def test_one_that_takes_too_long_fails(desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    """With the safe sentence and no code; its place is free again."""
    desk.open = trio.Event()
    nursery.start_soon(desk.jobs.run)
    await desk.asks("one")
    await trio.sleep(REPORT_SECONDS_MAX + 1)
    assert await desk.state("one") == "failed"
    found = await desk.read(ANA_SCOPE, report_state, named("one"))
    assert found is not None
    assert found.error_code is None
    assert desk.working == 0


@pytest.mark.parametrize("mended", [True, False])
@pytest.mark.parametrize("where", ["spending", "sections"])
async def test_one_that_meets_damaged_views_waits_for_the_mended_ones_or_fails_and_says_why(
    desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock, where: str, mended: bool
) -> None:
    """A source that cannot be read, and no time-out: the log names the damage."""
    desk.open = trio.Event()
    nursery.start_soon(desk.jobs.run)
    await desk.asks("one")
    await wait_all_tasks_blocked()
    if where == "spending":
        desk.damage = ViewsDamaged("views.db is damaged")
    else:
        desk.breaks = Unavailable("views.db is damaged")
    desk.open.set()
    with structlog.testing.capture_logs() as logs:
        await trio.sleep(REPORT_SECONDS_MAX / 2)
        assert desk.happened("one") == ["report.requested", "report.started"]
        await trio.sleep(0 if mended else REPORT_SECONDS_MAX / 2)
        desk.damage = desk.breaks = None
        await trio.sleep(2 * REPORT_RETRY_SECONDS)
    found = await desk.read(ANA_SCOPE, report_state, named("one"))
    assert found is not None
    outcome = ("completed", None) if mended else ("failed", SOURCE_UNAVAILABLE)
    assert (found.status, found.error_code, len(desk.happened("one"))) == (*outcome, 3)
    told = [line["reason"].split(": ")[1] for line in logs if line["log_level"] == "error"]
    assert told == ([] if mended else ["views.db is damaged"])


async def test_a_look_that_breaks_is_no_end(desk: Desk, nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    desk.breaks = ValueError("a bug")
    nursery.start_soon(desk.jobs.run)
    desk.jobs.note(wanted("one"))
    await trio.sleep(10)
    desk.breaks = None
    await desk.asks("one")
    await trio.sleep(10)
    assert await desk.state("one") == "completed"
