"""The Gemini CLI's log events.

The Gemini API counts a model's thoughts beside its answer (`candidatesTokenCount` and `thoughtsTokenCount`; the total
is the sum of prompt, candidates, thoughts and tool use) and bills both as output: so output is their sum. Cached tokens
are part of the prompt's. `gen_ai.client.inference.operation.details` tells the same request again.
"""

import re
from typing import Any

from aggregates.records.tools import NOT_OBSERVED, Changed, tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent
from aggregates.telemetry.otlp import Attributes, count, flag, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

_FAILED_FROM = 400
_ABORTED = "AbortError"
_ABORTED_MESSAGE = re.compile(
    r"\A(?:exception )?(?:AbortError\b|(?:The|This) operation was aborted|The user aborted|signal is aborted)"
)


def _is_sidechain(attributes: Attributes) -> bool:
    return text(attributes, "role") not in (None, "main")


def _response(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    status = count(attributes, "status_code", "http.status_code")
    if status is not None and status >= _FAILED_FROM:
        return _error(event, attributes)
    cached = count(attributes, "cached_content_token_count")
    output = count(attributes, "output_token_count")
    thoughts = count(attributes, "thoughts_token_count")
    return event.only(
        "request",
        model=name(attributes, "model"),
        input_tokens=uncached(count(attributes, "input_token_count"), cached),
        output_tokens=output if output is None else output + (thoughts or 0),
        cache_read_tokens=cached,
        duration_ms=count(attributes, "duration_ms"),
        status_code=status,
        sidechain=_is_sidechain(attributes),
    )


def _error(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    """Who presses Esc aborts the request: it failed for nobody. A helper's is given up with it."""
    message = text(attributes, "error.message", "error")
    if text(attributes, "error.type", "error_type") == _ABORTED or _ABORTED_MESSAGE.search((message or "")[:200]):
        return event.other() if _is_sidechain(attributes) else event.only("interruption")
    return event.error(
        message,
        count(attributes, "status_code", "http.status_code"),
        model=name(attributes, "model", "model_name"),
        duration_ms=count(attributes, "duration_ms", "duration"),
        sidechain=_is_sidechain(attributes),
    )


def _tool(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    tool = name(attributes, "function_name") or ""
    if text(attributes, "decision") == "reject":
        return event.only("rejection", tool=tool or None)
    metadata = json_object(attributes.get("metadata"))
    said = {"error": text(attributes, "error"), **metadata}
    outcome = tool_outcome("gemini", said, flag(attributes, "success"))
    return event.tool(
        tool,
        outcome.ok,
        tool_input(tool, json_object(attributes.get("function_args"))),
        lines=counted_lines(metadata),
        duration_ms=count(attributes, "duration_ms"),
        stopped=outcome.stopped,
    )


def counted_lines(stat: dict[str, Any]) -> Changed | None:
    """A tool's own count of changed lines: what the model proposed and what the user made of it."""
    added = _sum(stat, "model_added_lines", "user_added_lines")
    lines = added, _sum(stat, "model_removed_lines", "user_removed_lines")
    return None if lines == NOT_OBSERVED else lines


def _sum(stat: dict[str, Any], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := stat.get(key), int) and 0 <= value < 2**31]
    return sum(known) if known else None


READERS: dict[str, Reader] = {
    "config": lambda event, attributes: event.only("session_start", model=name(attributes, "model")),
    "slash_command": lambda event, attributes: (
        event.only("session_start", source="clear") if text(attributes, "command") == "clear" else event.other()
    ),
    "user_prompt": lambda event, _: event.prompt("prompt"),
    "api_response": _response,
    "api_error": _error,
    "tool_call": _tool,
    "chat_compression": lambda event, _: event.only("compaction"),
    "agent.finish": lambda event, attributes: event.only(
        "subagent", source=name(attributes, "agent_name"), duration_ms=count(attributes, "duration_ms")
    ),
}
