"""A program that forgets somebody, or keeps a retention, and stands still before the n-th thing it does for good, for
every n: what a kill would leave there is copied."""

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import Any
from uuid import UUID

import trio

from aggregates.retained import ForgetOrdered
from svc.log.sqlite import SqliteRecorder
from svc.log.vault import FileKeys
from svc.maintenance.texts import open_orders
from svc.views import projector
from tests.support.household import household

DAY_US = 86_400_000_000


def stop_before(*places: tuple[Any, str]) -> None:
    """Stop, with every thread, before each call of these functions."""
    for owner, name in places:
        real = getattr(owner, name)

        def stopped(*args: Any, real: Any = real, **kwargs: Any) -> Any:
            signal.pthread_kill(get_ident(), signal.SIGSTOP)
            return real(*args, **kwargs)

        setattr(owner, name, stopped)


async def main(var: Path, work: str) -> None:
    """Do the work over a folder."""
    async with household(var) as house:
        await house.level()
        stop_before(
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
        await house.service.send(ForgetOrdered(organization_id=organization_id, developer_id=developer_id))
        while open_orders(house.service.store):
            await house.service.journal.wait_beyond(house.service.journal.head)


def _all(var: Path, work: str) -> int:
    """The exit code of the work, after copies of the folder, named by n."""
    if not (child := os.fork()):
        trio.run(main, var, work)
        os._exit(0)
    for number in count(1):
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        shutil.copytree(var, var.parent / str(number))
        os.kill(child, signal.SIGCONT)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(_all(Path(sys.argv[1]), sys.argv[2]))
