"""What a node does because there are others: it follows the log, and does the jobs that are done once for all nodes.

What a job writes carries its lease's epoch: a node that was frozen writes nothing after another one has taken over.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import structlog
import trio

from aggregates.prices.catalog import CatalogPublished
from aggregates.reports.events import ReportRequested
from aggregates.retained import DeveloperForgotten
from svc.actors.actors import ActorContext, recur
from svc.actors.administration import TOPICS, Administration
from svc.jobs.catalog import Catalog
from svc.log.opening import LEASE_SECONDS, Leases
from svc.log.store import LeaseFence, LogRecorder, StoreUnavailable, fenced
from svc.process import RESTART_SECONDS_MAX
from svc.views.replay import Rebuilding

FOLLOW_SECONDS = 0.25  # how often a node asks how far the log has come; it is woken earlier where another node appends
FOLLOW_PAUSE_SECONDS = 0.02  # between two such questions, however often it is woken
LEASE_RENEW_SECONDS = 4.0  # how often leases are renewed, and those that nobody holds taken
assert 3 * LEASE_RENEW_SECONDS < LEASE_SECONDS, "a lease outlives two renewals that failed"

log = structlog.get_logger()
Job = Callable[[], Awaitable[None]]
FORGOTTEN_FILE = "forgotten.position"  # up to which position this node has let go of everybody who was forgotten
_WATCHED = (*TOPICS, CatalogPublished.TOPIC, DeveloperForgotten.TOPIC, ReportRequested.TOPIC)


@dataclass(eq=False)
class Following:
    """Keeps what a node knows of the log level with what all nodes write. Polling finds everything, news only wake."""

    var: Path
    context: ActorContext
    _shared: LogRecorder
    _administration: Administration
    _catalog: Catalog
    _rebuilding: Rebuilding
    _wake_reports: Callable[[int], None]

    def __post_init__(self) -> None:
        self._file = self.var / FORGOTTEN_FILE
        self._store, self._journal = self.context.store, self.context.journal
        self._position = self._store.head()
        self._reached_at = -math.inf
        self.forgotten_here: set[int] = set()  # positions of orders that this node itself has carried out

    @property
    def in_touch(self) -> bool:
        """Whether the store answered lately; else nobody knows whose key was revoked."""
        return trio.current_time() - self._reached_at < LEASE_SECONDS

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._look()
        task_status.started()
        async with trio.open_nursery() as nursery:
            broken = "somebody was forgotten elsewhere, and this node still holds more; it is tried again"
            nursery.start_soon(recur, self._let_go_of_the_forgotten, LEASE_RENEW_SECONDS, broken, RESTART_SECONDS_MAX)
            await recur(self._follow, FOLLOW_PAUSE_SECONDS, "the shared log cannot be read; it is tried again")

    async def _follow(self) -> None:
        await trio.to_thread.run_sync(self._shared.wait_for_news, FOLLOW_SECONDS, abandon_on_cancel=True)
        await self._look()

    async def _look(self) -> None:
        """Take in what is new. Raises `StoreUnavailable`."""
        head = await trio.to_thread.run_sync(self._store.head, abandon_on_cancel=True)
        pieces = self._store.pieces(self._position, head, _WATCHED)
        while piece := await trio.to_thread.run_sync(next, pieces, None):
            # What cannot be read may be of any topic.
            topics = {each.event.TOPIC for each in piece.events} if not piece.corrupt else set(_WATCHED)
            if topics & set(TOPICS):
                await self._administration.follow()
            if CatalogPublished.TOPIC in topics:
                await self._catalog.follow()
            if ReportRequested.TOPIC in topics:
                self._wake_reports(piece.reached)
            self._position = piece.reached
        self._position = max(head, self._position)
        self._reached_at = trio.current_time()
        self._journal.advance(head)

    async def _let_go_of_the_forgotten(self) -> None:
        """Let go of all keys, one of which is destroyed, and build the views anew, as the node that did it has."""
        if not self._file.exists():
            self._note(self._journal.head)
        done = int(self._file.read_text(encoding="ascii"))
        await self._journal.wait_beyond(done)
        head = self._journal.head
        pieces = self._store.pieces(done, head, [DeveloperForgotten.TOPIC])
        found = await trio.to_thread.run_sync(lambda: {each.position for piece in pieces for each in piece.all})
        if not found <= self.forgotten_here:
            self._store.vault.let_go()
            await self._rebuilding.anew()
        self._note(head)

    def _note(self, position: int) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{position}\n", encoding="ascii")
        draft.replace(self._file)


@asynccontextmanager
async def alone(shared: LogRecorder | None, name: str) -> AsyncIterator[None]:
    """Do the block while no other node does it. Raises `StoreUnavailable` where one takes too long."""
    if shared is None:
        yield
        return
    leases = Leases(shared, str(uuid4()))
    for _ in range(int(2 * LEASE_SECONDS / FOLLOW_SECONDS)):
        held = await trio.to_thread.run_sync(leases.held, [name])
        if held:
            break
        await trio.sleep(FOLLOW_SECONDS)
    else:
        raise StoreUnavailable(f"another node is at the same ({name}); try again later")
    try:
        with fenced(LeaseFence(name, held[name])):
            yield
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(leases.release)


class Leading:
    def __init__(self, shared: LogRecorder, jobs: Mapping[str, Job]) -> None:
        self._leases = Leases(shared, str(uuid4()))
        self._jobs = jobs
        self._running: dict[str, tuple[int, trio.CancelScope]] = {}
        self._renewed_at = -math.inf

    async def run(self) -> None:
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    await self._renew(nursery)
                    await trio.sleep(LEASE_RENEW_SECONDS)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._leases.release)

    async def _renew(self, nursery: trio.Nursery) -> None:
        asked_at = trio.current_time()
        try:
            held = await trio.to_thread.run_sync(self._leases.held, self._jobs.keys())
            self._renewed_at = asked_at
        except StoreUnavailable as error:
            log.warning("leases could not be renewed", reason=str(error))
            if trio.current_time() < self._renewed_at + LEASE_SECONDS - LEASE_RENEW_SECONDS:
                return
            held = {}
        for name, (epoch, scope) in list(self._running.items()):
            if held.get(name) != epoch:
                scope.cancel()
                del self._running[name]
                log.info("another node does this now", job=name)
        for name, epoch in held.items():
            if name not in self._running:
                scope = trio.CancelScope()
                self._running[name] = epoch, scope
                nursery.start_soon(self._do, name, epoch, scope)

    async def _do(self, name: str, epoch: int, scope: trio.CancelScope) -> None:
        log.info("this node does it now", job=name, epoch=epoch)
        with scope, fenced(LeaseFence(name, epoch)):
            await self._jobs[name]()
