"""What an exchange of a rollout is made of while its lines still come in: later lines complete a tool call."""

import re
from dataclasses import dataclass
from typing import Any

from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, status_in
from aggregates.telemetry.otlp import json_object
from svc.importing.codex_lines import Call, McpEnd, Output, PatchEnd, ShellCall, ShellEnd, Usage, text_in
from svc.importing.exchange import Note

_HEAD_CHARACTERS_MAX = 500
_EXIT_CODE = re.compile(r"(?:^Exit code:|^Process exited with code) (-?\d+)", re.MULTILINE)
_REJECTED = re.compile(r"\brejected by (?:the )?user\b")
_SPAWNS = ("spawn_agent", "agents__spawn_agent")


@dataclass(slots=True)
class ToolCall:
    """One tool call; what it brought comes in later lines, or never."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    at_us: int
    sidechain: bool
    timed: bool = True
    kind: RecordKind = "tool"
    ok: bool | None = None
    duration_ms: int | None = None
    changed: dict[str, Any] | None = None
    """Of a patch: what it did to which file."""

    def output(self, output: Output, at_us: int) -> None:
        """The result as the model got it. Only what it says of itself is known of its success."""
        text, told = _result(output.output)
        head = text[:_HEAD_CHARACTERS_MAX]
        if _REJECTED.search(head):
            self.kind = "rejection"
            return
        self.ok = told if self.ok is None else self.ok
        if self.duration_ms is None and self.timed and at_us >= self.at_us:
            self.duration_ms = (at_us - self.at_us + 500) // 1000

    def shell_end(self, end: ShellEnd) -> None:
        """The event of a command."""
        if end.status == "declined":
            self.kind = "rejection"
        elif end.exit_code is not None:
            self.ok = end.exit_code == 0
        self.duration_ms = self.duration_ms if end.duration_ms is None else end.duration_ms

    def patch_end(self, end: PatchEnd) -> None:
        """The event of a patch: whatever applied it, files were changed."""
        if end.status == "declined":
            self.kind = "rejection"
            return
        self.ok = self.ok if end.success is None else end.success
        if end.changes and tool_effect(self.name) != "edit":
            self.name = "apply_patch"
        self.changed = end.changes or None

    def mcp_end(self, end: McpEnd) -> None:
        """The event of a server's tool."""
        match end.result:
            case {"Ok": {"isError": bool(failed)} | {"is_error": bool(failed)}}:
                self.ok = not failed
            case {"Ok": _}:
                self.ok = True
            case {"Err": _}:
                self.ok = False
        self.duration_ms = self.duration_ms if end.duration_ms is None else end.duration_ms

    def drafts(self) -> list[Draft]:
        """The call, and the sub-agent that it spawned."""
        known = tool_input(self.name, self.arguments)
        path, lines = (known.path, known.lines) if self.changed is None else _patched(self.changed)
        added, removed = lines if self.ok else (None, None)
        record = Record(
            record_id=f"tool:{self.call_id}",
            at_us=self.at_us,
            kind=self.kind,
            tool=self.name,
            call_id=self.call_id,
            ok=None if self.kind == "rejection" else self.ok,
            duration_ms=self.duration_ms,
            lines_added=added,
            lines_removed=removed,
            sidechain=self.sidechain,
        )
        draft = Draft(record, path=path, command=known.command, input_key=known.key)
        return [draft, self._sub_agent()] if self.name in _SPAWNS and self.kind == "tool" else [draft]

    def _sub_agent(self) -> Draft:
        kind = self.arguments.get("agent_type")
        source = kind if isinstance(kind, str) else None
        record_id = f"subagent:{self.call_id}"
        return Draft(
            Record(record_id=record_id, at_us=self.at_us, kind="subagent", source=source, call_id=self.call_id)
        )


Item = Note | ToolCall


def tool_call(call: Call, at_us: int, *, sidechain: bool, timed: bool) -> ToolCall:
    """A call as it was asked for."""
    name = call.name if call.namespace is None else f"{call.namespace}{call.name}"
    arguments = call.arguments if call.input is None else call.input
    return ToolCall(call.call_id, name, arguments_in(arguments), at_us, sidechain, timed)


def shell_call(call: ShellCall, call_id: str, at_us: int, *, sidechain: bool, timed: bool) -> ToolCall:
    """A call of the built-in shell."""
    return ToolCall(call_id, "local_shell", dict(call.action), at_us, sidechain, timed)


def arguments_in(told: object) -> dict[str, Any]:
    """As telemetry tells them: as JSON, but for a patch, which comes as it is."""
    if isinstance(told, str) and told.lstrip().startswith("*** "):
        return {"patch": told}
    return json_object(told) if isinstance(told, str | dict) else {}


def request(record_id: str, usage: Usage, at_us: int, model: str | None, *, sidechain: bool) -> Note:
    """One model request."""
    record = Record(
        record_id=record_id,
        at_us=at_us,
        kind="request",
        model=model,
        input_tokens=uncached(usage.input_tokens, usage.cached_input_tokens),
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_input_tokens,
        sidechain=sidechain,
    )
    return Note(Draft(record))


def failure(record_id: str, message: str, at_us: int, model: str | None, *, sidechain: bool) -> Note:
    """A request that failed for good, as the agent told the user."""
    status = status_in(message)
    record = Record(
        record_id=record_id, at_us=at_us, kind="error", model=model, status_code=status, sidechain=sidechain
    )
    return Note(Draft(record, text=message or None))


def _result(output: object) -> tuple[str, bool | None]:
    """The text of a result, and whether it says that it is a good one."""
    if isinstance(output, dict):
        told = output.get("success")
        return text_in(output.get("content")), told if isinstance(told, bool) else None
    text = text_in(output)
    wrapped = json_object(text) if text.startswith("{") else {}
    metadata = wrapped.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    if isinstance(code, int) and not isinstance(code, bool):
        return str(wrapped.get("output", "")), code == 0
    match = _EXIT_CODE.search(text[:_HEAD_CHARACTERS_MAX])
    if match:
        return text, int(match.group(1)) == 0
    return text, True if text.startswith("Success. Updated the following files") else None


def _patched(changes: dict[str, Any]) -> tuple[str | None, tuple[int | None, int | None]]:
    """The first file of a patch, and the lines of all."""
    counts = [_lines_of(change) for change in changes.values()]
    known = [each for each in counts if each is not None]
    if not known or len(known) < len(counts):
        return next(iter(changes), None), (None, None)
    return next(iter(changes)), (sum(added for added, _ in known), sum(removed for _, removed in known))


def _lines_of(change: object) -> tuple[int, int] | None:
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
