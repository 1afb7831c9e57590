"""What decisions about reports rest on, and how each event changes it."""

from typing import Literal
from uuid import UUID

import msgspec

from aggregates import report_events as r
from aggregates.report_period import ReportPeriod

ReportStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
UNFINISHED: frozenset[ReportStatus] = frozenset({"queued", "running"})


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    """A report as far as it has come."""

    organization_id: UUID
    developer_id: UUID
    period: ReportPeriod
    status: ReportStatus = "queued"
    attempts: int = 0
    """How often a worker began to make it."""
    deleted: bool = False


class SlotState(msgspec.Struct, frozen=True):
    """Of a period of one developer."""

    report_id: UUID
    """The report that was asked for last."""
    held: bool
    """Whether that one is unfinished."""


def evolve_report(state: ReportState | None, event: r.ReportEvent) -> ReportState | SlotState | None:
    """The state of a report, or of a slot, after one more event."""
    match event:
        case r.ReportSlotTaken() | r.ReportSlotFreed():
            return SlotState(event.report_id, isinstance(event, r.ReportSlotTaken))
        case r.ReportRequested():
            return ReportState(
                organization_id=event.organization_id, developer_id=event.developer_id, period=event.period
            )
        case _ if state is None:
            return None
        case r.ReportStarted():
            return msgspec.structs.replace(state, status="running", attempts=event.attempt)
        case r.ReportCompleted():
            return msgspec.structs.replace(state, status="completed")
        case r.ReportFailed():
            return msgspec.structs.replace(state, status="failed")
        case r.ReportCancelled():
            return msgspec.structs.replace(state, status="cancelled")
        case r.ReportDeleted():
            return msgspec.structs.replace(state, deleted=True)
        case _:
            return state
