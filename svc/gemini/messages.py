"""A session's messages, decoded as far as they are needed.

Until early 2026 a session was one JSON document that was written anew with every message; since then it is a file of
lines: a head, messages, updates of the head (`$set`) and rewinds (`$rewindTo`). A message that changes is written
again. The format is internal to the agent: unknown fields and unknown lines are ignored, a known field of a wrong type
makes the message unreadable.
"""

from typing import Any

import msgspec

from svc.transcripts.lines import Count, UnreadableLine, decode, microseconds


class Tokens(msgspec.Struct, frozen=True):
    """Of one response; what was cached is part of the input, thoughts stand beside the output."""

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None


class ToolCall(msgspec.Struct, frozen=True, rename="camel"):
    """One tool call, as far as it has come."""

    name: str
    id: str | None = None
    args: Any = None
    result: Any = None
    status: str | None = None
    timestamp: str | None = None
    result_display: Any = None

    @property
    def at_us(self) -> int | None:
        """When it was last noted; None where the call has no time."""
        return None if self.timestamp is None else microseconds(self.timestamp)


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """One message of a session."""

    id: str
    type: str
    timestamp: str
    content: Any = None
    display_content: Any = None
    """What the user saw, where more than that was sent."""
    tool_calls: list[ToolCall] | None = None
    tokens: Tokens | None = None
    model: str | None = None

    @property
    def at_us(self) -> int:
        return microseconds(self.timestamp)

    @property
    def text(self) -> str:
        """What was said, thoughts and tools left out."""
        return text_in(self.content)

    @property
    def typed(self) -> str:
        """What the user typed, before files that it names were put into it."""
        return text_in(self.display_content) or self.text

    def updated(self, newer: "Message") -> "Message":
        """The message as it was written again."""
        return msgspec.structs.replace(
            newer, tool_calls=newer.tool_calls or self.tool_calls, tokens=newer.tokens or self.tokens
        )


class Head(msgspec.Struct, frozen=True, rename="camel"):
    """What is said of a session as a whole."""

    session_id: str | None = None
    start_time: str | None = None
    kind: str | None = None


class Document(msgspec.Struct, frozen=True):
    """A whole session, each message yet to be decoded."""

    head: Head
    messages: list[Any]


_VALUE = msgspec.json.Decoder(dict[str, Any])


def decode_entry(raw: bytes) -> Document | Head | Message | None:
    """What a line, or a document, holds; None for what has no meaning here. Raises `UnreadableLine`."""
    value = decode(raw, _VALUE.decode, lambda lenient: msgspec.convert(lenient, dict[str, Any]))
    try:
        return _entry(value)
    except (ValueError, RecursionError) as error:
        raise UnreadableLine(str(error)) from error


def decode_message(value: object) -> Message:
    """One message. Raises `UnreadableLine`; a time that is no time makes it unreadable, too."""
    try:
        message = msgspec.convert(value, Message)
        message.at_us  # noqa: B018
        for call in message.tool_calls or ():
            call.at_us  # noqa: B018
    except (ValueError, RecursionError) as error:
        raise UnreadableLine(str(error)) from error
    return message


def _entry(value: dict[str, Any]) -> Document | Head | Message | None:
    if isinstance(value.get("$set"), dict):
        return msgspec.convert(value["$set"], Head)
    if "id" in value:
        return decode_message(value)
    if "sessionId" not in value:
        return None
    head = msgspec.convert(value, Head)
    messages = value.get("messages")
    return Document(head, messages) if isinstance(messages, list) else head


def text_in(content: object) -> str:
    """The text of a message's content: a string, a part, or a list of either."""
    match content:
        case str():
            return content
        case {"thought": True}:
            return ""
        case {"text": str(text)}:
            return text
        case list():
            return "".join(text_in(part) for part in content if not isinstance(part, list))
        case _:
            return ""
