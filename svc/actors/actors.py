"""One actor per developer: a task with a bounded mailbox that decides, appends, adopts and replies, in this order.

Commands that wait are decided in turn and appended together: the second sees what the first will have done, and
nothing is adopted before the append has returned. After a refused or failed append the actor forgets its streams and
reads them again. Ids are deterministic, so deciding twice never captures twice.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol
from uuid import UUID

import structlog
import trio

from aggregates.capture.events import SessionClaimed
from aggregates.decide import (
    AnyCommand,
    ForgetDeveloper,
    StreamState,
    decide,
    evolve,
    required_streams,
    touched_streams,
)
from aggregates.event import Context, Decision, Digester, Event, Reply
from aggregates.people.budgets import BYTES_PER_MEGABYTE, Budgets
from svc.actors.mailbox import Request
from svc.limits import (
    FRAME_BYTES_MAX,
    KIB_BYTES,
    MAILBOX_COMMANDS_MAX,
    MIB_BYTES,
    RESTART_SECONDS_MAX,
    RESTART_SECONDS_MIN,
)
from svc.log.codec import NewEvent
from svc.log.journal import COMMIT_APPENDS_MAX, JOURNAL_BYTES_MAX, Busy, Journal, rough_bytes
from svc.log.store import READS, Conflict, EventStore, KeyUnusable, StoreUnavailable, fenced
from svc.log.vault import Vault
from svc_http.lane import CpuTime, beside
from svc_http.ports import Waiting

FLIGHT_BYTES_MAX = 64 * MIB_BYTES
"""Bytes of commands on their way in the whole process: beyond it memory, not time, would run out."""
ACTOR_BATCH_COMMANDS_MAX = 64  # commands decided and appended together: about what arrives during one fsync
ACTOR_BATCH_BYTES_MAX = MIB_BYTES
"""A batch of so many bytes takes no further command: sixty large ones together would never fit into the journal."""
ACTOR_STREAMS_MAX = 2_048  # streams an actor remembers: some weeks of one developer's prompts, about 1 MiB
ACTOR_IDLE_SECONDS = 300.0  # an actor that has had nothing to do for so long goes; its next command starts a new one
ACTOR_RETRIES_MAX = 3
"""How often a refused append is decided again; only a session claimed by two developers at once conflicts."""
DECIDE_AT_ONCE_BYTES_MAX = 4 * KIB_BYTES
"""Before a larger one the others get their turn: sixty of the largest in a row would take a third of a second."""
DECIDE_INLINE_BYTES_MAX = 64 * KIB_BYTES
"""Larger commands are decided in a thread: redacting 4 MiB on the loop would hold up everyone else."""
EVENT_DISK_BYTES = 2 * KIB_BYTES
"""What an event takes on disk besides its texts, in the log and in the views: 10,000 prompts of one line, each the
first of its session, took 53 MB for 20,000 events."""
assert FRAME_BYTES_MAX * 2 < FLIGHT_BYTES_MAX, "a full frame can be on its way"
assert ACTOR_BATCH_BYTES_MAX + 2 * FRAME_BYTES_MAX < JOURNAL_BYTES_MAX, "a batch fits, whatever its last command adds"
assert ACTOR_BATCH_COMMANDS_MAX <= COMMIT_APPENDS_MAX, "a full batch is one append among others"

log = structlog.get_logger()
CommandRequest = Request[AnyCommand, Reply]


class KnownStream(NamedTuple):
    version: int
    state: StreamState | None


EMPTY = KnownStream(0, None)


class Streams:
    """Streams an actor has read lately, and above them what the current batch would make of them."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._known: OrderedDict[UUID, KnownStream] = OrderedDict()
        self._tentative: dict[UUID, KnownStream] = {}

    def states(self, ids: Sequence[UUID]) -> dict[UUID, StreamState]:
        found = {stream_id: self._look(stream_id).state for stream_id in ids}
        return {stream_id: state for stream_id, state in found.items() if state is not None}

    def stage(self, events: Sequence[tuple[UUID, Event]]) -> list[NewEvent]:
        """Give the events their versions, as if the staged ones before them were in the log."""
        staged = []
        for stream_id, event in events:
            known = self._look(stream_id)
            staged.append(NewEvent(stream_id, known.version + 1, event))
            self._tentative[stream_id] = KnownStream(known.version + 1, evolve(known.state, event))
        return staged

    def adopt(self) -> None:
        for stream_id, known in self._tentative.items():
            self._remember(stream_id, known)
        self._tentative.clear()

    def drop(self, ids: Iterable[UUID]) -> None:
        for stream_id in ids:
            self._known.pop(stream_id, None)

    def forget(self) -> None:
        self._tentative.clear()
        self._known.clear()

    async def load(self, ids: Sequence[UUID]) -> None:
        for stream_id in ids:
            if stream_id not in self._known:
                self._remember(stream_id, await trio.to_thread.run_sync(self._read, stream_id, limiter=READS))

    def _read(self, stream_id: UUID) -> KnownStream:
        known = EMPTY
        for recorded in self._store.read_stream(stream_id, open_words=False):
            known = KnownStream(recorded.version, evolve(known.state, recorded.event))
        return known

    def _look(self, stream_id: UUID) -> KnownStream:
        return self._tentative.get(stream_id) or self._known.get(stream_id, EMPTY)

    def _remember(self, stream_id: UUID, known: KnownStream) -> None:
        self._known[stream_id] = known
        self._known.move_to_end(stream_id)
        while len(self._known) > ACTOR_STREAMS_MAX:
            self._known.popitem(last=False)


