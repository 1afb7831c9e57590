"""The Gemini CLI's log events.

The Gemini API counts a model's thoughts beside its answer (`candidatesTokenCount` and `thoughtsTokenCount`; the total
is the sum of prompt, candidates, thoughts and tool use) and bills both as output: so output is their sum. Cached tokens
are part of the prompt's. `gen_ai.client.inference.operation.details` tells the same request again.
"""

from collections.abc import Callable

from aggregates.records.tools import NOT_OBSERVED, tool_input
from aggregates.telemetry.claude_code import said
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, Happening, status_in, wait_in
from aggregates.telemetry.otlp import count, flag, json_object, name, text
from aggregates.telemetry.otlp import identifier as id_of

PREFIX = "gemini_cli."

_FAILED_FROM = 400


def gemini(happening: Happening) -> list[Draft]:
    """The records of one log event."""
    happening.prompt_id = id_of(happening.attributes, "prompt_id")
    reader = _READERS.get((happening.name or "").removeprefix(PREFIX))
    return happening.other() if reader is None else reader(happening)


def _start(happening: Happening) -> list[Draft]:
    return [Draft(happening.record("session_start", model=name(happening.attributes, "model")))]


def _slash_command(happening: Happening) -> list[Draft]:
    if text(happening.attributes, "command") != "clear":
        return happening.other()
    return [Draft(happening.record("session_start", source="clear"))]


def _prompt(happening: Happening) -> list[Draft]:
    return [Draft(happening.record("prompt"), text=said(happening.attributes, "prompt"))]


def _is_sidechain(happening: Happening) -> bool:
    return text(happening.attributes, "role") not in (None, "main")


def _response(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    status = count(attributes, "status_code", "http.status_code")
    if status is not None and status >= _FAILED_FROM:
        return _error(happening)
    cached = count(attributes, "cached_content_token_count")
    output = count(attributes, "output_token_count")
    thoughts = count(attributes, "thoughts_token_count")
    record = happening.record(
        "request",
        model=name(attributes, "model"),
        input_tokens=uncached(count(attributes, "input_token_count"), cached),
        output_tokens=output if output is None else output + (thoughts or 0),
        cache_read_tokens=cached,
        duration_ms=count(attributes, "duration_ms"),
        status_code=status,
        sidechain=_is_sidechain(happening),
    )
    return [Draft(record)]


def _error(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    message = text(attributes, "error.message", "error")
    status = count(attributes, "status_code", "http.status_code")
    record = happening.record(
        "error",
        model=name(attributes, "model", "model_name"),
        duration_ms=count(attributes, "duration_ms", "duration"),
        status_code=status_in(message) if status is None else status,
        retry_after_ms=wait_in(message),
        sidechain=_is_sidechain(happening),
    )
    return [Draft(record, text=message)]


def _tool(happening: Happening) -> list[Draft]:
    """The changed lines are the tool's own count, of what the model proposed and what the user made of it."""
    attributes = happening.attributes
    tool = name(attributes, "function_name") or ""
    ok = flag(attributes, "success")
    if text(attributes, "decision") == "reject":
        return [Draft(happening.record("rejection", tool=tool or None))]
    known = tool_input(tool, json_object(attributes.get("function_args")))
    lines = _counted(json_object(attributes.get("metadata")))
    added, removed = (known.lines if lines == NOT_OBSERVED else lines) if ok else NOT_OBSERVED
    record = happening.record(
        "tool",
        tool=tool or None,
        ok=None if ok and known.background else ok,
        duration_ms=count(attributes, "duration_ms"),
        lines_added=added,
        lines_removed=removed,
    )
    return [Draft(record, path=known.path, command=known.command, input_key=known.key)]


def _counted(metadata: dict[str, object]) -> tuple[int | None, int | None]:
    return _sum(metadata, "model_added_lines", "user_added_lines"), _sum(
        metadata, "model_removed_lines", "user_removed_lines"
    )


def _sum(metadata: dict[str, object], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := metadata.get(key), int) and 0 <= value < 2**31]
    return sum(known) if known else None


def _compaction(happening: Happening) -> list[Draft]:
    return [Draft(happening.record("compaction"))]


def _sub_agent(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    record = happening.record(
        "subagent", source=name(attributes, "agent_name"), duration_ms=count(attributes, "duration_ms")
    )
    return [Draft(record)]


_READERS: dict[str, Callable[[Happening], list[Draft]]] = {
    "config": _start,
    "slash_command": _slash_command,
    "user_prompt": _prompt,
    "api_response": _response,
    "api_error": _error,
    "tool_call": _tool,
    "chat_compression": _compaction,
    "agent.finish": _sub_agent,
}
