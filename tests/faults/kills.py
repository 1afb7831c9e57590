"""kill -9 under load: of the server, and again during the start; and a clock that is moved back and ahead."""

import random
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.faults.house import House, Trial
from tests.faults.ledger import LogReader
from tests.support.process import Server

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

# --- the clock ----------------------------------------------------------------------------------------------------

LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1")
JUMPS = ("-2h", "-3d", "+0s", "-40s", "+2d", "-1d", "+0s")
"""Against the real time, one after the other; the last one brings it back."""
CLOCK_CAPTURES = (20, 60)
_READS = ("score", "today-summary", "realtime/sub-sessions", "task-time")


def clock_back(trial: Trial) -> None:
    """Each time, all jumps in a row in one life of a server."""
    library = faketime()
    if library is None:
        trial.outcome.left_out = "libfaketime is not installed (apt install faketime)"
        return
    trial.each("clock", lambda house, chance: _jumps(house, library, chance))


def faketime() -> Path | None:
    found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern.lstrip("/"))]
    return found[0] if found else None


def shifted(library: Path, file: Path) -> dict[str, str]:
    told = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(file)}
    return told | {"FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def _jumps(house: House, library: Path, chance: random.Random) -> None:
    told = house.var.with_name("clock")
    told.write_text("+0s\n")
    server = house.serve(told=shifted(library, told))
    for jump in JUMPS:
        told.write_text(f"{jump}\n")
        house.worked(server, chance.randint(*CLOCK_CAPTURES))
        house.look(jump)
        _sane(house, server, jump)
        house.outcome.tried += 1
    reader = LogReader(house.var)
    reader.read_on()
    back = sum(later < earlier for earlier, later in pairwise(reader.times_us))
    house.outcome.count("steps back in the log", back)
    house.check(back >= 3, "the clock did not go back")
    house.settle(server)


def _sane(house: House, server: Server, where: str) -> None:
    """Reads are answered; no figure is below nothing, and nothing ends before it begins."""
    for owner in house.owners:
        for path in _READS:
            answer = house.get(server, f"/v1/score_v3/{path}", owner)
            told = f"{where}: {path} is answered {answer.status}: {answer.body[:200]!r}"
            house.check(answer.status in (200, 503), told)
            if answer.status == 200:
                house.outcome.count("reads looked at")
                house.flawless(_flaws(answer.json), f"{where}: {path}")


def _flaws(value: Any, name: str = "") -> list[str]:
    match value:
        case dict():
            flaws = [flaw for key, part in value.items() for flaw in _flaws(part, key)]
            started, ended = value.get("started_at"), value.get("ended_at")
            return [*flaws, f"it ends {ended} and starts {started}"] if started and ended and ended < started else flaws
        case list():
            return [flaw for part in value for flaw in _flaws(part, name)]
        case int() | float() if value < 0:
            return [f"{name} is {value}"]
        case _:
            return []
