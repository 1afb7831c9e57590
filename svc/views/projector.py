"""The one projector: pulls facts from the log, applies them to the views and says how far it has come."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import structlog
import trio

from projections.apply import bookmark
from projections.reader import is_damage
from svc.limits import LAG_EVENTS_MAX, PROJECT_INTERVAL_SECONDS, RESTART_SECONDS_MAX
from svc.log.journal import Journal
from svc.views.views import ReadPool, ViewsDamaged, point_to, remove_others
from svc.views.worker import Worker

log = structlog.get_logger()
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

    async def wait_beyond(self, position: int) -> None:
        """Return once the views hold more than this position, without making haste."""
        while self._position <= position:
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
