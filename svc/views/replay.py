"""Building views anew from the first event of the log, beside the ones that serve."""

import contextlib
import hashlib
import os
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import structlog
import trio

from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.schema import key_of, table_names
from svc.limits import KIB_BYTES, REPLAY_EVENTS_MAX
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.process import Place, program
from svc.views.projecting import step
from svc.views.projector import Pace, Projector
from svc.views.views import checked, new_file, open_writer, remove
from svc_http.ports import ReplayStatus

MEND_PAUSE_SECONDS = 3_600.0
"""Damaged views are built anew by the server itself at most this often: that mends no disk that damages them."""
CHILD_LINE_BYTES_MAX = 64 * KIB_BYTES  # what is kept of a child process's output while a line is not complete

Progress = Callable[[int, int], None]  # called with the events applied so far, and the events there are


class BuildStep(msgspec.Struct, frozen=True):
    """A line that a building process writes: events applied, and events there are."""

    done: int
    of: int


async def build_in_thread(
    at: Place | Path, path: Path, progress: Progress, *, up_to: int | None = None, give_way: GiveWay | None = None
) -> None:
    """Build a views file in a thread; it stops between two batches when this is cancelled."""

    def report(done: int, of: int) -> None:
        trio.from_thread.check_cancelled()
        progress(done, of)

    await trio.to_thread.run_sync(partial(build_views, at, path, report, up_to=up_to, give_way=give_way))


async def build_in_child(
    place: Place,
    path: Path,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run `svc build-views` as a child process until it ends or this is cancelled. Raises `CalledProcessError`."""
    command = [
        *program(),
        "build-views",
        "--var",
        str(place.var),
        "--build",
        str(path),
        "--batch-events",
        str(batch_events),
    ]
    if up_to is not None:
        command += ["--up-to", str(up_to)]
    told = {**os.environ, **place.environment(), **(environment or {})}
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, env=told)
    assert process.stdout is not None
    try:
        await _follow(process.stdout, progress)
        code = await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            await process.wait()
    if code != 0:
        raise subprocess.CalledProcessError(code, "svc build-views")


async def _follow(lines: trio.abc.ReceiveStream, progress: Progress) -> None:
    rest = b""
    async for chunk in lines:
        *whole, rest = (rest + chunk)[-CHILD_LINE_BYTES_MAX:].split(b"\n")
        if whole:
            build_step = msgspec.json.decode(whole[-1], type=BuildStep)
            progress(build_step.done, build_step.of)


def build_views(
    at: Place | Path,
    path: Path,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    give_way: GiveWay | None = None,
) -> None:
    """Build a views file from the log of a folder."""
    store, vault = open_log(at)
    try:
        digesters = vault.known_digester
        build(path, store, digesters, progress, batch_events=batch_events, up_to=up_to, give_way=give_way)
    finally:
        store.close()


def build(
    path: Path,
    store: EventStore,
    digesters: Digesters,
    progress: Progress,
    *,
    batch_events: int = REPLAY_EVENTS_MAX,
    up_to: int | None = None,
    give_way: GiveWay | None = None,
) -> int:
    """Make the views file at `path`, up to a position, by default the end of the log; the position reached."""
    end = store.head() if up_to is None else up_to
    remove(path)  # what is left of a build that was broken off may be torn
    db = open_writer(path)
    try:
        # Nobody reads this file before it is finished: a crash may leave it torn.
        for pragma in ("journal_mode=MEMORY", "locking_mode=EXCLUSIVE", "synchronous=OFF", "secure_delete=OFF"):
            db.execute(f"PRAGMA {pragma}")
        position = 0
        progress(position, end)
        while position < end:
            position = step(db, store, digesters, min(batch_events, end - position), give_way).position
            progress(position, end)
        db.execute("PRAGMA journal_mode=WAL")
        return position
    finally:
        db.close()


def digests(db: sqlite3.Connection) -> dict[str, str]:
    """SHA-256 over every table in the order of its primary key: equal digests, equal tables."""
    return {table: _digest(db, table) for table in table_names()}


def _digest(db: sqlite3.Connection, table: str) -> str:
    digest = hashlib.sha256()
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(key_of(table))}"):
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def copy_of(path: Path, target: Path) -> sqlite3.Connection:
    """A copy of a views file as it is at this moment, made while it may be written."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source:
        copy = sqlite3.connect(target, check_same_thread=False)
        try:
            source.backup(copy)
        except BaseException:
            copy.close()
            raise
    return copy


# Replaying under a running server: the new views are built beside the old ones, then the server serves from them.

log = structlog.get_logger()


class NotRebuilt(Exception):
    """A replay ended without new views; the server's log says why."""


class Rebuilding:
    """Starts at most one build at a time and exchanges the views when it is done."""

    def __init__(self, place: Place, projector: Projector, journal: Journal) -> None:
        self._place = place
        self._projector = projector
        self._journal = journal
        self._nursery: trio.Nursery | None = None
        self._ended = trio.Event()
        self._ended.set()
        self._mends_again = 0.0
        self.status = ReplayStatus()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the builds until cancelled; the file of a build under way is left behind."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None

    def start(self, rules_version: int | None) -> ReplayStatus:
        """Begin a replay, or join the one that runs. Raises `UnknownRules`."""
        rules = checked(rules_version)
        if self.status.state != "running":
            assert self._nursery is not None, "a replay is started only while the service runs"
            self.status = ReplayStatus(state="running")
            self._ended = trio.Event()
            self._nursery.start_soon(self._replay, rules)
        return self.status

    def mend(self, flaw: str) -> None:
        """Build damaged views anew, at most once in a while; `flaw` says what is damaged."""
        now = trio.current_time()
        if self._nursery is None or self.status.state == "running" or now < self._mends_again:
            return
        self._mends_again = now + MEND_PAUSE_SECONDS
        log.error("the views are damaged and are built anew from the log", flaw=flaw)
        self.start(None)

    async def anew(self) -> None:
        """Wait for the replay that runs, then run another one. Raises `NotRebuilt`."""
        await self._ended.wait()
        self.start(None)
        while self.status.state == "running":
            await self._ended.wait()
        if self.status.state == "failed":
            raise NotRebuilt("the views could not be built anew; the log says why")

    async def _replay(self, rules_version: int) -> None:
        path = new_file(self._place.var, rules_version)
        try:
            await self._build(path)
            await self._projector.exchange(path)
        except Exception:  # of the build, or of a full disk
            log.exception("a replay failed; the old views go on serving")
            self.status = ReplayStatus(state="failed", message="the build stopped; see the server's log")
            if path != self._projector.readers.path:
                with contextlib.suppress(OSError):  # the next start removes it
                    remove(path)
        else:
            self.status = msgspec.structs.replace(self.status, state="completed")
        finally:
            self._ended.set()

    async def _build(self, path: Path) -> None:
        def report(done: int, of: int) -> None:
            self.status = ReplayStatus(state="running", done=done, of=of)

        # Captures, and readers of the views that serve, go before the new ones.
        pace = Pace(lambda: self._journal.busy or self._projector.wanted)
        await build_in_thread(self._place, path, report, give_way=pace)
