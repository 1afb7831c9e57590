"""The composition root: everything is built here, from the store up, and can be read from top to bottom."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import trio

from aggregates.people.budgets import DERIVING, NAMES, Budgets
from svc import __version__
from svc.actors.actors import ActorContext, Actors, Clock, SystemClock
from svc.actors.administration import Administration
from svc.actors.ticker import Ticker
from svc.archive.lane import ArchiveLane, Budget
from svc.jobs.catalog import Catalog, CatalogSource
from svc.jobs.nodes import Following, Job, Leading
from svc.jobs.notices import ReportNotices, senders_of
from svc.jobs.oidc import provider_of
from svc.jobs.questions import LlmJudge, Narratives
from svc.jobs.reports import ReportJobs, ReportSchedules
from svc.llm.budget import FILE as SPENT_FILE
from svc.llm.budget import Budget as TokenBudget
from svc.llm.client import Gateway
from svc.log.folder import internal_secret
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import EventStore
from svc.log.vault import Vault
from svc.maintenance.keys import lost_keys, settle, tell
from svc.maintenance.scheduled import ScheduledBackups
from svc.observe.logs import count_errors
from svc.observe.metrics import Instruments, Metrics
from svc.service import Acknowledged, RunningService
from svc.settings import Settings
from svc.views.projecting import Cost, serving_file
from svc.views.projector import Projector
from svc.views.replay import Rebuilding
from svc.views.views import RULES_VERSION
from svc_http.ports import ModelShown, PublicSettings

Task = Callable[..., Awaitable[Any]]  # what a nursery starts, and waits for until it says that it has begun
Lane = Callable[[], Awaitable[None]]


class Built(NamedTuple):
    service: RunningService
    tasks: Sequence[Task]  # run until cancelled, and say when they have begun; each needs those before it
    lanes: Sequence[Lane]  # run until cancelled, beside everything else


@asynccontextmanager
async def open_service(
    settings: Settings, *, clock: Clock | None = None, lasting: bool = False, reporting: bool = False
) -> AsyncIterator[RunningService]:
    """The running service over a var folder that this process holds, without any listener.

    `lasting`: it is to run for long, so prices are asked for again and again.
    `reporting`: somebody may want reports, so they are made; what is to last makes them anyway.
    Leaving the block stops every task; what was acknowledged is on disk, what was not is refused.
    """
    store, vault = open_log(settings.place)
    try:
        if store.shared is None:
            settle(settings.var_path, store)
        if lasting:
            tell(lost_keys(settings.var_path, store))
        built = build(settings, store, vault, clock or SystemClock(), lasting=lasting, reporting=reporting)
        built.service.provider = provider_of(settings) if lasting else None
        try:
            async with trio.open_nursery() as nursery:
                for task in built.tasks:
                    await nursery.start(task)
                for lane in built.lanes:
                    nursery.start_soon(lane)
                yield built.service
                nursery.cancel_scope.cancel()
        finally:
            built.service.archive.close()
            built.service.projector.close()
    finally:
        store.close()


def build(
    settings: Settings, store: EventStore, vault: Vault, clock: Clock, *, lasting: bool, reporting: bool
) -> Built:
    """Every part of the service, from the store up, and what of them has to run."""
    var = settings.var_path
    metrics = Metrics()
    count_errors(lambda message: metrics.errors.labels(message).inc())
    journal = Journal(store)
    administration = Administration(store, journal, clock)
    budgets = Budgets({name: getattr(settings, name) for name in NAMES})
    context = ActorContext(store, journal, vault, clock, administration.directory.redaction_of, budgets)
    acknowledged = Acknowledged()
    actors = Actors(context, acknowledged.note)
    senders = senders_of(settings) if lasting else {}  # what settings refuse is refused before anything is opened
    path = serving_file(var, RULES_VERSION, store)

    def charge(cost: Cost) -> None:
        budgets.use(DERIVING, *cost, clock.now_us())

    projector = Projector(path, journal, store, vault.known_digester, charge)
    rebuilding = Rebuilding(settings.place, projector, journal)
    projector.damaged = rebuilding.mend
    read_budget = Budget(settings.archive_read_files_max, settings.archive_read_bytes_max)
    archive = ArchiveLane(var, lambda: projector.readers, store.fingerprint, read_budget)
    source = CatalogSource(settings.catalog, network=settings.catalog_refresh)
    catalog = Catalog(store, journal, clock, administration.organization_ids, source)
    tokens = TokenBudget(var / SPENT_FILE, settings.llm_daily_tokens, clock.now_us)
    gateway = Gateway(settings.model_endpoint, tokens, administration.directory.text_leaves, metrics.asked)
    backups = scheduled(settings, clock)
    service = RunningService(
        public_settings(settings, internal_secret(var)),
        context,
        actors,
        administration,
        projector,
        acknowledged,
        rebuilding,
        archive,
        catalog,
        Instruments(var, store, journal, actors, projector, rebuilding, catalog, clock, budgets, metrics, backups),
        Narratives(gateway, clock.now_us, administration.directory.names_in, metrics.asked),
    )
    tasks = [projector.run, journal.run, administration.run, catalog.run, actors.run, rebuilding.run]
    tasks.append(service.narratives.run)
    lanes = [archive.run, service.backfilling.run, *([service.note_uses] if lasting else [])]
    jobs: dict[str, Job] = {"clock": Ticker(journal, projector, clock).run, "forgetting": service.forgetting.run}
    reports = ReportJobs(service, archive.spending, RULES_VERSION, service.narratives.report)
    service.ordered_report, service.model = reports.note, partial(_model, settings, tokens)
    if lasting or reporting:
        jobs["reports"] = reports.run
        jobs["schedules"] = ReportSchedules(service).run
    if lasting:
        jobs |= {
            "retention": service.retention.run,
            "judging": LlmJudge(service, vault, journal, gateway, metrics.asked).run,
        }
        jobs |= {"notices": ReportNotices(service, senders, settings.dashboard_url).run} if senders else {}
        jobs |= {} if backups is None else {"backups": backups.run}
    if lasting and settings.catalog_refresh:
        jobs["prices"] = catalog.keep_fresh
    if store.shared is None:
        return Built(service, tasks, [*lanes, *jobs.values()])
    following = Following(var, context, store.shared, administration, catalog, rebuilding, reports.wake)
    service.following = following
    service.forgetting.carried_out = following.forgotten_here.add
    return Built(service, [*tasks, following.run], [*lanes, Leading(store.shared, jobs).run])


def _model(settings: Settings, tokens: TokenBudget) -> ModelShown | None:
    if settings.llm_url is None or settings.llm_model is None:
        return None
    return ModelShown(name=settings.llm_model, spent_tokens=tokens.spent_tokens, daily_tokens=settings.llm_daily_tokens)


def scheduled(settings: Settings, clock: Clock) -> ScheduledBackups | None:
    """The backups that the settings want."""
    if not settings.backup_every:
        return None
    return ScheduledBackups(settings.var_path, settings.backup_path, settings.backup_every, settings.backup_keep, clock)


def public_settings(settings: Settings, secret: str) -> PublicSettings:
    return PublicSettings(
        internal_secret=secret,
        ingest_url=settings.ingest_url or "",
        gateway_url=settings.gateway_url,
        anthropic_base_url=settings.anthropic_base_url,
        dashboard_url=settings.dashboard_url,
        environment=settings.environment,
        capture_prompts=settings.capture_prompts,
        capture_responses=settings.capture_responses,
        version=__version__,
        channels=settings.channels,
        api_hosts=frozenset(settings.api_hosts.lower().split()),
        access_log=settings.access_log,
        rules_version=RULES_VERSION,
    )
