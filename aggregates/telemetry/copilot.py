"""Copilot's spans, by the semantic conventions for generative AI.

A trace is a prompt: its root span `invoke_agent` says what was asked and, at its end, what was answered. Parents repeat
the sums of their children, so only `chat` spans count as requests, and of those only the innermost. A root `chat`
without an agent around it is prompt and request in one.
"""

from typing import Any

import msgspec

from aggregates.records.tools import tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import Draft, Happening, status_in, wait_in
from aggregates.telemetry.otlp import JSON_CHARACTERS_MAX, Attributes, count, identifier, json_object, name, text
from aggregates.telemetry.otlp import usd_nano as usd

OPERATION = "gen_ai.operation.name"
REQUESTS = ("chat", "text_completion", "generate_content")
AGENT = "invoke_agent"
TOOL = "execute_tool"

_MODELS = ("gen_ai.response.model", "gen_ai.request.model")


def operation(attributes: Attributes) -> str | None:
    """What a span is about, by the conventions."""
    return text(attributes, OPERATION)


def gen_ai(happening: Happening) -> list[Draft]:
    """The records of one span."""
    happening.prompt_id = happening.trace_id
    match operation(happening.attributes):
        case "invoke_agent" if happening.root:
            return [*_prompt(happening, always=True), *_answer(happening)]
        case "invoke_agent":
            return [Draft(happening.record("subagent", source=_agent(happening), duration_ms=_duration(happening)))]
        case "execute_tool":
            return [_tool(happening)]
        case "chat" | "text_completion" | "generate_content" if happening.leaf:
            if not happening.root:
                return [_request(happening)]
            return [_request(happening), *_prompt(happening, suffix="#prompt"), *_answer(happening)]
        case _:
            return happening.other(model=name(happening.attributes, *_MODELS), duration_ms=_duration(happening))


def _agent(happening: Happening) -> str | None:
    return name(happening.attributes, "gen_ai.agent.name")


def _duration(happening: Happening) -> int | None:
    end_us = happening.end_us
    return None if end_us is None or end_us < happening.at_us else (end_us - happening.at_us + 500) // 1_000


def _request(happening: Happening) -> Draft:
    attributes = happening.attributes
    fields: dict[str, Any] = {
        "model": name(attributes, *_MODELS),
        "request_id": identifier(attributes, "gen_ai.response.id"),
        "duration_ms": _duration(happening),
    }
    if happening.failed:
        message = happening.message or text(attributes, "error.message", "error.type")
        status = count(attributes, "http.response.status_code")
        status = status_in(message or text(attributes, "error.type")) if status is None else status
        record = happening.record("error", status_code=status, retry_after_ms=wait_in(message), **fields)
        return Draft(record, text=message)
    cached = count(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    record = happening.record(
        "request",
        input_tokens=uncached(count(attributes, "gen_ai.usage.input_tokens"), cached),
        output_tokens=count(attributes, "gen_ai.usage.output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=count(
            attributes, "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"
        ),
        cost_usd_nano=usd(attributes, "github.copilot.cost"),
        **fields,
    )
    return Draft(record)


def _tool(happening: Happening) -> Draft:
    attributes = happening.attributes
    tool = name(attributes, "gen_ai.tool.name") or ""
    known = tool_input(tool, json_object(attributes.get("gen_ai.tool.call.arguments")))
    ok = not (happening.failed or text(attributes, "error.type"))
    added, removed = known.lines if ok else (None, None)
    record = happening.record(
        "tool",
        tool=tool or None,
        call_id=identifier(attributes, "gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        ok=None if ok and known.background else ok,
        duration_ms=_duration(happening),
        lines_added=added,
        lines_removed=removed,
    )
    return Draft(record, path=known.path, command=known.command, input_key=known.key)


def _prompt(happening: Happening, *, suffix: str = "", always: bool = False) -> list[Draft]:
    asked = _last_text(happening.attributes.get("gen_ai.input.messages"), "user")
    if asked is None and not always:
        return []
    return [Draft(happening.record("prompt", suffix=suffix), text=asked)]


def _answer(happening: Happening) -> list[Draft]:
    answered = _last_text(happening.attributes.get("gen_ai.output.messages"), "assistant", "model")
    if answered is None:
        return []
    at_us = happening.at_us if happening.end_us is None else max(happening.at_us, happening.end_us)
    return [Draft(happening.record("response", suffix="#response", at_us=at_us), text=answered)]


def _last_text(messages: object, *roles: str) -> str | None:
    """The text of the last message of a role; the messages come as JSON."""
    if isinstance(messages, str) and len(messages) <= JSON_CHARACTERS_MAX:
        try:
            messages = msgspec.json.decode(messages)
        except (msgspec.DecodeError, RecursionError):
            return None
    if not isinstance(messages, list):
        return None
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") in roles:
            found = _text_of(message)
            if found:
                return found
    return None


def _text_of(message: dict[str, Any]) -> str:
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, str):
        return parts
    texts = [_part(part) for part in parts] if isinstance(parts, list) else []
    return "\n".join(each for each in texts if each)


def _part(part: object) -> str | None:
    if not isinstance(part, dict) or part.get("type", "text") != "text":
        return None
    found = part.get("content", part.get("text"))
    return found if isinstance(found, str) else None
