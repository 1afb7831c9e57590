"""A session's messages, decoded as far as they are needed.

Until early 2026 a session was one JSON document that was written anew with every message; since then it is a file of
lines: a head, messages, updates of the head (`$set`) and rewinds (`$rewindTo`). A message that changes is written
again. The format is internal to the agent: unknown fields and unknown lines are ignored, a known field of a wrong type
makes the message unreadable.
"""

import re
from typing import Any

import msgspec

from aggregates.records.record import Record
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, status_in
from aggregates.telemetry.otlp import json_object
from svc.importing.exchange import Count, UnreadableLine, decode, microseconds


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


# A message of a session as records.

_OK = {"success": True, "error": False}


_EXIT_CODE = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)


_LINES_MAX = 2**31


def drafts_of(message: Message, *, sidechain: bool) -> list[Draft]:
    """The request that a message answers, where it says what that used, and the calls it asks for."""
    tokens = message.tokens
    drafts = [] if tokens is None else [Draft(_request(message, tokens, sidechain=sidechain))]
    calls = enumerate(message.tool_calls or ())
    return drafts + [_call(call, index, message, sidechain=sidechain) for index, call in calls]


def failure(message: Message, *, sidechain: bool) -> Draft:
    """A request that failed for good, as the agent told the user."""
    record = Record(
        record_id=f"error:{message.id}",
        at_us=message.at_us,
        kind="error",
        status_code=status_in(message.text),
        sidechain=sidechain,
    )
    return Draft(record, text=message.text)


def _request(message: Message, tokens: Tokens, *, sidechain: bool) -> Record:
    """Counted as telemetry does: thoughts are output, and the input of built-in tools stands in no count of ours."""
    return Record(
        record_id=f"request:{message.id}",
        at_us=message.at_us,
        kind="request",
        model=message.model,
        input_tokens=uncached(tokens.input, tokens.cached),
        output_tokens=None if tokens.output is None else tokens.output + (tokens.thoughts or 0),
        cache_read_tokens=tokens.cached,
        sidechain=sidechain,
    )


def _call(call: ToolCall, index: int, message: Message, *, sidechain: bool) -> Draft:
    """The agent's telemetry names no calls, so the id of one is no name to know it again by."""
    arguments = dict(call.args) if isinstance(call.args, dict) else json_object(call.args)
    known = tool_input(call.name, arguments)
    rejected = call.status == "cancelled"
    ok = None if rejected else _ok(call)
    counted = _counted(call.result_display)
    added, removed = (known.lines if counted == (None, None) else counted) if ok else (None, None)
    record = Record(
        record_id=f"tool:{call.id or f'{message.id}:{index}'}",
        # A request comes before the calls it asks for, and these in their order.
        at_us=max(message.at_us + 1 + index, call.at_us or 0),
        kind="rejection" if rejected else "tool",
        tool=call.name,
        ok=None if ok and known.background else ok,
        lines_added=added,
        lines_removed=removed,
        sidechain=sidechain,
    )
    return Draft(record, path=known.path, command=known.command, input_key=None if rejected else known.key)


def _ok(call: ToolCall) -> bool | None:
    """As the agent says; a command that ended badly is a success to it. None while it has not ended."""
    ok = _OK.get(call.status or "")
    if ok and tool_effect(call.name) == "shell":
        match = _EXIT_CODE.search(_output(call.result))
        return match is None or int(match.group(1)) == 0
    return ok


def _output(result: object) -> str:
    match result:
        case list():
            return "\n".join(_output(part) for part in result if not isinstance(part, list))
        case {"functionResponse": {"response": {"output": str(output)}}}:
            return output
        case _:
            return ""


def _counted(display: object) -> tuple[int | None, int | None]:
    """The changed lines by the tool's own count, of what the model proposed and what the user made of it."""
    match display:
        case {"diffStat": dict(stat)}:
            return _sum(stat, "model_added_lines", "user_added_lines"), _sum(
                stat, "model_removed_lines", "user_removed_lines"
            )
        case _:
            return None, None


def _sum(stat: dict[str, Any], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := stat.get(key), int) and 0 <= value < _LINES_MAX]
    return sum(known) if known else None
