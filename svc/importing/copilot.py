"""The Copilot CLI's sessions: `session-state/<session>/events.jsonl` under its home.

Requests and calls have the ids that telemetry gives them. Credits are no dollars, so no cost is read.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from aggregates.reading.readings import own_words
from aggregates.records.record import Count, Id
from aggregates.records.tools import tool_effect
from aggregates.telemetry.agents import STATUSES
from aggregates.telemetry.draft import TypedPrompt, inside, status_in
from aggregates.telemetry.otlp import json_object, text
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.exchange import Format, Memory, Reader, Timed, ToolCall, by_beginning, note
from svc.importing.lines import fitted


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """Of one request; what the cache read and wrote is part of the input."""

    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    duration: float | None = None
    api_call_id: Id | None = None


class Data(msgspec.Struct, frozen=True, rename="camel"):
    session_id: Id | None = None
    context: dict[str, Any] | None = None
    content: str | None = None
    tool_requests: tuple[Any, ...] = ()
    tool_call_id: Id | None = None
    tool_name: str | None = None
    arguments: Any = None
    success: bool | None = None
    result: Any = None
    shell_execution: dict[str, Any] | None = None
    usage: Usage | None = None
    model: str | None = None
    output_tokens: Count | None = None
    model_metrics: dict[str, dict[str, Any]] = {}  # `usage`: of all requests of a model in a session so far
    message: str | None = None
    error_type: str | None = None
    status_code: int | None = None


class Line(Timed, rename="camel", kw_only=True):
    type: str
    timestamp: str
    id: Id = ""
    data: dict[str, Any] | None = None
    agent_id: str | None = None  # a sub-agent's line


class EventReader(Reader):
    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        super().__init__(file, name, seen)
        self._cwd: str | None = None
        self._sums = Counter[str]()  # of the answers before, where no request is told by itself
        self._told_each = False

    def _line(self, value: dict[str, Any], number: int) -> None:
        if str(value.get("type")) not in _READ:
            self.pass_over(str(value.get("type")))
            return
        line = fitted(value, Line, self.pass_over)
        at_us, data = line.at_us, fitted(line.data or {}, Data, self.pass_over)
        assert at_us is not None, "a line has a time"
        line.id = line.id or f"{self._session}:{number}"
        if not self._seen.add("line", line.id):
            return
        match line.type:
            case "session.start" | "session.resume":
                self._session = data.session_id or self._session
                self._cwd = text(data.context or {}, "cwd") or self._cwd
                self._session_seen(at_us)
            case "user.message" if line.agent_id is None and data.content:
                words = own_words(data.content) or data.content
                self._ask(TypedPrompt(f"copilot:{line.id}", words, at_us, cwd=self._cwd))
            case "assistant.message" if line.agent_id is None:
                self._said(data.content or "", at_us)
                self._open.stopped = not data.tool_requests
                self._gave(data.model, Counter(output_tokens=data.output_tokens or 0))
            case "session.shutdown":
                self._summed(data.model_metrics)
            case "abort" if line.agent_id is None:
                self._add(note("interruption", line.id, at_us))
                self._open.stopped = True
            case _:
                self._did(line, data, at_us)

    def _gave(self, model: str | None, told: Counter[str]) -> None:
        """Before 1.0.9x no request is told by itself; the numbers of an answer stand in for its requests."""
        if any(told.values()) and not self._told_each:
            self._sums += told
            self._open.used = told + self._open.used
            self._open.model = model

    def _summed(self, metrics: dict[str, dict[str, Any]]) -> None:
        """What a session took beyond what was told before is its last answer's; of several models none is named."""
        told = {model: json_object(each.get("usage")) for model, each in metrics.items()}
        usages = {model: fitted(each, Usage, self.pass_over) for model, each in told.items()}
        sums = Counter[str]()
        for each in usages.values():
            read, written = each.cache_read_tokens or 0, each.cache_write_tokens or 0
            sums += Counter(output_tokens=each.output_tokens or 0, cache_read_tokens=read, cache_write_tokens=written)
            sums["input_tokens"] += max(0, (each.input_tokens or 0) - read - written)
        if self._open.prompt is not None and self._open.answer:
            self._gave(next(iter(usages)) if len(usages) == 1 else None, sums - self._sums)

    def _did(self, line: Line, data: Data, at_us: int) -> None:
        """What a sub-agent does as well."""
        by: dict[str, Any] = {"sidechain": line.agent_id is not None}
        match line.type:
            case "session.usage_record" if (usage := data.usage) is not None:
                self._told_each = True
                took = None if usage.duration is None or usage.duration < 0 else round(usage.duration)
                told = {"request_id": usage.api_call_id, "model": usage.model, "duration_ms": took, **by}
                tokens = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens
                self._add(note("request", line.id, at_us, **told, **inside(*tokens)))
            case "tool.execution_start" if data.tool_call_id is not None and data.tool_name is not None:
                if self._seen.add("call", data.tool_call_id):
                    arguments = data.arguments if isinstance(data.arguments, dict) else {}
                    begun = ToolCall(data.tool_call_id, data.tool_name, arguments, at_us, line.agent_id is not None)
                    if data.tool_name == "task":
                        begun.spawn(at_us, arguments.get("agent_type"))
                    self._running[begun.call_id] = begun
                    self._add(begun)
            case "tool.execution_complete" if (call := self._running.pop(data.tool_call_id or "", None)) is not None:
                code = (data.shell_execution or {}).get("exitCode")
                # What another tool than a shell brought is not looked at: it may be a file.
                said = data.result if tool_effect(call.name) == "shell" else None
                outcome = tool_outcome("copilot", said if code is None else {"exit_code": code}, data.success)
                call.ok, call.duration_ms = outcome.ok, call.took_ms(at_us)
                self._at(at_us)
            case "session.error":
                named = data.status_code or STATUSES.get(data.error_type or "") or status_in(data.message)
                self._add(note("error", line.id, at_us, data.message, status_code=named, **by))


_READ = (
    *("session.start", "session.resume", "session.usage_record", "session.error", "session.shutdown"),
    *("user.message", "abort", "assistant.message", "tool.execution_start", "tool.execution_complete"),
)
COPILOT = Format(
    *("copilot", "Copilot CLI sessions", ("~/.copilot",), "COPILOT_HOME", ("session-state",)),
    is_transcript=lambda file: file.name == "events.jsonl",
    order=by_beginning,
    reader=EventReader,
)
