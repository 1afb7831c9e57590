"""Backfills over the real store: each is recorded once and has the views built anew, which changes no figure."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import trio
import trio.testing

from aggregates.event import NewEvent, Refused
from aggregates.reports.decide import BackfillRecord
from aggregates.reports.events import BackfillCompleted, BackfillRequested
from svc.views.replay import Progress, build_in_thread
from tests.support.facts import DAY, HOUR, MINUTE, MONDAY
from tests.support.household import Household, household

SESSIONS = 5
SECONDS_MAX = 30


@asynccontextmanager
async def office(var: Path) -> AsyncIterator[Household]:
    """A service over a folder; a new one gets some sub-sessions, a minute apart."""
    with trio.fail_after(SECONDS_MAX):
        async with household(var, now_us=MONDAY + DAY) as house:
            for number in range(SESSIONS if house.key else 0):
                text, at_us = f"Fix src/a{number}.py and run pytest", MONDAY + number * MINUTE
                await house.prompt(text, session=f"session-{number}", at_us=at_us)
            await house.level()
            yield house


def wish(house: Household, **fields: Any) -> BackfillRequested:
    usual: dict[str, Any] = {"from_us": MONDAY - HOUR, "to_us": MONDAY + DAY, "sub_sessions": SESSIONS}
    named: dict[str, Any] = {"backfill_id": uuid4(), "organization_id": house.owner.organization_id}
    return BackfillRequested(received_at_us=MONDAY + DAY, **named, **(usual | fields))


async def asks(house: Household, **fields: Any) -> BackfillRecord:
    reply = await house.service.start_backfill(wish(house, **fields))
    assert not isinstance(reply, Refused)
    return reply


async def ends(house: Household) -> list[BackfillRecord]:
    """All of them once nothing is built any more, the newest first."""
    while house.service.replay_status().state == "running":
        await trio.lowlevel.checkpoint()
    return list(await house.service.backfills())


async def tables(house: Household) -> dict[str, str]:
    await house.level()
    return house.tables()


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
        before = await tables(house)
        begun = await asks(house)
        assert begun.status == "running"
        (ended,) = await ends(house)
        assert (ended.backfill_id, ended.status, ended.done) == (begun.backfill_id, "completed", SESSIONS)
        assert await tables(house) == before
        (recorded,) = house.service.store.read_topics([BackfillRequested.TOPIC])
        assert recorded.originator_id == UUID(begun.backfill_id)
        (path,) = (tmp_path / "var").glob("views-*.db")
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE sub_sessions SET earned = 0, intent = 'plan', goal_complete = 1 - goal_complete")
        assert await tables(house) != before
        await asks(house)
        await ends(house)
        assert await tables(house) == before


async def test_while_one_runs_the_same_joins_it_and_another_waits(tmp_path: Path, build: Build) -> None:
    """Its progress is that of the build; once it is over, another one may begin."""
    build.may_go_on = trio.Event()
    async with office(tmp_path / "var") as house:
        begun = await asks(house)
        await trio.testing.wait_all_tasks_blocked()
        assert (await asks(house)).backfill_id == begun.backfill_id
        refused = await house.service.start_backfill(wish(house, from_us=MONDAY))
        assert isinstance(refused, Refused)
        (running,) = await house.service.backfills()
        assert (running.status, running.done) == ("running", 2)
        build.may_go_on.set()
        await ends(house)
        await asks(house, from_us=MONDAY)
        assert [each.status for each in await ends(house)] == ["completed", "completed"]


async def test_a_build_that_fails_is_told(tmp_path: Path, build: Build) -> None:
    """And stays told when the next one is asked for."""
    async with office(tmp_path / "var") as house:
        build.fails = True
        await asks(house)
        assert [each.status for each in await ends(house)] == ["failed"]
        build.fails = False
        await asks(house)
        assert [each.status for each in await ends(house)] == ["completed", "failed"]


async def test_after_a_restart_only_what_the_log_holds_is_known(tmp_path: Path) -> None:
    async with office(tmp_path / "var") as house:
        begun = wish(house)
        named = {"backfill_id": begun.backfill_id, "organization_id": begun.organization_id}
        both = begun, BackfillCompleted(received_at_us=MONDAY + DAY, **named)
        await house.service.journal.append([NewEvent(begun.backfill_id, n, each) for n, each in enumerate(both, 1)])
        await asks(house)
        await ends(house)
    async with office(tmp_path / "var") as house:
        assert [each.status for each in await house.service.backfills()] == ["unknown", "completed"]