_NS_PER_US = 1_000


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        ...


class SystemClock:
    """The machine's clock. It may jump; what needs a duration asks trio instead."""

    def now_us(self) -> int:
        return time.time_ns() // _NS_PER_US


class ActorContext(NamedTuple):
    store: EventStore
    journal: Journal
    vault: Vault
    clock: Clock
    redaction: Callable[[UUID], bool]  # whether an organization has secrets taken out of its texts
    budgets: Budgets


class DeveloperActor:
    """Decides for one developer; the only writer of that developer's streams."""

    def __init__(self, developer_id: UUID, context: ActorContext, acknowledged: Callable[[UUID, int], None]) -> None:
        self._developer_id = developer_id
        self._context = context
        self._acknowledged = acknowledged
        self._streams = Streams(context.store)
        self._doubtful = False  # whether the last append failed, though it may have committed
        self._send, self._receive = trio.open_memory_channel[CommandRequest](MAILBOX_COMMANDS_MAX)

    def post(self, request: CommandRequest) -> None:
        """Put a request into the mailbox; `Busy` where it is full."""
        try:
            self._send.send_nowait(request)
        except trio.WouldBlock:
            raise Busy(f"{MAILBOX_COMMANDS_MAX} captures of this developer wait already") from None

    @property
    def requests(self) -> int:
        return self._receive.statistics().current_buffer_used

    async def run(self) -> None:
        while True:
            request = None
            with trio.move_on_after(ACTOR_IDLE_SECONDS):
                request = await self._receive.receive()
            if request is None:
                return
            await self._handle(self._batch(request))

    def _batch(self, first: CommandRequest) -> list[CommandRequest]:
        requests, size_bytes = [first], first.size_bytes
        while len(requests) < ACTOR_BATCH_COMMANDS_MAX and size_bytes < ACTOR_BATCH_BYTES_MAX:
            try:
                requests.append(self._receive.receive_nowait())
            except trio.WouldBlock:
                break
            size_bytes += requests[-1].size_bytes
        return requests

    async def _handle(self, requests: list[CommandRequest]) -> None:
        if self._context.store.shared is not None:  # another node may have written to what may change
            self._streams.drop(stream_id for request in requests for stream_id in required_streams(request.command))
        try:
            conflict = not await self._attempt(requests, required_streams)
            for request in requests if conflict else ():
                await self._alone(request)
        finally:
            for request in requests:
                request.fail(StoreUnavailable("this developer's actor stopped; send the capture again"))

    async def _alone(self, request: CommandRequest) -> None:
        for _ in range(ACTOR_RETRIES_MAX):
            if await self._attempt([request], touched_streams):
                return
        request.fail(StoreUnavailable("others wrote to the same streams again and again; send the capture again"))

    async def _attempt(
        self, requests: Sequence[CommandRequest], streams_of: Callable[[AnyCommand], Sequence[UUID]]
    ) -> bool:
        """Decide and append once; False after a conflict, where another attempt may succeed."""
        decided: list[tuple[CommandRequest, Decision]] = []
        staged: list[NewEvent] = []
        try:
            for request in requests:
                await self._streams.load(streams_of(request.command))
                decision = await self._decide(request)
                if decision is not None:
                    staged += self._streams.stage(decision.events)
                    decided.append((request, decision))
            positions: Sequence[int] = ()
            if staged:
                with fenced(*(fence for request in requests for fence in request.fences)):
                    positions = await self._context.journal.append(staged)
                self._streams.adopt()
            elif self._doubtful:
                positions = [await self._found_on_disk()]
        except Conflict:
            self._streams.forget()
            return False
        except (StoreUnavailable, Busy) as error:
            self._streams.forget()
            self._doubtful = True
            for request in requests:
                request.fail(error)
            return True
        except BaseException:
            self._streams.forget()
            raise
        self._acknowledge(positions)
        for request, decision in decided:
            self._count_stored(request, decision.events)
            request.answer(decision.reply)
        return True

    def _acknowledge(self, positions: Sequence[int]) -> None:
        for position in positions:
            self._acknowledged(self._developer_id, position)
            self._doubtful = False

    async def _found_on_disk(self) -> int:
        """Where the log ends. A write that was reported as failed may be in it. Raises `StoreUnavailable`."""
        if not await self._context.journal.probe():
            raise StoreUnavailable("the log cannot be written at present")
        return self._context.journal.head

    async def _decide(self, request: CommandRequest) -> Decision | None:
        command, vault = request.command, self._context.vault
        # To forget somebody is the way out where no backup has their key.
        digester_of = vault.known_digester if isinstance(command, ForgetDeveloper) else partial(usable_digester, vault)
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
            request.fail(error)
            return None
        finally:
            self._spent("cpu_seconds_per_minute", taken.seconds)

    def _count_stored(self, request: CommandRequest, events: Sequence[tuple[UUID, Event]]) -> None:
        if events:
            size_bytes = request.size_bytes + EVENT_DISK_BYTES * len(events)
            self._spent("stored_megabytes_per_day", size_bytes / BYTES_PER_MEGABYTE)
            self._spent("sessions_per_day", sum(isinstance(event, SessionClaimed) for _, event in events))

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

    def __init__(self, context: ActorContext, acknowledged: Callable[[UUID, int], None]) -> None:
        self._context = context
        self._acknowledged = acknowledged
        self._actors: dict[UUID, DeveloperActor] = {}
        self._nursery: trio.Nursery | None = None
        self._flight_bytes = 0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await trio.sleep_forever()

    async def send(self, command: AnyCommand) -> Reply:
        """Carry a command out; returns once it is on disk.

        `Busy` where too much waits already; `StoreUnavailable` where the log cannot take it.
        """
        request = CommandRequest(command, rough_bytes(command), self._landed)
        if self._flight_bytes + request.size_bytes > FLIGHT_BYTES_MAX:
            raise Busy(f"{self._flight_bytes} bytes of captures are on their way already")
        self._actor(command.developer_id).post(request)
        self._flight_bytes += request.size_bytes
        return await request.reply()

    @property
    def are_alone(self) -> bool:
        """Whether one developer at most has sent anything of late."""
        return len(self._actors) < 2

    def waiting(self) -> Waiting:
        commands = sum(actor.requests for actor in self._actors.values())
        return Waiting(developers=len(self._actors), commands=commands, bytes=self._flight_bytes)

    def _landed(self, size_bytes: int) -> None:
        """Called when a request is settled, not when its sender leaves: then its memory is free."""
        self._flight_bytes -= size_bytes

    def _actor(self, developer_id: UUID) -> DeveloperActor:
        actor = self._actors.get(developer_id)
        if actor is None:
            assert self._nursery is not None, "actors are sent to only while they run"
            actor = self._actors[developer_id] = DeveloperActor(developer_id, self._context, self._acknowledged)
            self._nursery.start_soon(self._supervise, developer_id, actor)
        return actor

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
            if not actor.requests:
                del self._actors[developer_id]
                return
