"""Brings a views file up to the log for the projector, in a thread of this process or in a child process.

Both run the same steps as a replay. Python runs one thread at a time, so the thread works in slices, and rests between
them while captures wait. The child is the same program; it ends with the server.
"""

import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import trio

from projections.apply import bookmark
from projections.derive.changes import start_feed
from projections.facts.facts import GiveWay
from projections.facts.rows import Digesters
from svc.limits import (
    CHILD_LINE_BYTES_MAX,
    CHILD_NICENESS,
    CHILD_STOP_SECONDS,
    NAP_SECONDS,
    PROJECT_EVENTS_MAX,
    REST_SECONDS,
    SLICE_SECONDS,
)
from svc.log.sqlite import open_log
from svc.log.store import EventStore
from svc.process import program
from svc.views.projecting import step
from svc.views.views import ViewsDamaged, open_writer


class WorkerGone(Exception):
    """The child process ended, or answered nonsense; the next step starts another one."""


class Pace:
    """Cuts long work in a thread into slices, and rests after each slice while captures wait."""

    def __init__(
        self,
        captures_wait: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], None] = time.sleep,
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

    def __init__(self, path: Path, store: EventStore, digesters: Digesters, give_way: GiveWay | None = None) -> None:
        self._store = store
        self._digesters = digesters
        self._give_way = give_way
        self._thread_limit = trio.CapacityLimiter(1)
        self._db: sqlite3.Connection = open_writer(path)
        start_feed(self._db, store.head())

    async def start(self) -> None:
        """It is ready when it is made."""

    async def step(self) -> int:
        """Apply the next facts in a thread."""
        facts = (self._db, self._store, self._digesters, PROJECT_EVENTS_MAX, self._give_way)
        return await trio.to_thread.run_sync(step, *facts, limiter=self._thread_limit)

    async def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class ChildWorker:
    """Has a child process apply facts. One that ended is started again by the next call."""

    def __init__(self, var: Path, path: Path) -> None:
        self._path = path
        self._command = [*program(), "project", "--var", str(var), "--views", str(path)]
        self.process: trio.Process | None = None
        """The child, while there is one."""

    async def start(self) -> None:
        """Start the child and wait until it has opened its files. Raises `WorkerGone`, `OSError`."""
        if self.process is None:
            self.process = await trio.lowlevel.open_process(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
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
            return int(await _line(process.stdout))
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


def work(var: Path, path: Path) -> None:
    """What the child does: a line with its views' position; then, for each line that comes in, a step and another line.

    It ends with its standard input, and so with its server.
    """
    # Ctrl-C is meant for the server.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(CHILD_NICENESS)
    store, vault = open_log(var)
    db = open_writer(path)
    try:
        start_feed(db, store.head())
        _tell(bookmark(db).position)
        for _ in sys.stdin.buffer:
            _tell(step(db, store, vault.known_digester, PROJECT_EVENTS_MAX))
    finally:
        db.close()
        store.close()


def _tell(position: int) -> None:
    sys.stdout.write(f"{position}\n")
    sys.stdout.flush()
