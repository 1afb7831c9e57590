"""Events of captures: prompts, answers, telemetry, and whose an agent session is."""

from typing import ClassVar
from uuid import UUID

import msgspec

from aggregates.event import DeveloperEvent, Words
from aggregates.records.record import Point, Record


class SessionClaimed(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The first capture of an agent session fixed whose it is."""

    TOPIC: ClassVar[str] = "session.claimed"
    agent_session_id: str


class PromptCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "prompt.captured"
    prompt_id: UUID
    agent_session_id: str
    source: str
    prompt: Words
    prompt_digest: bytes  # keyed digest of the text as received: sameness is decided on it
    redactions: dict[str, int] = msgspec.field(default_factory=dict)  # how many secrets of each kind were taken out
    client_event_id: UUID | None = None
    host_prompt_id: str | None = None
    submitted_at_us: int | None = None
    cwd: Words | None = None
    cwd_digest: int | None = None
    metadata: Words | None = None
    original_char_count: int | None = None
    untruncated_sha256: str | None = None
    truncated: bool | None = None


class PromptAnswered(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "prompt.answered"
    prompt_id: UUID
    agent_session_id: str
    response_operation_id: str | None = None
    response: Words | None = None
    content_digest: bytes  # keyed digest of the canonical semantic content as received
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
    TOPIC: ClassVar[str] = "response.operation-claimed"
    response_operation_id: str
    prompt_id: UUID


class RecordsCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A batch of log records, or of transcript lines, of one agent session."""

    TOPIC: ClassVar[str] = "telemetry.logs-captured"
    agent_session_id: str | None = None
    """None for records that name no session: they are kept and shown, and belong to no turn."""
    source: str  # `claude-code`, `codex`, `gemini` …: the agent that reported
    decoder_version: int
    records: tuple[Record, ...]
    words: Words
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words | None = None
    """The part of the export that these records came from, redacted, as OTLP JSON: shown by telemetry reads, and there
    for a newer decoder. None for transcript lines, which lie in the agent's own folder."""


class TracesCaptured(RecordsCaptured, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "telemetry.traces-captured"


class MetricsCaptured(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "telemetry.metrics-captured"
    agent_session_id: str | None = None
    source: str
    decoder_version: int
    points: tuple[Point, ...]
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words


class SetupCompleted(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "developer.setup-completed"
    plugin_version: str
    key_prefix: str | None = None


class ForeignSessionAttempted(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A developer named an agent session of another scope; nothing of it was kept."""

    TOPIC: ClassVar[str] = "foreign-session.attempted"
    agent_session_id: str
