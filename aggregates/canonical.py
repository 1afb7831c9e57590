"""The canonical form and hash of a response's semantic content (wire.md, Intake; RFC 8785)."""

from hashlib import sha256

import msgspec
import rfc8785


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
