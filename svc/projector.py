"""The one projector: pulls facts from the log, applies them to the views and says how far it has come."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import structlog
import trio

from projections.apply import bookmark
from projections.rows import Digesters
from svc.journal import Journal
from svc.limits import PROJECT_EVENTS_MAX, PROJECT_INTERVAL_SECONDS, RESTART_SECONDS_MAX
from svc.projecting import step
from svc.store import EventStore
from svc.views import ReadPool, open_writer, point_to, remove_others

log = structlog.get_logger()


class Projector:
    """Keeps one views file level with the log. It runs at intervals, and at once when a reader waits."""

    def __init__(
        self, path: Path, store: EventStore, journal: Journal, digesters: Digesters, changed: Callable[[set[str]], None]
    ) -> None:
        self._store = store
        self._journal = journal
        self._digesters = digesters
        self._changed = changed
        self._waiting = 0
        self._wanted = trio.Event()
        self._advanced = trio.Event()
        self._thread_limit = trio.CapacityLimiter(1)
        self._exclusive = trio.Lock()
        self._db: sqlite3.Connection = open_writer(path)
        self._readers = ReadPool(path)
        self._position = bookmark(self._db).position
        self._level_at = journal.head

    @property
    def position(self) -> int:
        """The last position that the views hold."""
        return self._position

    @property
    def is_level(self) -> bool:
        """Whether the views have ever caught up with the log as it was at the start; before, they show too little."""
        return self._position >= self._level_at

    @property
    def readers(self) -> ReadPool:
        """Connections to the file that serves now."""
        return self._readers

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Project until cancelled; after a failure, go on a little later."""
        task_status.started()
        pause_seconds = PROJECT_INTERVAL_SECONDS
        while True:
            try:
                await self._round()
                pause_seconds = PROJECT_INTERVAL_SECONDS
            except Exception:
                log.exception("the views could not be brought up to the log", position=self._position)
                pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)
                await trio.sleep(pause_seconds)

    async def wait_for(self, position: int) -> None:
        """Return once the views hold this position; while anybody waits, nothing is put off."""
        self._waiting += 1
        self._wanted.set()
        try:
            while self._position < position:
                await self._advanced.wait()
        finally:
            self._waiting -= 1

    async def exchange(self, path: Path) -> None:
        """Serve from another views file: bring it up to the log, move the pointer, let go of the old one."""
        async with self._exclusive:
            db = await trio.to_thread.run_sync(open_writer, path)
            while await self._in_thread(db):
                pass
            old_db, old_readers = self._db, self._readers
            self._db, self._readers = db, ReadPool(path)
            self._note_position(db)
            await trio.to_thread.run_sync(point_to, path)
        old_readers.close()
        old_db.close()
        remove_others(path.parent, path)

    def close(self) -> None:
        """Let go of every connection."""
        self._readers.close()
        self._db.close()

    async def _round(self) -> None:
        """Wait until there is something to do, do what is there now, and then leave the others some time.

        What arrives meanwhile waits for the next round: facts are cheaper by the hundred.
        """
        await self._journal.wait_beyond(self._position)
        end = self._journal.head
        async with self._exclusive:
            while self._position < end and await self._in_thread(self._db):
                self._note_position(self._db)
        if not self._waiting:
            self._wanted = trio.Event()
            with trio.move_on_after(PROJECT_INTERVAL_SECONDS):
                await self._wanted.wait()

    async def _in_thread(self, db: sqlite3.Connection) -> int:
        count, changed = await trio.to_thread.run_sync(
            step, db, self._store, self._digesters, PROJECT_EVENTS_MAX, limiter=self._thread_limit
        )
        if changed:
            self._changed(changed)
        return count

    def _note_position(self, db: sqlite3.Connection) -> None:
        self._position = bookmark(db).position
        self._advanced.set()
        self._advanced = trio.Event()
