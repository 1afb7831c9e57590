"""Opening the service: its parts are put together in `svc.service`, and run here until the block ends."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any

import trio

from svc.actors.actors import Clock, SystemClock
from svc.jobs.nodes import Job, Leading
from svc.jobs.notices import ReportNotices, senders_of
from svc.jobs.questions import LlmJudge
from svc.jobs.reports import ReportSchedules
from svc.log.opening import open_log
from svc.maintenance.keys import lost_keys, settle, tell
from svc.service import RunningService
from svc.settings import Settings
from svc.views.projector import Ticker

Task = Callable[..., Awaitable[Any]]  # what a nursery starts, and waits for until it says that it has begun


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
    with closing(store):
        settle(vault.keys, store)
        if lasting:
            tell(lost_keys(vault.keys, store))
        with closing(RunningService(settings, store, vault, clock or SystemClock(), lasting=lasting)) as service:
            lanes = lanes_of(service, settings, lasting=lasting, reporting=reporting)
            async with trio.open_nursery() as nursery:
                for task in tasks_of(service):
                    await nursery.start(task)
                for lane in lanes:
                    nursery.start_soon(lane)
                yield service
                nursery.cancel_scope.cancel()


def tasks_of(service: RunningService) -> Sequence[Task]:
    """What runs until cancelled, and says when it has begun; each needs those before it."""
    parts = (service.projector, service.journal, service.administration, service.prices, service.actors)
    more = () if service.following is None else (service.following,)
    return [part.run for part in (*parts, service.rebuilding, service.narratives, *more)]


def lanes_of(service: RunningService, settings: Settings, *, lasting: bool, reporting: bool) -> Sequence[Job]:
    """What runs beside everything else until cancelled. Jobs among them are one node's at a time."""
    clock = Ticker(service.journal, service.projector, service.now_us)
    jobs: dict[str, Job] = {"clock": clock.run, "forgetting": service.forgetting.run}
    if lasting or reporting:
        jobs |= {"reports": service.reports.run, "schedules": ReportSchedules(service).run}
    if lasting:
        count = service.instruments.metrics.asked
        judging = LlmJudge(service, service.vault, service.journal, service.gateway, count)
        jobs |= {"retention": service.retention.run, "judging": judging.run}
        if senders := senders_of(settings):
            jobs["notices"] = ReportNotices(service, senders, settings.dashboard_url).run
        if service.backups is not None:
            jobs["backups"] = service.backups.run
        if settings.catalog_refresh:
            jobs["prices"] = service.prices.keep_fresh
    lanes: list[Job] = [service.archive.run, service.backfilling.run, *([service.note_uses] if lasting else [])]
    if service.store.shared is None:
        return [*lanes, *jobs.values()]
    return [*lanes, Leading(service.store.shared, jobs).run]
