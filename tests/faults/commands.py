"""kill -9 in the middle of a command: started again, it completes, and nothing is lost."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from svc.log.sqlite import EVENTS_FILE
from tests.faults.clock import faketime, shifted
from tests.faults.household import House, verify, wait_gone
from tests.faults.ledger import LogReader
from tests.faults.outcome import Outcome
from tests.faults.program import NO_MORE, environment
from tests.faults.trial import Trial

CAPTURES = (150, 300)
KILLS = 3
"""How often in a row each is killed before it may complete."""
LATER = "+3d"


def killed_commands(trial: Trial) -> None:
    """Each command so many times."""
    trial.each("commands", lambda house, chance: _all(house, chance, trial.outcome), ("Kim", "Lee"))


def _all(house: House, chance: random.Random, outcome: Outcome) -> None:
    _fill(house, chance)
    for name, work in (
        ("replay", _replay),
        ("backup and restore", _backup),
        ("replay in a server", _replay_in_server),
        ("retention", _retention),
        ("forget", _forget),
    ):
        outcome.tried += work(house, chance, outcome)
        outcome.count(name)
    server = house.serve()
    house.settle(server, outcome, f"{house.var}")
    outcome.check(server.stop() == 0, f"{house.var}: the server does not stop in order")


def _fill(house: House, chance: random.Random) -> None:
    server = house.serve()
    house.load.resume(server)
    house.load.wait_for(chance.randint(*CAPTURES))
    house.load.pause()
    server.stop()


def _replay(house: House, chance: random.Random, outcome: Outcome) -> int:
    """Beside no server."""
    seconds = _timed(house, "replay")
    killed = sum(_killed(house, chance, seconds, "replay") for _ in range(KILLS))
    _completes(house, outcome, "replay")
    verify(house.program, house.var, outcome, f"{house.var}, replay")
    return killed


def _backup(house: House, chance: random.Random, outcome: Outcome) -> int:
    """Of a folder whose server takes a load; a backup that has its name is whole, and holds all from before it."""
    target = house.var.with_name("backup.tar")
    server = house.serve()
    house.load.resume(server)
    killed = 0
    for _ in range(KILLS):
        before = time.time()
        killed += _killed(house, chance, 1.5, "backup", str(target))
        if target.exists():
            outcome.count("backups complete before the blow")
            _restored(house, target, before, outcome)
            target.unlink()
    before = time.time()
    _completes(house, outcome, "backup", str(target))
    house.load.pause()
    server.stop()
    return killed + _restored(house, target, before, outcome, chance=chance)


def _restored(
    house: House, target: Path, before: float, outcome: Outcome, *, chance: random.Random | None = None
) -> int:
    """Restore a backup into a new folder, killed on the way where a chance is given; how often it was.

    `before`: when the backup was begun; it holds all that was acknowledged by then.
    """
    copy = house.var.with_name("restored")
    shutil.rmtree(copy, ignore_errors=True)
    killed = 0
    if chance is not None:
        killed = sum(_killed(house, chance, 1.2, "restore", str(target), var=copy) for _ in range(KILLS))
        finished = (copy / EVENTS_FILE).exists() and not (copy / "restoring").exists()
        if finished:  # before the blow
            shutil.rmtree(copy)
    _completes(house, outcome, "restore", str(target), var=copy)
    found = house.load.ledger.compare(LogReader(copy).read_on(), by=before)
    outcome.deviations += [f"{copy}: {flaw}" for flaw in found.flaws]
    verify(house.program, copy, outcome, f"{copy}")
    return killed


def _replay_in_server(house: House, chance: random.Random, outcome: Outcome) -> int:
    """The server dies with it."""
    server = house.serve()
    seconds = _timed(house, "replay")
    for _ in range(KILLS):
        command = _begun(house, house.var, "replay")
        time.sleep(chance.uniform(0, seconds))
        server.kill()
        command.wait()
        server = house.serve()
    _completes(house, outcome, "replay")
    left = [path.name for path in house.var.glob("views-*.db")]
    outcome.check(len(left) == 1, f"{house.var}: after a replay there are {left}")
    verify(house.program, house.var, outcome, f"{house.var}, replay in a server")
    server.stop()
    return KILLS


def _retention(house: House, chance: random.Random, outcome: Outcome) -> int:
    """Three days later, where the clock can be told so: no text is left, and every fact is."""
    library, told = faketime(), house.var.with_name("clock")
    if library is None:
        return 0
    told.write_text(f"{LATER}\n")
    later = shifted(library, told)
    house.program.run(house.var, "org", "set", "--retention-days-text", "1")
    before = _texts(house)
    killed = sum(_killed(house, chance, 4.0, "retention", more=later) for _ in range(KILLS))
    outcome.count("texts when it was killed", _texts(house))
    _completes(house, outcome, "retention", more=later)
    outcome.check(before > 0 and _texts(house) == 0, f"{house.var}: of {before} old texts {_texts(house)} are left")
    outcome.count("texts taken away", before - _texts(house))
    house.program.run(house.var, "org", "set", "--retention-days-text", "forever")
    house.look(outcome, f"{house.var}, retention")
    verify(house.program, house.var, outcome, f"{house.var}, retention")
    return killed


def _forget(house: House, chance: random.Random, outcome: Outcome) -> int:
    """The server that carries it out dies, again and again; the order stands."""
    leaver = house.owners.pop()
    key = house.var / "keys" / f"{leaver.developer_id}.key"
    outcome.check(key.exists(), f"{house.var}: who is to be forgotten has no key")
    server = house.serve()
    for number in range(KILLS):
        command = _begun(house, house.var, "forget", "--yes", leaver.developer_id) if number == 0 else None
        time.sleep(chance.uniform(0.2, 4.0))
        server.kill()
        if command is not None:
            command.wait()
        wait_gone(house.var)
        server = house.serve()
    _completes(house, outcome, "forget", "--yes", leaver.developer_id)
    outcome.check(not key.exists(), f"{house.var}: the key of who was forgotten is there")
    house.look(outcome, f"{house.var}, forget")
    verify(house.program, house.var, outcome, f"{house.var}, forget")
    server.stop()
    return KILLS


def _texts(house: House) -> int:
    reader = LogReader(house.var)
    reader.read_on()
    return reader.texts


def _begun(house: House, var: Path, *arguments: str, more: Mapping[str, str] = NO_MORE) -> subprocess.Popen[bytes]:
    command = [*house.program.command, *arguments, "--var", str(var)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment(**more), start_new_session=True)


def _killed(
    house: House,
    chance: random.Random,
    seconds: float,
    *arguments: str,
    var: Path | None = None,
    more: Mapping[str, str] = NO_MORE,
) -> bool:
    """Begin a command and kill it with all its children; whether it was not over by then."""
    command = _begun(house, var or house.var, *arguments, more=more)
    time.sleep(chance.uniform(0, seconds))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(command.pid, signal.SIGKILL)
    return command.wait() < 0


def _completes(
    house: House, outcome: Outcome, *arguments: str, var: Path | None = None, more: Mapping[str, str] = NO_MORE
) -> None:
    done = house.program.run(var or house.var, *arguments, check=False, more=more)
    told = f"{var or house.var}: {arguments} ends with {done.returncode}: {done.stderr[-500:]}"
    outcome.check(done.returncode == 0, told)


def _timed(house: House, *arguments: str) -> float:
    """How long a command takes that nobody kills."""
    started = time.monotonic()
    house.program.run(house.var, *arguments)
    return time.monotonic() - started
