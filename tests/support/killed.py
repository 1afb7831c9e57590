"""A program that forgets somebody, or keeps a retention, and kills itself before the n-th thing it does for good, for
every n."""

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import trio

from aggregates.decide import ForgetDeveloper
from svc.log.sqlite import SqliteRecorder
from svc.log.vault import FileKeys
from svc.maintenance.texts import open_orders
from svc.views import projector
from tests.support.household import household

DAY_US = 86_400_000_000
TRIES_MAX = 40
FINISHED = 7  # the exit code where there was no n-th


def die_before(number: int, *places: tuple[Any, str]) -> None:
    """Count the calls of these functions, and end without a word before one of them."""
    calls = count(1)
    for owner, name in places:
        real = getattr(owner, name)

        def counted(*args: Any, real: Any = real, **kwargs: Any) -> Any:
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        setattr(owner, name, counted)


async def main(var: Path, work: str, number: int) -> None:
    """Do the work over a folder."""
    async with household(var) as house:
        await house.level()
        die_before(
            number,
            (SqliteRecorder, "insert_events"),
            (SqliteRecorder, "replace_states"),
            (FileKeys, "destroy"),
            (projector, "point_to"),
        )
        if work == "retention":
            house.clock.advance(2 * DAY_US)
            await house.service.retention.apply()
            return
        organization_id, developer_id = house.owner.organization_id, UUID(work)
        await house.service.send(ForgetDeveloper(organization_id=organization_id, developer_id=developer_id))
        while open_orders(house.service.store):
            await house.service.journal.wait_beyond(house.service.journal.head)


def _all(var: Path, work: str) -> None:
    """Try every n, each in a process and over a copy of the folder of its own; the copies stay, named by n."""
    for number in range(1, TRIES_MAX):
        copy = shutil.copytree(var, var.parent / str(number))
        if not (child := os.fork()):
            trio.run(main, copy, work, number)
            os._exit(FINISHED)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == FINISHED:
            shutil.rmtree(copy)
            return
        if code != -signal.SIGKILL:
            sys.exit(f"the {number}th ended with {code}")
    sys.exit(f"more than {TRIES_MAX} things were done")


if __name__ == "__main__":
    _all(Path(sys.argv[1]), sys.argv[2])
