"""The running service as the HTTP layer sees it: commands in, queries out."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from aggregates.people.budgets import DERIVING, NAMES, Budgets
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Activation
from aggregates.people.entry import Operators, Uses
from aggregates.prices.catalog import CatalogCommand, CatalogReply, Published, Served
from aggregates.reports.decide import BackfillReply
from aggregates.reports.events import BackfillRequested, ReportCancelled, ReportRequested
from aggregates.scores.grades import PeerRanges
from projections.facts.facts import activation
from projections.prices import Reading, TeamWindow
from projections.reader import Reader, is_passing
from svc import __version__
from svc.actors.actors import ActorContext, Actors, Clock, usable_digester
from svc.actors.administration import Administration
from svc.actors.mailbox import Acknowledged, Waits
from svc.archive.lane import ArchiveLane, Budget
from svc.connect.wheel import client_setup
from svc.jobs.catalog import Catalog, CatalogSource, CatalogUnusable
from svc.jobs.nodes import Following
from svc.jobs.oidc import provider_of
from svc.jobs.questions import Narratives
from svc.jobs.reports import Backfills, ReportJobs
from svc.limits import READ_WAIT_SECONDS, READERS_MAX
from svc.llm.budget import FILE as SPENT_FILE
from svc.llm.budget import Budget as TokenBudget
from svc.llm.client import Gateway
from svc.log.codec import CorruptEvent
from svc.log.folder import internal_secret
from svc.log.journal import Busy, Journal
from svc.log.store import READS, EventStore, KeyUnusable, StoreUnavailable
from svc.log.vault import Vault
from svc.maintenance.backup import scheduled_backups
from svc.maintenance.forget import Forgetting, TextDeleter
from svc.maintenance.retention import Retention
from svc.observe.logs import count_errors
from svc.observe.metrics import Instruments, Metrics
from svc.settings import Settings
from svc.views.projecting import Cost, serving_file
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import RULES_VERSION, ViewsDamaged
from svc_http.arrivals import Arrivals
from svc_http.lane import CpuTime
from svc_http.ports import (
    ClientSetup,
    ModelShown,
    NotRefreshed,
    PublicSettings,
    ReplayStatus,
    Service,
    Standing,
    Status,
    Unavailable,
)

KEY_USES_SECONDS = 60.0
"""How often the server looks for days of key use that the log does not have: one for each key and day."""
AHEAD_SECONDS = 1.0  # how long it waits at most, and is then taken all the same: a hook has five
HEALTH_SECONDS = 2.0  # how long a health check waits for a write before it says that the store is unavailable
HEALTH_KEPT_SECONDS = 1.0  # how long a store that could be written counts as one

T = TypeVar("T")
log = structlog.get_logger()


class RunningService(Service):
    """Every part of the service, from the log up, and what the HTTP layer needs of them.

    `svc.app` runs the parts; what a method does is said in `svc_http.ports`.
    """

    following: Following | None = None  # where other nodes write the same log

    def __init__(self, settings: Settings, store: EventStore, vault: Vault, clock: Clock, *, lasting: bool) -> None:
        """`lasting`: it is to run for long, so people may sign in."""
        var = settings.var_path
        self.settings = public_settings(settings, internal_secret(var))
        self.store, self.vault, self.now_us = store, vault, clock.now_us
        self.budgets = Budgets({name: getattr(settings, name) for name in NAMES})
        self.peer_ranges, self.uses, self.operators = PeerRanges(), Uses(), Operators()
        self.arrivals = Arrivals(self.now_us())
        self.provider = provider_of(settings) if lasting else None
        self._followers = Waits()
        self.stop_following = self._followers.end
        self._read_limit = trio.CapacityLimiter(READERS_MAX)
        self._writable_until = 0.0
        # Who writes to the log.
        self.journal = Journal(store)
        self.administration = Administration(store, self.journal, clock)
        self.directory = self.administration.directory
        context = ActorContext(store, self.journal, vault, clock, self.directory.redaction_of, self.budgets)
        self._acknowledged = Acknowledged()
        self.actors = Actors(context, self._acknowledged.note)
        # What is made from it.
        path = serving_file(var, RULES_VERSION, store)
        self.projector = Projector(path, self.journal, store, vault.known_digester, self._charge)
        self.rebuilding = Rebuilding(settings.place, self.projector, self.journal)
        self.projector.damaged = self.rebuilding.mend
        self.start_replay = self.rebuilding.start
        budget = Budget(settings.archive_read_files_max, settings.archive_read_bytes_max)
        self.archive = ArchiveLane(var, lambda: self.projector.readers, store.fingerprint, budget)
        source = CatalogSource(settings.catalog, network=settings.catalog_refresh)
        self.prices = Catalog(store, self.journal, clock, self.administration.organization_ids, source)
        self.catalog_revisions = self.prices.revisions
        # What a text model is asked.
        metrics = Metrics()
        count_errors(lambda message: metrics.errors.labels(message).inc())
        self._tokens = TokenBudget(var / SPENT_FILE, settings.llm_daily_tokens, self.now_us)
        self.gateway = Gateway(settings.model_endpoint, self._tokens, self.directory.text_leaves, metrics.asked)
        self.narratives = Narratives(self.gateway, self.now_us, self.directory.names_in, metrics.asked)
        self.narrates, self.narrate = self.narratives.may_narrate, self.narratives.narrate
        # Longer work.
        texts = TextDeleter(store, vault, self.journal, self.projector, clock)
        self.forgetting = Forgetting(texts, self.administration, self.rebuilding)
        self.retention = Retention(texts, self.directory)
        self.backfilling = Backfills(store, self.journal, self.rebuilding)
        self.backfills = self.backfilling.newest_first
        self.reports = ReportJobs(self, self.archive.spending, RULES_VERSION, self.narratives.report)
        if store.shared is not None:
            parts = (store.shared, self.administration, self.prices, self.rebuilding, self.reports.wake)
            self.following = Following(var, context, *parts)
            self.forgetting.carried_out = self.following.forgotten_here.add
        self.backups = scheduled_backups(settings, clock)
        self.instruments = Instruments(
            var, context, self.actors, self.projector, self.rebuilding, self.prices, metrics, self.backups
        )
        self.metrics, self.observe = metrics.text, metrics.observe

    def close(self) -> None:
        """Let go of files, once nothing runs any more."""
        self.archive.close()
        self.projector.close()

    def _charge(self, cost: Cost) -> None:
        self.budgets.use(DERIVING, *cost, self.now_us())

    def digester(self, scope: Scope) -> Digester:
        with _unavailable():
            return usable_digester(self.vault, scope.developer_id)

    async def send(self, command: AnyCommand) -> Reply:
        await self._take_turns(command.developer_id)
        with _unavailable():
            reply = await self.actors.send(command)
        self.instruments.metrics.carried_out(command, reply)
        if isinstance(command, ReportRequested | ReportCancelled):
            self.reports.note(command)
        return reply

    async def catch_up_on_people(self) -> None:
        """Know what other nodes have decided about people and keys."""
        if self.following is not None:
            await self.administration.follow()

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
            return await self.administration.send(command, by=by)

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
            shown = await self.instruments.status(self.directory, activated, writable=writable, by_kind=by_kind)
        developers = [
            replace(each, unknown_agents=self.arrivals.unread(UUID(each.developer_id))) for each in shown.developers
        ]
        model = None
        if self.gateway.model is not None:
            model = ModelShown(
                name=self.gateway.model,
                spent_tokens=self._tokens.spent_tokens,
                daily_tokens=self._tokens.daily_tokens,
            )
        return replace(shown, developers=developers, model=model)

    def replay_status(self) -> ReplayStatus:
        return self.rebuilding.status

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
        if not self.actors.are_alone:  # one alone may get farther ahead, for nobody waits
            with trio.move_on_after(AHEAD_SECONDS):
                await self.projector.wait_for(self._acknowledged.oldest(developer_id))

    def _fetch(self, positions: Iterable[int]) -> Mapping[int, Event]:
        def heard(error: CorruptEvent) -> None:
            what = "a stored event is corrupt; its texts are shown as none"
            log.error(what, position=error.position, reason=str(error))

        return {position: each.event for position, each in self.store.read_whole(positions, heard=heard).items()}


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn every reason not to do something now into `Unavailable`."""
    try:
        yield
    except Busy as error:
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


def public_settings(settings: Settings, secret: str) -> PublicSettings:
    same = (
        *("gateway_url", "anthropic_base_url", "dashboard_url", "environment"),
        *("capture_prompts", "capture_responses", "channels", "access_log"),
    )
    return PublicSettings(
        internal_secret=secret,
        ingest_url=settings.ingest_url or "",
        version=__version__,
        api_hosts=frozenset(settings.api_hosts.lower().split()),
        rules_version=RULES_VERSION,
        **{name: getattr(settings, name) for name in same},
    )
