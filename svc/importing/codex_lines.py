"""One line of a rollout, decoded as far as it is needed, and what a fork's file repeats of its parent's.

The format is internal to the agent and grows with every version: unknown fields and unknown kinds of line are
ignored, a known field of a wrong type makes the line unreadable. Before September 2025 a line was the bare item of a
response, without a time.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from aggregates.telemetry.otlp import json_object
from svc.importing.exchange import Count, decode_object, microseconds, text_in

HEAD_CHARACTERS_MAX = 500
"""What a result says of itself stands in so many characters."""
PAUSE_US = 1_000_000
"""Within a copy no line is further than this from the one before."""
_EXIT_CODE = re.compile(r"(?:^Exit code:|^Process exited with code) (-?\d+)", re.MULTILINE)


class Body(msgspec.Struct, frozen=True):
    """What a line says; one of the classes below."""


class HistoryBase(msgspec.Struct, frozen=True):
    end_ordinal_exclusive: Count | None = None


class Meta(Body, frozen=True):
    """The head of a file; a fork repeats its parent's after its own."""

    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    thread_source: Any = None
    source: Any = None
    subagent_history_start_ordinal: Count | None = None
    history_base: HistoryBase | None = None

    @property
    def session(self) -> str | None:
        """What telemetry calls the conversation."""
        return self.id or self.session_id

    @property
    def of_sub_agent(self) -> bool:
        named = self.source if isinstance(self.source, str) else self.thread_source
        return named == "subagent" or (isinstance(self.source, dict) and "subagent" in self.source)

    @property
    def parent(self) -> str | None:
        """The session whose lines this file may repeat."""
        match self.source:
            case {"subagent": {"thread_spawn": {"parent_thread_id": str(spawned)}}}:
                return self.forked_from_id or self.parent_thread_id or spawned
            case _:
                return self.forked_from_id or self.parent_thread_id

    @property
    def own_from(self) -> int | None:
        """The first ordinal that is no copy, where the agent says so."""
        based = None if self.history_base is None else self.history_base.end_ordinal_exclusive
        return based if self.subagent_history_start_ordinal is None else self.subagent_history_start_ordinal


class TurnContext(Body, frozen=True):
    model: str | None = None
    cwd: str | None = None


class TurnStarted(Body, frozen=True):
    turn_id: str | None = None


class TurnComplete(Body, frozen=True):
    last_agent_message: str | None = None


class TurnAborted(Body, frozen=True):
    reason: str | None = None


class Prompt(Body, frozen=True):
    message: str
    kind: str | None = None
    images: Any = None


class AgentMessage(Body, frozen=True):
    """The agent's message to the user."""

    message: str


class Usage(msgspec.Struct, frozen=True):
    """Tokens; cached input is part of the input, reasoning part of the output."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None


class TokenInfo(msgspec.Struct, frozen=True):
    """Of the whole file so far, and of the last response."""

    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class TokenCount(Body, frozen=True):
    """Told after each response, and again whenever the limits of an account change."""

    info: TokenInfo | None = None


class UsageRecord(Body, frozen=True):
    """Newer versions' account of one response, beside the count."""

    usage: Usage


class Call(Body, frozen=True):
    """A tool call: a function with arguments in JSON, or a custom tool with free input."""

    call_id: str
    name: str
    namespace: str | None = None
    arguments: Any = None
    input: Any = None

    @property
    def known_arguments(self) -> dict[str, Any]:
        """As telemetry tells them: as JSON, but for a patch, which comes as it is."""
        told = self.arguments if self.input is None else self.input
        if isinstance(told, str) and told.lstrip().startswith("*** "):
            return {"patch": told}
        return json_object(told) if isinstance(told, str | dict) else {}


class ShellCall(Body, frozen=True):
    action: dict[str, Any]
    call_id: str | None = None
    id: str | None = None


