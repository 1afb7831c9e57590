"""Move the machine's clock back and ahead under load: nothing is lost, and no figure is below zero."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.faults.household import House
from tests.faults.ledger import LogReader
from tests.faults.load import get
from tests.faults.outcome import Outcome
from tests.faults.program import Server
from tests.faults.trial import Trial

LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1")
JUMPS = ("-2h", "-3d", "+0s", "-40s", "+2d", "-1d", "+0s")
"""Against the real time, one after the other; the last one brings it back."""
CAPTURES = (20, 60)
_ROWS = "/v1/score_v3/realtime/sub-sessions"


def clock_back(trial: Trial) -> None:
    """Each time, all jumps in a row in one life of a server."""
    library = faketime()
    if library is None:
        trial.outcome.left_out = "libfaketime is not installed (apt install faketime)"
        return
    trial.each("clock", lambda house, chance: _one(house, library, chance, trial.outcome))


def faketime() -> Path | None:
    """Where the library lies that tells a program another time; None where there is none."""
    found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern.lstrip("/"))]
    return found[0] if found else None


def shifted(library: Path, file: Path) -> dict[str, str]:
    """The environment of a program to whom a file tells how far its clock is off."""
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _one(house: House, library: Path, chance: random.Random, outcome: Outcome) -> None:
    told = house.var.with_name("clock")
    told.write_text("+0s\n")
    server = house.program.serve(house.var, more=shifted(library, told))
    for jump in JUMPS:
        told.write_text(f"{jump}\n")
        house.load.resume(server)
        house.load.wait_for(chance.randint(*CAPTURES))
        house.load.pause()
        house.look(outcome, f"{house.var}, {jump}")
        _sane(house, server, f"{house.var}, {jump}", outcome)
        outcome.tried += 1
    reader = LogReader(house.var)
    reader.read_on()
    back = sum(later < earlier for earlier, later in pairwise(reader.times_us))
    outcome.count("steps back in the log", back)
    outcome.check(back >= 3, f"{house.var}: the clock did not go back")
    house.settle(server, outcome, f"{house.var}")
    outcome.check(server.stop() == 0, f"{house.var}: the server does not stop in order")


def _sane(house: House, server: Server, where: str, outcome: Outcome) -> None:
    """Reads are answered; no figure is below nothing, and nothing ends before it begins."""
    for owner in house.owners:
        for path in ("/v1/score_v3/score", "/v1/score_v3/today-summary", _ROWS, "/v1/score_v3/task-time"):
            status, body = get(server.api, path, owner)
            outcome.check(status in (200, 503), f"{where}: {path} is answered {status}: {body[:200]!r}")
            if status == 200:
                outcome.count("reads looked at")
                outcome.deviations += [f"{where}: {path}: {flaw}" for flaw in _flaws(json.loads(body))]


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
