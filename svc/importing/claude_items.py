"""What an exchange is made of while its lines still come in: later lines complete requests and tool calls."""

import re
from dataclasses import dataclass, field
from typing import Any

from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import bounded_command, changed_lines, input_key, tool_effect
from aggregates.telemetry.draft import Draft
from svc.importing.claude_lines import AssistantLine, Block, Line, UserLine, is_rejection, text_in
from svc.importing.exchange import Note

SYNTHETIC_MODEL = "<synthetic>"
"""The agent's own messages carry this model: they were never asked of one."""

_STATUS = re.compile(r"\b([45]\d\d)\b")
_STATUS_OF_ERROR = {"rate_limit": 429, "overloaded": 529, "authentication_failed": 401}


@dataclass(slots=True)
class Request:
    """One model request; each of its lines repeats the usage, and the last one is right."""

    record_id: str
    prompt_id: str | None
    line: AssistantLine
    at_us: int

    def drafts(self) -> list[Draft]:
        message, usage = self.line.message, self.line.message.usage
        hour = usage.cache_creation.ephemeral_1h_input_tokens if usage and usage.cache_creation else None
        cost = self.line.cost_usd
        record = Record(
            record_id=self.record_id,
            at_us=self.at_us,
            kind="request",
            prompt_id=self.prompt_id,
            model=message.model,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            cache_read_tokens=usage.cache_read_input_tokens if usage else None,
            cache_write_tokens=usage.cache_creation_input_tokens if usage else None,
            cache_write_1h_tokens=hour,
            cost_usd_nano=round(cost * 1_000_000_000) if cost is not None and cost >= 0 else None,
            request_id=self.line.request_id,
            sidechain=bool(self.line.is_sidechain),
        )
        return [Draft(record)]


@dataclass(slots=True)
class Call:
    """One tool call; its result comes in a later line, or never."""

    call_id: str
    prompt_id: str | None
    name: str
    arguments: dict[str, Any]
    at_us: int
    sidechain: bool
    kind: RecordKind = "tool"
    ok: bool | None = None
    duration_ms: int | None = None
    lines: tuple[int | None, int | None] = (None, None)
    sub_agent: Record | None = field(default=None)

    def finish(self, block: Block, line: UserLine, at_us: int) -> None:
        """Take the result that a later line brings."""
        result = line.tool_use_result
        if block.is_error and is_rejection(block.content):
            self.kind = "rejection"
            return
        self.ok = None if not block.is_error and self._in_background(result) else not block.is_error
        self.duration_ms = _duration_ms(result, at_us - self.at_us)
        if self.ok and tool_effect(self.name) in ("edit", "write"):
            self.lines = changed_lines(self.name, self.arguments, result)
        if self.name in ("Task", "Agent"):
            self.sub_agent = self._sub_agent(at_us)

    def _in_background(self, result: object) -> bool:
        """A command in the background has only begun: how it ends is not in this result."""
        started = isinstance(result, dict) and result.get("backgroundTaskId") is not None
        return tool_effect(self.name) == "shell" and (started or self.arguments.get("run_in_background") is True)

    def _sub_agent(self, at_us: int) -> Record:
        kind = self.arguments.get("subagent_type")
        return Record(
            record_id=f"subagent:{self.call_id}",
            at_us=at_us,
            kind="subagent",
            prompt_id=self.prompt_id,
            source=kind if isinstance(kind, str) else None,
            call_id=self.call_id,
            ok=self.ok,
            duration_ms=self.duration_ms,
        )

    def drafts(self) -> list[Draft]:
        effect = tool_effect(self.name)
        path = next((self.arguments[key] for key in ("file_path", "notebook_path") if key in self.arguments), None)
        command = self.arguments.get("command") if effect == "shell" else None
        record = Record(
            record_id=f"tool:{self.call_id}",
            at_us=self.at_us,
            kind=self.kind,
            prompt_id=self.prompt_id,
            tool=self.name,
            call_id=self.call_id,
            ok=self.ok,
            duration_ms=self.duration_ms,
            lines_added=self.lines[0],
            lines_removed=self.lines[1],
            sidechain=self.sidechain,
        )
        draft = Draft(
            record,
            path=path if isinstance(path, str) and path else None,
            command=bounded_command(command) if isinstance(command, str) else None,
            input_key=input_key(self.name, self.arguments),
        )
        return [draft] if self.sub_agent is None else [draft, Draft(self.sub_agent)]


Item = Note | Request | Call


def api_error(line: AssistantLine, at_us: int, prompt_id: str | None) -> Note:
    """A request that failed for good, as the agent told the user."""
    text = text_in([{"text": block.text} for block in line.message.blocks]) or None
    record = Record(
        record_id=f"error:{line.uuid}",
        at_us=at_us,
        kind="error",
        prompt_id=prompt_id,
        request_id=line.request_id,
        status_code=_status_code(line, text or ""),
        sidechain=bool(line.is_sidechain),
    )
    return Note(Draft(record, text=text))


def note(kind: RecordKind, line: Line, at_us: int, *, source: str | None = None) -> Note:
    """A record that says only that something happened; its id is the line's."""
    return Note(Draft(Record(record_id=f"{kind}:{line.uuid}", at_us=at_us, kind=kind, source=source)))


def _status_code(line: AssistantLine, text: str) -> int | None:
    if line.api_error_status is not None:
        return line.api_error_status
    if isinstance(line.error, str) and line.error in _STATUS_OF_ERROR:
        return _STATUS_OF_ERROR[line.error]
    match = _STATUS.search(text[:200]) if text.startswith("API Error") else None
    return int(match.group(1)) if match else None


def _duration_ms(result: object, elapsed_us: int) -> int | None:
    """As the tool measured it; else from call to result, which includes the wait for a permission."""
    measured = result.get("durationMs", result.get("totalDurationMs")) if isinstance(result, dict) else None
    if isinstance(measured, int | float) and not isinstance(measured, bool) and 0 <= measured < 2**53:
        return round(measured)
    return (elapsed_us + 500) // 1000 if elapsed_us >= 0 else None
