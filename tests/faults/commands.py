"""kill -9 in the middle of a command, and of the server under load, and again during the start: nothing is lost."""

import contextlib
import random
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from svc.log.sqlite import EVENTS_FILE
from tests.faults.house import House, Trial
from tests.faults.load import LogReader
from tests.support.process import kill_processes

CAPTURES = (150, 300)
KILLS = 3  # how often in a row each is killed before it may complete


def killed_commands(trial: Trial) -> None:
    trial.each("commands", _all)


def _all(house: House, chance: random.Random) -> None:
    server = house.serve()
    house.worked(server, chance.randint(*CAPTURES))
    house.stops(server)
    for name, work in WORKS:
        house.outcome.tried += work(house, chance)
        house.outcome.count(name)
    house.settle(house.serve())


def _replay(house: House, chance: random.Random) -> int:
    seconds = _completes(house, "replay")
    killed = sum(_killed(house, chance, seconds, "replay") for _ in range(KILLS))
    _completes(house, "replay")
    house.verify(house.var, "replay")
    return killed


def _backup(house: House, chance: random.Random) -> int:
    """Of a folder whose server takes a load; a backup that has its name is whole, and holds all from before it."""
    target = house.var.with_name("backup.tar")
    server = house.serve()
    house.load.resume(server)
    killed = 0
    for _ in range(KILLS):
        before = time.time()
        killed += _killed(house, chance, 1.5, "backup", str(target))
        if target.exists():
            house.outcome.count("backups complete before the blow")
            _restored(house, target, before)
            target.unlink()
    before = time.time()
    _completes(house, "backup", str(target))
    house.load.pause()
    house.stops(server)
    return killed + _restored(house, target, before, chance)


def _restored(house: House, target: Path, before: float, chance: random.Random | None = None) -> int:
    """Restore a backup into a new folder, killed on the way where a chance is given; how often it was. `before`: when
    the backup was begun; it holds all that was acknowledged by then."""
    copy = house.var.with_name("restored")
    shutil.rmtree(copy, ignore_errors=True)
    killed = 0
    if chance is not None:
        killed = sum(_killed(house, chance, 1.2, "restore", str(target), var=copy) for _ in range(KILLS))
        if (copy / EVENTS_FILE).exists() and not (copy / "restoring").exists():  # finished before the blow
            shutil.rmtree(copy)
    _completes(house, "restore", str(target), var=copy)
    house.flawless(house.load.ledger.compare(LogReader(copy).read_on(), by=before).flaws, "restored")
    house.verify(copy, "restored")
    return killed


def _replay_in_server(house: House, chance: random.Random) -> int:
    """The server dies with it."""
    server = house.serve()
    seconds = _completes(house, "replay")
    for _ in range(KILLS):
        with _beside(house, "replay"):
            time.sleep(chance.uniform(0, seconds))
            server.kill()
        server = house.serve()
    _completes(house, "replay")
    left = [path.name for path in house.var.glob("views-*.db")]
    house.check(len(left) == 1, f"after a replay there are {left}")
    house.verify(house.var, "replay in a server")
    house.stops(server)
    return KILLS


WORKS: tuple[tuple[str, Callable[[House, random.Random], int]], ...] = (
    ("replay", _replay),
    ("backup and restore", _backup),
    ("replay in a server", _replay_in_server),
)


def _run(house: House, *arguments: str, var: Path | None = None) -> CompletedProcess[str]:
    return house.program.run(*arguments, "--var", var or house.var, check=False)


@contextlib.contextmanager
def _beside(house: House, *arguments: str, **how: Any) -> Iterator[list[int]]:
    """A command runs meanwhile; its exit code afterwards."""
    code: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(_run, house, *arguments, **how)
        yield code
        code.append(ended.result().returncode)


def _killed(house: House, chance: random.Random, seconds: float, *arguments: str, **how: Any) -> bool:
    """Begin a command and kill it with all its children; whether it was not over by then."""
    with _beside(house, *arguments, **how) as code:
        time.sleep(chance.uniform(0, seconds))
        kill_processes(how.get("var", house.var), arguments[0])
    return code[0] < 0


def _completes(house: House, *arguments: str, **how: Any) -> float:
    """How long that took."""
    started = time.monotonic()
    done = _run(house, *arguments, **how)
    house.check(done.returncode == 0, f"{arguments} ends with {done.returncode}: {done.stderr[-500:]}")
    return time.monotonic() - started


FOLDER_ROUNDS = 20
"""Rounds on one folder; then all of it is proven, which takes some seconds, and the next folder begins."""
LOAD_CAPTURES = (1, 200)  # how many more are acknowledged before the blow falls, and some milliseconds later it does
LATER_SECONDS = (0.0, 0.05)
START_SECONDS = (0.0, 2.5)  # when a blow falls that is meant for a server that starts


def kill_rounds(trial: Trial) -> None:
    for first in range(0, trial.times, FOLDER_ROUNDS):
        some = range(first, min(first + FOLDER_ROUNDS, trial.times))
        trial._replace(done=lambda: None).once(
            f"kills-{first}",
            lambda house, chance, some=some: _rounds(trial, house, some, chance),  # type: ignore[misc]
        )


def _rounds(trial: Trial, house: House, some: range, chance: random.Random) -> None:
    server = house.serve()
    for number in some:
        name = chance.choices(BLOWS, weights=(14, 4, 2))[0]
        house.load.resume(server)
        house.load.wait_for(chance.randint(*LOAD_CAPTURES))
        time.sleep(chance.uniform(*LATER_SECONDS))
        server.kill()
        for _ in range(BLOWS.index(name)):
            starting = house.program.begin(house.var)
            time.sleep(chance.uniform(*START_SECONDS))
            starting.end()
        server = house.serve()
        house.load.pause()
        house.look(f"round {number}, {name}")
        house.outcome.tried += 1
        house.outcome.count(name)
        trial.done()
    house.outcome.count("sends broken off", house.load.statuses["broken off"])
    house.settle(server, f"after round {some[-1]}")


BLOWS = ("the server", "again while starting", "twice while starting")
"""By how many further starts are killed, too: those do not get to where they answer, or just so."""
