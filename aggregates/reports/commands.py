"""Commands about one report."""

from datetime import date
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Command
from aggregates.reports.prose import Prose
from aggregates.times import Window, WindowName, calendar_windows, midnight_us

# The period of a report: a calendar day, week or month of a zone.


class ReportPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """From `start_us` up to, but without, `end_us`; the zone is the one whose calendar it is of."""

    name: WindowName
    start_us: int
    end_us: int
    timezone: str

    @property
    def window(self) -> Window:
        return Window(self.start_us, self.end_us)

    def windows(self, count: int) -> tuple[Window, ...]:
        """The last `count` windows up to this one, oldest first."""
        return calendar_windows(self.name, ZoneInfo(self.timezone), self.start_us, count)


def last_whole_period(name: WindowName, zone: ZoneInfo, now_us: int) -> ReportPeriod:
    """The newest one that is over."""
    return _period(name, zone, calendar_windows(name, zone, now_us, 2)[0])


def period_of(name: WindowName, zone: ZoneInfo, day: date) -> ReportPeriod:
    """The one that holds a day."""
    return _period(name, zone, calendar_windows(name, zone, midnight_us(day, zone), 1)[0])


def _period(name: WindowName, zone: ZoneInfo, window: Window) -> ReportPeriod:
    return ReportPeriod(name=name, start_us=window.start_us, end_us=window.end_us, timezone=zone.key)


class ReportCommand(Command, frozen=True, kw_only=True):
    """About one report; its period says which slot it takes or frees."""

    report_id: UUID
    period: ReportPeriod


class RequestReport(ReportCommand, frozen=True, kw_only=True, tag="request-report"):
    """Have a report made, under an id made by the caller."""

    language: str
    scheduled: bool = False
    """A schedule asks, which it does only once for a period, and only where nobody else has asked yet."""


class StartReport(ReportCommand, frozen=True, kw_only=True, tag="start-report"):
    """A worker begins to make it."""


class CompleteReport(ReportCommand, frozen=True, kw_only=True, tag="complete-report"):
    """It is made; `sections` is a JSON object."""

    rules_version: int
    sections: str
    prose: Prose | None = None


class FailReport(ReportCommand, frozen=True, kw_only=True, tag="fail-report"):
    """It cannot be made."""

    error_code: str | None


class CancelReport(ReportCommand, frozen=True, kw_only=True, tag="cancel-report"):
    """It is not wanted any more."""


class DeleteReport(ReportCommand, frozen=True, kw_only=True, tag="delete-report"):
    """Nobody is to see it any more."""


AnyReportCommand = RequestReport | StartReport | CompleteReport | FailReport | CancelReport | DeleteReport
