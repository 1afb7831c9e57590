"""One actor per developer: a task with a bounded mailbox that decides, appends and replies, in this order.

A client that hangs up cancels its handler, not the command. Commands that wait are decided in turn, appended together:
the second sees what the first will have done. After an append that failed an actor reads its streams again, so it knows
nothing that is not in the log. Ids are deterministic: deciding twice captures nothing twice.
"""

import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar
from uuid import UUID

import structlog
import trio

from aggregates.capture.events import SessionClaimed
from aggregates.decide import AnyCommand, StreamState, Unconditional, decide, evolve, required_streams, touched_streams
from aggregates.event import Context, Decision, Digester, Event, Mendable, Newest, NewEvent, Reply
from aggregates.people.entry import BYTES_PER_MEGABYTE, Budgets
from aggregates.retained import ForgetOrdered
from svc.log.codec import CorruptEvent, rough_bytes
from svc.log.journal import COMMIT_APPENDS_MAX, JOURNAL_BYTES_MAX, Busy, Journal
from svc.log.store import READS, Conflict, EventStore, KeyUnusable, StoreUnavailable, current_fences, fenced
from svc.log.vault import Vault
from svc.process import FRAME_BYTES_MAX, KIB_BYTES, MIB_BYTES, RESTART_SECONDS_MAX, RESTART_SECONDS_MIN
from svc_http.ports import CpuTime, Waiting, beside

MAILBOX_COMMANDS_MAX = 1_024  # that wait for one developer: the burst of a whole team's agents that share a key
AHEAD_EVENTS_MAX = 256  # of a developer, that the views may lack; the next command waits. A quarter of a second of work
FLIGHT_BYTES_MAX = 64 * MIB_BYTES  # of commands on their way in the process: beyond it memory, not time, would run out
ACTOR_BATCH_COMMANDS_MAX = 64  # commands decided and appended together: about what arrives during one fsync
ACTOR_BATCH_BYTES_MAX = MIB_BYTES  # takes no further command: sixty large ones would never fit into the journal
ACTOR_STREAMS_MAX = 2_048  # streams an actor remembers: some weeks of one developer's prompts, about 1 MiB
ACTOR_IDLE_SECONDS = 300.0  # an actor that has had nothing to do for so long goes; its next command starts a new one
FENCED_TRIES_MAX = 5  # how often a change is decided again because another node decided at the same time
ACTOR_RETRIES_MAX = 3  # of a refused append; only a session claimed by two developers at once conflicts
DECIDE_AT_ONCE_BYTES_MAX = 4 * KIB_BYTES  # before a larger one others get their turn, for sixty take long
DECIDE_INLINE_BYTES_MAX = 64 * KIB_BYTES  # larger ones are decided in a thread: 4 MiB would hold the others up
EVENT_DISK_BYTES = 2 * KIB_BYTES  # an event on disk besides its texts, in log and views: 20,000 events took 53 MB
assert FRAME_BYTES_MAX * 2 < FLIGHT_BYTES_MAX, "a full frame can be on its way"
assert ACTOR_BATCH_BYTES_MAX + 2 * FRAME_BYTES_MAX < JOURNAL_BYTES_MAX, "a batch fits, whatever its last command adds"
assert ACTOR_BATCH_COMMANDS_MAX <= COMMIT_APPENDS_MAX, "a full batch is one append among others"

log = structlog.get_logger()
T = TypeVar("T")


