"""What a developer can ask for, and what can be answered."""

from hashlib import sha256
from typing import Literal
from uuid import UUID

import msgspec
import rfc8785

from aggregates.command import Command
from aggregates.records.record import Point, Record

# The canonical form and hash of a response's semantic content (wire.md, Intake; RFC 8785).


class ResponseContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a response says: two responses with equal content are the same response."""

    response_text: str | None = None
    elapsed_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    model: str | None = None
    cost_usd: float | None = None


def canonical_bytes(content: ResponseContent) -> bytes:
    """UTF-8 of the RFC 8785 JSON of the response text and the seven managed fields, absent ones null.

    Raises `ValueError` where a number or text has no canonical form (an integer beyond 2**53, a lone surrogate).
    """
    fields = msgspec.structs.asdict(content)
    try:
        return rfc8785.dumps(fields)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def content_hash(content: ResponseContent) -> str:
    """SHA-256 of the canonical bytes, lower-case hex: what `response_content_hash` must equal."""
    return sha256(canonical_bytes(content)).hexdigest()


TRANSCRIPT_SUFFIX = "-transcript"
"""A source that ends so was read from the files an agent keeps: such a prompt may have been captured live as well."""


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
    """Take a batch of records of one agent session; their spans point into `words`. The words are redacted already."""

    agent_session_id: str | None
    source: str
    decoder_version: int
    records: tuple[Record, ...]
    words: str
    redactions: dict[str, int] = msgspec.field(default_factory=dict)
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
    redactions: dict[str, int] = msgspec.field(default_factory=dict)


class CompleteSetup(Command, frozen=True, kw_only=True, tag="complete-setup"):
    """The plugin finished its setup."""

    plugin_version: str
    key_prefix: str | None = None
