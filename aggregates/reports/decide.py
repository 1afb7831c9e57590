"""Deciding about reports and backfills; and telling a developer that a report of theirs is finished."""

import hmac
import operator
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Done, Reason, Refused, Reply, Scope, Streams
from aggregates.people.acts import Channel
from aggregates.reports import events as report
from aggregates.reports.events import BackfillRequested, Outcome, ReportEvent, ReportPeriod
from aggregates.times import INSTANT_MAX_US, INSTANT_MIN_US, US_PER_DAY, US_PER_SECOND, iso, local_date

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
            return msgspec.structs.replace(state, status="running", attempts=event.attempt)
        case report.ReportDeleted():
            return msgspec.structs.replace(state, deleted=True)
        case report.ReportNoticeTried():
            others = {channel: tries for channel, tries in state.notices.items() if channel != event.channel}
            left = {event.channel: event.attempt} if event.outcome == "failed" else {}
            return msgspec.structs.replace(state, notices=others | left)
        case _:
            return msgspec.structs.replace(state, status=_ENDS.get(type(event), state.status))


def decide_report(wish: ReportEvent, streams: Streams, now_us: int) -> tuple[ReportEvent | None, Reply]:
    """Of the work only what became of an unfinished one is told: after a cancel it was for nothing."""
    known, fact = streams.get(wish.report_id), msgspec.structs.replace(wish, received_at_us=now_us)
    done, nothing_new = Done(True, wish.report_id), Done(False, wish.report_id)
    if isinstance(fact, report.ReportRequested):  # who asks at the same time, for one period, asks for one report
        return (fact, done) if known is None else (None, nothing_new)
    if not isinstance(known, ReportState) or known.scope != wish.scope or known.deleted:
        return None, Refused(Reason.NOT_FOUND, f"no report {wish.report_id} of yours")
    unfinished = known.status in UNFINISHED
    match fact:
        case report.ReportCancelled():
            return (fact, done) if unfinished else (None, nothing_new)
        case report.ReportDeleted():
            message = f"report {wish.report_id} is {known.status}; cancel it first, or wait until it is made"
            return (None, Refused(Reason.CONFLICT, message)) if unfinished else (fact, done)
        case report.ReportNoticeTried(channel=channel):
            if known.status not in ("completed", "failed") or channel not in known.notices:
                return None, Refused(Reason.CONFLICT, f"nobody waits to be told of it by {channel}")
            attempt = known.notices[channel] + 1
            failed: Outcome = "given_up" if fact.problem == "gone" or attempt >= TRIES_MAX else "failed"
            return msgspec.structs.replace(fact, attempt=attempt, outcome=failed if fact.problem else "told"), done
        case _ if not unfinished or (known.status == "queued" and isinstance(fact, report.ReportCompleted)):
            return None, Refused(Reason.CONFLICT, f"the report is {known.status}")
        case report.ReportStarted() if known.attempts >= ATTEMPTS_MAX:
            given_up = {name: getattr(fact, name) for name in ReportEvent.__struct_fields__}
            message = f"the report was begun {known.attempts} times and never ended; it is given up"
            return report.ReportFailed(**given_up), Refused(Reason.CONFLICT, message)
        case report.ReportStarted():
            return msgspec.structs.replace(fact, attempt=known.attempts + 1), done
        case _:
            return fact, done


# Backfills: an organization asks that what started in a range be judged again. The views are then built anew.

RANGE_DAYS_MAX = 3_660
BackfillStatus = Literal["running", "completed", "failed", "unknown"]
"""Unknown: the server was started again since, and no longer knows."""


class BackfillRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"from_time": "from"}):
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


# Notices. Mail lies on the servers of others, so a notice holds no figure and no word of the report: that it is
# finished, and where to read it.

RETRY_SECONDS = (60, 300, 1_800, 7_200, 28_800)
"""After each try that failed: a restart over there takes a minute, a repair half a day; then it is given up."""
TRIES_MAX = 1 + len(RETRY_SECONDS)
NEWS_US = 3 * US_PER_DAY
"""What was finished longer ago is no news: nobody is told of it any more, however long the server was down."""


class Try(msgspec.Struct, frozen=True):
    channel: Channel
    attempt: int
    outcome: Outcome
    at_us: int


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A developer who waits to be told that a report is finished."""

    scope: Scope
    channel: Channel
    report_id: UUID
    period: ReportPeriod
    completed: bool  # whether it is made; else it has failed
    finished_us: int
    tries: Sequence[Try] = ()
    url: str | None = None  # where it is read, if the server knows by which address

    @property
    def id(self) -> str:
        """The same for every try, so that a receiver knows what it was told before."""
        return f"report-{self.report_id}"


def next_try_us(finished_us: int, tries: Sequence[Try]) -> int | None:
    """When the next try is due, by what came of those so far; None: there is none. `tries`: of one channel."""
    if not tries:
        return finished_us
    last = max(tries, key=lambda each: each.attempt)
    if last.outcome != "failed":
        return None
    return last.at_us + RETRY_SECONDS[min(last.attempt, len(RETRY_SECONDS)) - 1] * US_PER_SECOND


def webhook_body(notice: Notice) -> bytes:
    """In the form of https://www.standardwebhooks.com."""
    data = {
        "report_id": notice.report_id,
        "developer_id": notice.scope.developer_id,
        "period": notice.period.name,
        "from": iso(notice.period.start_us),
        "to": iso(notice.period.end_us),
        "url": notice.url,
    }
    kind = "report.completed" if notice.completed else "report.failed"
    return msgspec.json.encode({"type": kind, "timestamp": iso(notice.finished_us), "data": data})


def webhook_headers(notice_id: str, body: bytes, secret: bytes, now_us: int) -> dict[str, str]:
    now_seconds = str(now_us // US_PER_SECOND)
    signature = hmac.digest(secret, b".".join((notice_id.encode(), now_seconds.encode(), body)), "sha256")
    return {
        "Content-Type": "application/json",
        "webhook-id": notice_id,
        "webhook-timestamp": now_seconds,
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }


def mail_subject(notice: Notice) -> str:
    return f"Your {notice.period.name} report {'is ready' if notice.completed else 'could not be made'}"


def mail_text(notice: Notice) -> str:
    period, zone = notice.period, ZoneInfo(notice.period.timezone)
    first, last = local_date(period.start_us, zone), local_date(period.end_us - 1, zone)
    days = f"{first}" if first == last else f"{first} to {last}"
    where = notice.url or 'see the page "Reports" of your svc server'
    return (
        f"{mail_subject(notice)}: {days}, {period.timezone}.\n\n{where}\n\n"
        'You asked to be told. To end that, take the tick away on the page "Reports".\n'
    )
