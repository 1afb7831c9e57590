"""The one projector: pulls facts from the log, applies them to the views and says how far it has come."""

import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from typing import Protocol
from uuid import UUID

import structlog
import trio

from projections.apply import bookmark
from projections.derive.changes import start_feed
from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from projections.reader import is_damage
from svc.limits import (
    CHILD_LINE_BYTES_MAX,
    CHILD_NICENESS,
    CHILD_STOP_SECONDS,
    LAG_EVENTS_MAX,
    NAP_SECONDS,
    PROJECT_EVENTS_MAX,
    PROJECT_INTERVAL_SECONDS,
    REST_SECONDS,
    RESTART_SECONDS_MAX,
    SLICE_SECONDS,
)
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.process import Place, program
from svc.views.projecting import Cost, step
from svc.views.views import ReadPool, ViewsDamaged, open_writer, point_to, remove_others

log = structlog.get_logger()


class WorkerGone(Exception):
    """The child process ended, or answered nonsense; the next step starts another one."""


_NEVER = Event()
"""Waiting for it is a rest, also under a faked clock (docs/faults.md), under which `time.sleep` fails."""


class Pace:
    """Cuts long work in a thread into slices, and rests after each slice while captures wait."""

    def __init__(
        self,
        captures_wait: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] = _NEVER.wait,
    ) -> None:
        self._captures_wait = captures_wait
        self._clock = clock
        self._rest = rest
        self._slice_ends = -math.inf

    def __call__(self) -> None:
        """Rest after a slice for as long as captures wait, up to a bound; to be called often."""
        if self._clock() < self._slice_ends:
            return
        rest_ends = self._clock() + REST_SECONDS
        while self._captures_wait() and self._clock() < rest_ends:
            self._rest(NAP_SECONDS)
        self._slice_ends = self._clock() + SLICE_SECONDS


Charge = Callable[[Cost], None]
"""Is told of the developers whose facts took longer than usual."""


class Worker(Protocol):
    """Writes one views file; for one task at a time."""

    async def start(self) -> None:
        """Be ready to take a step at once."""

    async def step(self) -> int:
        """Apply the next facts; the position that the views hold then."""

    async def close(self) -> None:
        """Let go of the file."""


class ThreadWorker:
    """Applies facts in a thread of this process."""

    def __init__(
        self,
        path: Path,
        store: EventStore,
        digesters: Digesters,
        give_way: GiveWay | None = None,
        charge: Charge = lambda _cost: None,
    ) -> None:
        self._store = store
        self._digesters = digesters
        self._give_way = give_way
        self._charge = charge
        self._thread_limit = trio.CapacityLimiter(1)
        self._db: sqlite3.Connection = open_writer(path)
        start_feed(self._db, store.head())

    async def start(self) -> None:
        """It is ready when it is made."""

    async def step(self) -> int:
        """Apply the next facts in a thread."""
        costs: list[Cost] = []
        facts = (self._db, self._store, self._digesters, PROJECT_EVENTS_MAX, self._give_way, costs.append)
        position = await trio.to_thread.run_sync(step, *facts, limiter=self._thread_limit)
        for cost in costs:
            self._charge(cost)
        return position

    async def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class ChildWorker:
    """Has a child process apply facts. One that ended is started again by the next call."""

    def __init__(self, place: Place, path: Path, charge: Charge = lambda _cost: None) -> None:
        self._path = path
        self._charge = charge
        self._command = [*program(), "project", "--var", str(place.var), "--views", str(path)]
        self._environment = os.environ | place.environment()
        self.process: trio.Process | None = None
        """The child, while there is one."""

    async def start(self) -> None:
        """Start the child and wait until it has opened its files. Raises `WorkerGone`, `OSError`."""
        if self.process is None:
            self.process = await trio.lowlevel.open_process(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment
            )
            await self._answer_to(b"")

    async def step(self) -> int:
        """Have the next facts applied. Raises `WorkerGone`, `ViewsDamaged`, `OSError`."""
        await self.start()
        return await self._answer_to(b"\n")

    async def close(self) -> None:
        """End the child; what it was at is rolled back, and applied again by the next one."""
        process, self.process = self.process, None
        if process is not None:
            with trio.CancelScope(shield=True):
                process.terminate()
                with trio.move_on_after(CHILD_STOP_SECONDS):
                    await process.wait()
                process.kill()  # one that is frozen would not hear of the first
                await process.wait()
                for stream in (process.stdin, process.stdout):
                    if stream is not None:
                        await stream.aclose()

    async def _answer_to(self, request: bytes) -> int:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(trio.BrokenResourceError):  # then there is no answer either
                await process.stdin.send_all(request)
            position, *costs = (await _line(process.stdout)).split()
            for cost in costs:
                developer_id, _, seconds = cost.decode().partition("=")
                self._charge((UUID(developer_id), float(seconds)))
            return int(position)
        except EOFError:
            raise await self._ended(process) from None
        except BaseException:
            await self.close()
            raise

    async def _ended(self, process: trio.Process) -> Exception:
        with trio.move_on_after(CHILD_STOP_SECONDS):
            await process.wait()
        code = process.returncode
        await self.close()
        if code == DAMAGED:
            return ViewsDamaged(f"{self._path.name}: the process that keeps the views cannot read a page of it")
        why = "it cannot open the log, or the views" if code == NOT_OPENED else "its own message says why"
        return WorkerGone(f"the process that keeps the views has ended with code {code}: {why}")


async def _line(stream: trio.abc.ReceiveStream) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        chunk = await stream.receive_some()
        if not chunk:
            raise EOFError
        if len(line) > CHILD_LINE_BYTES_MAX:
            raise WorkerGone("the process that keeps the views answers what is no position")
        line += chunk
    return line


