"""Making reports, and judging again: workers that take what was asked for from the views, a few at a time.

Nothing of a job lives in memory alone, so a restart finds it again; every step is a command, which may be refused.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio
from trio.from_thread import check_cancelled

from aggregates.event import Done, NewEvent, Refused, Scope, Unavailable, Words
from aggregates.judging.prompt import language_of
from aggregates.people.acts import Schedule
from aggregates.people.directory import Developer, Membership, Stay
from aggregates.reports import decide as backfills, events
from aggregates.reports.prose import Prose
from aggregates.times import US_PER_SECOND, parse_instant, zone_named
from projections.facts.reports import OpenReport, asked_before, open_reports
from projections.prices import Reading, TeamWindow
from projections.reader import Reader
from projections.reports import ReportInput, report_sections
from svc.actors.actors import Turns, recur
from svc.log.journal import Journal
from svc.log.store import READS, EventStore
from svc.log.vault import VaultError
from svc.process import READ_WAIT_SECONDS, READERS_MAX, REPORT_RETRY_SECONDS
from svc.views.replay import Rebuilding
from svc.views.views import ViewsDamaged
from svc_http.ports import Service

REPORT_JOBS_MAX = 2  # made at the same time: half of the reads that may run, so that pages are served meanwhile
assert REPORT_JOBS_MAX < READERS_MAX
REPORT_LOOK_SECONDS = 60.0  # who asks for a report is attended to at once
REPORT_SECONDS_MAX = 300.0  # a month of ten thousand sub-sessions takes some seconds
SCHEDULE_LOOK_SECONDS = 60.0
SCHEDULE_DELAY_SECONDS = 3_600.0  # what was begun in a period's last minutes settles half an hour after it went quiet
log = structlog.get_logger()
T = TypeVar("T")
Breathe = Callable[[], None]  # between two sections in the reading thread; raises if the job was cancelled
Spend = Callable[[UUID, Sequence[TeamWindow]], Awaitable[Sequence[Reading]]]
"""From the archive and the views. Raises `Unavailable` where the archive cannot be read, and `ViewsDamaged`."""
Write = Callable[[OpenReport, str], Awaitable[Prose | None]]  # the prose of a report, from its sections
_UNREADABLE = (sqlite3.Error, OSError, VaultError, Unavailable)


class ReportJobs:
    def __init__(
        self, service: Service, spend: Spend, rules_version: int, write: Write, breathe: Breathe = check_cancelled
    ) -> None:
        self._service = service
        self._spend = spend
        self._rules_version = rules_version
        self._breathe = breathe
        self._write = write
        self._jobs: dict[UUID, trio.CancelScope] = {}
        self._news: set[Scope] = set()  # whose reports changed: the views must hold that before the next look
        self._elsewhere = 0  # the newest position at which a report was asked for on another node
        self._wanted = trio.Event()

    def note(self, command: events.ReportRequested | events.ReportCancelled) -> None:
        if isinstance(command, events.ReportRequested):
            self._news.add(command.scope)
            self._wanted.set()
        elif command.report_id in self._jobs:
            self._jobs[command.report_id].cancel()

    def wake(self, position: int) -> None:
        """Look soon, once the views hold that position: a report was asked for there, perhaps on another node."""
        self._elsewhere = position
        self._wanted.set()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                self._wanted, pause_seconds = trio.Event(), REPORT_LOOK_SECONDS
                try:
                    await self._service.reach(self._elsewhere)
                    await seen(self._service, self._news)
                    found = await self._service.read_all(lambda reader: open_reports(reader, REPORT_JOBS_MAX))
                    for each in found:
                        if each.report_id not in self._jobs and len(self._jobs) < REPORT_JOBS_MAX:
                            self._jobs[each.report_id] = trio.CancelScope()
                            nursery.start_soon(self._supervise, each)
                except Exception as error:
                    if not isinstance(error, Unavailable):
                        log.exception("nobody could see which reports are to be made; it is tried again")
                    pause_seconds = REPORT_RETRY_SECONDS
                with trio.move_on_after(pause_seconds):
                    await self._wanted.wait()

    async def _supervise(self, wanted: OpenReport) -> None:
        about: dict[str, Any] = {**msgspec.structs.asdict(wanted.scope), "report_id": wanted.report_id}
        try:
            with self._jobs[wanted.report_id]:
                if isinstance(await patiently(partial(self._service.send, events.ReportStarted(**about))), Done):
                    await patiently(partial(self._service.send, await self._outcome(wanted, about)))
        except Exception:
            log.exception("a report's job broke; it is begun again", report_id=str(wanted.report_id))
            await trio.sleep(REPORT_RETRY_SECONDS)
        finally:
            del self._jobs[wanted.report_id]
            self._news.add(wanted.scope)
            self._wanted.set()

    async def _outcome(self, wanted: OpenReport, about: dict[str, Any]) -> events.ReportEvent:
        try:
            with trio.fail_after(REPORT_SECONDS_MAX):
                sections = await patiently(partial(self._sections, wanted))
        except _UNREADABLE as error:
            reason = f"{type(error).__name__}: {error}"
            log.error("a report's source cannot be read", report_id=str(wanted.report_id), reason=reason)
            return events.ReportFailed(**about, error_code=backfills.SOURCE_UNAVAILABLE)
        except Exception:
            log.exception("a report could not be made", report_id=str(wanted.report_id))
            return events.ReportFailed(**about)
        said: dict[str, Any] = {"rules_version": self._rules_version, "sections": Words(sections)}
        try:
            if (prose := await self._write(wanted, sections)) is not None:
                said |= {"narrative": Words(prose.text), "narrated_by": prose.narrator}
        except Exception:
            log.exception("a report's prose could not be asked for", report_id=str(wanted.report_id))
        return events.ReportCompleted(**about, **said)

    async def _sections(self, wanted: OpenReport) -> str:
        window = wanted.period.window
        whole = Stay(wanted.scope.developer_id, window.start_us, window.end_us)
        try:
            (spending,) = await self._spend(wanted.scope.organization_id, [TeamWindow(window, (whole,))])
        except ViewsDamaged:  # they are mended soon
            raise
        except Unavailable as error:
            raise OSError(str(error)) from error
        if unreadable := spending.coverage.unreadable_files:
            raise OSError(f"files of the archive cannot be read: {unreadable}")

        def make(reader: Reader, scope: Scope) -> str:
            look = ReportInput(reader, scope, wanted.period, language_of(wanted.language), spending)
            return report_sections(look, self._breathe)

        return await self._service.read(wanted.scope, make)


async def seen(service: Service, news: set[Scope]) -> None:
    """Wait until the views hold what these have done; then it is no news."""
    for scope in list(news):
        await service.read(scope, lambda _reader, _scope: None)
        news.discard(scope)


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Try again until it works. Raises `Unavailable` where the time would end before the next try does."""
    while True:
        try:
            return await work()
        except Unavailable:
            next_ends = trio.current_time() + REPORT_RETRY_SECONDS + READ_WAIT_SECONDS
            if next_ends >= trio.current_effective_deadline():
                raise
            await trio.sleep(REPORT_RETRY_SECONDS)


