"""The running service as the HTTP layer sees it: commands in, queries out."""

import sqlite3
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog
import trio
from msgspec.structs import replace

from aggregates.audit import TOPICS as AUDITED
from aggregates.audit import Act, Told, acts
from aggregates.capture.events import OperationClaimed
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Event, Reply, Scope
from aggregates.ids import operation_stream
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Activation
from aggregates.people.entry import Operators, Uses
from aggregates.prices.catalog import CatalogCommand, CatalogReply, Published, Served
from aggregates.reports.decide import BackfillReply
from aggregates.reports.events import BackfillRequested, ReportCancelled, ReportRequested
from aggregates.scores.grades import PeerRanges
from projections.facts.facts import activation
from projections.prices.spending import Reading, TeamWindow
from projections.reader import Reader, is_passing
from svc.actors.actors import ActorContext, Actors, usable_digester
from svc.actors.administration import Administration
from svc.actors.mailbox import Busy, Waits
from svc.archive.lane import ArchiveLane
from svc.connect.wheel import client_setup
from svc.jobs.backfills import Backfills
from svc.jobs.catalog import Catalog, CatalogUnusable
from svc.jobs.nodes import Following
from svc.jobs.questions import Narratives
from svc.limits import READ_WAIT_SECONDS, READERS_MAX
from svc.log.codec import CorruptEvent
from svc.log.journal import Saturated
from svc.log.store import READS, KeyUnusable, StoreUnavailable
from svc.maintenance.forget import Forgetting, TextDeleter
from svc.maintenance.retention import Retention
from svc.observe.metrics import Instruments
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import ViewsDamaged
from svc_http.arrivals import Arrivals
from svc_http.lane import CpuTime
from svc_http.ports import (
    ClientSetup,
    ModelShown,
    NotRefreshed,
    Provider,
    PublicSettings,
    ReplayStatus,
    Service,
    Standing,
    Status,
    Unavailable,
)

KEY_USES_SECONDS = 60.0
"""How often the server looks for days of key use that the log does not have: one for each key and day."""
ACKNOWLEDGED_MAX = 10_000  # developers whose last acknowledged position is remembered while it is not projected yet
AHEAD_EVENTS_MAX = 256
"""Events of one developer that the views may lack; the next command waits for them. A quarter of a second of work."""
AHEAD_SECONDS = 1.0  # how long it waits at most, and is then taken all the same: a hook has five
HEALTH_SECONDS = 2.0  # how long a health check waits for a write before it says that the store is unavailable
HEALTH_KEPT_SECONDS = 1.0  # how long a store that could be written counts as one

T = TypeVar("T")
log = structlog.get_logger()


class Acknowledged:
    """The last position each developer was told is on disk, while the views do not hold it."""

    def __init__(self) -> None:
        self._positions: OrderedDict[UUID, deque[int]] = OrderedDict()

    def note(self, developer_id: UUID, position: int) -> None:
        self._positions.setdefault(developer_id, deque(maxlen=AHEAD_EVENTS_MAX)).append(position)
        self._positions.move_to_end(developer_id)
        while len(self._positions) > ACKNOWLEDGED_MAX:
            self._positions.popitem(last=False)

    def position(self, developer_id: UUID) -> int:
        positions = self._positions.get(developer_id)
        return positions[-1] if positions else 0

    def oldest(self, developer_id: UUID) -> int:
        """What the views must hold before a developer is no longer too far ahead of them; 0 for most."""
        positions = self._positions.get(developer_id)
        return positions[0] if positions and len(positions) == AHEAD_EVENTS_MAX else 0


