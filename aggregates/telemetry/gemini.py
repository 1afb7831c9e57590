"""The Gemini CLI's log events.

The Gemini API counts a model's thoughts beside its answer (`candidatesTokenCount` and `thoughtsTokenCount`; the total
is the sum of prompt, candidates, thoughts and tool use) and bills both as output: so output is their sum. Cached tokens
are part of the prompt's. `gen_ai.client.inference.operation.details` tells the same request again.
"""

from collections.abc import Callable

from aggregates.records.tools import NOT_OBSERVED, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, Happening
from aggregates.telemetry.otlp import count, flag, json_object, name, text

PREFIX = "gemini_cli."
_FAILED_FROM = 400


def _start(happening: Happening) -> list[Draft]:
    return happening.only("session_start", model=name(happening.attributes, "model"))


def _slash_command(happening: Happening) -> list[Draft]:
    if text(happening.attributes, "command") != "clear":
        return happening.other()
    return happening.only("session_start", source="clear")


def _prompt(happening: Happening) -> list[Draft]:
    return happening.prompt("prompt")


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
    return happening.only(
        "request",
        model=name(attributes, "model"),
        input_tokens=uncached(count(attributes, "input_token_count"), cached),
        output_tokens=output if output is None else output + (thoughts or 0),
        cache_read_tokens=cached,
        duration_ms=count(attributes, "duration_ms"),
        status_code=status,
        sidechain=_is_sidechain(happening),
    )


def _error(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    return happening.error(
        text(attributes, "error.message", "error"),
        count(attributes, "status_code", "http.status_code"),
        model=name(attributes, "model", "model_name"),
        duration_ms=count(attributes, "duration_ms", "duration"),
        sidechain=_is_sidechain(happening),
    )


def _tool(happening: Happening) -> list[Draft]:
    """The changed lines are the tool's own count, of what the model proposed and what the user made of it."""
    attributes = happening.attributes
    tool = name(attributes, "function_name") or ""
    if text(attributes, "decision") == "reject":
        return happening.only("rejection", tool=tool or None)
    lines = _counted(json_object(attributes.get("metadata")))
    return happening.tool(
        tool,
        flag(attributes, "success"),
        tool_input(tool, json_object(attributes.get("function_args"))),
        lines=None if lines == NOT_OBSERVED else lines,
        duration_ms=count(attributes, "duration_ms"),
    )


def _counted(metadata: dict[str, object]) -> tuple[int | None, int | None]:
    return _sum(metadata, "model_added_lines", "user_added_lines"), _sum(
        metadata, "model_removed_lines", "user_removed_lines"
    )


def _sum(metadata: dict[str, object], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := metadata.get(key), int) and 0 <= value < 2**31]
    return sum(known) if known else None


def _compaction(happening: Happening) -> list[Draft]:
    return happening.only("compaction")


def _sub_agent(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    return happening.only(
        "subagent", source=name(attributes, "agent_name"), duration_ms=count(attributes, "duration_ms")
    )


READERS: dict[str, Callable[[Happening], list[Draft]]] = {
    "config": _start,
    "slash_command": _slash_command,
    "user_prompt": _prompt,
    "api_response": _response,
    "api_error": _error,
    "tool_call": _tool,
    "chat_compression": _compaction,
    "agent.finish": _sub_agent,
}
