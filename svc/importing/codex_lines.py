"""One line of a rollout of Codex; before September 2025 it was the bare item of a response, without a time."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from aggregates.records.record import Count, Id
from aggregates.records.tools import NOT_OBSERVED, PATCHED_FILES_MAX, ChangedFile, ToolInput
from aggregates.telemetry.otlp import name
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.exchange import Timed, microseconds, text_in
from svc.importing.lines import fitted

_EVENTS = (
    *("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted", "context_compacted", "error"),
    *("user_message", "agent_message", "token_count", "exec_command_end", "patch_apply_end", "mcp_tool_call_end"),
    "thread_settings_applied",
)
_ITEMS = ("function_call", "custom_tool_call", "local_shell_call", "function_call_output", "custom_tool_call_output")
_LINES = ("turn_context", "token_usage_record", "compacted")
_SECONDS_MAX = 2**32  # of what a call took


class Meta(msgspec.Struct, frozen=True):
    """The head of a file; a fork repeats its parent's after its own."""

    id: Id | None = None
    session_id: Id | None = None
    timestamp: str | None = None
    cwd: str | None = None
    forked_from_id: Id | None = None
    parent_thread_id: Id | None = None
    thread_source: Any = None
    source: Any = None
    subagent_history_start_ordinal: Count | None = None
    history_base: dict[str, Any] | None = None  # `thread_id`: the id of the file that this one goes on from

    @property
    def session(self) -> str | None:
        """What telemetry calls the conversation."""
        return self.id or self.session_id

    @property
    def born_us(self) -> int | None:
        """When the session began; None where that is not told as a time."""
        with suppress(ValueError):
            return microseconds(self.timestamp or "")
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


