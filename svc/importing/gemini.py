"""The Gemini CLI's sessions: `<project>/chats/` under its folder, sub-agents' in a folder named like their parent's.

Until early 2026 a session was one JSON document that was written anew with every message; since then it is a file of
lines: a head, messages, updates of the head (`$set`) and rewinds (`$rewindTo`). A message that changes is written
again. Unknown fields and unknown lines are ignored, a known field of a wrong type makes the message unreadable.

Ids are those of the messages, so a session that was carried into another file is the same session. What a rewind takes
out of the conversation was done all the same, and is kept; what a compression writes in its place is no message.
A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from aggregates.records.record import Record
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import RecordDraft, status_in
from aggregates.telemetry.otlp import json_object
from svc.importing.exchange import (
    Count,
    Format,
    Memory,
    Note,
    Reader,
    TypedPrompt,
    decode_object,
    document_of,
    lines_of,
    microseconds,
    note,
)

_NOT_TYPED = (
    *("<state_snapshot>", "<session_context>", "<hook_context>", "System: "),
    "This is the Gemini CLI. We are setting up the context for our chat.",
)
_CONTINUED = "Please continue."
_CONTINUED_WITHIN_US = 2_000_000
"""The agent tells itself to go on, at once; a person needs longer."""
_CANCELLED = "Request cancelled."
_OK = {"success": True, "error": False}
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)
_LINES_MAX = 2**31
_CHATS = "chats"


class SessionReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, session: str, seen: Memory, *, of_sub_agent: bool = False) -> None:
        """`of_sub_agent`: the file lies in the folder of its parent, whose name is `session`."""
        super().__init__(file, session, seen)
        self._nested = of_sub_agent
        self._of_sub_agent = of_sub_agent
        self._messages: dict[str, tuple[Message, Note]] = {}
        """The model's, of the open exchange; any of them may come again."""

    def _line(self, raw: bytes, number: int) -> None:
        value = decode_object(raw)
        changed = value.get("$set")
        if isinstance(changed, dict):
            self._head(msgspec.convert(changed, Head))
        elif "id" in value:
            self._message(decode_message(value))
        elif "sessionId" in value:
            head, messages = msgspec.convert(value, Head), value.get("messages")
            if isinstance(messages, list):
                self.lines += len(messages) - 1
            self._head(head)
            self._document(messages if isinstance(messages, list) else [])

    def _document(self, messages: list[Any]) -> None:
        """A whole session; its messages count as lines."""
        for number, value in enumerate(messages, 1):
            try:
                self._message(decode_message(value))
            except (ValueError, RecursionError) as error:
                self._tear(number, error)

    def _head(self, head: "Head") -> None:
        self._of_sub_agent = self._of_sub_agent or head.kind == "subagent"
        if head.session_id is not None and not self._nested and head.session_id != self._session:
            self._cut()
            self._session = head.session_id
        if head.start_time is not None and not self._of_sub_agent and self._seen.add("session", self._session):
            self._start(microseconds(head.start_time))

    def _message(self, message: "Message") -> None:
        if message.id in self._messages:
            known, item = self._messages[message.id]
            self._messages[message.id] = known.updated(message), item
            self._at(message.at_us)
        if not self._seen.add("message", message.id):
            return
        match message.type:
            case "user":
                self._prompted(message)
            case "gemini":
                item = Note(message.at_us, [])
                self._begin(item)
                self._messages[message.id] = message, item
            case "info" if message.text.strip() == _CANCELLED and not self._of_sub_agent:
                record_id = f"interruption:{message.id}"
                self._begin(note(Record(record_id=record_id, at_us=message.at_us, kind="interruption")))
                self._open.stopped = True
            case "error" if "API Error" in message.text:
                self._begin(_failure(message, sidechain=self._of_sub_agent))

    def _prompted(self, message: "Message") -> None:
        text, at_us = message.typed, message.at_us
        if self._of_sub_agent or not text.strip() or text.startswith(_NOT_TYPED):
            return
        if text != _CONTINUED or at_us - self._open.last_us >= _CONTINUED_WITHIN_US:
            self._ask(TypedPrompt(f"gemini:{message.id}", text, at_us))

    def _cut(self, *, finished: bool = True) -> None:
        """What the model said and did is known only now: its messages change."""
        for message, item in self._messages.values():
            item.told = _drafts(message, sidechain=self._of_sub_agent)
            if message.text.strip():
                self._open.answer, self._open.answered_us = message.text, message.at_us
        super()._cut(finished=finished)
        self._messages.clear()


# --- messages ---------------------------------------------------------------------------------------------


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


def decode_message(value: object) -> Message:
    """One message. Raises `ValueError`, also for a time that is no time."""
    message = msgspec.convert(value, Message)
    message.at_us  # noqa: B018
    for call in message.tool_calls or ():
        call.at_us  # noqa: B018
    return message


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


# --- records ----------------------------------------------------------------------------------------------


def _drafts(message: Message, *, sidechain: bool) -> list[RecordDraft]:
    """The request that a message answers, where it says what that used, and the calls it asks for."""
    tokens = message.tokens
    drafts = [] if tokens is None else [RecordDraft(_request(message, tokens, sidechain=sidechain))]
    calls = enumerate(message.tool_calls or ())
    return drafts + [_call(call, index, message, sidechain=sidechain) for index, call in calls]


def _failure(message: Message, *, sidechain: bool) -> Note:
    """A request that failed for good, as the agent told the user."""
    record = Record(
        record_id=f"error:{message.id}",
        at_us=message.at_us,
        kind="error",
        status_code=status_in(message.text),
        sidechain=sidechain,
    )
    return note(record, message.text)


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


def _call(call: ToolCall, index: int, message: Message, *, sidechain: bool) -> RecordDraft:
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
    return RecordDraft(record, path=known.path, command=known.command, input_key=None if rejected else known.key)


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


# --- files ------------------------------------------------------------------------------------------------


def _is_transcript(file: Path) -> bool:
    return file.suffix in (".json", ".jsonl") and (file.parent.name == _CHATS or _is_nested(file))


def _is_nested(file: Path) -> bool:
    return file.parent.parent.name == _CHATS


def _order(file: Path) -> tuple[bool, str, bool]:
    """By the time in the name; where a document was carried on as lines, the lines, which hold all of it, first."""
    return _is_nested(file), file.stem, file.suffix == ".json"


def _lines(file: Path) -> Iterator[bytes]:
    return document_of(file) if file.suffix == ".json" else lines_of(file)


def _reader(file: Path, name: str, seen: Memory) -> Reader:
    nested = _is_nested(file)
    return SessionReader(name, file.parent.name if nested else file.stem, seen, of_sub_agent=nested)


GEMINI = Format("gemini", lambda: "~/.gemini/tmp", _is_transcript, _order, _lines, _reader)
