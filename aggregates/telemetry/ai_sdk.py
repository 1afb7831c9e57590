"""Spans of the AI SDK, which opencode and many other programs ask their models with.

A call (`ai.streamText`, `ai.generateText`) says what was asked and answered, and repeats the sums of its requests
(`….doStream`, `….doGenerate`). Tool calls stand beside them. opencode makes a call for each step of an answer: only one
that ends with a user's words asks anything.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from aggregates.reading.authors import TITLE, maker_of
from aggregates.records.tools import tool_input
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.draft import RecordDraft, SourceEvent
from aggregates.telemetry.otlp import Attributes, Plain, count, identifier, json_object, name, text
from aggregates.telemetry.outcomes import tool_outcome

SESSION = "ai.telemetry.metadata.sessionId"  # where programs that know sessions name them, besides `session.id`.
_CALLS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_REQUESTS = {f"{call}.{ask}" for call in _CALLS for ask in ("doGenerate", "doStream")}
_TOOL = "ai.toolCall"
_MODELS = ("ai.response.model", "gen_ai.response.model", "ai.model.id", "gen_ai.request.model")
_ON_THE_WAY = ("tool-calls", "tool_calls")  # the reason why an answer stopped that is none yet
_DELEGATES = "task"  # opencode's tool that has a helper work, in a session of its own


class _Message(msgspec.Struct):
    role: str = ""
    content: str | list[dict[str, object]] = ""

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        texts = (part.get("text") for part in self.content if part.get("type") == "text")
        return "\n".join(each for each in texts if isinstance(each, str))


class _Prompt(msgspec.Struct):
    prompt: str | list[_Message] | None = None
    messages: list[_Message] = []


_PROMPT = msgspec.json.Decoder(_Prompt)
_MESSAGES = msgspec.json.Decoder(list[_Message])


def speaks(attributes: Attributes) -> bool:
    operation = _operation(attributes)
    return operation in _CALLS or operation in _REQUESTS or operation == _TOOL


def read(event: SourceEvent) -> list[RecordDraft]:
    """The records of a span for which `speaks` holds."""
    operation = _operation(event.attributes)
    if operation == _TOOL:
        return _tool(event)
    return _request(event) if operation in _REQUESTS else _call(event)


def helped_in(attributes: Attributes) -> str | None:
    """The session of a helper that a call of opencode's started: what is asked there, an agent asks."""
    if _operation(attributes) != _TOOL or text(attributes, "ai.toolCall.name") != _DELEGATES:
        return None
    told = json_object(attributes.get("ai.toolCall.result")).get("metadata")
    return identifier(told, "sessionId") if isinstance(told, dict) else None


def _operation(attributes: Attributes) -> str | None:
    return text(attributes, "ai.operationId")


def _request(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    told: dict[str, Any] = {
        "model": name(attributes, *_MODELS),
        "request_id": identifier(attributes, "ai.response.id", "gen_ai.response.id"),
        "duration_ms": event.span_ms,
        "sidechain": _for_a_title(_messages(attributes.get("ai.prompt.messages"))),
    }
    if event.failed:
        status = count(attributes, "http.response.status_code")
        return event.error(event.message or text(attributes, "error.message", "error.type"), status, **told)
    cached = count(attributes, "ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens")
    whole = count(attributes, "ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens")
    output = count(attributes, "ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens")
    return event.only(
        "request",
        input_tokens=uncached(whole, cached),
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=count(attributes, "ai.usage.inputTokenDetails.cacheWriteTokens"),
        **told,
    )


def _call(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    messages = _messages(attributes.get("ai.prompt"))
    if _for_a_title(messages):
        return event.other(duration_ms=event.span_ms)
    drafts: list[RecordDraft] = []
    if messages and messages[-1].role == "user" and messages[-1].text:
        drafts += event.only("prompt", words=messages[-1].text)
    answered = text(attributes, "ai.response.text", "ai.response.object")
    if answered and text(attributes, "ai.response.finishReason") not in _ON_THE_WAY:
        at_us = event.at_us if event.end_us is None else max(event.at_us, event.end_us)
        drafts += event.only("response", suffix="#response", at_us=at_us, words=answered)
    return drafts or event.other(duration_ms=event.span_ms)


def _tool(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    tool = name(attributes, "ai.toolCall.name") or ""
    result = attributes.get("ai.toolCall.result")
    outcome = tool_outcome("opencode", json_object(result) or result, not event.failed)
    return event.tool(
        tool,
        outcome.ok,
        tool_input(tool, json_object(attributes.get("ai.toolCall.args"))),
        call_id=identifier(attributes, "ai.toolCall.id"),
        duration_ms=event.span_ms,
        stopped=outcome.stopped,
    )


def _messages(told: Plain) -> list[_Message]:
    """Of a call's prompt, or a request's; none where they cannot be read."""
    if not isinstance(told, str):
        return []
    try:
        if told.lstrip()[:1] == "[":
            return _MESSAGES.decode(told)
        found = _PROMPT.decode(told)
    except (msgspec.DecodeError, RecursionError):
        return []
    if isinstance(found.prompt, str):
        return [_Message("user", found.prompt)]
    return found.messages or found.prompt or []


def _for_a_title(messages: Sequence[_Message]) -> bool:
    """Whether the agent itself asks, to name the session; what a person wrote may follow."""
    begun = len(messages)
    while begun and messages[begun - 1].role == "user":
        begun -= 1
    return begun < len(messages) and maker_of(messages[begun].text) == TITLE