class Turns:
    """Work is done one after the other, and to its end; again where another node decided meanwhile."""

    def __init__(self, store: EventStore, waiting_max: int, full: str) -> None:
        self._lock, self._store, self._waiting_max, self._full = trio.Lock(), store, waiting_max, full

    async def take(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work returns. Raises `Busy` where too much waits."""
        if self._lock.statistics().tasks_waiting >= self._waiting_max:
            raise Busy(self._full)
        async with self._lock:
            for _ in range(FENCED_TRIES_MAX):
                try:
                    with trio.CancelScope(shield=True):
                        done = await work()
                    return done
                except Conflict:
                    if self._store.shared is None:
                        raise
        raise StoreUnavailable("other nodes decided about the same again and again; try again")


async def recur(
    work: Callable[[], Awaitable[object]], pause_seconds: float, broken: str, retry_seconds: float | None = None
) -> NoReturn:
    """Do it again and again. `broken` is logged when it breaks; then it is tried again after a pause of its own."""
    while True:
        pause = pause_seconds
        try:
            await work()
        except Exception as error:
            pause = pause_seconds if retry_seconds is None else retry_seconds
            if isinstance(error, Mendable):
                log.warning(broken, reason=str(error))
            else:
                log.exception(broken)
        await trio.sleep(pause)


class Request:
    def __init__(self, command: AnyCommand, size_bytes: int, landed: Callable[[int], None]) -> None:
        self.command = command
        self.fences = current_fences()  # of who sent it: they hold for what it makes
        self.size_bytes = size_bytes
        self._landed = landed
        self._outcome: Reply | Exception | None = None
        self._settled = trio.Event()

    def settle(self, outcome: Reply | Exception) -> None:
        """The first outcome counts."""
        if self._outcome is None:
            self._outcome = outcome
            self._settled.set()
            self._landed(self.size_bytes)

    async def reply(self) -> Reply:
        await self._settled.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None, "a request is settled with a reply or an error"
        return self._outcome


class KnownStream(NamedTuple):
    version: int
    state: StreamState | None


EMPTY = KnownStream(0, None)


class Streams:
    """Streams an actor has read lately, with what the current batch makes of them. If that fails, all are forgotten."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._known = Newest[UUID, KnownStream](ACTOR_STREAMS_MAX)

    def states(self, ids: Sequence[UUID]) -> dict[UUID, StreamState]:
        found = {stream_id: self._known.get(stream_id, EMPTY).state for stream_id in ids}
        return {stream_id: state for stream_id, state in found.items() if state is not None}

    def stage(self, events: Sequence[tuple[UUID, Event]]) -> list[NewEvent]:
        """Give the events their versions, as if they, and those staged before them, were in the log."""
        staged = []
        for stream_id, event in events:
            version, state = self._known.get(stream_id, EMPTY)
            staged.append(NewEvent(stream_id, version + 1, event))
            self._known.put(stream_id, KnownStream(version + 1, evolve(state, event)))
        return staged

    def drop(self, ids: Iterable[UUID]) -> None:
        for stream_id in ids:
            self._known.pop(stream_id, None)

    def forget(self) -> None:
        self._known.clear()

    async def load(self, ids: Sequence[UUID], *, stateful: bool) -> None:
        def read(stream_id: UUID) -> KnownStream:
            known = EMPTY if stateful else KnownStream(self._store.version(stream_id), None)
            for recorded in self._store.read_stream(stream_id, open_words=False) if stateful else ():
                known = KnownStream(recorded.version, evolve(known.state, recorded.event))
            return known

        for stream_id in ids:
            if stream_id not in self._known:
                self._known.put(stream_id, await trio.to_thread.run_sync(read, stream_id, limiter=READS))


class Clock:
    """The machine's. It may jump; what needs a duration asks trio instead."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000


class ActorContext(NamedTuple):
    store: EventStore
    journal: Journal
    clock: Clock
    redaction: Callable[[UUID], bool]  # whether an organization has secrets taken out of its texts
    budgets: Budgets


class DeveloperActor:
    """Decides for one developer; the only writer of that developer's streams."""

    def __init__(self, developer_id: UUID, context: ActorContext, acknowledged: deque[int]) -> None:
        self._developer_id, self._context, self._acknowledged = developer_id, context, acknowledged
        self._streams = Streams(context.store)
        self._doubtful = False  # whether the last append failed, though it may have committed
        self._mailbox, self._requests = trio.open_memory_channel[Request](MAILBOX_COMMANDS_MAX)

    @property
    def waiting(self) -> int:
        return self._requests.statistics().current_buffer_used

    def post(self, request: Request) -> None:
        try:
            self._mailbox.send_nowait(request)
        except trio.WouldBlock:
            raise Busy(f"{MAILBOX_COMMANDS_MAX} captures of this developer wait already") from None

    async def run(self) -> None:
        """Until there was nothing to do for long. Takes what waits, up to a bound, and carries it out together."""
        while True:
            requests: list[Request] = []
            with trio.move_on_after(ACTOR_IDLE_SECONDS):
                requests.append(await self._requests.receive())
            if not requests:
                return
            size_bytes = requests[0].size_bytes
            while self.waiting and len(requests) < ACTOR_BATCH_COMMANDS_MAX and size_bytes < ACTOR_BATCH_BYTES_MAX:
                requests.append(self._requests.receive_nowait())
                size_bytes += requests[-1].size_bytes
            await self._handle(requests)

    async def _handle(self, requests: list[Request]) -> None:
        if self._context.store.shared is not None:  # another node may have written to what may change
            self._streams.drop(stream_id for request in requests for stream_id in required_streams(request.command))
        try:
            if await self._attempt(requests, required_streams):
                return
            for request in requests:  # alone, so that one that is refused takes no other with it
                for _ in range(ACTOR_RETRIES_MAX):
                    if await self._attempt([request], touched_streams):
                        break
                request.settle(StoreUnavailable("others wrote to the same streams each time; send the capture again"))
        finally:
            for request in requests:
                request.settle(StoreUnavailable("this developer's actor stopped; send the capture again"))

    async def _attempt(self, requests: Sequence[Request], streams_of: Callable[[AnyCommand], Sequence[UUID]]) -> bool:
        """Decide and append once; False after a conflict or at damage, where others may succeed alone."""
        try:
            await self._carry_out(requests, streams_of)
        except BaseException as error:
            self._streams.forget()
            if isinstance(error, Conflict | CorruptEvent):
                if len(requests) == 1 and isinstance(error, CorruptEvent):
                    requests[0].settle(error)
                return False
            if not isinstance(error, StoreUnavailable | Busy):
                raise
            self._doubtful = True
            for request in requests:
                request.settle(error)
        return True

    async def _carry_out(self, requests: Sequence[Request], streams_of: Callable[[AnyCommand], Sequence[UUID]]) -> None:
        decided: list[tuple[Request, Decision]] = []
        staged: list[NewEvent] = []
        for request in requests:
            stateful = not isinstance(request.command, Unconditional)
            await self._streams.load(streams_of(request.command), stateful=stateful)
            decision = await self._decide(request)
            if decision is not None:
                staged += self._streams.stage(decision.events)
                decided.append((request, decision))
        journal = self._context.journal
        if staged:
            with fenced(*(fence for request in requests for fence in request.fences)):
                self._acknowledged.extend(await journal.append(staged))
        elif self._doubtful:  # a write that was reported as failed may be in the log
            if not await journal.probe():
                raise StoreUnavailable("the log cannot be written at present")
            self._acknowledged.append(journal.head)
        self._doubtful = False
        for request, decision in decided:
            if events := decision.events:
                size_bytes = request.size_bytes + EVENT_DISK_BYTES * len(events)
                self._spent("stored_megabytes_per_day", size_bytes / BYTES_PER_MEGABYTE)
                self._spent("sessions_per_day", sum(isinstance(event, SessionClaimed) for _, event in events))
            request.settle(decision.reply)

    async def _decide(self, request: Request) -> Decision | None:
        command, vault = request.command, self._context.store.vault
        # To forget somebody is the way out where no backup has their key.
        digester_of = vault.known_digester if isinstance(command, ForgetOrdered) else partial(usable_digester, vault)
        context = Context(
            now_us=self._context.clock.now_us(),
            digester=digester_of(self._developer_id),
            redaction=self._context.redaction(command.organization_id),
        )
        states = self._streams.states(touched_streams(command))
        taken = CpuTime()
        try:
            if request.size_bytes <= DECIDE_INLINE_BYTES_MAX:
                if request.size_bytes > DECIDE_AT_ONCE_BYTES_MAX:
                    await trio.lowlevel.checkpoint()  # others get their turn
                with taken:
                    return decide(command, states, context)
            return await beside(taken, request.size_bytes, partial(decide, command, states, context))
        except Exception as error:
            log.exception("a command could not be decided", command=type(command).__name__)
            request.settle(error)
            return None
        finally:
            self._spent("cpu_seconds_per_minute", taken.seconds)

    def _spent(self, name: str, amount: float) -> None:
        self._context.budgets.use(name, self._developer_id, amount, self._context.clock.now_us())


def usable_digester(vault: Vault, developer_id: UUID) -> Digester:
    """Keyed digests of a developer. Raises `KeyUnusable` where the key is missing or cannot be kept."""
    try:
        return vault.digester(developer_id)
    except OSError as error:
        log.error("a developer's key cannot be used", developer_id=str(developer_id), flaw=str(error))
        raise KeyUnusable(f"the developer's key cannot be used: {error}") from error


class Actors:
    """All actors: started on demand, restarted with back-off when they break, gone when idle."""

    def __init__(self, context: ActorContext) -> None:
        self._context = context
        self._acknowledged: defaultdict[UUID, deque[int]] = defaultdict(partial(deque, maxlen=AHEAD_EVENTS_MAX))
        self._actors: dict[UUID, DeveloperActor] = {}
        self._nursery: trio.Nursery | None = None
        self._flight_bytes = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    async def send(self, command: AnyCommand) -> Reply:
        """Returns once it is on disk. Raises `Busy`, and `StoreUnavailable` where the log cannot take it."""

        def landed(size_bytes: int) -> None:  # when it is settled, not when its sender leaves: then its memory is free
            self._flight_bytes -= size_bytes

        request = Request(command, rough_bytes(command), landed)
        if self._flight_bytes + request.size_bytes > FLIGHT_BYTES_MAX:
            raise Busy(f"{self._flight_bytes} bytes of captures are on their way already")
        developer_id = command.developer_id
        actor = self._actors.get(developer_id)
        if actor is None:
            assert self._nursery is not None, "actors are sent to only while they run"
            actor = DeveloperActor(developer_id, self._context, self._acknowledged[developer_id])
            self._actors[developer_id] = actor
            self._nursery.start_soon(self._supervise, developer_id, actor)
        actor.post(request)
        self._flight_bytes += request.size_bytes
        return await request.reply()

    def acknowledged(self, developer_id: UUID) -> int:
        """The last position that a developer was told is on disk."""
        positions = self._acknowledged.get(developer_id)
        return positions[-1] if positions else 0

    def far_back(self, developer_id: UUID) -> int:
        """What the views must hold before one who is far ahead goes on; 0 for most."""
        positions = self._acknowledged.get(developer_id)
        return positions[0] if positions and len(positions) == AHEAD_EVENTS_MAX else 0

    @property
    def several(self) -> bool:
        """Whether more than one developer sends."""
        return len(self._actors) > 1

    def waiting(self) -> Waiting:
        commands = sum(actor.waiting for actor in self._actors.values())
        return Waiting(developers=len(self._actors), commands=commands, bytes=self._flight_bytes)

    async def _supervise(self, developer_id: UUID, actor: DeveloperActor) -> None:
        pause_seconds = RESTART_SECONDS_MIN
        while True:
            try:
                await actor.run()
            except Exception:
                log.exception("an actor broke and is started again", developer_id=str(developer_id))
                await trio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, RESTART_SECONDS_MAX)
                continue
            # No checkpoint lies between this look and the removal, so no request can slip in between.
            if not actor.waiting:
                del self._actors[developer_id]
                return
