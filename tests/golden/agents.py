"""What agents send of one turn, in the forms of Claude Code, Codex, the Gemini CLI and Copilot."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from tests.support.otlp import counter, log, logs, metrics, span, traces

Export = tuple[str, dict[str, Any]]
"""The path of a route, and what is posted there."""
SECOND_US = 1_000_000


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt, and what the agent did about it, a few seconds after each other."""

    session: str
    at_us: int
    text: str
    answer: str = "Done."
    reads: tuple[str, ...] = ()
    edits: tuple[tuple[str, int], ...] = ()
    """A path and how many lines were written there."""
    commands: tuple[tuple[str, bool], ...] = ()
    """A shell command, and whether it went well."""
    failures: tuple[tuple[int, str], ...] = ()
    """The status and the message of each request that failed."""
    rejected: str | None = None
    """A tool that the person did not allow."""
    clears: bool = False
    """Whether the person then clears the conversation."""
    model: str = "claude-opus-4-6"
    input_tokens: int = 1_200
    output_tokens: int = 240
    duration_ms: int = 4_000

    @property
    def id(self) -> str:
        """Made from what is said, in the form of a UUID."""
        return _hex(self, 32)

    def at(self, step: int) -> int:
        """Microseconds of a step."""
        return self.at_us + step * 7 * SECOND_US


def _hex(turn: Turn, length: int, more: object = "") -> str:
    return sha256(f"{turn.session} {turn.at_us} {more}".encode()).hexdigest()[:length]


def _nano(at_us: int) -> str:
    return str(at_us * 1_000)


def _lines(count: int) -> str:
    return "".join(f"    total = total + line_{number}\n" for number in range(count))


