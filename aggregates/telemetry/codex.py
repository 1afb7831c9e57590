"""The Codex CLI's log events. A turn is named by its trace; the stream's own events carry none and go by time.

Tokens stand in the second `response.completed` event only. Its input count includes what was cached, and its output
count includes the reasoning. Metrics and spans repeat the amounts.
"""

from collections.abc import Callable
from typing import Any

from aggregates.records.tools import tool_input
from aggregates.telemetry.draft import Draft, Happening
from aggregates.telemetry.otlp import Attributes, count, flag, identifier, json_object, name, text

PREFIX = "codex."
_FAILED_FROM = 400


def uncached(whole: int | None, cached: int | None) -> int | None:
    """Input that was not read from a cache; unknown where the counts contradict each other."""
    if whole is None or cached is None:
        return whole
    return whole - cached if whole >= cached else None


def _start(happening: Happening) -> list[Draft]:
    return happening.only("session_start", model=name(happening.attributes, "model"))


def _prompt(happening: Happening) -> list[Draft]:
    return happening.prompt("prompt")


def _attempt(happening: Happening) -> list[Draft]:
    """One try of a request. A good one is counted when its stream is complete."""
    attributes = happening.attributes
    status = count(attributes, "http.response.status_code")
    message = text(attributes, "error.message")
    duration_ms = count(attributes, "duration_ms")
    if (status is None and message is None) or (status is not None and status < _FAILED_FROM):
        return happening.other(status_code=status, duration_ms=duration_ms)
    return _failed(happening, status, message)


def _failed(happening: Happening, status: int | None, message: str | None) -> list[Draft]:
    attributes = happening.attributes
    return happening.error(
        message, status, model=name(attributes, "model"), duration_ms=count(attributes, "duration_ms")
    )


def _stream(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    kind = text(attributes, "event.kind")
    if kind == "response.failed":
        return _failed(happening, None, text(attributes, "error.message"))
    whole = count(attributes, "input_token_count")
    output = count(attributes, "output_token_count")
    if kind != "response.completed" or (whole is None and output is None):
        return happening.other(duration_ms=count(attributes, "duration_ms"))
    cached = count(attributes, "cached_token_count")
    return happening.only(
        "request",
        model=name(attributes, "model", "slug"),
        input_tokens=uncached(whole, cached),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=count(attributes, "cache_write_token_count"),
    )


def _decision(happening: Happening) -> list[Draft]:
    """A refusal by the settings is none of the user's."""
    attributes = happening.attributes
    decision = (text(attributes, "decision") or "").lower()
    by_settings = (text(attributes, "source") or "").lower() == "config"
    fields: dict[str, Any] = {"tool": name(attributes, "tool_name"), "call_id": identifier(attributes, "call_id")}
    if decision not in ("denied", "abort") or by_settings:
        return happening.other(**fields)
    return happening.rejection(interrupts=decision == "abort", **fields)


def _tool(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    tool = name(attributes, "tool_name") or ""
    return happening.tool(
        tool,
        flag(attributes, "success"),
        tool_input(tool, _arguments(attributes)),
        call_id=identifier(attributes, "call_id"),
        duration_ms=count(attributes, "duration_ms"),
    )


def _arguments(attributes: Attributes) -> dict[str, object]:
    """As JSON, but for a patch, which comes as it is."""
    arguments = attributes.get("arguments")
    if isinstance(arguments, str) and arguments.lstrip().startswith("*** "):
        return {"patch": arguments}
    return json_object(arguments)


READERS: dict[str, Callable[[Happening], list[Draft]]] = {
    "conversation_starts": _start,
    "user_prompt": _prompt,
    "api_request": _attempt,
    "sse_event": _stream,
    "tool_decision": _decision,
    "tool_result": _tool,
}
