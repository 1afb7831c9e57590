"""Facts: every event that can stand in the log, and the one table of their topics.

An event carries `received_at_us` and refers only to other facts. It is never changed; a field may be added with a
default, and anything more is a new version with an upcast (`upcasts.py`).
"""

from typing import ClassVar, Literal
from uuid import UUID

import msgspec

from aggregates.backfill_events import BACKFILLS
from aggregates.backfill_events import BackfillAdvanced as BackfillAdvanced
from aggregates.backfill_events import BackfillCompleted as BackfillCompleted
from aggregates.backfill_events import BackfillRequested as BackfillRequested
from aggregates.catalog import Snapshot
from aggregates.event import DeveloperEvent as DeveloperEvent
from aggregates.event import Event as Event
from aggregates.judge_events import JudgeAnswered as JudgeAnswered
from aggregates.records import Point, Record
from aggregates.report_events import REPORTS
from aggregates.report_events import ReportCancelled as ReportCancelled
from aggregates.report_events import ReportCompleted as ReportCompleted
from aggregates.report_events import ReportDeleted as ReportDeleted
from aggregates.report_events import ReportFailed as ReportFailed
from aggregates.report_events import ReportRequested as ReportRequested
from aggregates.report_events import ReportSlotFreed as ReportSlotFreed
from aggregates.report_events import ReportSlotTaken as ReportSlotTaken
from aggregates.report_events import ReportStarted as ReportStarted
from aggregates.standing import STANDING
from aggregates.standing import DeveloperForgotten as DeveloperForgotten
from aggregates.standing import ForgetOrdered as ForgetOrdered
from aggregates.standing import StandingSealed as StandingSealed
from aggregates.standing import WordsExpired as WordsExpired
from aggregates.verdicts import Intent
from aggregates.words import Words

# --- captures -------------------------------------------------------------------------------------------------


