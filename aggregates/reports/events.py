"""What becomes of a report, and of a backfill.

Of a report one class is the wish and the fact: whoever wishes leaves out when, and how often; the decision puts it in.
"""

from datetime import date
from typing import Any, ClassVar, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from aggregates.event import DeveloperEvent, Event, Scope, Words, shaped
from aggregates.ids import stream_id
from aggregates.people.acts import Channel
from aggregates.reports.prose import Narrator
from aggregates.times import Window, WindowName, calendar_windows, midnight_us

Problem = Literal["unreachable", "refused", "gone"]
"""Why a notice did not arrive: nobody answered; somebody said no; or nobody is there any more, for good."""
Outcome = Literal["told", "failed", "given_up"]


class ReportPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar day, week or month of a zone: from `start_us` up to, but without, `end_us`."""

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


class ReportEvent(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    received_at_us: int = 0
    report_id: UUID


class ReportRequested(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "report.requested"
    period: ReportPeriod
    language: str
    scheduled: bool = False
    notices: tuple[Channel, ...] = ()  # by which the developer wants to be told once it is made, or has failed


def request_report(scope: Scope, period: ReportPeriod, number: int, **told: Any) -> ReportRequested:
    """`number`: how many reports of the period were asked for before, so that two who ask at once ask for one."""
    bounds = (period.name, period.start_us, period.end_us)
    report_id = stream_id("report", scope.organization_id, scope.developer_id, *bounds, number)
    return shaped(ReportRequested, scope, report_id=report_id, period=period, **told)


class ReportStarted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A worker began to make it, or began again after a restart."""

    TOPIC: ClassVar[str] = "report.started"
    attempt: int = 0


class ReportCompleted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It is made. A report is a document: what is found out later does not change it."""

    TOPIC: ClassVar[str] = "report.completed"
    rules_version: int  # the rule set that its figures follow
    sections: Words  # A JSON object. It quotes prompts, titles and paths, so all of it is words
    narrative: Words | None = None  # prose by a text model about the figures; None where there is none
    narrated_by: Narrator | None = None


class ReportFailed(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "report.failed"
    error_code: str | None = None


class ReportCancelled(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "report.cancelled"


class ReportDeleted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "report.deleted"


class ReportNoticeTried(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Its developer was told that it is finished, or was not. No address is in it, and no word of the other server."""

    TOPIC: ClassVar[str] = "report.notice-tried"
    channel: Channel
    attempt: int = 0
    outcome: Outcome = msgspec.field(default_factory=lambda: "failed")  # a plain default would not be stored
    problem: Problem | None = None
    status: int | None = None  # what the other server answered


class ReportSlotTaken(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """This report is the one that is being made of its period; no longer written."""

    TOPIC: ClassVar[str] = "report-slot.taken"


class ReportSlotFreed(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It is made, or will not be: another one may be asked for; no longer written."""

    TOPIC: ClassVar[str] = "report-slot.freed"


class BackfillEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    backfill_id: UUID
    organization_id: UUID


class BackfillRequested(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "backfill.requested"
    developer_id: UUID | None = None  # None: every developer of the organization
    from_us: int
    to_us: int  # half-open: sub-sessions that started from the one up to the other
    sub_sessions: int
    by: UUID | None = None  # the owner who asked; None where the internal secret did


class BackfillAdvanced(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of the range was judged again; no longer written."""

    TOPIC: ClassVar[str] = "backfill.advanced"
    developer_id: UUID | None = None
    from_us: int
    to_us: int
    sub_sessions: int


class BackfillCompleted(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The whole range was done; no longer written."""

    TOPIC: ClassVar[str] = "backfill.completed"