class _Told:
    """The log records of a turn, each a step after the one before."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.records: list[dict[str, Any]] = []

    @property
    def at_us(self) -> int:
        return self.turn.at(len(self.records))

    def add(self, attributes: Mapping[str, object], **members: Any) -> None:
        self.records.append(log(attributes, **members))


# --- Claude Code ----------------------------------------------------------------------------------------------


def claude_code(turn: Turn) -> list[Export]:
    """Log events with all that can be switched on, and the counters of the same work."""
    told = _Told(turn)
    _claude(told, "user_prompt", prompt_length=str(len(turn.text)), prompt=turn.text)
    for status, message in turn.failures:
        failed = {"model": turn.model, "error": message, "status_code": str(status), "attempt": 1}
        _claude(told, "api_error", **failed, duration_ms=900)
    for path in turn.reads:
        _claude_tool(told, "Read", {"file_path": path})
    for path, count in turn.edits:
        _claude_request(told)
        _claude_tool(told, "Edit", {"file_path": path, "old_string": "pass\n", "new_string": _lines(count)})
    for command, ok in turn.commands:
        _claude_request(told)
        _claude_tool(told, "Bash", {"command": command}, ok=ok)
    if turn.rejected is not None:
        _claude(told, "tool_decision", tool_name=turn.rejected, decision="reject", source="user_reject")
    _claude_request(told)
    _claude(told, "assistant_response", model=turn.model, response=turn.answer)
    if turn.clears:
        cleared = {"prompt.id": _hex(turn, 32, "clear"), "command_name": "clear", "command_source": "builtin"}
        _claude(told, "user_prompt", prompt_length="6", prompt="/clear", **cleared)
    resource = {"service.version": "2.1.37", "host.arch": "arm64", "os.type": "darwin", "os.version": "25.1.0"}
    return [("/v1/logs", logs(*told.records, resource=resource)), ("/v1/metrics", _claude_counters(turn, resource))]


def _claude(told: _Told, event: str, **attributes: object) -> None:
    turn, at_us = told.turn, told.at_us
    usual: dict[str, object] = {
        "user.id": sha256(b"golden").hexdigest(),
        "session.id": turn.session,
        "app.version": "2.1.37",
        "terminal.type": "iTerm.app",
        "event.name": event,
        "event.sequence": len(told.records),
        "prompt.id": turn.id,
    }
    body = {"stringValue": f"claude_code.{event}"}
    told.add(usual | attributes, timeUnixNano=_nano(at_us), observedTimeUnixNano=_nano(at_us + 2_000), body=body)


def _claude_request(told: _Told) -> None:
    turn = told.turn
    dollars = (turn.input_tokens * 5 + turn.output_tokens * 25) / 1_000_000
    tokens = {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens}
    cache = {"cache_read_tokens": 9_000, "cache_creation_tokens": 310}
    cost = {"cost_usd": dollars, "duration_ms": turn.duration_ms, "query_source": "repl_main_thread"}
    request_id = f"req_{_hex(turn, 24, len(told.records))}"
    _claude(told, "api_request", model=turn.model, **tokens, **cache, **cost, request_id=request_id)


def _claude_tool(told: _Told, tool: str, given: Mapping[str, object], *, ok: bool = True) -> None:
    use_id = f"toolu_{_hex(told.turn, 24, len(told.records))}"
    done = {"success": str(ok).lower(), "duration_ms": "85", "tool_use_id": use_id}
    _claude(told, "tool_result", tool_name=tool, **done, tool_input=json.dumps(given))


def _claude_counters(turn: Turn, resource: Mapping[str, object]) -> dict[str, Any]:
    own = {"session.id": turn.session, "model": turn.model}
    moment = {"timeUnixNano": _nano(turn.at(30)), "startTimeUnixNano": _nano(turn.at_us)}
    written = sum(count for _, count in turn.edits)
    counters = [
        counter("claude_code.token.usage", {"asDouble": turn.input_tokens, **moment}, own | {"type": "input"}),
        counter("claude_code.token.usage", {"asDouble": turn.output_tokens, **moment}, own | {"type": "output"}),
        counter("claude_code.lines_of_code.count", {"asInt": str(written), **moment}, own | {"type": "added"}),
        counter("claude_code.cost.usage", {"asDouble": 0.012, **moment}, own),
    ]
    return metrics(*counters, resource=resource)


# --- Codex ----------------------------------------------------------------------------------------------------


def codex(turn: Turn) -> list[Export]:
    """Log events, named by the turn's trace; a request is counted when its stream is complete."""
    told = _Told(turn)
    _codex(told, "conversation_starts", provider_name="OpenAI", sandbox_policy="workspace-write")
    _codex(told, "user_prompt", prompt_length=str(len(turn.text)), prompt=turn.text)
    for status, message in turn.failures:
        failed = {"http.response.status_code": status, "error.message": message}
        _codex(told, "api_request", attempt=0, duration_ms="650", **failed)
    for path, count in turn.edits:
        added = "".join(f"+{line}\n" for line in _lines(count).splitlines())
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-pass\n{added}*** End Patch\n"
        _codex_tool(told, "apply_patch", patch, ok=True)
        _codex_completed(told)
    for command, ok in turn.commands:
        _codex_tool(told, "exec_command", json.dumps({"cmd": command, "workdir": "/home/ben/shop"}), ok=ok)
        _codex_completed(told)
    _codex_completed(told)
    return [("/v1/logs", logs(*told.records, service="codex_cli_rs", resource={"service.version": "0.98.0"}))]


def _codex(told: _Told, event: str, **attributes: object) -> None:
    turn = told.turn
    usual: dict[str, object] = {
        "event.name": f"codex.{event}",
        "conversation.id": turn.session,
        "app.version": "0.98.0",
        "auth_mode": "Chatgpt",
        "originator": "codex_cli_rs",
        "terminal.type": "ghostty/1.2",
        "model": turn.model,
        "slug": turn.model,
    }
    place = {"timeUnixNano": "0", "observedTimeUnixNano": _nano(told.at_us), "traceId": turn.id, "spanId": ""}
    told.add(usual | attributes, **place, body=None, eventName="event otel/src/events/session_telemetry.rs:703")


