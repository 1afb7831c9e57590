"""Cut the power: a server is traced while it takes a load. From the trace the files are built as the disk may have held
them at some moment. What was acknowledged before that moment must be there."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.faults.disk import Call, Disk, calls_in, differences, strace
from tests.faults.house import House, Trial
from tests.faults.load import NEVER, LogReader

LIFE_CAPTURES = (30, 120)
CUTS = 8  # moments of one trace at which the power is cut
SECTOR_BYTES = (512, 4096)
SURVIVAL = (0.0, 0.5, 0.9)
"""How likely a sector that was not synced got to the disk; 0: nothing did, which is the strictest reading."""
_SYNCS = ("fsync", "fdatasync")


def power_cuts(trial: Trial) -> None:
    """So many traces, and from each some images of a disk."""
    if shutil.which("strace") is None:
        trial.outcome.left_out = "strace is not installed"
        return
    trial.each("power", _one)


def _one(house: House, chance: random.Random) -> None:
    before, *traces = (house.var.with_name(name) for name in ("before", "trace", "trace-of-command"))
    shutil.copytree(house.var, before)
    _lives(house, traces[0], traces[1], chance)
    calls = sorted((call for each in traces for call in calls_in(each, house.var)), key=lambda call: call.ended)
    house.outcome.count("writes", sum(call.name in ("write", "pwrite64") for call in calls))
    house.outcome.count("syncs", sum(call.name in _SYNCS for call in calls))
    _model_holds(house, before, calls)
    for number in range(CUTS):
        moment = _moment(house, calls, chance)
        copy = house.var.with_name(f"cut-{number}") / "var"
        disk = _disk_at(house, before, calls, moment)
        disk.image(copy, chance, chance.choice(SURVIVAL), chance.choice(SECTOR_BYTES))
        _start_on(house, copy, moment)
        house.outcome.tried += 1


def _lives(house: House, trace: Path, beside: Path, chance: random.Random) -> None:
    """Two lives of a server under strace, and an exchange of its views in the second. The command beside it is traced,
    too: it opens the log, and that writes a page."""
    for exchanged in (False, True):
        server = house.serve(around=strace(trace))
        house.load.resume(server)
        house.load.wait_for(chance.randint(*LIFE_CAPTURES))
        if exchanged:
            house.program.run("replay", "--var", house.var, around=strace(beside))
            house.load.wait_for(chance.randint(*LIFE_CAPTURES))
        server.kill()
        house.load.pause()
        house.wait_gone()


def _disk_at(house: House, before: Path, calls: Sequence[Call], moment: float) -> Disk:
    """The disk as it may be at some moment: what had ended by then, and changes that were under way."""
    disk = Disk(before, house.var)
    disk.take(call for call in calls if call.ended <= moment or (call.begun <= moment and call.name not in _SYNCS))
    return disk


def _model_holds(house: House, before: Path, calls: Sequence[Call]) -> None:
    """With nothing lost the image is what really lies there: so the trace was understood, all of it."""
    whole = house.var.with_name("whole")
    finished = [call for call in calls if not call.interrupted]
    _disk_at(house, before, finished, NEVER).image(whole, random.Random(0), survival=1.0, sector_bytes=4096)
    house.flawless([f"the model of the disk is wrong about {name}" for name in differences(house.var, whole)], "model")


def _moment(house: House, calls: Sequence[Call], chance: random.Random) -> float:
    """Right after a client heard that its capture is stored, or between any two calls."""
    if chance.random() < 0.5:
        return chance.choice(house.load.ledger.acknowledged()).acknowledged_at
    return chance.choice(calls).begun


def _start_on(house: House, copy: Path, moment: float) -> None:
    """A server starts on the image: it holds what was acknowledged, and nothing that was not sent."""
    with house.program.serving(copy) as server:
        found = house.load.ledger.compare(LogReader(copy).read_on(), by=moment)
        house.outcome.count("acknowledged", found.acknowledged)
        house.outcome.count("found, each once", found.found)
        house.flawless(found.flaws, str(copy.parent))
        house.check(house.wait_level(server), f"{copy.parent}: the views do not become level")
        house.stops(server)
    house.verify(copy, "after a cut")
