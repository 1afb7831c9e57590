"""The service in memory, with a workshop of reports."""

from collections.abc import Sequence
from uuid import UUID

import trio
from trio.testing import wait_all_tasks_blocked

from aggregates.decide import AnyCommand
from aggregates.event import Reply, Scope
from aggregates.reports.events import ReportCancelled, ReportRequested
from projections.facts.reports import OpenReport, open_reports
from projections.prices import Reading, TeamWindow
from projections.reader import Reader
from svc.jobs.reports import ReportJobs, Write
from tests.support.requests import spending_in_views
from tests.svc_http.house import House


async def unwritten(_wanted: OpenReport, _sections: str) -> None:
    """No prose."""


class Workshop(House):
    """A house whose reports are made when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.write: Write = unwritten
        self.jobs = ReportJobs(self, self._spend, 1, lambda *about: self.write(*about), self._breathe)
        self.views_break: Exception | None = None

    async def send(self, command: AnyCommand) -> Reply:
        """Decide, append, project, reply, and tell who makes reports."""
        reply = await super().send(command)
        if isinstance(command, ReportRequested | ReportCancelled):
            self.jobs.note(command)
        return reply

    async def works(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.jobs.run)
            while await self.read_all(lambda reader: open_reports(reader, 1)):
                await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    def _breathe(self) -> None:
        if self.views_break is not None:
            raise self.views_break

    async def _spend(self, organization_id: UUID, asked: Sequence[TeamWindow]) -> Sequence[Reading]:
        scope = Scope(organization_id, asked[0].stays[0].developer_id)
        return spending_in_views(Reader(self._views, self._fetch), scope, asked)
