"""What a developer can ask for, and what can be answered."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec

from aggregates.event import Command
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


TRANSCRIPT_SUFFIX = "-transcript"
"""A source that ends so was read from the files an agent keeps: such a prompt may have been captured live as well."""


class CaptureCommand(Command, frozen=True, kw_only=True):
    """Take in what an agent or a plugin reports."""


class CapturePrompt(CaptureCommand, frozen=True, kw_only=True, tag="capture-prompt"):
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


class CaptureResponse(CaptureCommand, frozen=True, kw_only=True, tag="capture-response"):
    """Take the response to a prompt; without an operation id only where the legacy selector allowed it."""

    prompt_id: UUID
    content: ResponseContent
    response_operation_id: str | None = None
    responded_at_us: int | None = None
    cost_catalog_revision: int | None = None
    cost_kind: str | None = None


class _CaptureBatch(CaptureCommand, frozen=True, kw_only=True):
    agent_session_id: str | None
    source: str
    decoder_version: int
    redactions: dict[str, int] = msgspec.field(default_factory=dict)


class CaptureRecords(_CaptureBatch, frozen=True, kw_only=True, tag="capture-records"):
    """Take a batch of records of one agent session; their spans point into `words`. The words are redacted already."""

    records: tuple[Record, ...]
    words: str
    raw: str | None = None  # the redacted part of the export, as OTLP JSON; None for transcript lines
    signal: Literal["logs", "traces"] = "logs"


class CaptureMetrics(_CaptureBatch, frozen=True, kw_only=True, tag="capture-metrics"):
    points: tuple[Point, ...]
    raw: str


AnyCapture = CapturePrompt | CaptureResponse | CaptureRecords | CaptureMetrics


class CompleteSetup(Command, frozen=True, kw_only=True, tag="complete-setup"):
    plugin_version: str
    key_prefix: str | None = None
