"""One line of a rollout, decoded as far as it is needed.

The format is internal to the agent and grows with every version: unknown fields and unknown kinds of line are
ignored, a known field of a wrong type makes the line unreadable. Before September 2025 a line was the bare item of a
response, without a time.
"""

from typing import Any, NamedTuple

import msgspec

from svc.importing.exchange import Count, UnreadableLine, decode, microseconds


class Body(msgspec.Struct, frozen=True):
    """What a line says; one of the classes below."""


class HistoryBase(msgspec.Struct, frozen=True):
    """The part of another file's lines that this file goes on from."""

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
    """What holds for the requests that follow."""

    model: str | None = None
    cwd: str | None = None


class TurnStarted(Body, frozen=True):
    """The agent begins to work."""

    turn_id: str | None = None


class TurnComplete(Body, frozen=True):
    """The agent is done."""

    last_agent_message: str | None = None


class TurnAborted(Body, frozen=True):
    """The turn ended early."""

    reason: str | None = None


class Prompt(Body, frozen=True):
    """A user's message."""

    message: str
    kind: str | None = None
    images: Any = None


class Said(Body, frozen=True):
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
    response_id: str | None = None


class Call(Body, frozen=True):
    """A tool call: a function with arguments in JSON, or a custom tool with free input."""

    call_id: str
    name: str
    namespace: str | None = None
    arguments: Any = None
    input: Any = None


class ShellCall(Body, frozen=True):
    """A call of the shell that some models have built in."""

    action: dict[str, Any]
    call_id: str | None = None
    id: str | None = None


class Output(Body, frozen=True):
    """What a call brought."""

    call_id: str
    output: Any = None


class Duration(msgspec.Struct, frozen=True):
    """A time as the agent's language writes it."""

    secs: Count = 0
    nanos: Count = 0

    @property
    def ms(self) -> int:
        return self.secs * 1000 + self.nanos // 1_000_000


class ShellEnd(Body, frozen=True):
    """A command has ended."""

    call_id: str
    command: Any = None
    exit_code: int | None = None
    duration: Any = None
    status: str | None = None

    @property
    def duration_ms(self) -> int | None:
        return _duration_ms(self.duration)


class PatchEnd(Body, frozen=True):
    """A patch was applied, or not."""

    call_id: str
    success: bool | None = None
    status: str | None = None
    changes: dict[str, Any] = {}


class McpEnd(Body, frozen=True):
    """A tool of a server has ended."""

    call_id: str
    duration: Any = None
    result: Any = None

    @property
    def duration_ms(self) -> int | None:
        return _duration_ms(self.duration)


class Compacted(Body, frozen=True):
    """The conversation was shortened; told by a line and, in some versions, by an event as well."""

    by_event: bool = False


class Failed(Body, frozen=True):
    """A request failed for good, in versions that keep it."""

    message: str = ""


class Message(Body, frozen=True):
    """A message as the model got or gave it; in files without events the only trace of a prompt."""

    role: str
    content: Any = None


_BODIES: dict[tuple[str, str | None], type[Body]] = {
    ("event_msg", "task_started"): TurnStarted,
    ("event_msg", "turn_started"): TurnStarted,
    ("event_msg", "task_complete"): TurnComplete,
    ("event_msg", "turn_complete"): TurnComplete,
    ("event_msg", "turn_aborted"): TurnAborted,
    ("event_msg", "user_message"): Prompt,
    ("event_msg", "agent_message"): Said,
    ("event_msg", "token_count"): TokenCount,
    ("event_msg", "exec_command_end"): ShellEnd,
    ("event_msg", "patch_apply_end"): PatchEnd,
    ("event_msg", "mcp_tool_call_end"): McpEnd,
    ("event_msg", "error"): Failed,
    ("response_item", "message"): Message,
    ("response_item", "function_call"): Call,
    ("response_item", "custom_tool_call"): Call,
    ("response_item", "local_shell_call"): ShellCall,
    ("response_item", "function_call_output"): Output,
    ("response_item", "custom_tool_call_output"): Output,
}
_BARE = frozenset(kind for origin, kind in _BODIES if origin == "response_item") | {"reasoning"}
_HEADS: dict[str, type[Body]] = {
    "session_meta": Meta,
    "turn_context": TurnContext,
    "token_usage_record": UsageRecord,
}
_VALUE = msgspec.json.Decoder(dict[str, Any])


class Line(NamedTuple):
    """A line with what it says; None where that has no meaning here."""

    at_us: int | None
    ordinal: int | None
    body: Body | None
    bare: bool = False
    """Of the older kind, without a time."""


def decode_line(raw: bytes) -> Line:
    """The line that these bytes hold. Raises `UnreadableLine` with the reason."""
    value = decode(raw, _VALUE.decode, lambda lenient: msgspec.convert(lenient, dict[str, Any]))
    try:
        return _line(value)
    except (ValueError, RecursionError) as error:
        raise UnreadableLine(str(error)) from error


def _duration_ms(duration: object) -> int | None:
    """In whichever of two ways the agent writes it; None where it is written in neither."""
    try:
        return msgspec.convert(duration, Duration).ms
    except msgspec.ValidationError:
        return None


def _line(value: dict[str, Any]) -> Line:
    kind, payload = value.get("type"), value.get("payload")
    if kind is not None and not isinstance(kind, str):
        raise ValueError("Expected `str` - at `$.type`")
    timestamp = value.get("timestamp")
    if timestamp is not None and not isinstance(timestamp, str):
        raise ValueError("Expected `str | null` - at `$.timestamp`")
    at_us = None if timestamp is None else microseconds(timestamp)
    if kind in _BARE and payload is None:
        return Line(at_us, None, _body("response_item", kind, value), bare=at_us is None)
    if kind is None and isinstance(value.get("id"), str) and at_us is not None:
        return Line(at_us, None, msgspec.convert(value, Meta), bare=True)
    if kind is None or payload is None:
        return Line(at_us, None, None, bare=kind is None)
    if not isinstance(payload, dict):
        raise ValueError("Expected `object` - at `$.payload`")
    ordinal = value.get("ordinal")
    return Line(at_us, ordinal if isinstance(ordinal, int) else None, _enveloped(kind, payload))


def _enveloped(kind: str, payload: dict[str, Any]) -> Body | None:
    if kind in _HEADS:
        return msgspec.convert(payload, _HEADS[kind])
    if kind == "compacted":
        return Compacted()
    told = payload.get("type")
    if kind == "event_msg" and told == "context_compacted":
        return Compacted(by_event=True)
    if kind == "event_msg" and told == "item_completed":
        return _item(payload.get("item"))
    return _body(kind, told, payload)


def _body(kind: str, told: object, payload: dict[str, Any]) -> Body | None:
    body = _BODIES.get((kind, told)) if isinstance(told, str) else None
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


def text_in(content: object) -> str:
    """The text of a message's content or a call's output: a string, or a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