DAMAGED, NOT_OPENED = 65, 69
"""The child's exit codes where the views cannot be read, and where log or views cannot be opened."""


def work(place: Place, path: Path) -> None:
    """What the child does: a line with its views' position; then, for each line that comes in, a step and another line.

    Behind the position stands whose facts took longer than usual, and by how many seconds. It ends with its standard
    input, and so with its server.
    """
    # Ctrl-C is meant for the server.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(CHILD_NICENESS)
    store, vault = open_log(place)
    db = open_writer(path)
    try:
        start_feed(db, store.head())
        _tell(bookmark(db).position)
        for _ in sys.stdin.buffer:
            costs: list[Cost] = []
            _tell(step(db, store, vault.known_digester, PROJECT_EVENTS_MAX, None, costs.append), costs)
    finally:
        db.close()
        store.close()


def _tell(position: int, costs: Iterable[Cost] = ()) -> None:
    sys.stdout.write(" ".join([str(position), *(f"{developer_id}={cost:.3f}" for developer_id, cost in costs)]) + "\n")
    sys.stdout.flush()


WorkerFor = Callable[[Path, Callable[[], bool]], Worker]
"""Makes the one who writes a views file, and who asks before each slice of work whether captures go first."""


class Projector:
    """Keeps one views file level with the log. It runs at intervals, and at once when a reader waits."""

    def __init__(self, path: Path, journal: Journal, worker_for: WorkerFor) -> None:
        """`path`: a views file that exists."""
        self._journal = journal
        self._worker_for = worker_for
        self._waiting = 0
        self._wanted = trio.Event()
        self._advanced = trio.Event()
        self._exclusive = trio.Lock()
        self._worker = worker_for(path, self.gives_way)
        self._token: trio.lowlevel.TrioToken | None = None
        self._readers = ReadPool(path, self._unreadable)
        with self._readers.reading() as db:
            self._position = bookmark(db).position
        self._level_at = journal.head
        self.damaged: Callable[[str], None] = lambda _flaw: None
        """Called whenever a step or a reader meets a damaged page; it must not fail, nor take long."""
        self.steps = 0
        """Batches that were applied."""
        self.failures = 0
        """Batches that were not, and tried again."""

    @property
    def position(self) -> int:
        return self._position

    @property
    def is_level(self) -> bool:
        """Whether the views have ever caught up with the log as it was at the start."""
        return self._position >= self._level_at

    @property
    def readers(self) -> ReadPool:
        return self._readers

    @property
    def wanted(self) -> bool:
        return self._waiting > 0

    def gives_way(self) -> bool:
        """Whether captures go first: no reader waits, and the views are not far behind. For any thread."""
        near = self._journal.head - self._position < LAG_EVENTS_MAX
        return near and not self.wanted and self._journal.busy

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Project until cancelled; after a failure, go on a little later."""
        self._token = trio.lowlevel.current_trio_token()
        task_status.started()
        pause_seconds = PROJECT_INTERVAL_SECONDS
        while True:
            try:
                async with self._exclusive:  # an exchange lets go of a worker that has started, or of none
                    await self._worker.start()
                await self._round()
                pause_seconds = PROJECT_INTERVAL_SECONDS
            except Exception as error:
                self.failures += 1
                if is_damage(error) or isinstance(error, ViewsDamaged):
                    self.damaged(str(error))
                else:
                    log.exception("the views could not be brought up to the log", position=self._position)
                pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)
                await trio.sleep(pause_seconds)

    async def wait_for(self, position: int) -> None:
        """Return once the views hold this position; until then nothing is put off."""
        self._waiting += 1
        self._wanted.set()
        try:
            while self._position < position:
                await self._advanced.wait()
        finally:
            self._waiting -= 1

    async def wait_beyond(self, position: int, views: str | None = None) -> None:
        """Return once the views hold more than this position, or lie in another file, without making haste."""
        while self._position <= position and views in (None, self._readers.path.name):
            await self._advanced.wait()

    async def exchange(self, path: Path) -> None:
        """Bring another views file up to the log and serve from it; where that fails, the old one goes on serving."""
        async with self._exclusive:
            worker = self._worker_for(path, self.gives_way)
            try:
                position = await _level(worker)
                await trio.to_thread.run_sync(point_to, path)
            except BaseException:
                await worker.close()
                raise
            old_worker, old_readers = self._worker, self._readers
            self._worker, self._readers = worker, ReadPool(path, self._unreadable)
            self._note(position)
        old_readers.close()
        await old_worker.close()
        remove_others(path.parent, path)

    async def close(self) -> None:
        self._readers.close()
        await self._worker.close()

    async def _round(self) -> None:
        """Apply what is there now; what arrives meanwhile waits a little, for facts are cheaper by the hundred."""
        await self._journal.wait_beyond(self._position)
        end = self._journal.head
        async with self._exclusive:
            while self._position < end and (reached := await self._worker.step()) > self._position:
                self._note(reached)
        if not self._waiting:
            self._wanted = trio.Event()
            with trio.move_on_after(PROJECT_INTERVAL_SECONDS):
                await self._wanted.wait()

    def _unreadable(self, flaw: str) -> None:
        # Any reader, in any thread, reports a damaged page.
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self.damaged, flaw)

    def _note(self, position: int) -> None:
        self._position = position
        self.steps += 1
        self._advanced.set()
        self._advanced = trio.Event()


async def _level(worker: Worker) -> int:
    position = -1
    while position < (reached := await worker.step()):
        position = reached
    return position
