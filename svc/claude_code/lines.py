"""One line of a transcript, decoded as far as it is needed.

The format is internal to the agent and grows with every version: unknown fields and unknown kinds of line are
ignored, a known field of a wrong type makes the line unreadable.
"""

from typing import Any

import msgspec

from svc.transcripts.lines import Count, UnreadableLine, decode, microseconds


class Block(msgspec.Struct, frozen=True):
    """A block of a message's content."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    """tool_use: the id that its result names."""
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class CacheWrites(msgspec.Struct, frozen=True):
    """Cache writes by how long they last."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class Usage(msgspec.Struct, frozen=True):
    """What a request consumed, as of the line that carries it."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: CacheWrites | None = None


class Message(msgspec.Struct, frozen=True):
    """A message of the conversation."""

    content: str | list[Block]
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None

    @property
    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content


class Fork(msgspec.Struct, frozen=True, rename="camel"):
    """Where a copied line stood first."""

    session_id: str | None = None
    message_uuid: str | None = None


class Line(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What every line may carry; a line of a kind without meaning here stays at this."""

    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = None
    """A sub-agent's line."""
    is_meta: bool | None = None
    prompt_id: str | None = None
    cwd: str | None = None
    forked_from: Fork | None = None

    @property
    def at_us(self) -> int | None:
        """Microseconds since 1970, UTC; None where the line has no time."""
        return None if self.timestamp is None else microseconds(self.timestamp)


class Origin(msgspec.Struct, frozen=True):
    """Who put a user line there; `human` for a person."""

    kind: str | None = None


class UserLine(Line, frozen=True, rename="camel", kw_only=True):
    """What was said to the model: a prompt, tool results, or something the agent put in."""

    message: Message
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    origin: Origin | None = None
    prompt_source: str | None = None
    tool_use_result: Any = None


class AssistantLine(Line, frozen=True, rename="camel", kw_only=True):
    """One block of a model's message; the message's usage is repeated on each of its lines."""

    message: Message
    request_id: str | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    error: Any = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")


class SystemLine(Line, frozen=True, rename="camel", kw_only=True):
    """Something the agent notes: the end of a turn, a compaction, a local command."""

    subtype: str | None = None
    content: Any = None
    compact_metadata: Any = None


class AttachmentLine(Line, frozen=True, rename="camel", kw_only=True):
    """Something put beside the conversation: a hook's result, a prompt typed while the agent worked."""

    attachment: dict[str, Any]


class ProgressLine(Line, frozen=True, rename="camel", kw_only=True):
    """Progress of a hook or a tool."""

    data: dict[str, Any]


_KINDS: dict[str, type[Line]] = {
    "user": UserLine,
    "assistant": AssistantLine,
    "system": SystemLine,
    "attachment": AttachmentLine,
    "progress": ProgressLine,
}
_KIND = msgspec.json.Decoder(Line)
_DECODERS = {kind: msgspec.json.Decoder(line) for kind, line in _KINDS.items()}


def decode_line(raw: bytes) -> Line:
    """The line that these bytes hold. Raises `UnreadableLine` with the reason."""
    line = decode(raw, _decode, _convert)
    try:
        line.at_us  # noqa: B018 - a time that is no time makes the line unreadable
    except ValueError as error:
        raise UnreadableLine(str(error)) from error
    return line


def _decode(raw: bytes) -> Line:
    kind = _KIND.decode(raw).type
    return _DECODERS[kind].decode(raw) if kind in _DECODERS else _KIND.decode(raw)


def _convert(value: Any) -> Line:
    kind = value.get("type", "") if isinstance(value, dict) else ""
    return msgspec.convert(value, _KINDS.get(kind, Line) if isinstance(kind, str) else Line)
