"""Deciding about reports: a wish, or what became of the work, in; events and a reply, out.

Of each period of a developer at most one report is being made. The slot of that period says which; it is taken in the
append that asks for a report, and freed in the one that ends it, so the store itself refuses a second.
"""

from typing import TypedDict
from uuid import UUID

from aggregates import commands as c
from aggregates import report_events as r
from aggregates.commands import Done, Reason, Refused, Reply
from aggregates.ids import report_slot_stream
from aggregates.report_prose import Prose
from aggregates.report_state import UNFINISHED, ReportState, SlotState
from aggregates.streams import Streams
from aggregates.words import Words

ATTEMPTS_MAX = 5
"""A report that was begun so often, and never ended, is given up: whatever stops the process may be the report."""

SOURCE_UNAVAILABLE = "source_unavailable"
"""The one error code there is."""

ReportDecision = tuple[tuple[tuple[UUID, r.ReportEvent], ...], Reply]


def report_streams(command: c.ReportCommand) -> tuple[UUID, UUID]:
    """The report's own stream, and that of its period."""
    return command.report_id, slot_of(command)


def slot_of(command: c.ReportCommand) -> UUID:
    """The stream of the period."""
    period = command.period
    bounds = (period.name, period.start_us, period.end_us)
    return report_slot_stream(command.organization_id, command.developer_id, *bounds)


def decide_report(command: c.ReportCommand, streams: Streams, now_us: int) -> ReportDecision:
    """What follows from a command, given the states of the report and of its slot."""
    if isinstance(command, c.RequestReport):
        return _request(command, streams, now_us)
    known = streams.get(command.report_id)
    if not isinstance(known, ReportState) or not _is_own(command, known):
        return (), Refused(Reason.NOT_FOUND, f"no report {command.report_id} of yours")
    match command:
        case c.StartReport():
            return _start(command, known, now_us)
        case c.CompleteReport():
            return _complete(command, known, now_us)
        case c.FailReport():
            return _fail(command, known, now_us)
        case c.CancelReport():
            return _cancel(command, known, now_us)
        case c.DeleteReport():
            return _delete(command, known, now_us)
        case _:
            raise AssertionError(f"{type(command).__name__} is decided nowhere")


def _is_own(command: c.ReportCommand, known: ReportState) -> bool:
    scope = (known.organization_id, known.developer_id)
    return scope == (command.organization_id, command.developer_id) and not known.deleted


def _request(command: c.RequestReport, streams: Streams, now_us: int) -> ReportDecision:
    """The same period while one is made of it: that one. A schedule asks only where nobody has asked yet."""
    slot = streams.get(slot_of(command))
    if isinstance(slot, SlotState) and (slot.held or command.scheduled):
        return (), Done(False, slot.report_id)
    requested = r.ReportRequested(
        **_about(command, now_us), period=command.period, language=command.language, scheduled=command.scheduled
    )
    taken = r.ReportSlotTaken(**_about(command, now_us))
    return ((command.report_id, requested), (slot_of(command), taken)), Done(True, command.report_id)


def _start(command: c.StartReport, known: ReportState, now_us: int) -> ReportDecision:
    if known.status not in UNFINISHED:
        return (), _over(known)
    if known.attempts >= ATTEMPTS_MAX:
        message = f"the report was begun {known.attempts} times and never ended; it is given up"
        return _ended(command, r.ReportFailed(**_about(command, now_us)), now_us), Refused(Reason.CONFLICT, message)
    started = r.ReportStarted(**_about(command, now_us), attempt=known.attempts + 1)
    return ((command.report_id, started),), Done(True, command.report_id)


def _complete(command: c.CompleteReport, known: ReportState, now_us: int) -> ReportDecision:
    """Only of a running one: whoever was cancelled meanwhile has worked for nothing."""
    if known.status != "running":
        return (), _over(known)
    prose = command.prose
    completed = r.ReportCompleted(
        **_about(command, now_us),
        rules_version=command.rules_version,
        sections=Words(command.sections),
        narrative=None if prose is None else Words(prose.text),
        narrated_by=None if prose is None else _narrator(prose),
    )
    return _ended(command, completed, now_us), Done(True, command.report_id)


def _narrator(prose: Prose) -> r.Narrator:
    return r.Narrator(prose.model, prose.prompt_version, prose.input_tokens, prose.output_tokens)


def _fail(command: c.FailReport, known: ReportState, now_us: int) -> ReportDecision:
    if known.status not in UNFINISHED:
        return (), _over(known)
    failed = r.ReportFailed(**_about(command, now_us), error_code=command.error_code)
    return _ended(command, failed, now_us), Done(True, command.report_id)


def _cancel(command: c.CancelReport, known: ReportState, now_us: int) -> ReportDecision:
    """What is over stays as it ended."""
    if known.status not in UNFINISHED:
        return (), Done(False, command.report_id)
    return _ended(command, r.ReportCancelled(**_about(command, now_us)), now_us), Done(True, command.report_id)


def _delete(command: c.DeleteReport, known: ReportState, now_us: int) -> ReportDecision:
    if known.status in UNFINISHED:
        message = f"report {command.report_id} is {known.status}; cancel it first, or wait until it is made"
        return (), Refused(Reason.CONFLICT, message)
    return ((command.report_id, r.ReportDeleted(**_about(command, now_us))),), Done(True, command.report_id)


def _ended(
    command: c.ReportCommand, event: r.ReportEvent, now_us: int
) -> tuple[tuple[UUID, r.ReportEvent], tuple[UUID, r.ReportEvent]]:
    freed = r.ReportSlotFreed(**_about(command, now_us))
    return (command.report_id, event), (slot_of(command), freed)


def _over(known: ReportState) -> Refused:
    return Refused(Reason.CONFLICT, f"the report is {known.status}")


class _About(TypedDict):
    received_at_us: int
    organization_id: UUID
    developer_id: UUID
    report_id: UUID


def _about(command: c.ReportCommand, now_us: int) -> _About:
    return {
        "received_at_us": now_us,
        "organization_id": command.organization_id,
        "developer_id": command.developer_id,
        "report_id": command.report_id,
    }
