"""Copilot's spans, and those of any other agent that follows the semantic conventions for generative AI.

A trace is a prompt: its root span `invoke_agent` says what was asked and, at its end, what was answered. Parents repeat
the sums of their children, so only `chat` spans count as requests, and of those only the innermost. A root `chat`
without an agent around it is prompt and request in one. `github.copilot.cost` counts credits, which are no dollars.
"""

from typing import Any

import msgspec

from aggregates.records.tools import tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import RecordDraft, SourceEvent
from aggregates.telemetry.otlp import JSON_CHARACTERS_MAX, Attributes, count, identifier, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

OPERATIONS = ("invoke_agent", "execute_tool", "chat", "text_completion", "generate_content")
REQUESTS = ("chat", "text_completion", "generate_content")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model")


def operation(attributes: Attributes) -> str | None:
    return text(attributes, "gen_ai.operation.name")


def gen_ai(event: SourceEvent) -> list[RecordDraft]:
    event.prompt_id = event.trace_id
    match operation(event.attributes):
        case "invoke_agent" if event.root:
            return [*_prompt(event, always=True), *_answer(event)]
        case "invoke_agent":
            agent = name(event.attributes, "gen_ai.agent.name")
            return event.only("subagent", source=agent, duration_ms=event.span_ms)
        case "execute_tool":
            return _tool(event)
        case "chat" | "text_completion" | "generate_content" if event.leaf:
            if not event.root:
                return _request(event)
            return [*_request(event), *_prompt(event, suffix="#prompt"), *_answer(event)]
        case _:
            return event.other(model=name(event.attributes, *_MODELS), duration_ms=event.span_ms)


def _request(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    fields: dict[str, Any] = {
        "model": name(attributes, *_MODELS),
        "request_id": identifier(attributes, "gen_ai.response.id"),
        "duration_ms": event.span_ms,
    }
    if event.failed:
        message = event.message or text(attributes, "error.message", "error.type")
        return event.error(message, count(attributes, "http.response.status_code"), **fields)
    cached = count(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    return event.only(
        "request",
        input_tokens=uncached(count(attributes, "gen_ai.usage.input_tokens"), cached),
        output_tokens=count(attributes, "gen_ai.usage.output_tokens"),
        cache_read_tokens=cached,
        cache_write_tokens=count(
            attributes, "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"
        ),
        **fields,
    )


def _tool(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    tool = name(attributes, "gen_ai.tool.name") or ""
    code, flag = count(attributes, "process.exit.code"), not (event.failed or text(attributes, "error.type"))
    said = attributes.get("gen_ai.tool.call.result") if code is None else {"exit_code": code}
    outcome = tool_outcome("copilot", said, flag)
    return event.tool(
        tool,
        outcome.ok,
        tool_input(tool, json_object(attributes.get("gen_ai.tool.call.arguments"))),
        call_id=identifier(attributes, "gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        duration_ms=event.span_ms,
        stopped=outcome.stopped,
    )


def _prompt(event: SourceEvent, *, suffix: str = "", always: bool = False) -> list[RecordDraft]:
    asked = _last_text(event.attributes.get("gen_ai.input.messages"), "user")
    if asked is None and not always:
        return []
    return event.only("prompt", suffix=suffix, words=asked)


def _answer(event: SourceEvent) -> list[RecordDraft]:
    answered = _last_text(event.attributes.get("gen_ai.output.messages"), "assistant", "model")
    if answered is None:
        return []
    at_us = event.at_us if event.end_us is None else max(event.at_us, event.end_us)
    return event.only("response", suffix="#response", at_us=at_us, words=answered)


def _last_text(messages: object, *roles: str) -> str | None:
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
