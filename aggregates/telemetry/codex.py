"""The Codex CLI's log events. A turn is named by its trace; the stream's own events carry none and go by time.

Tokens stand in the second `response.completed` event only. Its input count includes what was cached, and its output
count includes the reasoning. Metrics and spans repeat the amounts.
"""

import re
from typing import Any

from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent, request_tokens
from aggregates.telemetry.otlp import Attributes, Plain, count, flag, identifier, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

_FAILED_FROM = 400
SPAWNS = ("spawn_agent", "agents__spawn_agent", "multi_agent_v1spawn_agent")
"""As telemetry names them, and as a rollout does, its name space before them."""
_ROOT_AGENT = "/root"  # a sub-agent has a longer path


def _attempt(event: SourceEvent) -> list[RecordDraft]:
    """One try of a request. A good one is counted when its stream is complete."""
    status = count(event.attributes, "http.response.status_code")
    message = text(event.attributes, "error.message")
    if (status is None and message is None) or (status is not None and status < _FAILED_FROM):
        return event.other(status_code=status, **event.told(duration_ms="duration_ms"))
    return event.error(message, status, **event.told(model="model", duration_ms="duration_ms"))


def _stream(event: SourceEvent) -> list[RecordDraft]:
    attributes, kind = event.attributes, text(event.attributes, "event.kind")
    if kind == "response.failed":
        told = event.told(model="model", duration_ms="duration_ms")
        return event.error(text(attributes, "error.message"), None, **told)
    keys = ("input_token_count", "cached_token_count", "output_token_count")
    tokens = request_tokens(*(count(attributes, key) for key in keys))
    if kind != "response.completed" or (count(attributes, keys[0]) is None and tokens["output_tokens"] is None):
        return event.other(**event.told(duration_ms="duration_ms"))
    told = event.told(model=("model", "slug"), cache_write_tokens="cache_write_token_count")
    return event.only("request", **told, **tokens)


def _decision(event: SourceEvent) -> list[RecordDraft]:
    decision = (text(event.attributes, "decision") or "").lower()
    by_settings = (text(event.attributes, "source") or "").lower() == "config"
    told = event.told(tool="tool_name", call_id="call_id")
    if decision not in ("denied", "abort") or by_settings:
        return event.other(**told)
    return event.rejection(interrupts=decision == "abort", **told)


def _tool(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    tool, arguments = called(name(attributes, "tool_name") or "", call_arguments(attributes.get("arguments")))
    outcome = tool_outcome("codex", attributes.get("output"), flag(attributes, "success"))
    sidechain = text(attributes, "agent_name") not in (None, _ROOT_AGENT)
    told = event.told(call_id="call_id", duration_ms="duration_ms")
    return event.tool(tool, outcome, tool_input(tool, arguments), sidechain=sidechain, **told)


def spawned(attributes: Attributes) -> str | None:
    """The conversation of the sub-agent that a call started: what is asked there, an agent asks."""
    if text(attributes, "tool_name") not in SPAWNS:
        return None
    return identifier(json_object(attributes.get("output")), "agent_id")


def call_arguments(told: Plain) -> dict[str, Any]:
    """As JSON, but for a patch, which comes as it is."""
    if isinstance(told, str) and told.lstrip().startswith("*** "):
        return {"patch": told}
    return json_object(told)


_PATCHES = re.compile(
    r"\s*(?:cd\s+[^\s;&|]+\s*&&\s*)?(?:apply_patch|applypatch)\s+(?:<<-?\s*['\"]?\w+['\"]?\s*\n|['\"])?\s*\Z"
)
_AFTER_PATCH = re.compile(r"\s*(?:['\"]|\w+)?\s*\Z")
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_HEAD_CHARACTERS = 500


def called(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A shell that does nothing but apply a patch is the tool that does; Codex itself takes it for that."""
    told = next((arguments[key] for key in ("cmd", "command") if arguments.get(key)), None)
    words = told if isinstance(told, list) and all(isinstance(word, str) for word in told) else []
    text = told if isinstance(told, str) else " ".join(words[-2:])
    begin, end = text.find(_BEGIN), text.rfind(_END)
    if tool_effect(tool) != "shell" or not 0 <= begin < end or begin > _HEAD_CHARACTERS:
        return tool, arguments
    after = text[end + len(_END) :]
    head = text[:begin].removeprefix("-lc ").removeprefix("-c ")
    if len(after) > _HEAD_CHARACTERS or not (_PATCHES.match(head) and _AFTER_PATCH.match(after)):
        return tool, arguments
    return "apply_patch", {"patch": text[begin : end + len(_END)]}


READERS: dict[str, Reader] = {
    "conversation_starts": lambda event: event.only("session_start", **event.told(model="model")),
    "user_prompt": lambda event: event.prompt("prompt"),
    "api_request": _attempt,
    "sse_event": _stream,
    "tool_decision": _decision,
    "tool_result": _tool,
}
