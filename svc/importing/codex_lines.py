"""One line of a rollout of Codex; before September 2025 it was the bare item of a response, without a time."""

from itertools import islice
from typing import Any

import msgspec

from aggregates.records.record import Count
from aggregates.records.tools import NOT_OBSERVED, PATCHED_FILES_MAX, Changed, ChangedFile
from aggregates.telemetry.codex import call_arguments
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.exchange import Timed, microseconds, text_in

HEAD_CHARACTERS_MAX = 500  # what a result says of itself stands in so many characters


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
    def born_us(self) -> int | None:
        """When the session began; None where that is not told as a time."""
        try:
            return None if self.timestamp is None else microseconds(self.timestamp)
        except ValueError:
            return None

    @property
    def of_sub_agent(self) -> bool:
        named = self.source if isinstance(self.source, str) else self.thread_source
        return named == "subagent" or (isinstance(self.source, dict) and "subagent" in self.source)

    @property
    def parent(self) -> str | None:
        told = self.forked_from_id or self.parent_thread_id
        match self.source:
            case {"subagent": {"thread_spawn": {"parent_thread_id": str(spawned)}}}:
                return told or spawned
        return told

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
    message: str


class Usage(msgspec.Struct, frozen=True):
    """Tokens; cached input is part of the input, reasoning part of the output."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None


class TokenInfo(msgspec.Struct, frozen=True):
    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class TokenCount(Body, frozen=True):
    """Told after each response, and again whenever the limits of an account change."""

    info: TokenInfo | None = None


class UsageRecord(Body, frozen=True):
    """Newer versions' account of one response, beside the count."""

    usage: Usage


class Call(Body, frozen=True):
    call_id: str
    name: str
    namespace: str | None = None
    arguments: Any = None
    input: Any = None

    @property
    def known_arguments(self) -> dict[str, Any]:
        return call_arguments(self.arguments if self.input is None else self.input)


class ShellCall(Body, frozen=True):
    action: dict[str, Any]
    call_id: str | None = None
    id: str | None = None


class Output(Body, frozen=True):
    call_id: str
    output: Any = None

    @property
    def text(self) -> str:
        """Its beginning, where it says how it went."""
        return text_in(self.output.get("content") if isinstance(self.output, dict) else self.output)[
            :HEAD_CHARACTERS_MAX
        ]

    @property
    def ok(self) -> bool | None:
        told = self.output.get("success") if isinstance(self.output, dict) else None
        return tool_outcome("codex", self.output, told if isinstance(told, bool) else None).ok


class Duration(msgspec.Struct, frozen=True):
    secs: Count = 0
    nanos: Count = 0


class _End(Body, frozen=True):
    call_id: str
    status: str | None = None
    duration: Any = None

    @property
    def duration_ms(self) -> int | None:
        """In one of two ways the agent writes it; None where it is written in neither."""
        try:
            told = msgspec.convert(self.duration, Duration)
        except msgspec.ValidationError:
            return None
        return told.secs * 1000 + told.nanos // 1_000_000


class ShellEnd(_End, frozen=True):
    command: Any = None
    exit_code: int | None = None

    @property
    def ok(self) -> bool | None:
        return None if self.exit_code is None else self.exit_code == 0


class McpEnd(_End, frozen=True):
    result: Any = None

    @property
    def ok(self) -> bool | None:
        match self.result:
            case {"Ok": {"isError": bool(failed)} | {"is_error": bool(failed)}}:
                return not failed
            case {"Ok": _} | {"Err": _}:
                return "Ok" in self.result
            case _:
                return None


class PatchEnd(_End, frozen=True):
    ok: bool | None = msgspec.field(default=None, name="success")
    changes: dict[str, Any] = {}

    @property
    def files(self) -> list[ChangedFile]:
        """One that does not say its lines has none."""
        changes = islice(self.changes.items(), PATCHED_FILES_MAX)
        return [ChangedFile(path, *(_changed_lines(change) or (0, 0))) for path, change in changes]

    @property
    def changed_lines(self) -> Changed:
        """Of all files; none where one of them does not say."""
        counts = [_changed_lines(change) for change in self.changes.values()]
        known = [each for each in counts if each is not None]
        if len(known) < len(counts):
            return NOT_OBSERVED
        return sum(added for added, _ in known), sum(removed for _, removed in known)


def _changed_lines(change: object) -> tuple[int, int] | None:
    match change:
        case {"type": "add", "content": str(content)} | {"add": {"content": str(content)}}:
            return len(content.splitlines()), 0
        case {"type": "delete", "content": str(content)} | {"delete": {"content": str(content)}}:
            return 0, len(content.splitlines())
        case {"unified_diff": str(diff)} | {"update": {"unified_diff": str(diff)}}:
            lines = [line for line in diff.splitlines() if not line.startswith(("+++ ", "--- "))]
            return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
        case _:
            return None


class Compaction(Body, frozen=True):
    type: str | None = None  # where an event tells it once more, as in some versions


class Failure(Body, frozen=True):
    """A request failed for good, in versions that keep it."""

    message: str = ""


class Message(Body, frozen=True):
    """A message as the model got or gave it; in files without events the only trace of a prompt."""

    role: str
    content: Any = None


CallEnd = ShellEnd | McpEnd | PatchEnd
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
    "context_compacted": Compaction,
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


class Line(Timed):
    type: str | None = None
    ordinal: Any = None
    payload: Any = None  # None in a line of the older kind


def body_of(line: Line, value: dict[str, Any]) -> Body | None:
    """What the line of this JSON object says; None where that has no meaning here. Raises `ValueError`."""
    payload = line.payload
    if line.type is None:
        older_head = isinstance(value.get("id"), str) and line.at_us is not None
        return msgspec.convert(value, Meta) if older_head else None
    if payload is None:
        body = _body(_ITEMS, line.type, value)
        match body:
            # In older files messages are all there is.
            case Message(role="user", content=content) if line.at_us is None:
                return Prompt(text_in(content))
            case Message(role="assistant", content=content) if line.at_us is None:
                return AgentMessage(text_in(content))
        return body
    if not isinstance(payload, dict):
        raise ValueError("Expected `object` - at `$.payload`")
    match line.type, payload.get("type"):
        case "event_msg", "item_completed":
            return _item(payload.get("item"))
        case "event_msg", event:
            return _body(_EVENTS, event, payload)
        case "response_item", item:
            return _body(_ITEMS, item, payload)
        case kind, _:
            return _body(_LINES, kind, payload)


def _body(bodies: dict[str, type[Body]], told: object, fields: dict[str, Any]) -> Body | None:
    body = bodies.get(told) if isinstance(told, str) else None
    return None if body is None else msgspec.convert(fields, body)


def _item(item: object) -> Body | None:
    """Newer versions tell prompts and commands as items."""
    match item:
        case {"type": "UserMessage", "content": list(parts)}:
            return Prompt(text_in(parts))
        case {"type": "CommandExecution", "id": str(call_id), **fields}:
            return msgspec.convert({**fields, "call_id": call_id}, ShellEnd)
        case _:
            return None
