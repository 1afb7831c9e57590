"""The one projector: pulls facts from the log, applies them to the views and says how far it has come."""

import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Lock

import structlog
import trio

from aggregates.decide import TimePassed
from aggregates.event import NewEvent, Scope
from aggregates.ids import clock_stream
from projections.apply import bookmark, next_due_us
from projections.facts.facts import GiveWay
from projections.reader import BodyDamaged, is_damage
from svc.log.journal import Busy, Journal
from svc.log.store import Conflict, EventStore, StoreUnavailable
from svc.process import READERS_MAX, RESTART_SECONDS_MAX
from svc.views.views import (
    LEAP_EVENTS,
    Cost,
    Stepped,
    ViewsDamaged,
    ViewsWriter,
    earlier_files,
    open_reader,
    open_writer,
    point_to,
    remove,
    remove_others,
    taking_readings,
)
from svc_http.ports import ReplayStatus, Standing

PROJECT_INTERVAL_SECONDS = 0.5  # between two steps, unless a reader waits: facts are cheaper by the hundred
SLICE_SECONDS = 0.005  # so long the projecting thread works before it looks whether captures wait
REST_SECONDS = 0.010  # so long it rests while they do: 5 ms cost a tenth of the captures, 15 ms leave views behind
NAP_SECONDS = 0.001  # parts of a rest: a reader that comes ends it
LAG_EVENTS_MAX = 3_000  # views that are so far behind are brought up without rests; that takes two to three seconds
PROJECT_EVENTS_MAX = 500  # in one transaction: few enough that a waiting reader is served soon; 1,000 gain nothing
CLOCK_POLL_SECONDS = 5.0  # how often the clock looks whether something is due to settle while the log is quiet

log = structlog.get_logger()
_NEVER = Event()  # waiting for it is a rest, also under a faked clock (docs/faults.md), under which `time.sleep` fails


class Pace:
    """Cuts long work in a thread into slices, and rests after each slice while captures wait."""

    def __init__(
        self,
        captures_wait: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] = _NEVER.wait,
    ) -> None:
        self._captures_wait, self._clock, self._rest = captures_wait, clock, rest
        self._slice_ends = -math.inf

    def __call__(self) -> None:
        """Rest after a slice for as long as captures wait, up to a bound; to be called often."""
        if self._clock() < self._slice_ends:
            return
        rest_ends = self._clock() + REST_SECONDS
        while self._captures_wait() and self._clock() < rest_ends:
            self._rest(NAP_SECONDS)
        self._slice_ends = self._clock() + SLICE_SECONDS


class BuildProgress:
    """How far a build of views has come since it began, and how long it will take at that pace."""

    def __init__(self, position: int = 0) -> None:
        self._began_seconds, self._began_at = time.monotonic(), position

    def status(self, done: int, of: int) -> ReplayStatus:
        here = done - self._began_at
        left = (time.monotonic() - self._began_seconds) * (of - done) / here if here > 0 else None
        return ReplayStatus(state="running", done=done, of=of, seconds_left=None if left is None else math.ceil(left))


