"""The one writer of the log: many appends, one synced transaction.

An fsync costs the same whether it carries one event or a hundred. So while a transaction is on its way to the disk, in
a worker thread, whatever else wants to be appended waits, and the next transaction takes all of it, up to a bound.

When the store refuses a transaction because some stream version is taken, the list is halved, the earlier half first,
until the refused append stands alone; so the outcome is exactly that of one append after another. A store that cannot
be written refuses everything that waits, and is tried again by the next append and once a second.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NoReturn, TypeVar

import msgspec
import trio

from aggregates.event import NewEvent, Unavailable
from svc.log.codec import rough_bytes
from svc.log.store import Conflict, EventStore, Group, StoreUnavailable, current_fences
from svc.process import FRAME_BYTES_MAX, MIB_BYTES, READ_BYTES_MAX

COMMIT_APPENDS_MAX = 256  # in one transaction: an fsync costs as much as about 50, so more would only add latency
COMMIT_BYTES_MAX = 8 * MIB_BYTES  # in one transaction, so that a commit of large captures stays well below a second
JOURNAL_APPENDS_MAX = 4_096  # that may wait for the journal; at 2,000 durable commits a second these take 2 s
JOURNAL_BYTES_MAX = 64 * MIB_BYTES  # that may wait for the journal; the bound of bytes in flight in the process, too
JOURNAL_PROBE_INTERVAL_S = 1.0  # between two looks whether a store that failed can be written again
ARRIVING_SECONDS = 0.05  # after a commit captures are said to keep arriving: the next ones are being decoded
assert FRAME_BYTES_MAX < COMMIT_BYTES_MAX, "the largest capture fits into one commit"
assert FRAME_BYTES_MAX < READ_BYTES_MAX, "the largest capture fits into one read"
assert COMMIT_BYTES_MAX <= JOURNAL_BYTES_MAX, "a full commit may wait"
assert COMMIT_APPENDS_MAX <= JOURNAL_APPENDS_MAX, "a full commit may wait"

_T = TypeVar("_T")


class Busy(Unavailable):
    """Too much waits already. Try again in a few seconds."""

    @property
    def told(self) -> str:
        return f"too much is waiting to be stored: {self}"


class Counts(msgspec.Struct):
    commits: int = 0
    events: int = 0
    conflicts: int = 0
    failures: int = 0  # transactions and probes that found the store not writable
    saturated: int = 0


class _Append:
    def __init__(self, events: Sequence[NewEvent], rough_bytes: int) -> None:
        self.events = events
        self.rough_bytes = rough_bytes
        self.fences = current_fences()
        self.group: Group = ()
        self.positions: list[int] = []
        self.error: Exception | None = StoreUnavailable("the journal stopped before this was written")
        self.settled = trio.Event()


class Journal:
    """Appends to the log for every task of the process. `run` must be running, else nothing is ever written.

    `threaded=False` writes on the caller's thread: for a store in memory, where time is virtual.
    """

    def __init__(self, store: EventStore, *, threaded: bool = True) -> None:
        self._store, self._threaded = store, threaded
        self._thread_limit = trio.CapacityLimiter(1)
        self._waiting: deque[_Append] = deque()
        self._waiting_bytes = 0
        self._work = trio.Event()
        self._advanced = trio.Event()
        self._tried = trio.Event()
        self.healthy = True  # False from a failed write until a successful one
        self._refused_at = -math.inf
        self._writing = False
        self._written_at = -math.inf
        self.head = store.head()  # the last position known to be durable
        self.committed: Callable[[float], object] = lambda _seconds: None
        """Called in the writing thread with the seconds of each durable transaction."""
        self.counts = Counts()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def busy(self) -> bool:
        """Whether appends wait, are on their way to the disk, or were so just now. For any thread."""
        return self._writing or bool(self._waiting) or time.monotonic() < self._written_at + ARRIVING_SECONDS

    async def append(self, events: Sequence[NewEvent]) -> list[int]:
        """Make the events durable, all or none, also where the caller is cancelled; their positions.

        Raises Busy, Conflict, UnstorableEvent, and StoreUnavailable, after which it may have committed all the same.
        """
        assert events, "an append holds at least one event"
        entry = _Append(events, sum(rough_bytes(new.event) for new in events))
        too_many = len(self._waiting) >= JOURNAL_APPENDS_MAX
        if too_many or self._waiting_bytes + entry.rough_bytes > JOURNAL_BYTES_MAX:
            self.counts.saturated += 1
            raise Busy(f"{len(self._waiting)} appends, {self._waiting_bytes} bytes wait already")
        self._waiting.append(entry)
        self._waiting_bytes += entry.rough_bytes
        self._work.set()
        await entry.settled.wait()
        if entry.error is not None:
            raise entry.error
        return entry.positions

    async def between_commits(self, work: Callable[[], _T]) -> _T:
        """Do something while no event is sealed or stored. It cannot be cancelled."""
        if not self._threaded:
            await trio.lowlevel.checkpoint()
            return work()
        return await trio.to_thread.run_sync(work, limiter=self._thread_limit)

    async def probe(self) -> bool:
        """Whether a durable write works now: one that waits, or one that changes nothing."""
        tried = self._tried
        self._work.set()
        await tried.wait()
        return self.healthy

    async def wait_beyond(self, position: int) -> None:
        while self.head <= position:
            await self._advanced.wait()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> NoReturn:
        """Writes until cancelled. A transaction under way is finished first; what still waits is refused."""
        task_status.started()
        try:
            while True:
                if not self._waiting:
                    self._work = trio.Event()
                    with trio.move_on_after(math.inf if self.healthy else JOURNAL_PROBE_INTERVAL_S):
                        await self._work.wait()
                if self._waiting:
                    await self._commit()
                else:
                    await self._probe()
                self._tried.set()
                self._tried = trio.Event()
        finally:
            self._refuse_waiting("the journal has stopped")

    async def _commit(self) -> None:
        batch: list[_Append] = []
        size_bytes = 0
        while self._waiting and len(batch) < COMMIT_APPENDS_MAX:
            size_bytes += self._waiting[0].rough_bytes
            if batch and size_bytes > COMMIT_BYTES_MAX:
                break
            batch.append(self._waiting.popleft())
        self._waiting_bytes -= sum(entry.rough_bytes for entry in batch)
        self._writing = True
        try:
            await self.between_commits(lambda: self._write(batch))
        finally:
            self._writing, self._written_at = False, time.monotonic()
            self._settle(batch)

    async def _probe(self) -> None:
        if trio.current_time() < self._refused_at + JOURNAL_PROBE_INTERVAL_S:
            return  # on a full disk a probe may fit where no capture does
        try:
            await self.between_commits(self._store.check_writable)
            if not self.healthy:  # a write that was reported as failed may have committed
                self.advance(await self.between_commits(self._store.head))
            self.healthy = True
        except StoreUnavailable:
            self.counts.failures += 1
            self.healthy = False

    def advance(self, head: int) -> None:
        """Note how far the log has come, by this node or another."""
        if head > self.head:
            self.head = head
            self._advanced.set()
            self._advanced = trio.Event()

    def _write(self, batch: list[_Append]) -> None:
        encoded = []
        for entry in batch:
            try:
                entry.group = self._store.encode(entry.events)
                encoded.append(entry)
            except Exception as error:
                entry.error = error
        parts = [encoded] if encoded else []
        while parts:
            part, started = parts.pop(), time.perf_counter()
            fences = list(dict.fromkeys(fence for entry in part for fence in entry.fences))
            try:
                positions = self._store.insert([entry.group for entry in part], fences)
            except Conflict as error:
                if len(part) == 1:
                    part[0].error = error
                else:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
            except StoreUnavailable as error:
                for entry in chain(part, *parts):
                    entry.error = StoreUnavailable(str(error))
                return
            else:
                self.committed(time.perf_counter() - started)
                self.counts.commits += 1
                for entry, its_positions in zip(part, positions, strict=True):
                    entry.positions, entry.error = its_positions, None

    def _settle(self, batch: list[_Append]) -> None:
        durable = [entry for entry in batch if entry.error is None]
        self.counts.events += sum(len(entry.positions) for entry in durable)
        self.counts.conflicts += sum(isinstance(entry.error, Conflict) for entry in batch)
        if durable:
            self.healthy = True
            self.advance(durable[-1].positions[-1])
        unavailable = [entry.error for entry in batch if isinstance(entry.error, StoreUnavailable)]
        if unavailable:
            self.healthy, self._refused_at = False, trio.current_time()
            self.counts.failures += 1
            self._refuse_waiting(str(unavailable[-1]))
        for entry in batch:
            entry.settled.set()

    def _refuse_waiting(self, reason: str) -> None:
        """Each attempt may take the whole busy timeout, so no append waits for a second one."""
        for entry in self._waiting:
            entry.error = StoreUnavailable(reason)
            entry.settled.set()
        self._waiting.clear()
        self._waiting_bytes = 0
