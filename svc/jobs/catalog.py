"""The one task that publishes catalogs, and the snapshot that everybody is served.

A revision is validated before it is stored, and again when a process starts: whatever is wrong with the newest, the
newest valid one before it is served. When a refresh fails, the last snapshot goes on, marked stale. Only revisions
outlive the process: after a restart `refreshed_at` is when the served one was stored, and `stale` is false until a
refresh of this process has failed.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.command import Refused
from aggregates.ids import catalog_stream, repricing_stream
from aggregates.prices.catalog import RevisionRecord, Served, Snapshot, snapshot_fault
from aggregates.prices.decide import (
    CatalogCommand,
    CatalogReply,
    CatalogState,
    PublishCatalog,
    Published,
    decide_catalog,
)
from aggregates.prices.events import CatalogPublished
from aggregates.times import iso
from svc.actors.mailbox import Busy, Mailbox
from svc.jobs.sources import CatalogSource, CatalogUnusable
from svc.limits import (
    CATALOG_COMMANDS_MAX,
    CATALOG_FIRST_REFRESH_SECONDS,
    CATALOG_REFRESH_SECONDS,
    CATALOG_RETRY_SECONDS,
)
from svc.log.codec import CorruptEvent, NewEvent
from svc.log.folder import Clock
from svc.log.journal import Journal, Saturated
from svc.log.store import VERSION_END, Conflict, EventStore, StoreUnavailable

log = structlog.get_logger()
_FAILURES = (CatalogUnusable, Busy, Saturated, StoreUnavailable)
"""Why a refresh may not come about; what is served goes on."""


class StoredRevision(NamedTuple):
    """A revision as the log has it."""

    version: int
    event: CatalogPublished | None
    """None where it cannot be read."""
    fault: str | None


def stored_revision(store: EventStore, below: int = VERSION_END) -> StoredRevision | None:
    """The newest revision before that one, judged; None where there is none."""
    try:
        recorded = store.read_newest(catalog_stream(), below)
    except CorruptEvent as error:
        return StoredRevision(error.version, None, str(error))
    if recorded is None:
        return None
    event = recorded.event
    if not isinstance(event, CatalogPublished) or event.snapshot.catalog_revision != recorded.version:
        return StoredRevision(recorded.version, None, "this is not the revision that stands here")
    return StoredRevision(recorded.version, event, snapshot_fault(event.snapshot))


class Catalog:
    """Publishes one catalog after the other and knows which is served."""

    def __init__(
        self,
        store: EventStore,
        journal: Journal,
        clock: Clock,
        organizations: Callable[[], Collection[UUID]],
        source: CatalogSource,
    ) -> None:
        self._store = store
        self._journal = journal
        self._clock = clock
        self._organizations = organizations
        self._source = source
        full = "too many catalogs wait to be published already"
        self._mailbox = Mailbox[CatalogCommand, CatalogReply](CATALOG_COMMANDS_MAX, full)
        self._started = trio.Event()
        self._served: Served | None = None
        self._served_source: str | None = None
        self._state = CatalogState()
        self._state_is_known = False
        """Reading and checking a catalog takes a fifth of a second, which commands that need none do not pay."""

    @property
    def served(self) -> Served | None:
        """The newest valid snapshot; None where there is none."""
        if not self._state_is_known:
            self._load()
        return self._served

    async def send(self, command: CatalogCommand) -> CatalogReply:
        """Carry a command out; returns once it is on disk. Raises what the journal raises, or `Busy`."""
        return await self._mailbox.send(command)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work through the mailbox until cancelled."""
        task_status.started()
        await self._mailbox.work_through(self._carry_out)

    async def start(self) -> None:
        """Have prices before the first capture where that takes no network; what fails is logged, and tried again."""
        await trio.to_thread.run_sync(self._load)
        try:
            found = await self._source.at_start(self._served_source, self._clock.now_us())
            if found is not None:
                await self._publish_found(found)
        except _FAILURES as error:
            self._note_failure()
            log.warning("the model catalog could not be read from its source", reason=str(error))
        self._started.set()

    async def refresh(self) -> Published:
        """Ask the source for its newest prices. Raises `CatalogUnusable`, or what `send` raises."""
        try:
            return await self._publish_found(await self._source.newest(self._clock.now_us()))
        except _FAILURES:
            self._note_failure()
            raise

    async def keep_fresh(self) -> None:
        """Refresh now and then, once there was a start, until cancelled."""
        await self._started.wait()
        pause_seconds = CATALOG_FIRST_REFRESH_SECONDS if self.served is not None else 0.0
        while True:
            await trio.sleep(pause_seconds)
            try:
                await self.refresh()
                pause_seconds = CATALOG_REFRESH_SECONDS
            except _FAILURES as error:
                log.warning("the model catalog could not be refreshed", reason=str(error))
                pause_seconds = CATALOG_RETRY_SECONDS

    async def revisions(self, limit: int) -> list[RevisionRecord]:
        """The newest stored revisions, the newest first."""
        return await trio.to_thread.run_sync(self._revisions, limit)

    def _revisions(self, limit: int) -> list[RevisionRecord]:
        shown: list[RevisionRecord] = []
        below = VERSION_END
        while len(shown) < limit and (stored := stored_revision(self._store, below)) is not None:
            shown.append(_shown(stored))
            below = stored.version
        return shown

    async def _publish_found(self, found: PublishCatalog) -> Published:
        reply = await self.send(found)
        if isinstance(reply, Refused):
            raise CatalogUnusable(f"{found.source}: {reply.message}")
        assert isinstance(reply, Published)
        return reply

    def _note_failure(self) -> None:
        """What is served goes on, and says that it may be behind."""
        if self._served is not None:
            self._served = Served(self._served.snapshot, self._served.refreshed_at_us, True)

    async def _carry_out(self, command: CatalogCommand) -> CatalogReply:
        if not self._state_is_known:
            await trio.to_thread.run_sync(self._load)
        now_us = self._clock.now_us()
        # Checking and hashing a whole catalog takes a quarter of a second: in a thread, beside the loop.
        facts, reply = await trio.to_thread.run_sync(
            decide_catalog, command, self._state, self._organizations(), now_us
        )
        if facts:
            await self._append([NewEvent(*fact) for fact in facts])
        if isinstance(command, PublishCatalog) and isinstance(reply, Published):
            self._adopt(facts[0][2] if facts else None, now_us)
        elif facts:
            self._state = msgspec.structs.replace(self._state, repricings=self._state.repricings + 1)
        return reply

    async def _append(self, events: list[NewEvent]) -> None:
        """After a failure the commit may have happened all the same: look before the next decision."""
        try:
            await self._journal.append(events)
        except (Conflict, StoreUnavailable):
            self._state_is_known = False
            raise

    def _adopt(self, event: object, now_us: int) -> None:
        """A new revision is served from now on, or the one there is proved to be current."""
        if isinstance(event, CatalogPublished):
            self._serve(event, now_us)
            revision = event.snapshot.catalog_revision
            self._state = msgspec.structs.replace(self._state, last_revision=revision, newest_valid=event.snapshot)
        elif self._served is not None:
            self._served = Served(self._served.snapshot, now_us, False)

    def _serve(self, event: CatalogPublished, refreshed_at_us: int) -> None:
        self._served = Served(event.snapshot, refreshed_at_us, False)
        self._served_source = event.source

    def _load(self) -> None:
        """What the log holds: from the newest revision back to a valid one."""
        newest = stored = stored_revision(self._store)
        while stored is not None and stored.fault is not None:
            log.error("a stored catalog is not valid", revision=stored.version, reason=stored.fault)
            stored = stored_revision(self._store, stored.version)
        valid: Snapshot | None = None
        if stored is not None and stored.event is not None:
            valid = stored.event.snapshot
            if self._served is None or self._served.snapshot != valid:
                self._serve(stored.event, stored.event.received_at_us)
        self._state = CatalogState(
            last_revision=0 if newest is None else newest.version,
            newest_valid=valid,
            repricings=_newest_version(self._store, repricing_stream()),
        )
        self._state_is_known = True


def _newest_version(store: EventStore, stream_id: UUID) -> int:
    """How far a stream goes; 0 where it is empty."""
    try:
        newest = store.read_newest(stream_id)
    except CorruptEvent as error:
        return error.version
    return 0 if newest is None else newest.version


def _shown(stored: StoredRevision) -> RevisionRecord:
    if stored.event is None:
        return RevisionRecord(catalog_revision=stored.version, valid=False, fault=stored.fault)
    snapshot = stored.event.snapshot
    return RevisionRecord(
        catalog_revision=stored.version,
        valid=stored.fault is None,
        fault=stored.fault,
        source=stored.event.source,
        published_at=iso(snapshot.published_at_us),
        stored_at=iso(stored.event.received_at_us),
        checksum_sha256=snapshot.checksum_sha256,
        lookups=len(snapshot.exact_lookups),
    )
