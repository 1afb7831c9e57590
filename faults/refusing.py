"""A store that cannot be written for a while: the disk is full, read-only, or does not sync.

Captures are answered 503 meanwhile, the health checks say so, and reads go on or are answered 503; when the disk is
well again, all goes on without a restart.
"""

import http.client
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from faults.folders import NotHere, filled, small_disk
from faults.household import House, household, wait_level
from faults.load import get
from faults.outcome import Outcome
from faults.program import NotReady, Program, Server, log_tail, processes_of

Done = Callable[[], None]
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


def full_disk(program: Program, folder: Path, times: int, seed: int, done: Done) -> Outcome:
    """A small file system that fills up and is emptied."""
    outcome = Outcome("disk full", "503, /health 503; with room again: goes on without a restart, nothing lost")
    for number in range(times):
        place = folder / f"full-{number}"
        with ExitStack() as stack:
            try:
                disk = stack.enter_context(small_disk(place, DISK_MIB))
            except NotHere as reason:
                outcome.left_out = str(reason)
                return outcome
            _once(program, disk, f"{seed}-full-{number}", lambda _house, disk=disk: filled(disk), outcome)  # type: ignore[misc]
        done()
    return outcome


def read_only(program: Program, folder: Path, times: int, seed: int, done: Done) -> Outcome:
    """Every write to any file of the folder fails as on a file system that went read-only."""
    outcome = Outcome("store read-only while running", "503, /health 503; writable again: goes on without a restart")
    return _injected(outcome, program, folder / "read-only", times, seed, _WRITES, "EROFS", done)


def no_sync(program: Program, folder: Path, times: int, seed: int, done: Done) -> Outcome:
    """Every sync fails, as on a disk that is dying."""
    outcome = Outcome("disk that cannot sync", "503, no capture acknowledged meanwhile; then goes on, nothing lost")
    return _injected(outcome, program, folder / "no-sync", times, seed, _SYNCS, "EIO", done)


def _injected(
    outcome: Outcome, program: Program, folder: Path, times: int, seed: int, calls: str, error: str, done: Done
) -> Outcome:
    if shutil.which("strace") is None:
        outcome.left_out = "strace is not installed"
        return outcome
    for number in range(times):
        _once(
            program, folder / str(number), f"{seed}-{error}-{number}",
            lambda house: failing(house.var, calls, error), outcome,
        )  # fmt: skip
        done()
    return outcome


def _once(
    program: Program,
    folder: Path,
    seed: str,
    illness: Callable[[House], AbstractContextManager[None]],
    outcome: Outcome,
) -> None:
    chance = random.Random(seed)
    with household(program, folder, seed) as house:
        try:
            server = house.serve()
            for _ in range(2):
                _ill_once(house, server, chance, illness, outcome)
            house.load.pause()
            house.settle(server, outcome, seed)
            outcome.check(server.stop() == 0, f"{seed}: the server does not stop in order")
        except (NotReady, OSError, RuntimeError) as error:
            outcome.deviations.append(f"{seed}: {type(error).__name__} {error}")
    outcome.tried += 1


def _ill_once(
    house: House,
    server: Server,
    chance: random.Random,
    illness: Callable[[House], AbstractContextManager[None]],
    outcome: Outcome,
) -> None:
    house.load.resume(server)
    house.load.wait_for(chance.randint(*CAPTURES))
    with illness(house):
        outcome.check(_until(server, lambda: _refused(house)), f"{house.var}: no capture was refused")
        for port in (server.intake, server.api):
            unwell = _until(server, lambda port=port: get(port, "/health", house.owners[0])[0] == 503)  # type: ignore[misc]
            outcome.check(unwell, f"{house.var}: /health stays well")
        _read(house, server, outcome)
        time.sleep(chance.uniform(*ILL_SECONDS))
    before = house.load.acknowledged
    outcome.check(
        _until(server, lambda: house.load.acknowledged > before), f"{house.var}: no capture is taken any more"
    )
    for port in (server.intake, server.api):
        well = _until(server, lambda port=port: get(port, "/health", house.owners[0])[0] == 200)  # type: ignore[misc]
        outcome.check(well, f"{house.var}: /health does not recover")
    outcome.check(server.process.poll() is None, f"{house.var}: the server has ended: {log_tail(house.var)}")
    outcome.check(wait_level(server, house.owners), f"{house.var}: the views do not become level")
    outcome.count("captures answered 503", house.load.statuses.pop("503", 0))
    other = set(house.load.statuses) - _ALLOWED
    outcome.check(not other, f"{house.var}: answers {other}")


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
