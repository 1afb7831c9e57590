"""What a developer can ask for, and what can be answered."""

from enum import Enum
from typing import Literal
from uuid import UUID

import msgspec

from aggregates.canonical import ResponseContent
from aggregates.records import Point, Record
from aggregates.report_period import ReportPeriod
from aggregates.report_prose import Prose
from aggregates.verdicts import Intent

TRANSCRIPT_SUFFIX = "-transcript"
"""A source that ends so was read from the files an agent keeps: such a prompt may have been captured live as well."""


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="command"):
    """A wish of one developer; it may be refused."""

    organization_id: UUID
    developer_id: UUID


class CapturePrompt(Command, frozen=True, kw_only=True, tag="capture-prompt"):
    """Take a prompt as received. `prompt_id` comes from the client's event id, or is random where there is none."""

    prompt_id: UUID
    agent_session_id: str
    source: str
    text: str
    client_event_id: UUID | None = None
    host_prompt_id: str | None = None
    submitted_at_us: int | None = None
    cwd: str | None = None
    metadata_json: str | None = None
    original_char_count: int | None = None
    untruncated_sha256: str | None = None
    truncated: bool | None = None


class CaptureResponse(Command, frozen=True, kw_only=True, tag="capture-response"):
    """Take the response to a prompt; without an operation id only where the legacy selector allowed it."""

    prompt_id: UUID
    content: ResponseContent
    response_operation_id: str | None = None
    responded_at_us: int | None = None
    cost_catalog_revision: int | None = None
    cost_kind: str | None = None


class CaptureRecords(Command, frozen=True, kw_only=True, tag="capture-records"):
    """Take a batch of records of one agent session; their spans point into `words`.

    The words are redacted piece by piece before they are put together (`word_table.py`), since redaction moves
    spans.
    """

    agent_session_id: str | None
    source: str
    decoder_version: int
    records: tuple[Record, ...]
    words: str
    redactions: dict[str, int] = {}
    raw: str | None = None
    """The redacted part of the export, as OTLP JSON; None for transcript lines."""
    signal: Literal["logs", "traces"] = "logs"


class CaptureMetrics(Command, frozen=True, kw_only=True, tag="capture-metrics"):
    """Take a batch of metric points of one agent session, or of none."""

    agent_session_id: str | None
    source: str
    decoder_version: int
    points: tuple[Point, ...]
    raw: str
    redactions: dict[str, int] = {}


class EditTitle(Command, frozen=True, kw_only=True, tag="edit-title"):
    """Name the sub-session that holds this turn; no automatic title replaces it again."""

    turn_id: UUID
    title: str
    summary: str | None = None


class Correction(Command, frozen=True, kw_only=True):
    """A person says how it was, against what was judged, of the sub-session that holds the turn of this capture."""

    agent_session_id: str
    """Of the capture."""
    capture_id: UUID


class CorrectGap(Correction, frozen=True, kw_only=True, tag="correct-gap"):
    """There is a boundary before this capture's turn, or there is none."""

    boundary: bool


class CorrectGoal(Correction, frozen=True, kw_only=True, tag="correct-goal"):
    """The goal was reached, or it was not."""

    complete: bool


class CorrectRework(Correction, frozen=True, kw_only=True, tag="correct-rework"):
    """It is rework of something earlier, or it is not."""

    rework: bool


class CorrectIntent(Correction, frozen=True, kw_only=True, tag="correct-intent"):
    """What was wanted is of this class."""

    intent_class: Intent


class CompleteSetup(Command, frozen=True, kw_only=True, tag="complete-setup"):
    """The plugin finished its setup."""

    plugin_version: str
    key_prefix: str | None = None


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


class ForgetDeveloper(Command, frozen=True, kw_only=True, tag="forget-developer"):
    """Forget a developer: their texts go for good, what was counted stays."""


AnyReportCommand = RequestReport | StartReport | CompleteReport | FailReport | CancelReport | DeleteReport
AnyCorrection = CorrectGap | CorrectGoal | CorrectRework | CorrectIntent
AnyCommand = (
    CapturePrompt
    | CaptureResponse
    | CaptureRecords
    | CaptureMetrics
    | EditTitle
    | AnyCorrection
    | CompleteSetup
    | AnyReportCommand
    | ForgetDeveloper
)


class Reason(Enum):
    """Why a command was refused; a closed set."""

    NOT_FOUND = "not found"
    CONFLICT = "conflict"
    FOREIGN_SESSION = "foreign session"
    INVALID = "invalid"


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A command that was not carried out, and the sentence for the person who sent it."""

    reason: Reason
    message: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A command that is on disk. `created` is False where it had been carried out before."""

    created: bool
    id: UUID | None = None


Reply = Done | Refused