class ReportSchedules:
    """Asks for the report of the last whole period, unless somebody has asked for one."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._asked: dict[tuple[Scope, Schedule], int] = {}  # start of the last period asked for, once a process

    async def run(self) -> None:
        await recur(self.look, SCHEDULE_LOOK_SECONDS, "scheduled reports could not be asked for; it is tried again")

    async def look(self) -> None:
        for membership in self._service.directory.all(Membership, active=True):
            if (developer := self._service.directory.get(Developer, membership.developer_id)) is None:
                continue
            for name in developer.report_schedules:
                try:
                    await self._ask(membership.scope, name, developer)
                except (Unavailable, ValueError) as error:
                    reason = f"{type(error).__name__}: {error}"
                    log.warning("a scheduled report was not asked for; it is tried again", reason=reason)

    async def _ask(self, scope: Scope, name: Schedule, developer: Developer) -> None:
        settled_us = self._service.now_us() - int(SCHEDULE_DELAY_SECONDS * US_PER_SECOND)
        period = events.last_whole_period(name, zone_named(developer.timezone), settled_us)
        if self._asked.get((scope, name)) == period.start_us or period.end_us <= parse_instant(developer.created_at):
            return
        if not (await self._service.read(scope, asked_before, period)).number:
            language, notices = language_of(developer.language), developer.report_notices
            wish = events.request_report(scope, period, 0, language=language, notices=notices, scheduled=True)
            await self._service.send(wish)
        self._asked[scope, name] = period.start_us


# Backfills: each is recorded, and has the views built anew; its progress is that of the build.

BACKFILL_COMMANDS_MAX = 16  # backfills that may be asked for at once: each is asked for by a person


class Backfills:
    def __init__(self, store: EventStore, journal: Journal, rebuilding: Rebuilding) -> None:
        self._store = store
        self._journal = journal
        self._rebuilding = rebuilding
        self._ended: dict[UUID, backfills.BackfillStatus] = {}
        self._building: dict[UUID, events.BackfillRequested] = {}  # those that the newest build is for
        self._turns = Turns(store, BACKFILL_COMMANDS_MAX, "too many backfills are asked for at once")

    async def send(self, asked: events.BackfillRequested) -> backfills.BackfillReply:
        """Begin one, or join the one that runs. Raises what the journal raises."""
        return await self._turns.take(partial(self._carry_out, asked))

    async def newest_first(self) -> list[backfills.BackfillRecord]:
        topics = (events.BackfillRequested.TOPIC, events.BackfillCompleted.TOPIC)
        found = await trio.to_thread.run_sync(lambda: list(self._store.read_topics(topics)), limiter=READS)
        facts = [each.event for each in found]
        # Versions before this one recorded that a backfill was completed.
        completed = {fact.backfill_id for fact in facts if isinstance(fact, events.BackfillCompleted)}
        requested = [fact for fact in reversed(facts) if isinstance(fact, events.BackfillRequested)]
        return [self._shown(each, completed=each.backfill_id in completed) for each in requested]

    async def _carry_out(self, asked: events.BackfillRequested) -> backfills.BackfillReply:
        building = self._building.values() if self._rebuilding.status.state == "running" else ()
        running = next((each for each in building if each.organization_id == asked.organization_id), None)
        chosen = backfills.decide_backfill(asked, running)
        if isinstance(chosen, Refused):
            return chosen
        if chosen is asked:
            await self._journal.append([NewEvent(asked.backfill_id, 1, asked)])
            state = self._rebuilding.status.state
            if state == "completed" or state == "failed":
                self._ended |= dict.fromkeys(self._building, state)
                self._building.clear()
            self._building[asked.backfill_id] = asked
            self._rebuilding.start()
        return self._shown(chosen)

    def _shown(self, asked: events.BackfillRequested, *, completed: bool = False) -> backfills.BackfillRecord:
        if completed:
            return backfills.show_backfill(asked, "completed")
        build = self._rebuilding.status
        if asked.backfill_id not in self._building or build.state == "none":
            return backfills.show_backfill(asked, self._ended.get(asked.backfill_id, "unknown"))
        return backfills.show_backfill(asked, build.state, build.done / build.of if build.of else 0.0)