class Output(Body, frozen=True):
    call_id: str
    output: Any = None

    @property
    def result(self) -> tuple[str, bool | None]:
        """The beginning of its text, and whether it says that it is a good one."""
        if isinstance(self.output, dict):
            told = self.output.get("success")
            return text_in(self.output.get("content"))[:HEAD_CHARACTERS_MAX], told if isinstance(told, bool) else None
        text = text_in(self.output)
        match json_object(text) if text.startswith("{") else {}:
            case {"metadata": {"exit_code": int(code)}, **wrapped} if not isinstance(code, bool):
                return str(wrapped.get("output", ""))[:HEAD_CHARACTERS_MAX], code == 0
        text = text[:HEAD_CHARACTERS_MAX]
        match = _EXIT_CODE.search(text)
        if match:
            return text, int(match.group(1)) == 0
        return text, True if text.startswith("Success. Updated the following files") else None


class Duration(msgspec.Struct, frozen=True):
    secs: Count = 0
    nanos: Count = 0


class CallEnd(Body, frozen=True):
    """A call has ended; one of the classes below."""

    call_id: str
    status: str | None = None
    duration: Any = None

    @property
    def ok(self) -> bool | None:
        return None

    @property
    def duration_ms(self) -> int | None:
        """In one of two ways the agent writes it; None where it is written in neither."""
        try:
            told = msgspec.convert(self.duration, Duration)
        except msgspec.ValidationError:
            return None
        return told.secs * 1000 + told.nanos // 1_000_000


class ShellEnd(CallEnd, frozen=True):
    command: Any = None
    exit_code: int | None = None

    @property
    def ok(self) -> bool | None:
        return None if self.exit_code is None else self.exit_code == 0


class McpEnd(CallEnd, frozen=True):
    result: Any = None

    @property
    def ok(self) -> bool | None:
        match self.result:
            case {"Ok": {"isError": bool(failed)} | {"is_error": bool(failed)}}:
                return not failed
            case {"Ok": _}:
                return True
            case {"Err": _}:
                return False
            case _:
                return None


class PatchEnd(CallEnd, frozen=True):
    success: bool | None = None
    changes: dict[str, Any] = {}

    @property
    def ok(self) -> bool | None:
        return self.success


class Compaction(Body, frozen=True):
    """The conversation was shortened."""


class CompactionEvent(Compaction, frozen=True):
    """The same, told once more by an event in some versions."""


class Failure(Body, frozen=True):
    """A request failed for good, in versions that keep it."""

    message: str = ""


class Message(Body, frozen=True):
    """A message as the model got or gave it; in files without events the only trace of a prompt."""

    role: str
    content: Any = None


_EVENTS: dict[str, type[Body]] = {
    "task_started": TurnStarted,
    "turn_started": TurnStarted,
    "task_complete": TurnComplete,
    "turn_complete": TurnComplete,
    "turn_aborted": TurnAborted,
    "user_message": Prompt,
    "agent_message": AgentMessage,
    "token_count": TokenCount,
    "exec_command_end": ShellEnd,
    "patch_apply_end": PatchEnd,
    "mcp_tool_call_end": McpEnd,
    "context_compacted": CompactionEvent,
    "error": Failure,
}
_ITEMS: dict[str, type[Body]] = {
    "message": Message,
    "function_call": Call,
    "custom_tool_call": Call,
    "local_shell_call": ShellCall,
    "function_call_output": Output,
    "custom_tool_call_output": Output,
}
_LINES: dict[str, type[Body]] = {
    "session_meta": Meta,
    "turn_context": TurnContext,
    "token_usage_record": UsageRecord,
    "compacted": Compaction,
}


class Line(NamedTuple):
    """A line with what it says; None where that has no meaning here."""

    at_us: int | None
    ordinal: int | None
    body: Body | None
    bare: bool = False
    """Of the older kind, without a time."""


