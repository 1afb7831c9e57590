"""The Gemini CLI's log events.

The Gemini API counts a model's thoughts beside its answer (`candidatesTokenCount` and `thoughtsTokenCount`; the total
is the sum of prompt, candidates, thoughts and tool use) and bills both as output: so output is their sum. Cached tokens
are part of the prompt's. `gen_ai.client.inference.operation.details` tells the same request again.
"""

import re
from typing import Any

from aggregates.records.tools import NOT_OBSERVED, Changed, tool_input
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent, request_tokens
from aggregates.telemetry.otlp import Attributes, count, flag, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

_FAILED_FROM = 400
_ABORTED = "AbortError"
_ABORTED_MESSAGE = re.compile(
    r"\A(?:exception )?(?:AbortError\b|(?:The|This) operation was aborted|The user aborted|signal is aborted)"
)


def _is_sidechain(attributes: Attributes) -> bool:
    return text(attributes, "role") not in (None, "main")


def _response(event: SourceEvent) -> list[RecordDraft]:
    attributes, status = event.attributes, event.status_code
    if status is not None and status >= _FAILED_FROM:
        return _error(event)
    whole, cached = count(attributes, "input_token_count"), count(attributes, "cached_content_token_count")
    output, thoughts = count(attributes, "output_token_count"), count(attributes, "thoughts_token_count")
    told = request_tokens(whole, cached, output if output is None else output + (thoughts or 0))
    told |= event.told(model="model", duration_ms="duration_ms")
    return event.only("request", status_code=status, sidechain=_is_sidechain(attributes), **told)


def _error(event: SourceEvent) -> list[RecordDraft]:
    """Who presses Esc aborts the request: it failed for nobody. A helper's is given up with it."""
    attributes = event.attributes
    message = text(attributes, "error.message", "error")
    if text(attributes, "error.type", "error_type") == _ABORTED or _ABORTED_MESSAGE.search((message or "")[:200]):
        return event.other() if _is_sidechain(attributes) else event.only("interruption")
    told = event.told(model=("model", "model_name"), duration_ms=("duration_ms", "duration"))
    return event.error(message, event.status_code, sidechain=_is_sidechain(attributes), **told)


def _tool(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    tool = name(attributes, "function_name") or ""
    if text(attributes, "decision") == "reject":
        return event.only("rejection", tool=tool or None)
    metadata = json_object(attributes.get("metadata"))
    said = {"error": text(attributes, "error"), **metadata}
    outcome = tool_outcome("gemini", said, flag(attributes, "success"))
    known = tool_input(tool, json_object(attributes.get("function_args")))
    return event.tool(tool, outcome, known, lines=counted_lines(metadata), **event.told(duration_ms="duration_ms"))


def counted_lines(stat: dict[str, Any]) -> Changed | None:
    """A tool's own count of changed lines: what the model proposed and what the user made of it."""
    added = _sum(stat, "model_added_lines", "user_added_lines")
    lines = added, _sum(stat, "model_removed_lines", "user_removed_lines")
    return None if lines == NOT_OBSERVED else lines


def _sum(stat: dict[str, Any], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := stat.get(key), int) and 0 <= value < 2**31]
    return sum(known) if known else None


READERS: dict[str, Reader] = {
    "config": lambda event: event.only("session_start", **event.told(model="model")),
    "slash_command": lambda event: (
        event.only("session_start", source="clear") if text(event.attributes, "command") == "clear" else event.other()
    ),
    "user_prompt": lambda event: event.prompt("prompt"),
    "api_response": _response,
    "api_error": _error,
    "tool_call": _tool,
    "chat_compression": lambda event: event.only("compaction"),
    "agent.finish": lambda event: event.only("subagent", **event.told(source="agent_name", duration_ms="duration_ms")),
}
