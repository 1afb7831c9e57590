"""kill -9 before every single thing that forgetting or a retention does for good: begun again, it ends as if nothing
had happened."""

import subprocess
import sys
from pathlib import Path

import pytest
import trio

from aggregates.people.acts import ChangeOrganization
from svc.maintenance.texts import open_orders
from tests.support.household import PLANTED, Worked, holding, household, rebuilt, tables_of
from tests.support.killed import DAY_US
from tests.support.process import ROOT, environment

pytestmark = pytest.mark.process

SECONDS = 60


def killed(var: Path, work: str) -> list[Path]:
    """What is left of the folder where the work died before its first step, its second, and so on."""
    command = [sys.executable, "-m", "tests.support.killed", str(var), work]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return sorted((path for path in var.parent.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


async def test_forgetting_that_is_killed_anywhere_is_finished_at_the_next_start(worked: Worked, tmp_path: Path) -> None:
    before, developer_id = tables_of(worked.var), worked.owner.developer_id
    key = (worked.var / "keys" / f"{developer_id}.key").read_bytes()
    copies = killed(worked.var, str(developer_id))
    assert len(copies) > 7
    for number, copy in enumerate(copies, 1):
        async with household(copy) as house:
            with trio.fail_after(SECONDS):
                while open_orders(house.service.store):
                    await house.service.journal.wait_beyond(house.service.journal.head)
            await house.level()
            assert house.tables() == before, number
        assert rebuilt(copy, tmp_path / f"again-{number}.db") == before, number
        # Before the order stood in the log, nothing was to be done.
        assert (holding(copy, PLANTED.encode(), key) == []) == (number > 1), number


async def test_a_retention_that_is_killed_anywhere_goes_on_the_next_time(worked: Worked, tmp_path: Path) -> None:
    async with household(worked.var) as house:
        organization_id = house.owner.organization_id
        await house.service.administer(ChangeOrganization(organization_id=organization_id, retention_days_text=1))
        before = house.tables()
    copies = killed(worked.var, "retention")
    assert len(copies) > 1
    for number, copy in enumerate(copies, 1):
        async with household(copy) as house:
            house.clock.advance(2 * DAY_US)
            await house.service.retention.apply()
            await house.level()
            assert house.tables() == before, number
            told = house.service.store.read_topics(["standing.sealed"], 0, 100)
            assert len(told) == 2, number
        assert rebuilt(copy, tmp_path / f"again-{number}.db") == before, number