class Usage(msgspec.Struct, frozen=True):
    """Tokens; what the cache read and wrote is part of the input, reasoning part of the output."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None


class TokenInfo(msgspec.Struct, frozen=True):
    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class Body(msgspec.Struct, frozen=True):
    type: str
    way: str = "event"  # in which of several ways it is told: as an event, as an item, as written for the model
    message: str = ""  # what the user or the agent says, or why a request failed for good
    kind: str | None = None
    images: Any = None
    turn_id: Id | None = None
    last_agent_message: str | None = None
    reason: str | None = None
    info: TokenInfo | None = None  # told after each response, and again whenever the limits of an account change
    usage: Usage | None = None  # newer versions' account of one response, beside the count
    response_id: Id | None = None
    thread_id: Id | None = None
    model: str | None = None
    cwd: str | None = None
    service_tier: str | None = None
    thread_settings: Any = None

    call_id: Id | None = None
    id: Id | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None

    status: str | None = None
    duration: Any = None
    source: Any = None  # of a command
    command: Any = None
    exit_code: int | None = None
    invocation: Any = None  # of an MCP tool
    result: Any = None
    success: bool | None = None
    changes: dict[str, Any] = {}

    @property
    def ok(self) -> bool | None:
        """How a call ended, by its result or by its event."""
        told = {"completed": True, "failed": False}.get(self.status or "") if self.success is None else self.success
        match self.type, self.result:
            case "exec_command_end", _:
                return told if self.exit_code is None else self.exit_code == 0
            case "mcp_tool_call_end", {"Ok": {"isError": bool(bad)} | {"is_error": bool(bad)}} | {"isError": bool(bad)}:
                return not bad
            case "mcp_tool_call_end", {"Ok": _} | {"Err": _}:
                return "Ok" in self.result
            case "mcp_tool_call_end" | "patch_apply_end" | "dynamic_tool_call_end", _:
                return told
        flag = self.output.get("success") if isinstance(self.output, dict) else None
        return tool_outcome("codex", self.output, flag if isinstance(flag, bool) else None).ok

    @property
    def made(self) -> tuple[str | None, dict[str, Any]]:
        """What was called, by the event of its end alone: a script of the agent did."""
        told = self.invocation if isinstance(self.invocation, dict) else {}
        called = {
            "exec_command_end": "exec_command",
            "patch_apply_end": "apply_patch",
            "mcp_tool_call_end": f"mcp__{told.get('server')}__{told.get('tool')}",
            "dynamic_tool_call_end": str(told.get("tool")),
        }.get(self.type)
        arguments = told.get("arguments") if self.command is None else {"command": self.command}
        return called, arguments if isinstance(arguments, dict) else {}

    @property
    def duration_ms(self) -> int | None:
        """In one of two ways the agent writes it; None where it is written in neither."""
        match self.duration:
            case {"secs": int(seconds), "nanos": int(nanos)} if 0 <= seconds < _SECONDS_MAX and nanos >= 0:
                return seconds * 1000 + nanos // 1_000_000
        return None

    def patched(self, known: ToolInput) -> ToolInput:
        """With the files that were changed: none of them has lines where one does not say its own."""
        counts = {path: _changed_lines(change) for path, change in self.changes.items()}
        files = [ChangedFile(path, *(lines or (0, 0))) for path, lines in counts.items()]
        lines = sum(each.lines_added for each in files), sum(each.lines_removed for each in files)
        more = tuple(files[1:PATCHED_FILES_MAX])
        return replace(known, path=files[0].path, lines=NOT_OBSERVED if None in counts.values() else lines, more=more)


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


class Line(Timed):
    type: str | None = None
    ordinal: Any = None
    payload: Any = None  # None in a line of the older kind


def body_of(line: Line, value: dict[str, Any], pass_over: Callable[[str], None]) -> Meta | Body | None:
    """What the line of this JSON object says; None where that has no meaning here. Raises `ValueError`."""
    payload = line.payload
    if line.type is None:
        older_head = isinstance(value.get("id"), str) and line.at_us is not None
        return fitted(value, Meta, pass_over) if older_head else None
    if payload is None:
        if line.type == "message":
            # In files of before September 2025 messages are all there is.
            return _written(value) if line.at_us is None else None
        return fitted(value, Body, pass_over) if line.type in _ITEMS else None
    if not isinstance(payload, dict):
        raise ValueError("Expected `object` - at `$.payload`")
    match line.type, payload:
        case "response_item", {"type": "message"}:
            return _written(payload)
        case "event_msg", {"type": "item_completed", "item": {"type": str(item), **fields}}:
            return _item(item, {"thread_id": payload.get("thread_id"), **fields}, pass_over)
        case "response_item" | "event_msg", _:
            known = _ITEMS if line.type == "response_item" else _EVENTS
            return fitted(payload, Body, pass_over) if payload.get("type") in known else None
        case "session_meta", _:
            return fitted(payload, Meta, pass_over)
        case other, _:
            return fitted({**payload, "type": other}, Body, pass_over) if other in _LINES else None


def kind_of(line: Line) -> str:
    """What a line is called that has no meaning here."""
    payload = line.payload if isinstance(line.payload, dict) else {}
    item = payload.get("item")
    told = (line.type, name(payload, "type"), name(item, "type") if isinstance(item, dict) else None)
    return " ".join(filter(None, told)) or "no type"


def _written(message: dict[str, Any]) -> Body | None:
    """What was said, as it is written for the model: newer versions of `codex exec` tell it in no other way."""
    kind = {"user": "user_message", "assistant": "agent_message"}.get(str(message.get("role")))
    return None if kind is None else Body(kind, "message", text_in(message.get("content")))


_ENDS = {
    "CommandExecution": "exec_command_end",
    "FileChange": "patch_apply_end",
    "McpToolCall": "mcp_tool_call_end",
    "DynamicToolCall": "dynamic_tool_call_end",
}


def _item(kind: str, fields: dict[Any, Any], pass_over: Callable[[str], None]) -> Body | None:
    """Newer versions tell what was said and what was called as items."""
    item_id, content = fields.pop("id", None), fields.get("content")
    match kind:
        case "UserMessage" | "AgentMessage":
            parts = content if isinstance(content, list) else []
            images = [part for part in parts if isinstance(part, dict) and "image" in str(part.get("type")).lower()]
            said = {"type": f"{kind[:-7].lower()}_message", "images": images, "id": item_id}
            said |= {"message": text_in(content, ""), "way": "item", "thread_id": fields["thread_id"]}
            return fitted(said, Body, pass_over)
        case "ContextCompaction":
            return Body("context_compacted", "item")
        case _ if kind in _ENDS:
            told = {"exit_code": fields.get("exitCode"), "status": "completed", **fields, "invocation": fields}
            return fitted({**told, "type": _ENDS[kind], "way": "item", "call_id": item_id}, Body, pass_over)
    return None


# Whether a file has a line from another.

_PAUSE_US = 1_000_000  # within a copy no line is further than this from the one before


@dataclass(slots=True)
class Heritage:
    """Tells the copy of its parent's lines that a fork begins with from its own; ask for every line, in order.

    Times in a copy are often those of the copying. Newer versions number the lines and say where their own begin. Else
    the copy ends at the first line that the parent does not have; without the parent's file, at the first pause.
    """

    own_from: int | None  # the first ordinal that is no copy, where the agent says so
    born_us: int
    last_us: int
    parent: Sequence[int] | None  # the marks of the parent's lines, None where its file was not seen
    over: bool
    next: int = 0

    def covers(self, line: Line, mark: int | None) -> bool:
        if self.own_from is not None and isinstance(line.ordinal, int):
            return line.ordinal < self.own_from
        if not self.over and line.at_us is not None:
            self.over = line.at_us >= self.born_us and not self._repeats(mark, line.at_us)
            return not self.over
        return False

    def _repeats(self, mark: int | None, at_us: int) -> bool:
        if self.parent is None:
            before, self.last_us = self.last_us, at_us
            return at_us - before <= _PAUSE_US
        try:
            self.next = self.next if mark is None else self.parent.index(mark, self.next) + 1
        except ValueError:
            return False
        return True


def mark_of(body: Body) -> int | None:
    """What a line is known again by, whenever it was copied; None for lines that tell nothing apart."""
    told: str | None = None
    match body.type:
        case "user_message" | "agent_message":
            told = body.message
        case "function_call" | "custom_tool_call":
            told = body.call_id
        case "task_started" | "turn_started":
            told = body.turn_id
        case "token_count" if body.info is not None and body.info.total_token_usage is not None:
            told = msgspec.json.encode(body.info.total_token_usage).decode()
    if told is None:
        return None
    mark = f"{body.type}\x1f{told}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(mark, digest_size=8).digest(), "big", signed=True)
