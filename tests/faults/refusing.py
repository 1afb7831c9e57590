"""A store that cannot be written for a while: a full disk, a read-only disk, failing syncs.

Captures then answer 503, the health checks say so, and reads answer or are 503. When the disk works again, everything
goes on without a restart.
"""

import http.client
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.faults.folders import NotHere, filled, small_disk
from tests.faults.household import House, wait_level
from tests.faults.load import get
from tests.faults.outcome import Outcome
from tests.faults.program import Server, log_tail, processes_of
from tests.faults.trial import Trial

Illness = Callable[[Path], AbstractContextManager[None]]
"""What a folder suffers from until the end of a block."""
DISK_MIB = 96
"""The folder takes some, and so does a proof, which builds the views twice."""
CAPTURES = (20, 100)
REFUSED_SECONDS = 300.0
"""Nobody fails by being slow: so long until a capture must have been refused, or taken again."""
ILL_SECONDS = (0.5, 4.0)
_POLL_SECONDS = 0.05
_ALLOWED = {"200", "201", "204", "503", "broken off"}
_WRITES = "write,pwrite64,ftruncate,fallocate"
_SYNCS = "fsync,fdatasync"


def full_disk(trial: Trial) -> None:
    """A small file system that fills up and is emptied."""
    for number in range(trial.times):
        name = f"full-{number}"
        try:
            with small_disk(trial.folder / name, DISK_MIB) as disk:
                _once(trial, name, lambda _var, disk=disk: filled(disk), disk)  # type: ignore[misc]
        except NotHere as reason:
            trial.outcome.left_out = str(reason)
            return


def read_only(trial: Trial) -> None:
    """Every write to any file of the folder fails as on a file system that went read-only."""
    _injected(trial, "read-only", _WRITES, "EROFS")


def no_sync(trial: Trial) -> None:
    """Every sync fails, as on a disk that is dying."""
    _injected(trial, "no-sync", _SYNCS, "EIO")


def _injected(trial: Trial, name: str, calls: str, error: str) -> None:
    if shutil.which("strace") is None:
        trial.outcome.left_out = "strace is not installed"
        return
    for number in range(trial.times):
        _once(trial, f"{name}-{number}", lambda var: failing(var, calls, error))


def _once(trial: Trial, name: str, illness: Illness, place: Path | None = None) -> None:
    """Ill twice in one life of a server."""
    chance = trial.chance(name)
    with trial.house(name, place=place) as house:
        server = house.serve()
        for _ in range(2):
            _ill_once(house, server, chance, illness, trial.outcome, room=place is not None)
        house.load.pause()
        house.settle(server, trial.outcome, name)
        trial.outcome.check(server.stop() == 0, f"{name}: the server does not stop in order")
    trial.outcome.tried += 1
    trial.done()


def _ill_once(
    house: House, server: Server, chance: random.Random, illness: Illness, outcome: Outcome, *, room: bool
) -> None:
    """`room`: what is small may still be stored meanwhile, and so acknowledged."""
    house.load.resume(server)
    house.load.wait_for(chance.randint(*CAPTURES))
    with illness(house.var):
        outcome.check(_until(server, lambda: _refused(house)), f"{house.var}: no capture was refused")
        _health(house, server, 503, outcome)
        before = house.load.acknowledged
        _read(house, server, outcome)
        time.sleep(chance.uniform(*ILL_SECONDS))
        taken = house.load.acknowledged - before
        outcome.check(room or not taken, f"{house.var}: {taken} captures were acknowledged and cannot be stored")
    before = house.load.acknowledged
    again = _until(server, lambda: house.load.acknowledged > before)
    outcome.check(again, f"{house.var}: no capture is taken any more")
    _health(house, server, 200, outcome)
    outcome.check(server.process.poll() is None, f"{house.var}: the server has ended: {log_tail(house.var)}")
    outcome.check(wait_level(server, house.owners), f"{house.var}: the views do not become level")
    outcome.count("captures answered 503", house.load.statuses.pop("503", 0))
    other = set(house.load.statuses) - _ALLOWED
    outcome.check(not other, f"{house.var}: answers {other}")


def _health(house: House, server: Server, status: int, outcome: Outcome) -> None:
    """Both listeners say so before long."""
    for name, port in (("intake", server.intake), ("API", server.api)):
        said = _until(server, lambda port=port: get(port, "/health", house.owners[0])[0] == status)  # type: ignore[misc]
        outcome.check(said, f"{house.var}: /health of the {name} does not become {status}")


def _refused(house: House) -> bool:
    return house.load.statuses["503"] > 0


def _read(house: House, server: Server, outcome: Outcome) -> None:
    """A read is answered, or refused in order."""
    try:
        status = get(server.api, "/v1/score_v3/score", house.owners[0])[0]
    except (OSError, http.client.HTTPException) as error:
        status = 0
        outcome.deviations.append(f"{house.var}: a read breaks off: {error}")
    outcome.check(status in (0, 200, 503), f"{house.var}: a read is answered {status}")
    outcome.count(f"reads answered {status} meanwhile")


def _until(server: Server, holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + REFUSED_SECONDS
    while not holds():
        if time.monotonic() > end or server.process.poll() is not None:
            return False
        time.sleep(_POLL_SECONDS)
    return True


@contextmanager
def failing(var: Path, calls: str, error: str) -> Iterator[None]:
    """Some system calls of all that works on a folder fail, on its files only, until the end of the block."""
    processes = [option for each in processes_of(var) for option in ("-p", str(each.pid))]
    files = [option for path in (var, *_databases(var)) for option in ("-P", str(path))]
    inject = ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}"]
    command = ["strace", "-f", "-o", "/dev/null", *processes, *files, *inject]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert tracer.stderr is not None
    try:
        tracer.stderr.readline()  # "Process … attached"
        yield
    finally:
        tracer.send_signal(signal.SIGINT)  # it lets go of them, and they go on
        tracer.wait()


def _databases(var: Path) -> list[Path]:
    names = [path for path in var.iterdir() if path.suffix == ".db"]
    return [path.with_name(path.name + suffix) for path in names for suffix in ("", "-wal")]
