"""Telling a developer that a report of theirs is finished: what is said, and when it is tried again.

Pages promise that nobody but the developer sees their scores, and mail lies on the servers of others. So a notice holds
no figure and no word of the report: that it is finished, and where to read it.
"""

import hmac
from base64 import b64encode
from collections.abc import Sequence
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import Scope
from aggregates.people.acts import Channel
from aggregates.reports.events import Outcome, Problem, ReportPeriod
from aggregates.times import US_PER_DAY, US_PER_SECOND, iso, local_date

RETRY_SECONDS = (60, 300, 1_800, 7_200, 28_800)
"""After each try that failed: a restart over there takes a minute, a repair half a day; then it is given up."""
TRIES_MAX = 1 + len(RETRY_SECONDS)
NEWS_US = 3 * US_PER_DAY
"""What was finished longer ago is no news: nobody is told of it any more, however long the server was down."""


class Try(msgspec.Struct, frozen=True):
    """One try to tell of a report."""

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


def outcome_of(attempt: int, problem: Problem | None) -> Outcome:
    if problem is None:
        return "told"
    return "given_up" if problem == "gone" or attempt >= TRIES_MAX else "failed"


def next_try_us(finished_us: int, tries: Sequence[Try]) -> int | None:
    """When the next try is due, by what came of those so far; None: there is none. `tries`: of one channel."""
    if not tries:
        return finished_us
    last = max(tries, key=lambda each: each.attempt)
    if last.outcome != "failed":
        return None
    return last.at_us + RETRY_SECONDS[min(last.attempt, len(RETRY_SECONDS)) - 1] * US_PER_SECOND


# --- a webhook, in the form of https://www.standardwebhooks.com -------------------------------------------------


def webhook_body(notice: Notice) -> bytes:
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


# --- a mail -----------------------------------------------------------------------------------------------------


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
