"""Making reports: supervised workers that take what was asked for from the views, a few at a time.

Nothing of a job lives in memory alone. What is queued or running is read from the views, so a restart finds it again;
every step is a command to the developer's actor, which decides what may still follow. A job that was cancelled
meanwhile has worked for nothing, and its result is refused.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid4

import structlog
import trio

from aggregates.decide import AnyCommand
from aggregates.event import Done, Reply, Scope
from aggregates.judging.evidence import language_of
from aggregates.people.directory import Developer, Directory, Membership
from aggregates.people.events import Schedule
from aggregates.people.stays import Stay
from aggregates.reports.decide import SOURCE_UNAVAILABLE
from aggregates.reports.events import (
    AnyReportCommand,
    CancelReport,
    CompleteReport,
    FailReport,
    RequestReport,
    StartReport,
    last_whole_period,
)
from aggregates.reports.prose import Prose
from aggregates.times import US_PER_SECOND, parse_instant, zone_named
from projections.facts.reports import OpenReport, open_reports
from projections.prices.spending import Asked, Reading
from projections.reader import Reader
from projections.reports.sections import ReportInput, report_sections
from svc.actors.actors import Clock
from svc.limits import READ_WAIT_SECONDS, READERS_MAX, REPORT_RETRY_SECONDS
from svc.log.codec import CorruptEvent
from svc.log.store import StoreUnavailable
from svc.log.vault import VaultError
from svc.views.views import ViewsDamaged
from svc_http.ports import Unavailable

REPORT_JOBS_MAX = 2
"""Reports that are made at the same time: half of the reads that may run, so that pages are served meanwhile."""
assert REPORT_JOBS_MAX < READERS_MAX, "reports leave room for other reads"
REPORT_LOOK_SECONDS = 60.0
"""How often it is looked whether a report is to be made; who asks for one is attended to at once."""
REPORT_SECONDS_MAX = 300.0  # how long one report may take; a month of ten thousand sub-sessions takes some seconds
SCHEDULE_LOOK_SECONDS = 60.0  # how often it is looked whether a schedule is due
SCHEDULE_DELAY_SECONDS = 3_600.0
"""After the end of a period: what was begun in its last minutes settles half an hour after it went quiet."""

log = structlog.get_logger()
T = TypeVar("T")


class SourceUnavailable(Exception):
    """What a report is made from cannot be read at present: the views, the log, the keys."""


class Desk(Protocol):
    async def send(self, command: AnyCommand) -> Reply: ...

    async def read(self, scope: Scope, query: Callable[..., T], /, *args: Any) -> T: ...

    async def read_all(self, query: Callable[[Reader], T]) -> T: ...

    async def reach(self, position: int) -> None: ...


Send = Callable[[AnyCommand], Awaitable[Reply]]
Spend = Callable[[UUID, Sequence[Asked]], Awaitable[Sequence[Reading]]]
"""What developers of an organization spent, from the archive and the views. Raises `Unavailable`, `ViewsDamaged`."""
Write = Callable[[OpenReport, str], Awaitable[Prose | None]]
"""The prose of a report, from its sections; None where there is none."""


class ReportJobs:
    def __init__(
        self,
        desk: Desk,
        spend: Spend,
        rules_version: int,
        write: Write,
        breathe: Callable[[], None] = trio.from_thread.check_cancelled,
    ) -> None:
        """`breathe`: called between two sections in the reading thread; raises if the job was cancelled."""
        self._desk = desk
        self._spend = spend
        self._rules_version = rules_version
        self._breathe = breathe
        self._write = write
        self._jobs: dict[UUID, trio.CancelScope] = {}
        self._news: set[Scope] = set()
        """Whose reports changed since the last look: the views must hold that before the next."""
        self._elsewhere = 0  # the newest position at which a report was asked for on another node
        self._wanted = trio.Event()

    def note(self, command: RequestReport | CancelReport) -> None:
        if isinstance(command, RequestReport):
            self._news.add(Scope(command.organization_id, command.developer_id))
            self._wanted.set()
        elif command.report_id in self._jobs:
            self._jobs[command.report_id].cancel()

    def wake(self, position: int) -> None:
        """Look soon, once the views hold that position: somebody asked for a report there, perhaps on another node."""
        self._elsewhere = position
        self._wanted.set()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                pause_seconds = REPORT_LOOK_SECONDS
                self._wanted = trio.Event()
                try:
                    for found in await self._to_make():
                        self._jobs[found.report_id] = trio.CancelScope()
                        nursery.start_soon(self._supervise, found)
                except Unavailable:
                    pause_seconds = REPORT_RETRY_SECONDS
                except Exception:
                    log.exception("nobody could see which reports are to be made; it is tried again")
                    pause_seconds = REPORT_RETRY_SECONDS
                with trio.move_on_after(pause_seconds):
                    await self._wanted.wait()

    async def _to_make(self) -> list[OpenReport]:
        await self._desk.reach(self._elsewhere)
        for scope in list(self._news):
            await self._desk.read(scope, lambda _reader, _scope: None)
            self._news.discard(scope)
        room = REPORT_JOBS_MAX - len(self._jobs)
        if room <= 0:
            return []
        found = await self._desk.read_all(lambda reader: open_reports(reader, len(self._jobs) + room))
        return [each for each in found if each.report_id not in self._jobs][:room]

    async def _supervise(self, wanted: OpenReport) -> None:
        try:
            with self._jobs[wanted.report_id]:
                await self._make(wanted)
        except Exception:
            log.exception("a report's job broke; it is begun again", report_id=str(wanted.report_id))
            await trio.sleep(REPORT_RETRY_SECONDS)
        finally:
            del self._jobs[wanted.report_id]
            self._news.add(wanted.scope)
            self._wanted.set()

    async def _make(self, wanted: OpenReport) -> None:
        await self._patiently(lambda: self._desk.read(wanted.scope, lambda _reader, _scope: None))
        about: dict[str, Any] = {
            "organization_id": wanted.scope.organization_id,
            "developer_id": wanted.scope.developer_id,
            "report_id": wanted.report_id,
            "period": wanted.period,
        }
        if not isinstance(await self._patiently(lambda: self._desk.send(StartReport(**about))), Done):
            return
        try:
            with trio.fail_after(REPORT_SECONDS_MAX):
                sections = await self._sections(wanted)
            prose = await self._prose(wanted, sections)
            outcome: AnyReportCommand = CompleteReport(
                **about, rules_version=self._rules_version, sections=sections, prose=prose
            )
        except SourceUnavailable as error:
            log.error("a report's source cannot be read", report_id=str(wanted.report_id), reason=str(error))
            outcome = FailReport(**about, error_code=SOURCE_UNAVAILABLE)
        except Exception:
            log.exception("a report could not be made", report_id=str(wanted.report_id))
            outcome = FailReport(**about, error_code=None)
        await self._patiently(lambda: self._desk.send(outcome))

    async def _patiently(self, work: Callable[[], Awaitable[T]], passing: type[Exception] = Unavailable) -> T:
        """Try again until it works. Raises `passing` where the job's time would end before the next try does."""
        while True:
            try:
                return await work()
            except passing:
                next_ends = trio.current_time() + REPORT_RETRY_SECONDS + READ_WAIT_SECONDS
                if next_ends >= trio.current_effective_deadline():
                    raise
                await trio.sleep(REPORT_RETRY_SECONDS)

    async def _sections(self, wanted: OpenReport) -> str:
        try:
            spending = await self._spending(wanted)

            def make(reader: Reader, scope: Scope) -> str:
                look = ReportInput(reader, scope, wanted.period, language_of(wanted.language), spending)
                return report_sections(look, self._breathe)

            return await self._patiently(lambda: self._desk.read(wanted.scope, make))
        except (sqlite3.Error, OSError, StoreUnavailable, CorruptEvent, VaultError, Unavailable) as error:
            raise SourceUnavailable(f"{type(error).__name__}: {error}") from error

    async def _prose(self, wanted: OpenReport, sections: str) -> Prose | None:
        try:
            return await self._write(wanted, sections)
        except Exception:
            log.exception("a report's prose could not be asked for", report_id=str(wanted.report_id))
            return None

    async def _spending(self, wanted: OpenReport) -> Reading:
        window = wanted.period.window
        whole = Stay(wanted.scope.developer_id, window.start_us, window.end_us)
        try:
            (found,) = await self._patiently(
                lambda: self._spend(wanted.scope.organization_id, [Asked(window, (whole,))]), passing=ViewsDamaged
            )
        except Unavailable as error:
            raise SourceUnavailable(str(error)) from error
        if found.coverage.unreadable_files:
            raise SourceUnavailable(f"files of the archive cannot be read: {found.coverage.unreadable_files}")
        return found


