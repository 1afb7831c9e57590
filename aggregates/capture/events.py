"""What agents and plugins report: the commands that bring it, and the events that follow from them."""

from typing import Annotated, ClassVar, TypeGuard
from uuid import UUID

import msgspec

from aggregates.event import Command, DeveloperEvent, Event, SentEvent, Words
from aggregates.records.record import COUNT_MAX, USD_MAX, Count, Point, Record


class ResponseContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a response says: two responses with equal content are the same response."""

    response_text: str | None = None
    elapsed_ms: Annotated[float, msgspec.Meta(ge=0, le=COUNT_MAX)] | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_creation_tokens: Count | None = None
    model: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    cost_usd: Annotated[float, msgspec.Meta(ge=0, le=USD_MAX)] | None = None


DECODER_VERSION = 2
"""Of what reads telemetry and agents' files, counted up where a reading changes: the views are then built anew, and
exports that an older decoder took are read anew for them; importing again corrects what an older reader took."""
GATHERED = "agentsview:"  # begins what a prompt or a request of an agent is called that tells no name of it there
TRANSCRIPT_SUFFIX = "-transcript"  # of a source that was read from an agent's files, and maybe captured live as well


class CapturePrompt(Command, frozen=True, kw_only=True):
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
    former_prompt_id: UUID | None = None  # under which an older reader of an agent's files took it
    reader_version: int = 1  # of what read the agent's file; a newer one corrects what an older one read
    unanswered: bool = False  # the file says that no answer came


class CaptureResponse(Command, frozen=True, kw_only=True):
    """Take the response to a prompt; without an operation id only where the legacy selector allowed it."""

    prompt_id: UUID
    content: ResponseContent
    response_operation_id: str | None = None
    responded_at_us: int | None = None
    cost_catalog_revision: int | None = None
    cost_kind: str | None = None
    former_prompt_id: UUID | None = None
    reader_version: int = 1


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
    reader_version: int = 1  # of the importer that read it; a newer one's stands in place of an older one's


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
    reader_version: int = 1

    @property
    def withdraws(self) -> bool:
        """Whether a newer importer found that no answer came: an import's answer has a text."""
        return self.reader_version > 1 and self.response is None


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


class _Batch(SentEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A batch of what one agent session reported; `raw`: its part of the export as OTLP JSON, redacted."""

    agent_session_id: str | None = None  # records that name none are kept and shown, and belong to no turn
    source: str  # `claude-code`, `codex`, `gemini` …: the agent that reported
    decoder_version: int


class RecordsCaptured(_Batch, frozen=True, kw_only=True, omit_defaults=True):
    """Log records, or transcript lines; their spans point into `words`, which are redacted already."""

    TOPIC: ClassVar[str] = "telemetry.logs-captured"
    records: tuple[Record, ...]
    words: Words
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words | None = None  # None for lines of a transcript


class TracesCaptured(RecordsCaptured, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "telemetry.traces-captured"


class MetricsCaptured(_Batch, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "telemetry.metrics-captured"
    points: tuple[Point, ...]
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
    raw: Words


Telemetry = RecordsCaptured | MetricsCaptured
AnyCapture = CapturePrompt | CaptureResponse | Telemetry


def is_older(event: Event) -> TypeGuard[Telemetry]:
    """Whether an older decoder read it from an export, which may still be there; not where its words are gone."""
    if not isinstance(event, Telemetry) or event.decoder_version >= DECODER_VERSION:
        return False
    return event.raw is not None and not (isinstance(event, RecordsCaptured) and event.words.text is None)


class SetupCompleted(SentEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "developer.setup-completed"
    plugin_version: str
    key_prefix: str | None = None


class ForeignSessionAttempted(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A developer named an agent session of another scope; nothing of it was kept."""

    TOPIC: ClassVar[str] = "foreign-session.attempted"
    agent_session_id: str