class SessionClaimed(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The first capture of an agent session fixed whose it is."""

    TOPIC: ClassVar[str] = "session.claimed"
    agent_session_id: str


class PromptCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin sent a prompt."""

    TOPIC: ClassVar[str] = "prompt.captured"
    prompt_id: UUID
    agent_session_id: str
    source: str
    prompt: Words
    prompt_digest: bytes
    """Keyed digest of the text as received: sameness is decided on it."""
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    """How many secrets of each kind were taken out."""
    client_event_id: UUID | None = None
    host_prompt_id: str | None = None
    submitted_at_us: int | None = None
    cwd: Words | None = None
    cwd_digest: int | None = None
    metadata: Words | None = None
    """The metadata object as JSON text."""
    original_char_count: int | None = None
    untruncated_sha256: str | None = None
    truncated: bool | None = None


class PromptAnswered(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin sent the response to a prompt."""

    TOPIC: ClassVar[str] = "prompt.answered"
    prompt_id: UUID
    agent_session_id: str
    response_operation_id: str | None = None
    response: Words | None = None
    content_digest: bytes
    """Keyed digest of the canonical semantic content as received."""
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    responded_at_us: int | None = None
    elapsed_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    model: str | None = None
    cost_usd_nano: int | None = None
    cost_catalog_revision: int | None = None
    cost_kind: str | None = None


class ProvenanceFilled(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A later identical retry named the catalog revision or the kind of a cost."""

    TOPIC: ClassVar[str] = "prompt.provenance-filled"
    prompt_id: UUID
    cost_catalog_revision: int | None = None
    cost_kind: str | None = None


class OperationClaimed(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A response operation id belongs to one prompt from now on."""

    TOPIC: ClassVar[str] = "response.operation-claimed"
    response_operation_id: str
    prompt_id: UUID


class RecordsCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A batch of log records, or of transcript lines, of one agent session."""

    TOPIC: ClassVar[str] = "telemetry.logs-captured"
    agent_session_id: str | None = None
    """None for records that name no session: they are kept and shown, and belong to no turn."""
    source: str
    """`claude-code`, `codex`, `gemini` …: the agent that reported."""
    decoder_version: int
    records: tuple[Record, ...]
    words: Words
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words | None = None
    """The part of the export that these records came from, redacted, as OTLP JSON: shown by telemetry reads, and there
    for a newer decoder. None for transcript lines, which lie in the agent's own folder."""


class TracesCaptured(RecordsCaptured, frozen=True, kw_only=True, omit_defaults=True):
    """A batch of spans of one agent session."""

    TOPIC: ClassVar[str] = "telemetry.traces-captured"


class MetricsCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A batch of metric points of one agent session, or of none."""

    TOPIC: ClassVar[str] = "telemetry.metrics-captured"
    agent_session_id: str | None = None
    source: str
    decoder_version: int
    points: tuple[Point, ...]
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words


class SetupCompleted(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The plugin finished its setup."""

    TOPIC: ClassVar[str] = "developer.setup-completed"
    plugin_version: str
    key_prefix: str | None = None


# --- decisions of people --------------------------------------------------------------------------------------


class TitleEdited(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person named the sub-session that holds this turn. None leaves a text as it was."""

    TOPIC: ClassVar[str] = "title.edited"
    turn_id: UUID
    title: Words
    summary: Words | None = None


class GapCorrected(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said that the turn of this capture opens a sub-session, or that it goes on with the one before."""

    TOPIC: ClassVar[str] = "gap.corrected"
    agent_session_id: str
    before_capture: UUID
    boundary: bool


class GoalCorrected(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said whether the sub-session that holds this capture reached its goal."""

    TOPIC: ClassVar[str] = "goal.corrected"
    agent_session_id: str
    capture_id: UUID
    complete: bool


class ReworkCorrected(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said whether the sub-session that holds this capture is rework."""

    TOPIC: ClassVar[str] = "rework.corrected"
    agent_session_id: str
    capture_id: UUID
    rework: bool


class IntentCorrected(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A person said what the sub-session that holds this capture was after."""

    TOPIC: ClassVar[str] = "intent.corrected"
    agent_session_id: str
    capture_id: UUID
    intent_class: Intent


class ForeignSessionAttempted(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A developer named an agent session of another scope; nothing of it was kept."""

    TOPIC: ClassVar[str] = "foreign-session.attempted"
    agent_session_id: str


# --- people and keys ------------------------------------------------------------------------------------------


class OrganizationCreated(Event, frozen=True, kw_only=True, omit_defaults=True):
    """An organization exists."""

    TOPIC: ClassVar[str] = "organization.created"
    organization_id: UUID
    name: str


class OrganizationChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of an organization; None leaves one as it was."""

    TOPIC: ClassVar[str] = "organization.changed"
    organization_id: UUID
    name: str | None = None
    text_leaves: bool | None = None
    redaction: bool | None = None
    retention_days_telemetry: int | None = None
    retention_days_text: int | None = None


class DeveloperCreated(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A developer exists."""

    TOPIC: ClassVar[str] = "developer.created"
    developer_id: UUID
    display_name: str


class DeveloperChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Profile of a developer; None leaves a field as it was."""

    TOPIC: ClassVar[str] = "developer.changed"
    developer_id: UUID
    display_name: str | None = None
    timezone: str | None = None
    language: str | None = None
    report_schedules: tuple[Literal["daily", "weekly", "monthly"], ...] | None = None


class MembershipStarted(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A developer belongs to an organization from now on."""

    TOPIC: ClassVar[str] = "membership.started"
    membership_id: UUID
    organization_id: UUID
    developer_id: UUID
    role: Literal["owner", "member"]


class MembershipChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A member's role changed."""

    TOPIC: ClassVar[str] = "membership.changed"
    membership_id: UUID
    role: Literal["owner", "member"]


class MembershipEnded(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A developer no longer belongs to the organization; history stays."""

    TOPIC: ClassVar[str] = "membership.ended"
    membership_id: UUID


class TeamCreated(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A team exists within an organization."""

    TOPIC: ClassVar[str] = "team.created"
    team_id: UUID
    organization_id: UUID
    name: str


class TeamEnded(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A team is inactive; history stays."""

    TOPIC: ClassVar[str] = "team.ended"
    team_id: UUID


class TeamMemberAdded(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A developer belongs to a team from now on."""

    TOPIC: ClassVar[str] = "team.member-added"
    team_membership_id: UUID
    team_id: UUID
    developer_id: UUID


class TeamMemberRemoved(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A developer left a team; history stays."""

    TOPIC: ClassVar[str] = "team.member-removed"
    team_membership_id: UUID
    team_id: UUID


class CredentialIssued(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A key exists; only its digest is known."""

    TOPIC: ClassVar[str] = "credential.issued"
    credential_id: UUID
    organization_id: UUID
    developer_id: UUID
    key_digest: str
    """SHA-256 of the key, lower-case hex."""
    key_start: str
    """The first 12 characters of the key, to recognise it."""
    name: str | None = None
    expires_at_us: int | None = None


class CredentialRevoked(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A key is void from now on."""

    TOPIC: ClassVar[str] = "credential.revoked"
    credential_id: UUID


# --- prices ---------------------------------------------------------------------------------------------------


class CatalogPublished(Event, frozen=True, kw_only=True, omit_defaults=True):
    """These list prices are known from now on; its version in the stream is the catalog's revision."""

    TOPIC: ClassVar[str] = "catalog.published"
    source: str
    """Where the prices came from: `genai-prices 0.2.3`, the name of a file, an address."""
    snapshot: Snapshot


class RequestsRepriced(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Requests of an organization that have no price yet get one of this revision; those that have keep theirs."""

    TOPIC: ClassVar[str] = "requests.repriced"
    organization_id: UUID
    catalog_revision: int
    from_us: int
    to_us: int
    """Half-open: requests made from the one up to the other."""


class TimePassed(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The log was quiet and something was due: the passing of time is itself a fact."""

    TOPIC: ClassVar[str] = "time.passed"


CAPTURES: tuple[type[Event], ...] = (
    SessionClaimed,
    PromptCaptured,
    PromptAnswered,
    ProvenanceFilled,
    OperationClaimed,
    RecordsCaptured,
    TracesCaptured,
    MetricsCaptured,
    SetupCompleted,
)
DECISIONS: tuple[type[Event], ...] = (
    TitleEdited,
    GapCorrected,
    GoalCorrected,
    ReworkCorrected,
    IntentCorrected,
    ForeignSessionAttempted,
)
PEOPLE: tuple[type[Event], ...] = (
    OrganizationCreated,
    OrganizationChanged,
    DeveloperCreated,
    DeveloperChanged,
    MembershipStarted,
    MembershipChanged,
    MembershipEnded,
    TeamCreated,
    TeamEnded,
    TeamMemberAdded,
    TeamMemberRemoved,
    CredentialIssued,
    CredentialRevoked,
)
PRICES: tuple[type[Event], ...] = (CatalogPublished, RequestsRepriced)

OTHERS: tuple[type[Event], ...] = (JudgeAnswered, TimePassed)
EVENTS: tuple[type[Event], ...] = (*CAPTURES, *DECISIONS, *PEOPLE, *PRICES, *REPORTS, *BACKFILLS, *STANDING, *OTHERS)
TOPICS: dict[str, type[Event]] = {event.TOPIC: event for event in EVENTS}
"""Topic → event class. Topics are names in the log, independent of where a class lives; tests hold a golden list."""