class ReportSchedules:
    """Asks for the report of the last whole period, once: the slot of a period remembers it."""

    def __init__(self, directory: Directory, send: Send, clock: Clock) -> None:
        """`send` raises `Unavailable` where a command cannot be carried out now."""
        self._directory = directory
        self._send = send
        self._clock = clock
        self._asked: dict[tuple[Scope, Schedule], int] = {}
        """The start of the last period asked for, so that each is asked for once a process."""

    async def run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("scheduled reports could not be asked for; it is tried again")
            await trio.sleep(SCHEDULE_LOOK_SECONDS)

    async def look(self) -> None:
        for membership in list(self._directory.all(Membership)):
            developer = self._directory.get(Developer, membership.developer_id)
            if not membership.active or developer is None:
                continue
            for name in developer.report_schedules:
                try:
                    await self._ask(Scope(membership.organization_id, membership.developer_id), name, developer)
                except (Unavailable, ValueError) as error:
                    reason = f"{type(error).__name__}: {error}"
                    log.warning("a scheduled report was not asked for; it is tried again", reason=reason)

    async def _ask(self, scope: Scope, name: Schedule, developer: Developer) -> None:
        settled_us = self._clock.now_us() - int(SCHEDULE_DELAY_SECONDS * US_PER_SECOND)
        period = last_whole_period(name, zone_named(developer.timezone), settled_us)
        if self._asked.get((scope, name)) == period.start_us or period.end_us <= parse_instant(developer.created_at):
            return
        request = RequestReport(
            organization_id=scope.organization_id,
            developer_id=scope.developer_id,
            report_id=uuid4(),
            period=period,
            language=language_of(developer.language),
            scheduled=True,
            notices=developer.report_notices,
        )
        await self._send(request)
        self._asked[scope, name] = period.start_us
