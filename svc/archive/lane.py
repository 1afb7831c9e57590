"""The archive lane: a task of its own, with a place of its own in the log, and whoever reads what it wrote.

Everything that touches the archive runs in one thread at a time. So memory stays bounded, and no file goes while
somebody reads it.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import structlog
import trio

from projections.spending import Asked, Reading, live_part
from svc.archive.compacting import compact_one_day
from svc.archive.folder import Archive, Fingerprint
from svc.archive.reading import Budget, spending
from svc.archive.writing import archive_changes
from svc.limits import ARCHIVE_INTERVAL_SECONDS, ARCHIVE_RETRY_SECONDS_MAX
from svc.views import ReadPool, ViewsDamaged
from svc_http.ports import Unavailable

log = structlog.get_logger()

T = TypeVar("T")


class ArchiveLane:
    """Keeps the archive level with the views, and answers from both."""

    def __init__(self, var: Path, views: Callable[[], ReadPool], fingerprint: Fingerprint, budget: Budget) -> None:
        self._var = var
        self._views = views
        self._fingerprint = fingerprint
        self._budget = budget
        self._archive: Archive | None = None
        self._limit = trio.CapacityLimiter(1)

    async def run(self) -> None:
        """Look at intervals until cancelled; after a failure, a little later each time."""
        pause_seconds = ARCHIVE_INTERVAL_SECONDS
        while True:
            await trio.sleep(pause_seconds)
            try:
                await self.look()
                pause_seconds = ARCHIVE_INTERVAL_SECONDS
            except Exception:
                log.exception("the archive could not be brought up to the views; it is tried again later")
                pause_seconds = min(2 * pause_seconds, ARCHIVE_RETRY_SECONDS_MAX)

    async def look(self) -> None:
        """Archive all that has changed, then merge small files; in short pieces, so that readers get their turn."""
        while await self._in_turn(self._archive_some):
            pass
        while await self._in_turn(compact_one_day):
            pass

    async def spending(self, organization_id: UUID, asked: Sequence[Asked]) -> list[Reading]:
        """What was spent in each window: what is archived, and from the views what is not, or not as it now is.

        Raises `Unavailable` where the archive cannot be opened at all, and `ViewsDamaged`; a single damaged file is no
        reason.
        """
        try:
            return await self._in_turn(lambda archive: self._spending(archive, organization_id, asked))
        except ViewsDamaged:
            raise
        except (OSError, sqlite3.Error) as error:
            log.exception("the archive could not be read")
            raise Unavailable("the archive cannot be read at present") from error

    def close(self) -> None:
        """Let go of the files; they are opened again when somebody needs them."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    async def _in_turn(self, work: Callable[[Archive], T]) -> T:
        def run() -> T:
            try:
                if self._archive is None:
                    self._archive = Archive(self._var, self._fingerprint)
                return work(self._archive)
            except BaseException:
                self.close()  # what was broken off is finished when the folder is opened again
                raise

        return await trio.to_thread.run_sync(run, limiter=self._limit)

    def _archive_some(self, archive: Archive) -> int:
        trio.from_thread.check_cancelled()
        with self._views().reading() as db:
            return archive_changes(archive, db)

    def _spending(self, archive: Archive, organization_id: UUID, asked: Sequence[Asked]) -> list[Reading]:
        archive.check_folder()
        after = archive.manifest.mark.position
        with self._views().reading() as db:
            live = [live_part(db, organization_id, each, after) for each in asked]
        breathe = trio.from_thread.check_cancelled
        return [
            spending(archive, organization_id, each, part, self._budget, breathe)
            for each, part in zip(asked, live, strict=True)
        ]
