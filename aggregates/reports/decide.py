"""Deciding about reports: a wish, or what became of the work, in; events and a reply, out.

Of each period of a developer at most one report is being made. The slot of that period says which; it is taken in the
append that asks for a report, and freed in the one that ends it, so the store itself refuses a second.
"""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Done, Origin, Reason, Refused, Reply, Streams, Words, origin
from aggregates.ids import report_slot_stream
from aggregates.people.events import Channel
from aggregates.reports import events as report
from aggregates.reports.events import BackfillRequested, ReportCommand, ReportEvent
from aggregates.reports.notices import outcome_of
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, iso

ReportStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
UNFINISHED: frozenset[ReportStatus] = frozenset({"queued", "running"})


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    organization_id: UUID
    developer_id: UUID
    period: report.ReportPeriod
    status: ReportStatus = "queued"
    attempts: int = 0
    deleted: bool = False
    notices: Mapping[Channel, int] = {}
    """How often each notice was tried that has not arrived and is not given up."""


class SlotState(msgspec.Struct, frozen=True):
    """Of a period of one developer."""

    report_id: UUID
    """The report that was asked for last."""
    held: bool
    """Whether that one is unfinished."""


_ENDS: dict[type[ReportEvent], ReportStatus] = {
    report.ReportCompleted: "completed",
    report.ReportFailed: "failed",
    report.ReportCancelled: "cancelled",
}


def evolve_report(state: ReportState | None, event: ReportEvent) -> ReportState | SlotState | None:
    match event:
        case report.ReportSlotTaken() | report.ReportSlotFreed():
            return SlotState(event.report_id, isinstance(event, report.ReportSlotTaken))
        case report.ReportRequested():
            return ReportState(
                organization_id=event.organization_id,
                developer_id=event.developer_id,
                period=event.period,
                notices=dict.fromkeys(event.notices, 0),
            )
        case _ if state is None:
            return None
        case report.ReportStarted():
            return msgspec.structs.replace(state, status="running", attempts=event.attempt)
        case report.ReportDeleted():
            return msgspec.structs.replace(state, deleted=True)
        case report.ReportNoticeTried():
            others = {channel: tries for channel, tries in state.notices.items() if channel != event.channel}
            left = {event.channel: event.attempt} if event.outcome == "failed" else {}
            return msgspec.structs.replace(state, notices=others | left)
        case _:
            return msgspec.structs.replace(state, status=_ENDS.get(type(event), state.status))


ATTEMPTS_MAX = 5
"""A report that was begun so often, and never ended, is given up: whatever stops the process may be the report."""
SOURCE_UNAVAILABLE = "source_unavailable"
ReportDecision = tuple[tuple[tuple[UUID, ReportEvent], ...], Reply]


def report_streams(command: ReportCommand) -> tuple[UUID, UUID]:
    return command.report_id, slot_of(command)


def slot_of(command: ReportCommand) -> UUID:
    period = command.period
    bounds = (period.name, period.start_us, period.end_us)
    return report_slot_stream(command.organization_id, command.developer_id, *bounds)


def decide_report(command: ReportCommand, streams: Streams, now_us: int) -> ReportDecision:
    if isinstance(command, report.RequestReport):
        return _request(command, streams, now_us)
    known = streams.get(command.report_id)
    scope = (command.organization_id, command.developer_id)
    own = isinstance(known, ReportState) and (known.organization_id, known.developer_id) == scope
    if not isinstance(known, ReportState) or not own or known.deleted:
        return (), Refused(Reason.NOT_FOUND, f"no report {command.report_id} of yours")
    report_id, unfinished, about = command.report_id, known.status in UNFINISHED, _about(command, now_us)
    match command:
        case report.DeleteReport() if unfinished:
            message = f"report {report_id} is {known.status}; cancel it first, or wait until it is made"
            return (), Refused(Reason.CONFLICT, message)
        case report.DeleteReport():
            return ((report_id, report.ReportDeleted(**about)),), Done(True, report_id)
        case report.CancelReport() if not unfinished:
            return (), Done(False, report_id)
        case report.CancelReport():
            return _ended(command, report.ReportCancelled(**about), now_us), Done(True, report_id)
        case report.NoteNotice():
            return _noted(command, known, now_us)
        case _:
            return _progress(command, known, now_us)


def _progress(command: ReportCommand, known: ReportState, now_us: int) -> ReportDecision:
    """Only of a running one is it told that it is made: after a cancel the work was for nothing."""
    if known.status not in UNFINISHED or (known.status == "queued" and isinstance(command, report.CompleteReport)):
        return (), Refused(Reason.CONFLICT, f"the report is {known.status}")
    match command:
        case report.StartReport() if known.attempts < ATTEMPTS_MAX:
            started = report.ReportStarted(**_about(command, now_us), attempt=known.attempts + 1)
            return ((command.report_id, started),), Done(True, command.report_id)
        case report.StartReport():
            message = f"the report was begun {known.attempts} times and never ended; it is given up"
            failed = report.ReportFailed(**_about(command, now_us))
            return _ended(command, failed, now_us), Refused(Reason.CONFLICT, message)
        case report.CompleteReport():
            return _ended(command, _completed(command, now_us), now_us), Done(True, command.report_id)
        case report.FailReport():
            failed = report.ReportFailed(**_about(command, now_us), error_code=command.error_code)
            return _ended(command, failed, now_us), Done(True, command.report_id)
        case _:
            raise AssertionError(f"{type(command).__name__} is decided nowhere")


