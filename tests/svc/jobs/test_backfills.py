"""Backfills over the real store: each is recorded once and has the views built anew, which changes no figure."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
import trio
import trio.testing
from msgspec import structs

from aggregates.capture.events import CapturePrompt
from aggregates.event import Refused, Scope
from aggregates.people.directory import Membership
from aggregates.reports.decide import BackfillRecord
from aggregates.reports.events import BackfillCompleted, BackfillRequested
from svc.log.codec import NewEvent
from svc.service import RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views.replay import Progress, build_in_thread, digests
from tests.support.basics import FixedClock
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY

SESSIONS = 5
SECONDS_MAX = 30


class Office(NamedTuple):
    """A service with some sub-sessions, a minute apart."""

    service: RunningService
    scope: Scope

    async def works(self) -> None:
        for number in range(SESSIONS):
            prompt = CapturePrompt(
                **structs.asdict(self.scope),
                prompt_id=UUID(int=number),
                agent_session_id=f"session-{number}",
                source="claude-code",
                text=f"Fix src/a{number}.py and run pytest",
                submitted_at_us=MONDAY + number * MINUTE,
            )
            await self.service.send(prompt)
        await self.level()

    async def level(self) -> None:
        await self.service.projector.wait_for(self.service.store.head())

    def wish(self, **fields: Any) -> BackfillRequested:
        usual: dict[str, Any] = {"from_us": MONDAY - HOUR, "to_us": MONDAY + DAY, "sub_sessions": SESSIONS}
        return BackfillRequested(
            received_at_us=MONDAY + DAY,
            backfill_id=uuid4(),
            organization_id=self.scope.organization_id,
            **(usual | fields),
        )

    async def asks(self, **fields: Any) -> BackfillRecord:
        reply = await self.service.start_backfill(self.wish(**fields))
        assert not isinstance(reply, Refused)
        return reply

    async def ends(self) -> list[BackfillRecord]:
        """All of them once nothing is built any more, the newest first."""
        while self.service.replay_status().state == "running":
            await trio.lowlevel.checkpoint()
        return list(await self.service.backfills())

    async def tables(self) -> dict[str, str]:
        await self.level()
        found = await self.service.read_all(lambda reader: digests(reader.db))
        return {name: digest for name, digest in found.items() if name != "bookmark"}


@asynccontextmanager
async def office(var: Path) -> AsyncIterator[Office]:
    """A service over a folder, which is set up where it is new."""
    with trio.fail_after(SECONDS_MAX):
        async with open_service(Settings(var=str(var)), clock=FixedClock(MONDAY + DAY)) as service:
            made = await initialize(service, var)
            (membership,) = service.directory.all(Membership)
            scope = Scope(membership.organization_id, membership.developer_id)
            found = Office(service, scope)
            if made is not None:
                await found.works()
            yield found


class Build:
    """Builds within this process, once it may."""

    def __init__(self) -> None:
        self.may_go_on = trio.Event()
        self.may_go_on.set()
        self.fails = False

    async def __call__(self, var: Path, path: Path, progress: Progress, **options: Any) -> None:
        """Build as the service does, when the test says so."""
        progress(2, 5)
        await self.may_go_on.wait()
        if self.fails:
            raise OSError("the disk is full")
        await build_in_thread(var, path, progress, **options)


@pytest.fixture(autouse=True)
def build(monkeypatch: pytest.MonkeyPatch) -> Build:
    found = Build()
    monkeypatch.setattr("svc.views.replay.build_in_thread", found)
    return found


async def test_the_views_are_built_anew(tmp_path: Path) -> None:
    """The same facts under the same rules give the same tables, and make whole what stood wrong; the log says who
    asked."""
    async with office(tmp_path / "var") as house:
        before = await house.tables()
        begun = await house.asks()
        assert begun.status == "running"
        (ended,) = await house.ends()
        assert (ended.backfill_id, ended.status, ended.done) == (begun.backfill_id, "completed", SESSIONS)
        assert await house.tables() == before
        (recorded,) = house.service.store.read_topics([BackfillRequested.TOPIC])
        assert recorded.originator_id == UUID(begun.backfill_id)
        (path,) = (tmp_path / "var").glob("views-*.db")
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE sub_sessions SET earned = 0, intent = 'plan', goal_complete = 1 - goal_complete")
        assert await house.tables() != before
        await house.asks()
        await house.ends()
        assert await house.tables() == before


async def test_while_one_runs_the_same_joins_it_and_another_waits(tmp_path: Path, build: Build) -> None:
    """Its progress is that of the build; once it is over, another one may begin."""
    build.may_go_on = trio.Event()
    async with office(tmp_path / "var") as house:
        begun = await house.asks()
        await trio.testing.wait_all_tasks_blocked()
        assert (await house.asks()).backfill_id == begun.backfill_id
        refused = await house.service.start_backfill(house.wish(from_us=MONDAY))
        assert isinstance(refused, Refused)
        (running,) = await house.service.backfills()
        assert (running.status, running.done) == ("running", 2)
        build.may_go_on.set()
        await house.ends()
        await house.asks(from_us=MONDAY)
        assert [each.status for each in await house.ends()] == ["completed", "completed"]


async def test_a_build_that_fails_is_told(tmp_path: Path, build: Build) -> None:
    """And stays told when the next one is asked for."""
    async with office(tmp_path / "var") as house:
        build.fails = True
        await house.asks()
        assert [each.status for each in await house.ends()] == ["failed"]
        build.fails = False
        await house.asks()
        assert [each.status for each in await house.ends()] == ["completed", "failed"]


async def test_after_a_restart_only_what_the_log_holds_is_known(tmp_path: Path) -> None:
    async with office(tmp_path / "var") as house:
        begun = house.wish()
        completed = BackfillCompleted(
            received_at_us=MONDAY + DAY, backfill_id=begun.backfill_id, organization_id=begun.organization_id
        )
        await house.service.journal.append(
            [NewEvent(begun.backfill_id, 1, begun), NewEvent(begun.backfill_id, 2, completed)]
        )
        await house.asks()
        await house.ends()
    async with office(tmp_path / "var") as house:
        assert [each.status for each in await house.service.backfills()] == ["unknown", "completed"]