@dataclass(eq=False)
class RunningService(Service):
    """Implements what the HTTP layer needs, which says what each method does."""

    settings: PublicSettings
    _context: ActorContext
    _actors: Actors
    _administration: Administration
    projector: Projector
    _acknowledged: Acknowledged
    _rebuilding: Rebuilding
    archive: ArchiveLane
    prices: Catalog
    _instruments: Instruments
    narratives: Narratives
    ordered_report: Callable[[ReportRequested | ReportCancelled], None] = lambda _command: None
    """Called when a report was requested or cancelled; it must not fail, nor take long."""
    model: Callable[[], ModelShown | None] = lambda: None
    provider: Provider | None = None
    following: Following | None = None  # where other nodes write the same log

    def __post_init__(self) -> None:
        context, metrics = self._context, self._instruments.metrics
        self.store, self.vault, self.journal, self._clock = context.store, context.vault, context.journal, context.clock
        self.directory = self._administration.directory
        texts = TextDeleter(self.store, self.vault, self.journal, self.projector, self._clock)
        self.forgetting = Forgetting(texts, self._administration, self._rebuilding)
        self.retention = Retention(texts, self.directory)
        self.backfilling = Backfills(self.store, self.journal, self._rebuilding)
        self._read_limit = trio.CapacityLimiter(READERS_MAX)
        self._followers = Waits()
        self.peer_ranges, self.budgets = PeerRanges(), context.budgets
        self._writable_until = 0.0
        # What a part does just as a route asks for it.
        self.now_us = self._clock.now_us
        self.arrivals, self.uses = Arrivals(self.now_us()), Uses()
        self.operators = Operators()
        self.stop_following = self._followers.end
        self.backfills = self.backfilling.newest_first
        self.narrates, self.narrate = self.narratives.may_narrate, self.narratives.narrate
        self.catalog_revisions = self.prices.revisions
        self.metrics, self.observe = metrics.text, metrics.observe

    def digester(self, scope: Scope) -> Digester:
        with _unavailable():
            return usable_digester(self.vault, scope.developer_id)

    async def send(self, command: AnyCommand) -> Reply:
        await self._take_turns(command.developer_id)
        with _unavailable():
            reply = await self._actors.send(command)
        self._instruments.metrics.carried_out(command, reply)
        if isinstance(command, ReportRequested | ReportCancelled):
            self.ordered_report(command)
        return reply

    async def catch_up_on_people(self) -> None:
        """Know what other nodes have decided about people and keys."""
        if self.following is not None:
            await self._administration.follow()

    async def note_uses(self) -> None:
        """Write down when keys and browsers were used, again and again; what cannot be written now is tried again."""
        while True:
            await trio.sleep(KEY_USES_SECONDS)
            for command in list(self.uses.due(self.directory)):
                try:
                    await self.administer(command)
                except Unavailable as error:
                    log.warning("the last use of a key or browser could not be noted", reason=str(error))
                    break

    async def administer(self, command: PeopleAct, by: UUID | None = None) -> PeopleReply:
        with _unavailable():
            return await self._administration.send(command, by=by)

    async def acts(self) -> Sequence[Act]:
        with _unavailable():
            recorded = await trio.to_thread.run_sync(
                partial(self.store.read_topics, AUDITED, open_words=False), limiter=READS
            )
        return acts((Told(each.position, each.stream_id, each.event) for each in recorded), self.directory)

    async def queried(self, query: Callable[[Reader], T], scope: Scope | None) -> T:
        await self._caught_up(None if scope is None else self._acknowledged.position(scope.developer_id))
        return await self._queried(query, None if scope is None else scope.developer_id)

    async def standing(self, scope: Scope) -> Standing:
        await self._caught_up()
        return self.projector.standing(scope)

    async def moved(self, steps: int) -> bool:
        return await self._followers.wait(partial(self.projector.wait_stepped, steps))

    async def _queried(self, query: Callable[[Reader], T], developer_id: UUID | None = None) -> T:
        took = CpuTime()

        def run() -> T:
            with took, self.projector.readers.reading() as db:
                return query(Reader(db, self._fetch))

        try:
            with _unavailable():
                return await trio.to_thread.run_sync(run, limiter=self._read_limit)
        finally:
            if developer_id is not None:
                self.budgets.use("cpu_seconds_per_minute", developer_id, took.seconds, self.now_us())

    async def start_backfill(self, asked: BackfillRequested) -> BackfillReply:
        with _unavailable():
            return await self.backfilling.send(asked)

    async def team_spending(self, scope: Scope, asked: Sequence[TeamWindow]) -> Sequence[Reading]:
        await self._caught_up(self._acknowledged.position(scope.developer_id))
        with _unavailable():
            return await self.archive.spending(scope.organization_id, asked)

    async def operation_prompt(self, scope: Scope, response_operation_id: str) -> UUID | None:
        stream_id = operation_stream(scope.developer_id, response_operation_id)
        with _unavailable():
            recorded = await trio.to_thread.run_sync(self.store.read_stream, stream_id, limiter=READS)
        claims = [each.event for each in recorded if isinstance(each.event, OperationClaimed)]
        return claims[0].prompt_id if claims else None

    def shared_position(self) -> int | None:
        return None if self.following is None else self.journal.head

    async def reach(self, position: int) -> None:
        """Wait for what another node told a caller is on disk. Raises `Unavailable`."""
        if position <= self.projector.position or self.following is None:
            return
        with _unavailable():  # a restored log may end before
            position = min(position, await trio.to_thread.run_sync(self.store.head, limiter=READS))
        with trio.move_on_after(READ_WAIT_SECONDS):
            await self.journal.wait_beyond(position - 1)  # with that, people and keys are known
        await self._caught_up(position)

    async def activation(self) -> Mapping[UUID, Activation]:
        """How far each developer has come, with the caller's own changes unless the views are far behind."""
        with trio.move_on_after(READ_WAIT_SECONDS):
            await self.projector.wait_for(self.journal.head)
        return await self._queried(lambda reader: activation(reader.db))

    async def store_is_writable(self) -> bool:
        """As of the last second: each look is a synced write, and anybody may ask."""
        if trio.current_time() < self._writable_until:
            return True
        with trio.move_on_after(HEALTH_SECONDS):
            if await self.journal.probe():
                self._writable_until = trio.current_time() + HEALTH_KEPT_SECONDS
                return True
        return False

    async def client_setup(self) -> ClientSetup:
        return await trio.to_thread.run_sync(client_setup, self.settings.ingest_url, limiter=READS)

    def catalog(self) -> Served | None:
        return self.prices.served

    async def change_catalog(self, command: CatalogCommand) -> CatalogReply:
        with _unavailable():
            return await self.prices.send(command)

    async def refresh_catalog(self) -> Published:
        try:
            with _unavailable():
                return await self.prices.refresh()
        except CatalogUnusable as error:
            raise NotRefreshed(str(error)) from error

    async def status(self, *, by_kind: bool = True) -> Status:
        writable = await self.store_is_writable()
        activated = await self.activation()
        with _unavailable():
            shown = await self._instruments.status(self.directory, activated, writable=writable, by_kind=by_kind)
        developers = [
            replace(each, unknown_agents=self.arrivals.unread(UUID(each.developer_id))) for each in shown.developers
        ]
        return replace(shown, developers=developers, model=self.model())

    def start_replay(self, rules_version: int | None) -> ReplayStatus:
        return self._rebuilding.start(rules_version)

    def replay_status(self) -> ReplayStatus:
        return self._rebuilding.status

    async def _caught_up(self, position: int | None = None) -> None:
        """Wait a moment for level views, and for this position where one is given. Raises `Unavailable`."""
        if self.following is not None and not self.following.in_touch:
            raise Unavailable("this node cannot reach the store, so it knows nothing of what others write")
        with trio.move_on_after(READ_WAIT_SECONDS) as waited:
            while not self.projector.is_level:
                await self.projector.wait_stepped(self.projector.steps)
            if position is not None:
                await self.projector.wait_for(position)
        if not self.projector.is_level:
            done, of = self.projector.position, self.journal.head
            raise Unavailable(f"the views are being built from the log: {done} of {of} events; try again soon")
        if position is not None and waited.cancelled_caught:
            raise Unavailable("your latest captures are stored but not counted yet; try again in a few seconds")

    async def _take_turns(self, developer_id: UUID) -> None:
        """Hold back one who is far ahead of the views, so that what others write is shown soon; refuse nothing."""
        if self._acknowledged.oldest(developer_id) <= self.projector.position or not self.projector.is_level:
            return
        if not self._actors.are_alone:  # one alone may get farther ahead, for nobody waits
            with trio.move_on_after(AHEAD_SECONDS):
                await self.projector.wait_for(self._acknowledged.oldest(developer_id))

    def _fetch(self, positions: Iterable[int]) -> Mapping[int, Event]:
        """Events by position; a corrupt one is logged and left out."""
        wanted = list(positions)
        try:
            return {position: recorded.event for position, recorded in self.store.read_positions(wanted).items()}
        except CorruptEvent as error:
            if len(wanted) == 1:
                log.error(
                    "a stored event is corrupt; its texts are shown as none", position=wanted[0], reason=str(error)
                )
                return {}
        # One at a time, so that the corrupt one takes no other with it.
        return {position: event for each in wanted for position, event in self._fetch([each]).items()}


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn every reason not to do something now into `Unavailable`."""
    try:
        yield
    except (Busy, Saturated) as error:
        raise Unavailable(f"too much is waiting to be stored: {error}") from error
    except KeyUnusable as error:
        raise Unavailable("the developer's key cannot be used; the server's log says why") from error
    except StoreUnavailable as error:
        raise Unavailable("the event store cannot be used at present") from error
    except CorruptEvent as error:
        raise Unavailable(f"what this rests on is damaged in the log: {error}") from error
    except ViewsDamaged as error:
        raise Unavailable(
            "the views are damaged at this place and are built anew from the log; try again soon, and where that does "
            "not help, see what `svc verify` says"
        ) from error
    except sqlite3.Error as error:
        if is_passing(error):
            raise Unavailable(f"the views cannot be read at present: {error}") from error
        raise
