"""Building views anew from the first event of the log, beside the ones that serve."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import structlog
import trio

from aggregates.event import Mendable
from aggregates.telemetry.envelope import without_rest
from projections.facts.facts import GiveWay
from projections.reader import declared
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.process import Place, program
from svc.views.projector import BuildProgress, Pace, Projector
from svc.views.views import (
    LEAP_BATCH_EVENTS,
    RULES_VERSION,
    ViewsWriter,
    new_file,
    open_writer,
    remove,
    rules_of,
    taking_readings,
)
from svc_http.ports import ReplayStatus

MEND_PAUSE_SECONDS = 3_600.0  # between two builds by itself of damaged views: that mends no disk

log = structlog.get_logger()
Progress = Callable[[int, int], None]  # called with the events applied so far, and the events there are


class BuildStep(msgspec.Struct, frozen=True):
    done: int  # events applied
    of: int  # events there are
    digests: dict[str, str] = {}  # of the tables; in the last line


async def digests_of_child(var: Path, *, batch_events: int, up_to: int, hash_seed: str) -> dict[str, str]:
    """The tables as another process builds them, by `svc build-views`. Raises `Mendable`."""
    command = [*program(), "build-views", "--var", str(var)]
    command += ["--batch-events", str(batch_events), "--up-to", str(up_to)]
    told = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = await trio.run_process(command, capture_stdout=True, env=told, check=False)
    if done.returncode:
        raise Mendable(f"a build stopped with exit code {done.returncode}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=BuildStep).digests


def built_digests(
    place: Place, progress: Progress, *, batch_events: int, up_to: int, give_way: GiveWay = without_rest
) -> dict[str, str]:
    with closing(open_log(place)) as store, nameless(place.var) as db:
        ViewsWriter(db, store, give_way).fill(progress, batch_events, up_to)
        return digests(db)


async def build_in_thread(at: Place | Path, path: Path, progress: Progress, give_way: GiveWay = without_rest) -> None:
    """Build a views file from a log; it stops at once when this is cancelled."""

    def give_way_or_stop() -> None:
        trio.from_thread.check_cancelled()
        give_way()

    def work() -> None:
        with closing(open_log(at)) as store, taking_readings(path, store):
            build(path, store, progress, give_way=give_way_or_stop)

    await trio.to_thread.run_sync(work)


def build(
    path: Path,
    store: EventStore,
    progress: Progress,
    *,
    batch_events: int = LEAP_BATCH_EVENTS,
    give_way: GiveWay = without_rest,
) -> None:
    remove(path)  # what is left of a build that was broken off may be torn
    with closing(_opened(path)) as db:
        ViewsWriter(db, store, give_way).fill(progress, batch_events)
        db.execute("PRAGMA journal_mode=WAL")


@contextmanager
def nameless(folder: Path) -> Iterator[sqlite3.Connection]:
    """Empty views on a folder's disk that have no name there: they go with their process, however that ends."""
    with TemporaryDirectory(dir=folder, prefix="build-") as made:
        db = _opened(Path(made, "views.db"))
    with closing(db):
        yield db


def _opened(path: Path) -> sqlite3.Connection:
    db = open_writer(path)
    db.execute("PRAGMA cache_size=-32768")  # it writes everywhere; what follows the log needs half of it
    # Nobody reads this before it is finished: a crash may leave it torn.
    for pragma in ("journal_mode=MEMORY", "locking_mode=EXCLUSIVE", "synchronous=OFF", "secure_delete=OFF"):
        db.execute(f"PRAGMA {pragma}")
    return db


def digests(db: sqlite3.Connection) -> dict[str, str]:
    """SHA-256 over every table in the order of its primary key: equal digests, equal tables."""
    found = {}
    for name, table in declared().items():
        digest = hashlib.sha256()
        for row in db.execute(f"SELECT * FROM {name} ORDER BY {', '.join(table.keys)}"):
            digest.update(repr(row).encode() + b"\n")
        found[name] = digest.hexdigest()
    return found


class Rebuilding:
    """Makes at most one build at a time and exchanges the views when it is done."""

    def __init__(self, place: Place, projector: Projector, journal: Journal) -> None:
        self._place, self._projector, self._journal = place, projector, journal
        self._nursery: trio.Nursery | None = None
        self._ended = trio.Event()
        self._ended.set()
        self._mends_again = 0.0
        self.status = ReplayStatus()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the builds until cancelled; the file of a build under way is left behind."""
        try:
            async with trio.open_nursery() as self._nursery:
                task_status.started()
                if rules_of(self._projector.readers.path) != RULES_VERSION:
                    log.warning("the views are built anew by other rules; until then the old figures are served")
                    self.start()
                await trio.sleep_forever()
        finally:
            self._nursery = None

    def shown(self) -> ReplayStatus:
        """Of the build that runs, or of the last one; before, of the tables that serve, until they are level."""
        return self.status if self._projector.is_level else self._projector.status()

    def start(self) -> ReplayStatus:
        """Begin a replay, or join the one that runs."""
        if self.status.state != "running":
            assert self._nursery is not None, "a replay is started only while the service runs"
            self._nursery.start_soon(self._replay, new_file(self._place.var))
            self.status = ReplayStatus(state="running")
            self._ended = trio.Event()
        return self.status

    def mend(self, flaw: str) -> None:
        """Build damaged views anew, at most once in a while; `flaw` says what is damaged."""
        now = trio.current_time()
        if self._nursery is None or self.status.state == "running" or now < self._mends_again:
            return
        self._mends_again = now + MEND_PAUSE_SECONDS
        log.error("the views are damaged and are built anew from the log", flaw=flaw)
        self.start()

    async def anew(self) -> None:
        """Wait for the replay that runs, then run another one. Raises `Mendable`."""
        await self._ended.wait()
        self.start()
        while self.status.state == "running":
            await self._ended.wait()
        if self.status.state == "failed":
            raise Mendable("the views could not be built anew; the log says why")

    async def _replay(self, path: Path) -> None:
        built = BuildProgress()

        def report(done: int, of: int) -> None:
            self.status = built.status(done, of)

        # Captures, and readers of the views that serve, go before the new ones.
        pace = Pace(lambda: self._journal.busy or bool(self._projector.waiting))
        try:
            await build_in_thread(self._place, path, report, give_way=pace)
            await self._projector.exchange(path)
        except Exception:  # of the build, or of a full disk
            log.exception("a replay failed; the old views go on serving")
            self.status = ReplayStatus(state="failed", message="the build stopped; see the server's log")
            with suppress(OSError):  # the next start removes it
                if path != self._projector.readers.path:
                    remove(path)
        else:
            self.status = msgspec.structs.replace(self.status, state="completed")
        finally:
            self._ended.set()
