"""Deciding about reports: a wish, or what became of the work, in; events and a reply, out."""

import operator
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from aggregates.event import Done, Reason, Refused, Reply, Scope, Streams
from aggregates.people.acts import Channel
from aggregates.reports import events as report
from aggregates.reports.events import BackfillRequested, ReportEvent
from aggregates.reports.notices import outcome_of
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, iso

ReportStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
UNFINISHED: frozenset[ReportStatus] = frozenset({"queued", "running"})
ATTEMPTS_MAX = 5  # begun so often and never ended, it is given up: whatever stops the process may be the report
SOURCE_UNAVAILABLE = "source_unavailable"


class ReportState(msgspec.Struct, frozen=True, kw_only=True):
    scope: Scope
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
            return ReportState(scope=event.scope, notices=dict.fromkeys(event.notices, 0))
        case _ if state is None:
            return None
        case report.ReportStarted():
            return replace(state, status="running", attempts=event.attempt)
        case report.ReportDeleted():
            return replace(state, deleted=True)
        case report.ReportNoticeTried():
            others = {channel: tries for channel, tries in state.notices.items() if channel != event.channel}
            left = {event.channel: event.attempt} if event.outcome == "failed" else {}
            return replace(state, notices=others | left)
        case _:
            return replace(state, status=_ENDS.get(type(event), state.status))


def decide_report(wish: ReportEvent, streams: Streams, now_us: int) -> tuple[ReportEvent | None, Reply]:
    known, fact = streams.get(wish.report_id), replace(wish, received_at_us=now_us)
    done, nothing_new = Done(True, wish.report_id), Done(False, wish.report_id)
    if isinstance(fact, report.ReportRequested):  # who asks at the same time, for one period, asks for one report
        return (fact, done) if known is None else (None, nothing_new)
    if not isinstance(known, ReportState) or known.scope != wish.scope or known.deleted:
        return None, Refused(Reason.NOT_FOUND, f"no report {wish.report_id} of yours")
    match fact:
        case report.ReportDeleted() if known.status in UNFINISHED:
            message = f"report {wish.report_id} is {known.status}; cancel it first, or wait until it is made"
            return None, Refused(Reason.CONFLICT, message)
        case report.ReportDeleted():
            return fact, done
        case report.ReportCancelled():
            return (fact, done) if known.status in UNFINISHED else (None, nothing_new)
        case report.ReportNoticeTried(channel=channel):
            if known.status not in ("completed", "failed") or channel not in known.notices:
                return None, Refused(Reason.CONFLICT, f"nobody waits to be told of it by {channel}")
            attempt = known.notices[channel] + 1
            return replace(fact, attempt=attempt, outcome=outcome_of(attempt, fact.problem)), done
        case _:
            return _progress(fact, known, done)


def _progress(fact: ReportEvent, known: ReportState, done: Done) -> tuple[ReportEvent | None, Reply]:
    """Only of a running one is it told that it is made: after a cancel the work was for nothing."""
    if known.status not in UNFINISHED or (known.status == "queued" and isinstance(fact, report.ReportCompleted)):
        return None, Refused(Reason.CONFLICT, f"the report is {known.status}")
    if not isinstance(fact, report.ReportStarted):
        return fact, done
    if known.attempts < ATTEMPTS_MAX:
        return replace(fact, attempt=known.attempts + 1), done
    given_up = {name: getattr(fact, name) for name in ReportEvent.__struct_fields__}
    message = f"the report was begun {known.attempts} times and never ended; it is given up"
    return report.ReportFailed(**given_up), Refused(Reason.CONFLICT, message)


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
    same = operator.attrgetter("developer_id", "from_us", "to_us")
    if running is not None and same(running) != same(asked):
        message = f"backfill {running.backfill_id} of this organization still runs; wait until it is completed"
        return Refused(Reason.CONFLICT, message)
    return running or asked


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