class ReadPool:
    """Read-only connections to one views file, for any thread."""

    def __init__(self, path: Path, unreadable: Callable[[str], None] = lambda _flaw: None) -> None:
        """`unreadable`: called with each flaw that a reader meets, in the reader's thread; it must not fail."""
        self.path = path
        self._unreadable = unreadable
        self._idle: list[sqlite3.Connection] = []
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within a read transaction, which shows one moment. Raises `ViewsDamaged`."""
        with self._lock:
            db = self._idle.pop() if self._idle else open_reader(self.path)
        try:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:  # some errors end it, and another one here would hide them
                    db.execute("ROLLBACK")
        except (sqlite3.Error, BodyDamaged) as error:  # any other is the fault of the query, or of who asked
            if not is_damage(error) and not isinstance(error, BodyDamaged):
                raise
            flaw = f"{self.path.name}: {error}"
            if not is_damage(error) or "with text" in flaw:  # such a message repeats what is in the row
                flaw = f"{self.path.name}: a row holds what is no value of its column"
            self._unreadable(flaw)
            raise ViewsDamaged(flaw) from error
        finally:
            with self._lock:
                kept = not self._closed and len(self._idle) < READERS_MAX
                if kept:
                    self._idle.append(db)
            if not kept:
                db.close()

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()


class Projector:
    """Keeps one views file level with the log. It runs at intervals, and at once when a reader waits."""

    def __init__(
        self,
        path: Path,
        journal: Journal,
        store: EventStore,
        charge: Callable[[Cost], None] = lambda _cost: None,
        pace_for: Callable[[Callable[[], bool]], GiveWay] = Pace,
    ) -> None:
        self._journal, self._store, self._charge = journal, store, charge
        self._pace, self._thread_limit = pace_for(self.gives_way), trio.CapacityLimiter(1)
        self.waiting = 0  # readers that wait for a position
        self._wanted = trio.Event()
        self._advanced = trio.Event()
        self._exclusive = trio.Lock()
        self._writer = ViewsWriter(open_writer(path), store, self._pace)
        self._token: trio.lowlevel.TrioToken | None = None
        self.readers = ReadPool(path, self._unreadable)
        try:
            with self.readers.reading() as db:
                self.position = bookmark(db).position
        except BaseException:
            self.close()
            raise
        self.level_at = journal.head
        self._build, self._reached = BuildProgress(self.position), 0
        self._followed = True
        self.damaged: Callable[[str], None] = lambda _flaw: None  # at a damaged page; must not fail, nor take long
        self.steps = 0  # batches that were applied, and exchanges of the file
        self._changed: dict[Scope, int] = {}
        self._exchanged = 0
        self.failures = 0  # batches that were not, and tried again

    @property
    def is_level(self) -> bool:
        """Whether the views have ever caught up with the log as it was at the start."""
        return self.position >= self.level_at

    def status(self) -> ReplayStatus:
        """How far the views are that were not level yet."""
        return self._build.status(max(self.position, self._reached), self._journal.head)

    def standing(self, scope: Scope) -> Standing:
        return Standing(self.position, self.steps, max(self._changed.get(scope, 0), self._exchanged))

    def gives_way(self) -> bool:
        """Whether captures go first: no reader waits, and the views are not far behind. For any thread."""
        near = self._journal.head - self.position < LAG_EVENTS_MAX
        return near and not self.waiting and self._journal.busy

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._token = trio.lowlevel.current_trio_token()
        task_status.started()
        pause_seconds = PROJECT_INTERVAL_SECONDS
        while True:
            try:
                await self._round()
                pause_seconds = PROJECT_INTERVAL_SECONDS
            except Exception as error:
                self.failures += 1
                if is_damage(error) or isinstance(error, ViewsDamaged):
                    self.damaged(str(error))
                else:
                    log.exception("the views could not be brought up to the log", position=self.position)
                pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)
                await trio.sleep(pause_seconds)

    async def wait_for(self, position: int) -> None:
        """Return once the views hold this position; until then nothing is put off."""
        if self.position >= position:
            return
        self.waiting += 1
        self._wanted.set()
        try:
            while self.position < position:
                await self._advanced.wait()
        finally:
            self.waiting -= 1

    async def moved(self, steps: int) -> bool:
        """Return once more than so many batches were applied, without making haste; False once nobody may follow."""
        while self._followed and self.steps <= steps:
            await self._advanced.wait()
        return self._followed

    def stop_following(self) -> None:
        self._followed = False
        self._wake()

    async def exchange(self, path: Path) -> None:
        """Bring another views file up to the log and serve from it; where that fails, the old one goes on serving."""
        async with self._exclusive:
            writer = ViewsWriter(open_writer(path), self._store, self._pace)
            try:
                position = -1
                while position < (reached := (await self._step(writer)).position):
                    position = reached
                await trio.to_thread.run_sync(point_to, path)
            except BaseException:
                writer.db.close()
                raise
            old_writer, old_readers = self._writer, self.readers
            self._writer, self.readers = writer, ReadPool(path, self._unreadable)
            self._note(position)
            self._exchanged = self.steps
        old_readers.close()
        old_writer.db.close()
        remove_others(path.parent, path)

    def close(self) -> None:
        self.readers.close()
        self._writer.db.close()

    async def _round(self) -> None:
        """Apply what is there now; what arrives meanwhile waits a little, for facts are cheaper by the hundred."""
        await self._journal.wait_beyond(self.position)
        end = self._journal.head
        async with self._exclusive:
            if self.level_at - self.position > LEAP_EVENTS:
                while self.level_at - self.position > LEAP_EVENTS:
                    self._note(await self._leap())
                for path in earlier_files(self.readers.path):
                    remove(path)
            while self.position < end and (stepped := await self._step(self._writer)).position > self.position:
                self._note(stepped.position, stepped.changed)
                for cost in stepped.costs:
                    self._charge(cost)
        if not self.waiting:
            self._wanted = trio.Event()
            with trio.move_on_after(PROJECT_INTERVAL_SECONDS):
                await self._wanted.wait()

    async def _step(self, writer: ViewsWriter) -> Stepped:
        return await trio.to_thread.run_sync(writer.step, PROJECT_EVENTS_MAX, limiter=self._thread_limit)

    async def _leap(self) -> int:
        """Apply so many facts that nobody may wait for them; undone at once when cancelled."""

        def leap() -> int:
            with taking_readings(self.readers.path, self._store):
                writer = ViewsWriter(self._writer.db, self._store, trio.from_thread.check_cancelled)
                return writer.leap(LEAP_EVENTS, partial(setattr, self, "_reached"))

        return await trio.to_thread.run_sync(leap, limiter=self._thread_limit)

    def _unreadable(self, flaw: str) -> None:
        # Any reader, in any thread, reports a damaged page.
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self.damaged, flaw)

    def _note(self, position: int, changed: Iterable[Scope] = ()) -> None:
        self.position = position
        self.steps += 1
        self._changed.update(dict.fromkeys(changed, self.steps))
        self._wake()

    def _wake(self) -> None:
        self._advanced.set()
        self._advanced = trio.Event()


class Ticker:
    """Appends that time has passed when a quiet sub-session is due to settle."""

    def __init__(self, journal: Journal, projector: Projector, now_us: Callable[[], int]) -> None:
        self._journal, self._projector, self._now_us = journal, projector, now_us

    async def run(self) -> None:
        while True:
            await trio.sleep(CLOCK_POLL_SECONDS)
            await self.poll()

    async def poll(self) -> bool:
        """Append if something is due; whether it did."""

        def due() -> int | None:
            with self._projector.readers.reading() as db:
                return next_due_us(db)

        try:
            due_us = await trio.to_thread.run_sync(due)
        except sqlite3.Error:  # damaged ones are built anew, and what else keeps them from being read may pass
            return False
        now_us = self._now_us()
        if due_us is None or due_us > now_us or not self._projector.is_level:
            return False
        try:
            await self._journal.append([NewEvent(clock_stream(due_us), 1, TimePassed(received_at_us=now_us))])
        except (Conflict, StoreUnavailable, Busy):
            return False
        return True