def decode_line(raw: bytes) -> Line:
    """The line that these bytes hold. Raises `ValueError` with the reason."""
    value = decode_object(raw)
    kind, payload = value.get("type"), value.get("payload")
    if kind is not None and not isinstance(kind, str):
        raise ValueError("Expected `str` - at `$.type`")
    timestamp = value.get("timestamp")
    if timestamp is not None and not isinstance(timestamp, str):
        raise ValueError("Expected `str | null` - at `$.timestamp`")
    at_us = None if timestamp is None else microseconds(timestamp)
    if payload is None and (kind in _ITEMS or kind == "reasoning"):
        return Line(at_us, None, _body(_ITEMS, kind, value), bare=at_us is None)
    if kind is None and isinstance(value.get("id"), str) and at_us is not None:
        return Line(at_us, None, msgspec.convert(value, Meta), bare=True)
    if kind is None or payload is None:
        return Line(at_us, None, None, bare=kind is None)
    if not isinstance(payload, dict):
        raise ValueError("Expected `object` - at `$.payload`")
    ordinal = value.get("ordinal")
    return Line(at_us, ordinal if isinstance(ordinal, int) else None, _enveloped(kind, payload))


def _enveloped(kind: str, payload: dict[str, Any]) -> Body | None:
    told = payload.get("type")
    if kind in _LINES:
        return msgspec.convert(payload, _LINES[kind])
    if kind == "event_msg":
        return _item(payload.get("item")) if told == "item_completed" else _body(_EVENTS, told, payload)
    return _body(_ITEMS, told, payload) if kind == "response_item" else None


def _body(bodies: dict[str, type[Body]], told: object, payload: dict[str, Any]) -> Body | None:
    body = bodies.get(told) if isinstance(told, str) else None
    return None if body is None else msgspec.convert(payload, body)


def _item(item: object) -> Body | None:
    """Newer versions tell prompts and commands as items."""
    match item:
        case {"type": "UserMessage", "content": list(parts)}:
            return Prompt(text_in(parts))
        case {"type": "CommandExecution", "id": str(call_id), **fields}:
            return msgspec.convert({**fields, "call_id": call_id}, ShellEnd)
        case _:
            return None


def mark_of(body: Body | None) -> int | None:
    """What a line is known again by, whenever it was copied; None for lines that tell nothing apart."""
    match body:
        case TurnStarted(turn_id=str(told)) | Prompt(message=told) | AgentMessage(message=told) | Call(call_id=told):
            pass
        case TokenCount(info=TokenInfo(total_token_usage=Usage() as total)):
            told = msgspec.json.encode(total).decode()
        case _:
            return None
    mark = f"{type(body).__name__}\x1f{told}"
    return int.from_bytes(blake2b(mark.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


class Heritage:
    """Tells the copy of its parent's lines that a fork begins with from its own; ask for every line, in order.

    Times in a copy are often those of the copying. Newer versions number the lines and say where their own begin. Else
    the copy ends at the first line that the parent does not have; without the parent's file, at the first pause.
    """

    def __init__(self, meta: Meta, born_us: int, written_us: int, parent: Sequence[int] | None) -> None:
        """`parent`: the marks of the parent's lines, None where its file was not seen."""
        self._own_from = meta.own_from
        self._born_us = born_us
        self._last_us = written_us
        self._known = parent is not None
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        for place, mark in enumerate(parent or ()):
            self._places[mark].append(place)
        self._next = 0
        self._over = meta.parent is None and not meta.of_sub_agent

    def covers(self, line: Line) -> bool:
        """Whether a line is a copy."""
        if self._own_from is not None and line.ordinal is not None:
            return line.ordinal < self._own_from
        if self._over or line.at_us is None:
            return False
        self._over = line.at_us >= self._born_us and not self._repeats(line.body, line.at_us)
        return not self._over

    def _repeats(self, body: Body | None, at_us: int) -> bool:
        if not self._known:
            before, self._last_us = self._last_us, at_us
            return at_us - before <= PAUSE_US
        mark = mark_of(body)
        if mark is None:
            return True
        places = self._places.get(mark, ())
        found = bisect_left(places, self._next)
        if found == len(places):
            return False
        self._next = places[found] + 1
        return True