def _codex_tool(told: _Told, tool: str, arguments: str, *, ok: bool) -> None:
    call = {"tool_name": tool, "call_id": f"call_{_hex(told.turn, 24, len(told.records))}", "arguments": arguments}
    _codex(told, "tool_result", **call, duration_ms="120", success=str(ok).lower(), output="...")


def _codex_completed(told: _Told) -> None:
    turn = told.turn
    counts = {"input_token_count": str(turn.input_tokens), "output_token_count": str(turn.output_tokens)}
    more = {"cached_token_count": str(turn.input_tokens // 2), "reasoning_token_count": "64", "tool_token_count": "0"}
    _codex(told, "sse_event", **{"event.kind": "response.completed"}, **counts, **more, duration_ms="3100")


# --- Gemini ---------------------------------------------------------------------------------------------------


def gemini(turn: Turn) -> list[Export]:
    """Log events; thoughts are counted beside the answer."""
    told = _Told(turn)
    _gemini(told, "config", model=turn.model, sandbox_enabled=False, core_tools_enabled="")
    _gemini(told, "user_prompt", prompt_length=len(turn.text), prompt=turn.text)
    for status, message in turn.failures:
        failed = {"model_name": turn.model, "status_code": status, "error": message, "duration": 800}
        _gemini(told, "api_error", **failed)
    for path, count in turn.edits:
        given = {"file_path": path, "old_string": "pass", "new_string": _lines(count)}
        changed = {"model_added_lines": count, "model_removed_lines": 1, "user_added_lines": 0, "user_removed_lines": 0}
        _gemini_tool(told, "replace", given, True, metadata=json.dumps(changed))
    for command, ok in turn.commands:
        _gemini_tool(told, "run_shell_command", {"command": command}, ok)
    if turn.clears:
        _gemini(told, "slash_command", command="clear")
    tokens = {"input_token_count": turn.input_tokens, "output_token_count": turn.output_tokens}
    more = {"cached_content_token_count": 400, "thoughts_token_count": 30, "tool_token_count": 0}
    answered = {"model": turn.model, "status_code": 200, "duration_ms": turn.duration_ms}
    _gemini(told, "api_response", **answered, **tokens, **more, total_token_count=turn.input_tokens)
    return [("/v1/logs", logs(*told.records, service="gemini-cli", resource={"session.id": turn.session}))]


def _gemini(told: _Told, event: str, **attributes: object) -> None:
    turn = told.turn
    usual: dict[str, object] = {
        "session.id": turn.session,
        "event.name": f"gemini_cli.{event}",
        "prompt_id": f"{turn.session}########{turn.at_us}",
        "interactive": True,
        "extension_id": {},
    }
    told.add(usual | attributes, timeUnixNano=_nano(told.at_us))


def _gemini_tool(told: _Told, tool: str, given: Mapping[str, object], ok: bool, **more: object) -> None:
    call = {"function_name": tool, "function_args": json.dumps(given), "tool_type": "native"}
    _gemini(told, "tool_call", **call, success=ok, status="success" if ok else "error", duration_ms=140, **more)


# --- Copilot --------------------------------------------------------------------------------------------------


def copilot(turn: Turn) -> list[Export]:
    """Spans by the semantic conventions: an agent, and the requests within."""
    trace = turn.id
    own = {"gen_ai.conversation.id": turn.session, "gen_ai.request.model": turn.model}
    usage: dict[str, object] = {
        "gen_ai.usage.input_tokens": turn.input_tokens,
        "gen_ai.usage.output_tokens": turn.output_tokens,
    }
    chat = {"gen_ai.operation.name": "chat", "gen_ai.response.model": turn.model, "gen_ai.response.id": trace[:12]}
    times = {"startTimeUnixNano": _nano(turn.at_us), "endTimeUnixNano": _nano(turn.at(1)), "traceId": trace}
    outer = span("invoke_agent", own | {"gen_ai.operation.name": "invoke_agent"}, **times, spanId=trace[:16])
    inner = span(f"chat {turn.model}", usage | own | chat, **times, spanId=trace[16:], parentSpanId=trace[:16])
    return [("/v1/traces", traces(outer, inner, service="copilot-chat"))]
