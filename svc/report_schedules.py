"""Reports that are made by themselves: for who has switched it on, when a day, week or month of their zone is over.

Whatever time passed meanwhile, only the last whole period is asked for; and it is asked for once, since the slot of a
period remembers that it was. So what was missed while the process was down is made once, at the start.
"""

from collections.abc import Callable, Iterator
from uuid import UUID

import structlog
import trio

from aggregates.commands import RequestReport
from aggregates.directory import Directory
from aggregates.habits import language_of
from aggregates.people_records import Developer, Membership, Schedule
from aggregates.report_period import ReportPeriod, last_whole_period
from aggregates.scope import Scope
from aggregates.windows import zone_named
from svc.clock import Clock
from svc.limits import SCHEDULE_DELAY_SECONDS, SCHEDULE_LOOK_SECONDS
from svc.reports import Send
from svc_http.ports import Unavailable

log = structlog.get_logger()

_US_PER_SECOND = 1_000_000


class ReportSchedules:
    """Looks now and then whose period is over."""

    def __init__(self, directory: Directory, send: Send, clock: Clock, new_id: Callable[[], UUID]) -> None:
        self._directory = directory
        self._send = send
        self._clock = clock
        self._new_id = new_id
        self._asked: dict[tuple[Scope, Schedule], int] = {}
        """The start of the last period asked for, so that each is asked for once a process."""

    async def run(self) -> None:
        """Look until cancelled. What cannot be stored now is asked for at the next look."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("scheduled reports could not be asked for; it is tried again")
            await trio.sleep(SCHEDULE_LOOK_SECONDS)

    async def look(self) -> None:
        """Ask for every report that is due and was not asked for."""
        for scope, name, developer in list(self._schedules()):
            try:
                await self._ask(scope, name, developer)
            except (Unavailable, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
                log.warning("a scheduled report was not asked for; it is tried again", reason=reason)

    async def _ask(self, scope: Scope, name: Schedule, developer: Developer) -> None:
        period = self._due(name, developer)
        if self._asked.get((scope, name)) != period.start_us and period.end_us > developer.created_at_us:
            await self._send(self._request(scope, period, developer))
            self._asked[scope, name] = period.start_us

    def _schedules(self) -> Iterator[tuple[Scope, Schedule, Developer]]:
        for membership in self._directory.all(Membership):
            developer = self._directory.get(Developer, membership.developer_id)
            if membership.ended_at_us is None and developer is not None:
                scope = Scope(membership.organization_id, membership.developer_id)
                yield from ((scope, name, developer) for name in developer.report_schedules)

    def _due(self, name: Schedule, developer: Developer) -> ReportPeriod:
        """The last period that is over for so long that what was begun in it has settled, as a rule."""
        settled_us = self._clock.now_us() - int(SCHEDULE_DELAY_SECONDS * _US_PER_SECOND)
        return last_whole_period(name, zone_named(developer.timezone or "UTC"), settled_us)

    def _request(self, scope: Scope, period: ReportPeriod, developer: Developer) -> RequestReport:
        return RequestReport(
            organization_id=scope.organization_id,
            developer_id=scope.developer_id,
            report_id=self._new_id(),
            period=period,
            language=language_of(developer.language),
            scheduled=True,
        )
