"""A store that cannot be written for a while, and views that are damaged: captures answer 503, and reads answer or are
503. When the disk works again, everything goes on without a restart."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from tests.faults.house import House, Trial
from tests.support.driver import BROKEN, once, until
from tests.support.process import Server, log_tail, processes_of

Illness = Callable[[Path], AbstractContextManager[None]]  # what a folder suffers from until the end of a block
DISK_MIB = 96  # the folder takes some, and so does a proof, which builds the views twice
CAPTURES = (20, 100)
REFUSED_SECONDS = 300.0  # nobody fails by being slow: so long until a capture must have been refused, or taken again
ILL_SECONDS = (0.5, 4.0)
_ALLOWED = {"200", "201", "204", "503", "broken off"}
_WRITES, _SYNCS = "write,pwrite64,ftruncate,fallocate", "fsync,fdatasync"


def full_disk(trial: Trial) -> None:
    for number in range(trial.times):
        name = f"full-{number}"
        with _small_disk(trial.folder / name) as refused:
            if refused:
                trial.outcome.left_out = f"this takes the right to mount; try `unshare -rm` before it ({refused})"
                return
            fills = partial(_ill, illness=lambda var: _filled(var.parent), room=True)
            trial.once(name, fills)


def read_only(trial: Trial) -> None:
    _injected(trial, "read-only", _WRITES, "EROFS")


def no_sync(trial: Trial) -> None:
    _injected(trial, "no-sync", _SYNCS, "EIO")


def _injected(trial: Trial, name: str, calls: str, error: str) -> None:
    if shutil.which("strace") is None:
        trial.outcome.left_out = "strace is not installed"
        return
    trial.each(name, lambda house, chance: _ill(house, chance, lambda var: failing(var, calls, error), False))


def _ill(house: House, chance: random.Random, illness: Illness, room: bool) -> None:
    """Ill twice in one life of a server. `room`: what is small may still be stored meanwhile, and so acknowledged."""
    server = house.serve()
    for _ in range(2):
        _ill_once(house, server, chance, illness, room)
    house.load.pause()
    house.settle(server)
    house.outcome.tried += 1


def _ill_once(house: House, server: Server, chance: random.Random, illness: Illness, room: bool) -> None:
    load = house.load
    load.resume(server)
    load.wait_for(chance.randint(*CAPTURES))
    with illness(house.var):
        house.check(_until(server, lambda: load.statuses["503"] > 0), "no capture was refused")
        _health(house, server, 503)
        before = load.acknowledged
        try:
            status = house.get(server, "/v1/score_v3/score").status
            house.check(status in (200, 503), f"a read is answered {status}")
            house.outcome.count(f"reads answered {status} meanwhile")
        except BROKEN as error:
            house.check(False, f"a read breaks off: {error}")
        time.sleep(chance.uniform(*ILL_SECONDS))
        taken = load.acknowledged - before
        house.check(room or not taken, f"{taken} captures were acknowledged and cannot be stored")
    before = load.acknowledged
    house.check(_until(server, lambda: load.acknowledged > before), "no capture is taken any more")
    _health(house, server, 200)
    house.check(server.process.poll() is None, f"the server has ended: {log_tail(house.var)}")
    house.check(house.wait_level(server), "the views do not become level")
    house.outcome.count("captures answered 503", load.statuses.pop("503", 0))
    other = set(load.statuses) - _ALLOWED
    house.check(not other, f"answers {other}")


def _health(house: House, server: Server, status: int) -> None:
    for name, port in (("intake", server.intake_port), ("API", server.api_port)):
        said = _until(server, lambda port=port: once(port, "GET", "/health").status == status)  # type: ignore[misc]
        house.check(said, f"/health of the {name} does not become {status}")


def _until(server: Server, holds: Callable[[], bool]) -> bool:
    """Whether it held once: on a full disk what is small is stored, so another look may see otherwise."""
    held = False

    def seen() -> bool:
        nonlocal held
        held = holds()
        return held or server.process.poll() is not None

    until(seen, REFUSED_SECONDS)
    return held


@contextmanager
def failing(var: Path, calls: str, error: str) -> Iterator[None]:
    """Some system calls of all that works on a folder fail, on its files only, until the end of the block."""
    processes = [option for each in processes_of(var) for option in ("-p", str(each.pid))]
    databases = [f"{path}{suffix}" for path in var.iterdir() if path.suffix == ".db" for suffix in ("", "-wal")]
    files = [option for path in (var, *databases) for option in ("-P", str(path))]
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


@contextmanager
def _small_disk(place: Path) -> Iterator[str]:
    """A small file system in memory, until the end of the block; or why this machine does not allow it."""
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "svc-faults", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    try:
        yield done.stderr.strip() if done.returncode else ""
    finally:
        if not done.returncode:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def _filled(disk: Path) -> Iterator[None]:
    """No byte is left on a disk, however much is given free meanwhile."""
    filler = disk / "filler"
    try:
        with filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue
        yield
    finally:
        filler.unlink(missing_ok=True)


CAPTURES = (40, 100)
PAGE_BYTES = 4096
READS = (
    *(f"/v1/score_v3/{name}" for name in ("today-summary", "score", "realtime/sub-sessions", "prompts/top", "skill")),
    *("/v1/score_v3/tokens?window=daily", "/v1/telemetry/stats?from=2000-01-01", "/v1/telemetry/logs"),
)


def damaged_views(trial: Trial) -> None:
    """Each kind of damage so many times, while nobody serves and while somebody does."""
    trial.each("views", _damages)


def _damages(house: House, chance: random.Random) -> None:
    server = house.serve()
    for name, damage in AT_A_START:
        house.worked(server, chance.randint(*CAPTURES))
        server.kill()
        house.wait_gone()
        damage(house.var, chance)
        server = house.serve()
        _served_again(house, server, f"{name}, at a start")
    house.worked(server, chance.randint(*CAPTURES))
    _pages(house.var, chance)
    house.worked(server, chance.randint(*CAPTURES))
    _served_again(house, server, "pages, while running")
    house.settle(server)


def _served_again(house: House, server: Server, where: str) -> None:
    """Every read is answered before long, and until then refused in order."""
    for path in READS:
        found = until(partial(_answered, house, server, path, where))
        house.check(found, f"{where}: {path} is never answered again")
    house.look(where)
    house.outcome.tried += 1


def _answered(house: House, server: Server, path: str, where: str) -> bool:
    answer = house.get(server, path)
    if answer.status != 200:
        house.check(answer.status == 503, f"{where}: {path} is answered {answer.status}: {answer.body[:200]!r}")
        house.outcome.count("reads answered 503 meanwhile")
    return answer.status == 200


def _views(var: Path) -> Path:
    return var / (var / "views.current").read_text().strip()


def _overwrite(path: Path, offset: int, end: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(end - offset))


def _pages(var: Path, _chance: random.Random) -> None:
    """All but the first page, which is all that an opening looks at."""
    path = _views(var)
    _overwrite(path, PAGE_BYTES, path.stat().st_size)


def _log_ahead(var: Path, chance: random.Random) -> None:
    path = Path(f"{_views(var)}-wal")
    if path.exists() and path.stat().st_size:
        _overwrite(path, chance.randrange(path.stat().st_size), path.stat().st_size)


AT_A_START: tuple[tuple[str, Callable[[Path, random.Random], object]], ...] = (
    ("pages", _pages),
    ("the header", lambda var, _chance: _overwrite(_views(var), 0, 100)),
    ("cut short", lambda var, chance: os.truncate(_views(var), chance.randrange(1, _views(var).stat().st_size))),
    ("deleted", lambda var, _chance: [*map(Path.unlink, var.glob("views-*"))]),
    ("the pointer", lambda var, _chance: (var / "views.current").write_bytes(os.urandom(20))),
    ("the write-ahead log", _log_ahead),
)
