"""Cut the power: start the server on a disk without the unsynced writes.

A server is traced while it takes a load, is killed, starts again and exchanges its views. From the trace the files are
built as the disk may have held them at some moment. What was acknowledged before that moment must be there.
"""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.faults.captures import NEVER
from tests.faults.disk import Disk, differences
from tests.faults.household import House, verify, wait_gone, wait_level
from tests.faults.ledger import LogReader
from tests.faults.outcome import Outcome
from tests.faults.tracing import Call, calls_in, strace
from tests.faults.trial import Trial

LIFE_CAPTURES = (30, 120)
CUTS = 8
"""Moments of one trace at which the power is cut."""
SECTOR_BYTES = (512, 4096)
SURVIVAL = (0.0, 0.5, 0.9)
"""How likely a sector that was not synced got to the disk; 0: nothing did, which is the strictest reading."""


def power_cuts(trial: Trial) -> None:
    """So many traces, and from each some images of a disk."""
    if shutil.which("strace") is None:
        trial.outcome.left_out = "strace is not installed"
        return
    trial.each("power", lambda house, chance: _one(house, chance, trial.outcome))


def _one(house: House, chance: random.Random, outcome: Outcome) -> None:
    before, trace = house.var.with_name("before"), house.var.with_name("trace")
    shutil.copytree(house.var, before)
    _lives(house, trace, chance)
    calls = sorted(
        (call for each in (trace, _beside(trace)) for call in calls_in(each, house.var)), key=lambda call: call.ended
    )
    outcome.count("writes", sum(call.name in ("write", "pwrite64") for call in calls))
    outcome.count("syncs", sum(call.name in ("fsync", "fdatasync") for call in calls))
    _model_holds(house, before, calls, outcome)
    for number in range(CUTS):
        moment = _moment(house, calls, chance)
        disk = _disk_at(house, before, calls, moment)
        copy = house.var.with_name(f"cut-{number}") / "var"
        disk.image(copy, chance, chance.choice(SURVIVAL), chance.choice(SECTOR_BYTES))
        _start_on(house, copy, moment, outcome)
        outcome.tried += 1


def _lives(house: House, trace: Path, chance: random.Random) -> None:
    """Two lives of a server under strace, and an exchange of its views in the second."""
    for exchanged in (False, True):
        server = house.program.serve(house.var, around=strace(trace))
        house.load.resume(server)
        house.load.wait_for(chance.randint(*LIFE_CAPTURES))
        if exchanged:
            house.program.run(house.var, "replay", around=strace(_beside(trace)))
            house.load.wait_for(chance.randint(*LIFE_CAPTURES))
        server.kill()
        house.load.pause()
        wait_gone(house.var)


def _beside(trace: Path) -> Path:
    """Of the command that runs beside the server: it opens the log, and that writes a page."""
    return trace.with_name("trace-of-command")


def _disk_at(house: House, before: Path, calls: Sequence[Call], moment: float) -> Disk:
    """The disk as it may be at some moment: what had ended by then, and changes that were under way."""
    disk = Disk(before, house.var)
    syncs = ("fsync", "fdatasync")
    disk.take(call for call in calls if call.ended <= moment or (call.begun <= moment and call.name not in syncs))
    return disk


def _model_holds(house: House, before: Path, calls: Sequence[Call], outcome: Outcome) -> None:
    """With nothing lost the image is what really lies there: so the trace was understood, all of it."""
    whole = house.var.with_name("whole")
    _disk_at(house, before, [call for call in calls if not call.interrupted], NEVER).image(
        whole, random.Random(0), survival=1.0, sector_bytes=4096
    )
    outcome.deviations += [f"the model of the disk is wrong about {name}" for name in differences(house.var, whole)]


def _moment(house: House, calls: Sequence[Call], chance: random.Random) -> float:
    """Right after a client heard that its capture is stored, or between any two calls."""
    if chance.random() < 0.5:
        return chance.choice(house.load.ledger.acknowledged()).acknowledged_at
    return chance.choice(calls).begun


def _start_on(house: House, copy: Path, moment: float, outcome: Outcome) -> None:
    """A server starts on the image: it holds what was acknowledged, and nothing that was not sent."""
    where = f"{copy.parent}"
    server = house.program.serve(copy)
    try:
        found = house.load.ledger.compare(LogReader(copy).read_on(), by=moment)
        outcome.count("acknowledged", found.acknowledged)
        outcome.count("found, each once", found.found)
        outcome.deviations += [f"{where}: {flaw}" for flaw in found.flaws]
        outcome.check(wait_level(server, house.owners), f"{where}: the views do not become level")
        outcome.check(server.stop() == 0, f"{where}: the server does not stop in order")
    finally:
        server.end()
    verify(house.program, copy, outcome, where)
