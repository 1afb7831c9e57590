"""The running service as the HTTP layer sees it, commands in, queries out; and what runs while it is open."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import structlog
import trio

from aggregates.audit import TOPICS as AUDITED, Act, acts
from aggregates.capture.events import is_older
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Event, Reply, Scope, Unavailable
from aggregates.people.acts import PeopleAct
from aggregates.people.decide import PeopleReply
from aggregates.people.directory import Activation, Organization
from aggregates.people.entry import DERIVING, NAMES, OPERATOR_HOURS, OPERATOR_LINK_SECONDS, Budgets, Passes, Uses
from aggregates.prices.catalog import Served
from aggregates.reports.events import ReportCancelled, ReportRequested
from aggregates.scores.grades import PeerRanges
from aggregates.telemetry.export import reread
from projections.facts.facts import activation
from projections.prices import Reading, TeamWindow
from projections.reader import Reader, is_passing
from svc import __version__
from svc.actors.actors import ActorContext, Actors, Clock, usable_digester
from svc.actors.administration import Administration
from svc.archive.lane import ArchiveLane, Budget
from svc.jobs import catalog, nodes, notices, oidc, questions, reports
from svc.llm import client
from svc.log import codec, folder, journal, opening
from svc.log.store import READS, EventStore
from svc.logs import count_errors
from svc.maintenance import backup, texts, verify
from svc.metrics import Instruments, Metrics, developers_shown
from svc.process import READ_WAIT_SECONDS, READERS_MAX
from svc.settings import Settings
from svc.views import projector, replay, views
from svc_http import ports

KEY_USES_SECONDS = 60.0  # between two looks for days of key use that the log lacks: one for each key and day
AHEAD_SECONDS = 1.0  # how long it waits at most, and is then taken all the same: a hook has five
HEALTH_SECONDS = 2.0  # how long a health check waits for a write before it says that the store is unavailable
HEALTH_KEPT_SECONDS = 1.0  # how long a store that could be written counts as one

T = TypeVar("T")
log = structlog.get_logger()


class RunningService(ports.Service):
    """Every part of the service, from the log up. What a method does is said in `svc_http.ports`."""

    following: nodes.Following | None = None  # where other nodes write the same log

    def __init__(self, settings: Settings, store: EventStore, clock: Clock, *, lasting: bool) -> None:
        """`lasting`: it is to run for long, so people may sign in."""
        var = settings.var_path
        self.settings = public_settings(settings, folder.internal_secret(var))
        self.store, self.now_us = store, clock.now_us
        self.budgets = Budgets({name: getattr(settings, name) for name in NAMES})
        self.peer_ranges, self.uses = PeerRanges(), Uses()
        self.operator_links, self.operator_browsers = Passes(OPERATOR_LINK_SECONDS), Passes(OPERATOR_HOURS * 3_600)
        self.arrivals, self.searches = ports.Arrivals(self.now_us()), ports.Searches()
        self.provider = oidc.provider_of(settings) if lasting else None
        self._read_limit = trio.CapacityLimiter(READERS_MAX)
        self._writable_until = 0.0
        # Who writes to the log.
        self.journal = journal.Journal(store)
        self.administration = Administration(store, self.journal, clock)
        self.directory = self.administration.directory
        context = ActorContext(store, self.journal, clock, self.directory.redaction_of, self.budgets)
        self.actors = Actors(context)
        # What is made from it.
        path = views.serving_file(var, store)
        self.projector = projector.Projector(path, self.journal, store, self._charge)
        self.rebuilding = replay.Rebuilding(settings.place, self.projector, self.journal)
        self.projector.damaged = self.rebuilding.mend
        self.moved, self.stop_following = self.projector.moved, self.projector.stop_following
        self.start_replay, self.replay_status = self.rebuilding.start, self.rebuilding.shown
        budget = Budget(settings.archive_read_files_max, settings.archive_read_bytes_max)
        self.archive = ArchiveLane(var, lambda: self.projector.readers, store.fingerprint, budget)
        source = catalog.CatalogSource(settings.catalog, network=settings.catalog_refresh)
        self.prices = catalog.Catalog(
            store, self.journal, clock, lambda: {each.id for each in self.directory.all(Organization)}, source
        )
        self.change_catalog, self.refresh_catalog = self.prices.send, self.prices.refresh
        self.catalog_revisions = self.prices.revisions
        # What a text model is asked.
        metrics = Metrics()
        count_errors(lambda message: metrics.errors.labels(message).inc())
        self._tokens = client.Budget(var / "llm-spent.json", settings.llm_daily_tokens, self.now_us)
        self.gateway = client.Gateway(settings, self._tokens, self.directory.text_leaves, metrics.asked)
        self.narratives = questions.Narratives(self.gateway, self.now_us, self.directory.names_in, metrics.asked)
        reviews = questions.Reviews(self, self.journal.append, self.directory.text_leaves)
        self.judge_questions, self.judge_answers = reviews.questions, reviews.take
        self.narrates, self.narrate = self.gateway.may_ask, self.narratives.narrate
        # Longer work.
        deleter = texts.TextDeleter(store, self.journal, self.projector, clock)
        self.forgetting = texts.Forgetting(deleter, self.administration, self.rebuilding)
        self.retention = texts.Retention(deleter, self.directory)
        self.backfilling = reports.Backfills(store, self.journal, self.rebuilding)
        self.start_backfill, self.backfills = self.backfilling.send, self.backfilling.newest_first
        self.reports = reports.ReportJobs(self, self.archive.spending, views.RULES_VERSION, self.narratives.report)
        if store.shared is not None:
            parts = (store.shared, self.administration, self.prices, self.rebuilding, self.reports.wake)
            self.following = nodes.Following(var, context, *parts)
            self.forgetting.carried_out = self.following.forgotten_here.add
        self.backups = backup.ScheduledBackups(settings, clock) if settings.backup_every else None
        self.instruments = Instruments(
            var, context, self.actors, self.projector, self.rebuilding, self.prices, metrics, self.backups
        )
        self.metrics, self.observe = metrics.text, metrics.observe

    def close(self) -> None:
        self.archive.close()
        self.projector.close()

    def _charge(self, cost: views.Cost) -> None:
        self.budgets.use(DERIVING, *cost, self.now_us())

    def digester(self, scope: Scope) -> Digester:
        return usable_digester(self.store.vault, scope.developer_id)

    async def send(self, command: AnyCommand) -> Reply:
        if self.actors.several:  # what others write is shown soon
            await self.held_back(command.developer_id)
        reply = await self.actors.send(command)
        self.instruments.metrics.carried_out(command, reply)
        if isinstance(command, ReportRequested | ReportCancelled):
            self.reports.note(command)
        return reply

    async def held_back(self, developer_id: UUID) -> None:
        wanted = self.actors.far_back(developer_id)
        if wanted > self.projector.position and self.projector.is_level:
            with trio.move_on_after(AHEAD_SECONDS):
                await self.projector.wait_for(wanted)

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
        return await self.administration.send(command, by=by)

    async def acts(self) -> Sequence[Act]:
        read = partial(self.store.read_topics, AUDITED, open_words=False)
        recorded = await trio.to_thread.run_sync(read, limiter=READS)
        return acts(recorded, self.directory)

    async def queried(self, query: Callable[[Reader], T], scope: Scope | None) -> T:
        await self._caught_up(0 if scope is None else self.actors.acknowledged(scope.developer_id))
        return await self._queried(query, None if scope is None else scope.developer_id)

    async def standing(self, scope: Scope) -> ports.Standing:
        await self._caught_up()
        return self.projector.standing(scope)

    async def _queried(self, query: Callable[[Reader], T], developer_id: UUID | None = None) -> T:
        took = ports.CpuTime()

        def run() -> T:
            with took, self.projector.readers.reading() as db:
                return query(Reader(db, self._fetch))

        try:
            with _views_at_hand():
                return await trio.to_thread.run_sync(run, limiter=self._read_limit)
        finally:
            if developer_id is not None:
                self.budgets.use("cpu_seconds_per_minute", developer_id, took.seconds, self.now_us())

    async def team_spending(self, scope: Scope, asked: Sequence[TeamWindow]) -> Sequence[Reading]:
        await self._caught_up(self.actors.acknowledged(scope.developer_id))
        return await self.archive.spending(scope.organization_id, asked)

    def shared_position(self) -> int | None:
        return None if self.following is None else self.journal.head

    async def reach(self, position: int) -> None:
        """Wait for what another node told a caller is on disk. Raises `Unavailable`."""
        if position <= self.projector.position or self.following is None:
            return
        # A restored log may end before.
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

    async def client_setup(self) -> ports.ClientSetup:
        from svc.connect.agents import client_setup  # late: a server starts without what changes settings

        return await trio.to_thread.run_sync(client_setup, self.settings.ingest_url, limiter=READS)

    def catalog(self) -> Served | None:
        return self.prices.served

    async def status(self, *, by_kind: bool = True) -> ports.Status:
        writable = await self.store_is_writable()
        developers, model = developers_shown(self.directory, await self.activation(), self.arrivals), None
        if self.gateway.model is not None:
            spent, daily = self._tokens.spent_tokens, self._tokens.daily_tokens
            model = ports.ModelShown(name=self.gateway.model, spent_tokens=spent, daily_tokens=daily)
        with _views_at_hand():
            return await self.instruments.status(developers, model, writable=writable, by_kind=by_kind)

    async def _caught_up(self, position: int = 0) -> None:
        """Wait a moment for level views that hold a position. Raises `Unavailable`."""
        if self.following is not None and not self.following.in_touch:
            raise Unavailable("this node cannot reach the store, so it knows nothing of what others write")
        with trio.move_on_after(READ_WAIT_SECONDS) as waited:
            await self.projector.wait_for(max(position, self.projector.level_at))
        if not self.projector.is_level:
            how = self.projector.status()
            left = "" if how.seconds_left is None else f", about {-(-how.seconds_left // 60)} min left"
            raise Unavailable(f"the views are built from the log: {how.done} of {how.of} events{left}; try again later")
        if waited.cancelled_caught:
            raise Unavailable("your latest captures are stored but not counted yet; try again in a few seconds")

    def _fetch(self, positions: Iterable[int]) -> Mapping[int, Event]:
        def heard(error: codec.CorruptEvent) -> None:
            what = "a stored event is corrupt; its texts are shown as none"
            log.error(what, position=error.position, reason=str(error))

        found = {at: each.event for at, each in self.store.read_positions(positions, heard=heard).items()}
        known = self.store.vault.known_digester
        return {at: reread(it, known(it.developer_id)) if is_older(it) else it for at, it in found.items()}


@contextmanager
def _views_at_hand() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if isinstance(error, Unavailable) or not is_passing(error):
            raise
        raise Unavailable(f"the views cannot be read at present: {error}") from error


def public_settings(settings: Settings, secret: str) -> ports.PublicSettings:
    same: dict[str, Any] = {name: getattr(settings, name, None) for name in ports.PublicSettings.__struct_fields__}
    told = {"internal_secret": secret, "version": __version__, "rules_version": views.RULES_VERSION}
    told |= {"ingest_url": settings.ingest_url or "", "api_hosts": frozenset(settings.api_hosts.lower().split())}
    return ports.PublicSettings(**same | told)


@asynccontextmanager
async def open_service(
    settings: Settings, *, clock: Clock | None = None, lasting: bool = False, reporting: bool = False
) -> AsyncIterator[RunningService]:
    """The running service over a folder that this process holds, without any listener, until the block ends."""
    with closing(opening.open_log(settings.place)) as store:
        verify.settle(store)
        if lasting:
            verify.tell(verify.lost_keys(store))
        with closing(RunningService(settings, store, clock or Clock(), lasting=lasting)) as service:
            lanes = lanes_of(service, settings, lasting=lasting, reporting=reporting)
            async with trio.open_nursery() as nursery:
                for task in tasks_of(service):
                    await nursery.start(task)
                for lane in lanes:
                    nursery.start_soon(lane)
                yield service
                nursery.cancel_scope.cancel()


def tasks_of(service: RunningService) -> Sequence[Callable[..., Awaitable[Any]]]:
    """What runs until cancelled, and says when it has begun; each needs those before it."""
    parts = (service.projector, service.journal, service.actors)
    more = () if service.following is None else (service.following,)
    return [part.run for part in (*parts, service.rebuilding, service.narratives, *more)]


def lanes_of(service: RunningService, settings: Settings, *, lasting: bool, reporting: bool) -> Sequence[nodes.Job]:
    """What runs beside everything else until cancelled. Jobs among them are one node's at a time."""
    clock = projector.Ticker(service.journal, service.projector, service.now_us)
    jobs: dict[str, nodes.Job] = {"clock": clock.run, "forgetting": service.forgetting.run}
    if lasting or reporting:
        jobs |= {"reports": service.reports.run, "schedules": reports.ReportSchedules(service).run}
    if lasting:
        count = service.instruments.metrics.asked
        judging = questions.LlmJudge(service, service.store.vault, service.journal, service.gateway, count)
        jobs |= {"retention": service.retention.run, "judging": judging.run}
        if senders := notices.senders_of(settings):
            jobs["notices"] = notices.ReportNotices(service, senders, settings.dashboard_url).run
        if service.backups is not None:
            jobs["backups"] = service.backups.run
        if settings.catalog_refresh:
            jobs["prices"] = service.prices.keep_fresh
    lanes: list[nodes.Job] = [service.archive.run, *([service.note_uses] if lasting else [])]
    if service.store.shared is None:
        return [*lanes, *jobs.values()]
    return [*lanes, nodes.Leading(service.store.shared, jobs).run]
