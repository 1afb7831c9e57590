"""Deciding about reports: a wish, or what became of the work, in; events and a reply, out."""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.event import Done, Origin, Reason, Refused, Reply, Streams, Words, origin
from aggregates.people.acts import Channel
from aggregates.reports import events as report
from aggregates.reports.events import BackfillRequested, ReportCommand, ReportEvent
from aggregates.reports.notices import outcome_of
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, iso

ReportStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
UNFINISHED: frozenset[ReportStatus] = frozenset({"queued", "running"})
ATTEMPTS_MAX = 5  # begun so often and never ended, it is given up: whatever stops the process may be the report
SOURCE_UNAVAILABLE = "source_unavailable"


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    organization_id: UUID
    developer_id: UUID
    status: ReportStatus = "queued"
    attempts: int = 0
    deleted: bool = False
    notices: Mapping[Channel, int] = {}  # how often each was tried that has not arrived and is not given up


_ENDS: dict[type[ReportEvent], ReportStatus] = {
    report.ReportCompleted: "completed",
    report.ReportFailed: "failed",
    report.ReportCancelled: "cancelled",
}


def evolve_report(state: ReportState | None, event: ReportEvent) -> ReportState | None:
    match event:
        case report.ReportRequested():
            return ReportState(
                organization_id=event.organization_id,
                developer_id=event.developer_id,
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


ReportDecision = tuple[ReportEvent | None, Reply]


class _About(Origin):
    report_id: UUID


def decide_report(command: ReportCommand, streams: Streams, now_us: int) -> ReportDecision:
    known = streams.get(command.report_id)
    about: _About = {**origin(command, now_us), "report_id": command.report_id}
    if isinstance(command, report.RequestReport):
        return _request(command, known, about)
    scope = (command.organization_id, command.developer_id)
    own = isinstance(known, ReportState) and (known.organization_id, known.developer_id) == scope
    if not isinstance(known, ReportState) or not own or known.deleted:
        return None, Refused(Reason.NOT_FOUND, f"no report {command.report_id} of yours")
    unfinished, done = known.status in UNFINISHED, Done(True, command.report_id)
    match command:
        case report.DeleteReport() if unfinished:
            message = f"report {command.report_id} is {known.status}; cancel it first, or wait until it is made"
            return None, Refused(Reason.CONFLICT, message)
        case report.DeleteReport():
            return report.ReportDeleted(**about), done
        case report.CancelReport():
            return (report.ReportCancelled(**about), done) if unfinished else (None, Done(False, command.report_id))
        case report.NoteNotice():
            return _noted(command, known, about)
        case _:
            return _progress(command, known, about)


def _progress(command: ReportCommand, known: ReportState, about: _About) -> ReportDecision:
    """Only of a running one is it told that it is made: after a cancel the work was for nothing."""
    done = Done(True, command.report_id)
    if known.status not in UNFINISHED or (known.status == "queued" and isinstance(command, report.CompleteReport)):
        return None, Refused(Reason.CONFLICT, f"the report is {known.status}")
    match command:
        case report.StartReport() if known.attempts >= ATTEMPTS_MAX:
            message = f"the report was begun {known.attempts} times and never ended; it is given up"
            return report.ReportFailed(**about), Refused(Reason.CONFLICT, message)
        case report.StartReport():
            return report.ReportStarted(**about, attempt=known.attempts + 1), done
        case report.CompleteReport():
            return _completed(command, about), done
        case report.FailReport():
            return report.ReportFailed(**about, error_code=command.error_code), done
        case _:
            raise AssertionError(f"{type(command).__name__} is decided nowhere")


def _request(command: report.RequestReport, known: object, about: _About) -> ReportDecision:
    """Whoever asks at the same time, for the same period, asks for the same report."""
    if known is not None:
        return None, Done(False, command.report_id)
    requested = report.ReportRequested(
        **about,
        period=command.period,
        language=command.language,
        scheduled=command.scheduled,
        notices=command.notices,
    )
    return requested, Done(True, command.report_id)


def _completed(command: report.CompleteReport, about: _About) -> report.ReportCompleted:
    prose = command.prose
    return report.ReportCompleted(
        **about,
        rules_version=command.rules_version,
        sections=Words(command.sections),
        narrative=None if prose is None else Words(prose.text),
        narrated_by=None if prose is None else prose.narrator,
    )


def _noted(command: report.NoteNotice, known: ReportState, about: _About) -> ReportDecision:
    if known.status not in ("completed", "failed") or command.channel not in known.notices:
        return None, Refused(Reason.CONFLICT, f"nobody waits to be told of it by {command.channel}")
    attempt = known.notices[command.channel] + 1
    tried = report.ReportNoticeTried(
        **about,
        channel=command.channel,
        attempt=attempt,
        outcome=outcome_of(attempt, command.problem),
        problem=command.problem,
        status=command.status,
    )
    return tried, Done(True, command.report_id)


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
    sub_sessions: int  # how many there were when it was asked for
    done: int  # that many times the share of the log that is derived again
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
