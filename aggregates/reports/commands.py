"""Commands about one report."""

from uuid import UUID

from aggregates.command import Command
from aggregates.reports.period import ReportPeriod
from aggregates.reports.prose import Prose


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
