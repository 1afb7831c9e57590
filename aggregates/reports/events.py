"""What happens to a report, and to the place that a period has for the one that is being made of it."""

from typing import ClassVar
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent, Event, Words
from aggregates.reports.commands import ReportPeriod


class ReportEvent(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about one report."""

    report_id: UUID


class ReportRequested(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody, or a schedule, asked for a report."""

    TOPIC: ClassVar[str] = "report.requested"
    period: ReportPeriod
    language: str
    scheduled: bool = False


class ReportStarted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A worker began to make it, or began again after a restart."""

    TOPIC: ClassVar[str] = "report.started"
    attempt: int


class Narrator(msgspec.Struct, frozen=True):
    """Which text model wrote it, to which prompt text, and what that took."""

    model: str
    prompt_version: int
    input_tokens: int
    output_tokens: int


class ReportCompleted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It is made. A report is a document: what is found out later does not change it."""

    TOPIC: ClassVar[str] = "report.completed"
    rules_version: int
    """The rule set that its figures follow."""
    sections: Words
    """A JSON object. It quotes prompts, titles and paths, so all of it is words."""
    narrative: Words | None = None
    """Prose by a text model about the figures; None where there is none."""
    narrated_by: Narrator | None = None


class ReportFailed(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It could not be made."""

    TOPIC: ClassVar[str] = "report.failed"
    error_code: str | None = None


class ReportCancelled(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Its developer wants it no longer."""

    TOPIC: ClassVar[str] = "report.cancelled"


class ReportDeleted(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Nobody is shown it from now on."""

    TOPIC: ClassVar[str] = "report.deleted"


class ReportSlotTaken(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """This report is the one that is being made of its period."""

    TOPIC: ClassVar[str] = "report-slot.taken"


class ReportSlotFreed(ReportEvent, frozen=True, kw_only=True, omit_defaults=True):
    """It is made, or will not be: another one may be asked for."""

    TOPIC: ClassVar[str] = "report-slot.freed"


class BackfillEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A fact about one backfill."""

    backfill_id: UUID
    organization_id: UUID


class BackfillRequested(BackfillEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody asked for it."""

    TOPIC: ClassVar[str] = "backfill.requested"
    developer_id: UUID | None = None
    """None: every developer of the organization."""
    from_us: int
    to_us: int
    """Half-open: sub-sessions that started from the one up to the other."""
    sub_sessions: int


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
