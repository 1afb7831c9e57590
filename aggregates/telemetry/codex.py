"""The Codex CLI's log events. A turn is named by its trace; the stream's own events carry none and go by time.

Tokens stand in the second `response.completed` event only. Its input count includes what was cached, and its output
count includes the reasoning. Metrics and spans repeat the amounts.
"""

import re
from typing import Any, TypeGuard

from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent
from aggregates.telemetry.otlp import Attributes, Plain, count, flag, identifier, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

_FAILED_FROM = 400
SPAWNS = ("spawn_agent", "agents__spawn_agent", "multi_agent_v1spawn_agent")
"""As telemetry names them, and as a rollout does, its name space before them."""
_ROOT_AGENT = "/root"  # a sub-agent has a longer path


def uncached(whole: int | None, cached: int | None) -> int | None:
    """Input that was not read from a cache; unknown where the counts contradict each other."""
    if whole is None or cached is None:
        return whole
    return whole - cached if whole >= cached else None


def _attempt(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    """One try of a request. A good one is counted when its stream is complete."""
    status = count(attributes, "http.response.status_code")
    message = text(attributes, "error.message")
    duration_ms = count(attributes, "duration_ms")
    if (status is None and message is None) or (status is not None and status < _FAILED_FROM):
        return event.other(status_code=status, duration_ms=duration_ms)
    return _failed(event, attributes, status, message)


def _failed(event: SourceEvent, attributes: Attributes, status: int | None, message: str | None) -> list[RecordDraft]:
    return event.error(message, status, model=name(attributes, "model"), duration_ms=count(attributes, "duration_ms"))


def _stream(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    kind = text(attributes, "event.kind")
    if kind == "response.failed":
        return _failed(event, attributes, None, text(attributes, "error.message"))
    whole = count(attributes, "input_token_count")
    output = count(attributes, "output_token_count")
    if kind != "response.completed" or (whole is None and output is None):
        return event.other(duration_ms=count(attributes, "duration_ms"))
    cached = count(attributes, "cached_token_count")
    return event.only(
        "request",
        model=name(attributes, "model", "slug"),
        input_tokens=uncached(whole, cached),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=count(attributes, "cache_write_token_count"),
    )


def _decision(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    decision = (text(attributes, "decision") or "").lower()
    by_settings = (text(attributes, "source") or "").lower() == "config"
    fields: dict[str, Any] = {"tool": name(attributes, "tool_name"), "call_id": identifier(attributes, "call_id")}
    if decision not in ("denied", "abort") or by_settings:
        return event.other(**fields)
    return event.rejection(interrupts=decision == "abort", **fields)


def _tool(event: SourceEvent, attributes: Attributes) -> list[RecordDraft]:
    tool, arguments = called(name(attributes, "tool_name") or "", call_arguments(attributes.get("arguments")))
    outcome = tool_outcome("codex", attributes.get("output"), flag(attributes, "success"))
    return event.tool(
        tool,
        outcome.ok,
        tool_input(tool, arguments),
        call_id=identifier(attributes, "call_id"),
        duration_ms=count(attributes, "duration_ms"),
        sidechain=text(attributes, "agent_name") not in (None, _ROOT_AGENT),
        stopped=outcome.stopped,
    )


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
    text = told if isinstance(told, str) else " ".join(told[-2:]) if _all_texts(told) else ""
    begin, end = text.find(_BEGIN), text.rfind(_END)
    if tool_effect(tool) != "shell" or not 0 <= begin < end or begin > _HEAD_CHARACTERS:
        return tool, arguments
    after = text[end + len(_END) :]
    head = text[:begin].removeprefix("-lc ").removeprefix("-c ")
    if len(after) > _HEAD_CHARACTERS or not (_PATCHES.match(head) and _AFTER_PATCH.match(after)):
        return tool, arguments
    return "apply_patch", {"patch": text[begin : end + len(_END)]}


def _all_texts(told: object) -> TypeGuard[list[str]]:
    return isinstance(told, list) and all(isinstance(word, str) for word in told)


READERS: dict[str, Reader] = {
    "conversation_starts": lambda event, attributes: event.only("session_start", model=name(attributes, "model")),
    "user_prompt": lambda event, _: event.prompt("prompt"),
    "api_request": _attempt,
    "sse_event": _stream,
    "tool_decision": _decision,
    "tool_result": _tool,
}
