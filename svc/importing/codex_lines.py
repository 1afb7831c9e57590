"""One line of a rollout of Codex; before September 2025 it was the bare item of a response, without a time."""

from typing import Any

import msgspec
from msgspec.structs import replace

from aggregates.records.record import Count
from aggregates.records.tools import NOT_OBSERVED, PATCHED_FILES_MAX, ChangedFile, ToolInput
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.exchange import Timed, microseconds, text_in

_EVENTS = (
    *("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted", "context_compacted", "error"),
    *("user_message", "agent_message", "token_count", "exec_command_end", "patch_apply_end", "mcp_tool_call_end"),
)
_ITEMS = (
    *("function_call", "custom_tool_call", "local_shell_call", "function_call_output", "custom_tool_call_output"),
)
_LINES = ("turn_context", "token_usage_record", "compacted")


class HistoryBase(msgspec.Struct, frozen=True):
    end_ordinal_exclusive: Count | None = None


class Meta(msgspec.Struct, frozen=True):
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


class Usage(msgspec.Struct, frozen=True):
    """Tokens; cached input is part of the input, reasoning part of the output."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None


class TokenInfo(msgspec.Struct, frozen=True):
    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class Duration(msgspec.Struct, frozen=True):
    secs: Count = 0
    nanos: Count = 0


class Body(msgspec.Struct, frozen=True):
    type: str
    message: str = ""  # what the user or the agent says, or why a request failed for good
    kind: str | None = None
    images: Any = None
    turn_id: str | None = None
    last_agent_message: str | None = None
    reason: str | None = None
    info: TokenInfo | None = None  # told after each response, and again whenever the limits of an account change
    usage: Usage | None = None  # newer versions' account of one response, beside the count
    model: str | None = None
    cwd: str | None = None

    call_id: str | None = None
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None

    status: str | None = None
    duration: Any = None
    command: Any = None
    exit_code: int | None = None
    result: Any = None
    success: bool | None = None
    changes: dict[str, Any] = {}

    @property
    def ok(self) -> bool | None:
        """How a call ended, by its result or by its event."""
        match self.type, self.result:
            case "exec_command_end", _:
                return None if self.exit_code is None else self.exit_code == 0
            case "patch_apply_end", _:
                return self.success
            case "mcp_tool_call_end", {"Ok": {"isError": bool(failed)} | {"is_error": bool(failed)}}:
                return not failed
            case "mcp_tool_call_end", {"Ok": _} | {"Err": _}:
                return "Ok" in self.result
            case "mcp_tool_call_end", _:
                return None
        told = self.output.get("success") if isinstance(self.output, dict) else None
        return tool_outcome("codex", self.output, told if isinstance(told, bool) else None).ok

    @property
    def duration_ms(self) -> int | None:
        """In one of two ways the agent writes it; None where it is written in neither."""
        try:
            told = msgspec.convert(self.duration, Duration)
        except msgspec.ValidationError:
            return None
        return told.secs * 1000 + told.nanos // 1_000_000

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


def body_of(line: Line, value: dict[str, Any]) -> Meta | Body | None:
    """What the line of this JSON object says; None where that has no meaning here. Raises `ValueError`."""
    payload = line.payload
    match line.type, payload:
        case None, _:
            older_head = isinstance(value.get("id"), str) and line.at_us is not None
            return msgspec.convert(value, Meta) if older_head else None
        case "message", None if line.at_us is None:
            # In older files messages are all there is.
            kind = {"user": "user_message", "assistant": "agent_message"}.get(str(value.get("role")))
            return None if kind is None else Body(kind, text_in(value.get("content")))
        case kind, None:
            return msgspec.convert(value, Body) if kind in _ITEMS else None
        case "session_meta", dict():
            return msgspec.convert(payload, Meta)
        case "event_msg", {"type": "item_completed"}:
            return _item(payload.get("item"))
        case "event_msg", {"type": str(kind)} if kind in _EVENTS:
            return msgspec.convert(payload, Body)
        case "response_item", {"type": str(kind)} if kind in _ITEMS:
            return msgspec.convert(payload, Body)
        case kind, dict():
            return msgspec.convert({**payload, "type": kind}, Body) if kind in _LINES else None
    raise ValueError("Expected `object` - at `$.payload`")


def _item(item: object) -> Body | None:
    """Newer versions tell prompts and commands as items."""
    match item:
        case {"type": "UserMessage", "content": list(parts)}:
            return Body("user_message", text_in(parts))
        case {"type": "CommandExecution", "id": str(call_id), **fields}:
            return msgspec.convert({**fields, "type": "exec_command_end", "call_id": call_id}, Body)
        case _:
            return None