def _noted(command: report.NoteNotice, known: ReportState, now_us: int) -> ReportDecision:
    channel = command.channel
    if known.status not in ("completed", "failed") or channel not in known.notices:
        return (), Refused(Reason.CONFLICT, f"nobody waits to be told of it by {channel}")
    attempt = known.notices[channel] + 1
    tried = report.ReportNoticeTried(
        **_about(command, now_us),
        channel=channel,
        attempt=attempt,
        outcome=outcome_of(attempt, command.problem),
        problem=command.problem,
        status=command.status,
    )
    return ((command.report_id, tried),), Done(True, command.report_id)


def _request(command: report.RequestReport, streams: Streams, now_us: int) -> ReportDecision:
    """The same period while one is made of it: that one. A schedule asks only where nobody has asked yet."""
    slot = streams.get(slot_of(command))
    if isinstance(slot, SlotState) and (slot.held or command.scheduled):
        return (), Done(False, slot.report_id)
    requested = report.ReportRequested(
        **_about(command, now_us),
        period=command.period,
        language=command.language,
        scheduled=command.scheduled,
        notices=command.notices,
    )
    taken = report.ReportSlotTaken(**_about(command, now_us))
    return ((command.report_id, requested), (slot_of(command), taken)), Done(True, command.report_id)


def _completed(command: report.CompleteReport, now_us: int) -> report.ReportCompleted:
    prose = command.prose
    return report.ReportCompleted(
        **_about(command, now_us),
        rules_version=command.rules_version,
        sections=Words(command.sections),
        narrative=None if prose is None else Words(prose.text),
        narrated_by=None if prose is None else prose.narrator,
    )


def _ended(command: ReportCommand, event: ReportEvent, now_us: int) -> tuple[tuple[UUID, ReportEvent], ...]:
    return (command.report_id, event), (slot_of(command), report.ReportSlotFreed(**_about(command, now_us)))


class _About(Origin):
    report_id: UUID


def _about(command: ReportCommand, now_us: int) -> _About:
    return {**origin(command, now_us), "report_id": command.report_id}


# Backfills: an organization asks that what started in a range be judged again. The views are then built anew.

RANGE_DAYS_MAX = 3_660
BackfillStatus = Literal["running", "completed", "failed", "unknown"]
"""Unknown: the server was started again since, and no longer knows."""


class BackfillRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"from_time": "from"}):
    """A backfill as it is shown."""

    backfill_id: str
    status: BackfillStatus
    organization_id: str
    developer_id: str | None
    from_time: str
    to: str
    sub_sessions: int
    """How many there were when it was asked for."""
    done: int
    """That many times the share of the log that is derived again."""
    requested_at: str


BackfillReply = BackfillRecord | Refused


def decide_backfill(asked: BackfillRequested, running: BackfillRequested | None) -> BackfillRequested | Refused:
    """The backfill to carry out: this one, or the same that runs already for the organization."""
    if not INSTANT_MIN_US <= asked.from_us < asked.to_us <= INSTANT_MAX_US:
        message = "the range is empty, or lies before 1970 or after 9998: from must come before to"
        return Refused(Reason.INVALID, message)
    if asked.to_us - asked.from_us > RANGE_DAYS_MAX * US_PER_DAY:
        return Refused(Reason.INVALID, f"the range is longer than {RANGE_DAYS_MAX} days; ask for parts of it")
    if running is not None and _wanted(running) != _wanted(asked):
        message = f"backfill {running.backfill_id} of this organization still runs; wait until it is completed"
        return Refused(Reason.CONFLICT, message)
    return running or asked


def _wanted(asked: BackfillRequested) -> tuple[object, ...]:
    return asked.developer_id, asked.from_us, asked.to_us


def show_backfill(asked: BackfillRequested, status: BackfillStatus, share: float = 0.0) -> BackfillRecord:
    """`share`: how much of the log a running one has derived again."""
    return BackfillRecord(
        backfill_id=str(asked.backfill_id),
        status=status,
        organization_id=str(asked.organization_id),
        developer_id=None if asked.developer_id is None else str(asked.developer_id),
        from_time=iso(asked.from_us),
        to=iso(asked.to_us),
        sub_sessions=asked.sub_sessions,
        done=asked.sub_sessions if status == "completed" else int(asked.sub_sessions * share),
        requested_at=iso(asked.received_at_us),
    )
