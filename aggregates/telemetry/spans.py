"""Spans: Copilot's, those of any agent that follows the conventions for generative AI, and those of the AI SDK.

Copilot and the conventions: a trace is a prompt, whose root span `invoke_agent` says what was asked and, at its end,
what was answered. Parents repeat the sums of their children, so only `chat` spans count as requests, and of those only
the innermost. A root `chat` without an agent around it is prompt and request in one. `github.copilot.cost` counts
credits, which are no dollars.

The AI SDK, which opencode and many other programs ask their models with: a call (`ai.streamText`, `ai.generateText`)
says what was asked and answered, and repeats the sums of its requests (`….doStream`, `….doGenerate`). Tool calls stand
beside them. opencode makes a call for each step of an answer: only one that ends with a user's words asks anything.
"""

from collections.abc import Iterable
from hashlib import sha256
from itertools import chain
from typing import Any

import msgspec

from aggregates.reading.readings import TITLE, maker_of
from aggregates.records.tools import tool_input
from aggregates.telemetry.agents import FAILED_FROM, STATUSES, Agent
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent, beside, inside, terms
from aggregates.telemetry.otlp import JSON_CHARACTERS_MAX, Attributes, Plain, count, identifier, json_object, name, text
from aggregates.telemetry.outcomes import VOCABULARY, tool_outcome

OPERATION = "gen_ai.operation.name"
_REQUESTS = ("chat", "text_completion", "generate_content")
_OPERATIONS = ("invoke_agent", "execute_tool", *_REQUESTS)
_SDK_CALLS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_SDK_REQUESTS = {f"{call}.{ask}" for call in _SDK_CALLS for ask in ("doGenerate", "doStream")}
_SDK_TOOL = "ai.toolCall"
_ON_THE_WAY = ("tool-calls", "tool_calls")  # the reason why an answer stopped that is none yet
_TOLD = ("input", "cached", "cache_write", "output", "fresh")  # the counts of an account, in the order of `inside`
_DELEGATES = "task"  # opencode's tool that has a helper work, in a session of its own
_Names = dict[str, Any]
_CONVENTIONS: _Names = VOCABULARY["conventions"]
_SDK: _Names = VOCABULARY["ai_sdk"]


def agent_of_span(sender: Agent, attributes: Attributes) -> Agent:
    """By who sends; a service of another name is Copilot where it says so in its attributes."""
    is_copilot = any(key.startswith(("github.copilot.", "copilot_chat.")) for key in attributes)
    return "copilot" if sender == "unknown" and is_copilot else sender


def span_reader(agent: Agent, attributes: Attributes) -> Reader | None:
    """None: the span is kept only. The logs of agents that send them are the truth."""
    said = text(attributes, "ai.operationId")
    if agent in ("opencode", "unknown") and (said == _SDK_TOOL or said in _SDK_CALLS or said in _SDK_REQUESTS):
        return ai_sdk
    return _gen_ai if follows_conventions(agent, attributes) else None


def follows_conventions(agent: Agent, attributes: Attributes) -> bool:
    """Copilot, and any agent without logs that names one of the operations."""
    return agent == "copilot" or (agent == "unknown" and text(attributes, OPERATION) in _OPERATIONS)


def _request(event: SourceEvent, names: _Names, *, sidechain: bool = False) -> list[RecordDraft]:
    attributes = event.attributes
    told = event.told(model=names["model"], request_id=names["request_id"])
    told |= {"duration_ms": event.span_ms, "sidechain": sidechain}
    counts = [count(attributes, *names.get(what, ())) for what in _TOLD]
    said = text(attributes, "error.type", "error.message")
    status = count(attributes, "http.response.status_code", "error.type") or STATUSES.get(said or "")
    failed = said or (status or 0) >= FAILED_FROM or text(attributes, "ai.response.finishReason") == "error"
    if event.failed or (failed and not any(counts)):
        # One that failed before it cost anything, though its span may not have the status of a failure.
        return event.error(event.message or text(attributes, "error.message", "error.type"), status, **told)
    provider = json_object(attributes.get("ai.response.providerMetadata"))
    raw = json_object(json_object(provider.get("anthropic")).get("usage"))
    if raw:
        first, *passes = beside(raw, told["model"])
        more = [event.only("request", suffix=f"#{at}", **told | each) for at, each in enumerate(passes, 1)]
        return [*event.only("request", **told | first), *chain.from_iterable(more)]
    tier = text(attributes, *names["tier"]) or json_object(provider.get("openai")).get("serviceTier")
    return event.only("request", **told, **inside(*counts), terms=terms({"service_tier": tier}))


def _tool(event: SourceEvent, names: _Names, agent: str, said: object, *, ok: bool) -> list[RecordDraft]:
    tool = name(event.attributes, *names["tool"]) or ""
    known = tool_input(tool, json_object(event.attributes.get(names["arguments"])))
    told = event.told(call_id=names["call_id"]) | {"duration_ms": event.span_ms}
    return event.tool(tool, tool_outcome(agent, said, ok), known, **told)


def _answer(event: SourceEvent) -> list[RecordDraft]:
    """The last words of the model, by the conventions or the AI SDK."""
    words = text(event.attributes, "ai.response.text", "ai.response.object")
    words = words or _last_text(event.attributes.get("gen_ai.output.messages"), "assistant", "model")
    at_us = event.at_us if event.end_us is None else max(event.at_us, event.end_us)
    return [] if words is None else event.only("response", suffix="#response", at_us=at_us, words=words)


def _gen_ai(event: SourceEvent) -> list[RecordDraft]:
    event.prompt_id, attributes = event.trace_id, event.attributes
    match text(attributes, OPERATION):
        case "invoke_agent" if event.root:
            asked = _last_text(attributes.get("gen_ai.input.messages"), "user")
            return [*event.only("prompt", words=asked), *_answer(event)]
        case "invoke_agent":
            return event.only("subagent", **event.told(source="gen_ai.agent.name"), duration_ms=event.span_ms)
        case "execute_tool":
            code = count(attributes, "process.exit.code")
            said = attributes.get("gen_ai.tool.call.result") if code is None else {"exit_code": code}
            ok = not (event.failed or text(attributes, "error.type"))
            return _tool(event, _CONVENTIONS, "copilot", said, ok=ok)
        case "chat" | "text_completion" | "generate_content" if event.leaf:
            request = _request(event, _CONVENTIONS)
            if not event.root:
                return request
            asked = _last_text(attributes.get("gen_ai.input.messages"), "user")
            prompt = [] if asked is None else event.only("prompt", suffix="#prompt", words=asked)
            return [*request, *prompt, *_answer(event)]
        case _:
            return event.other(**event.told(model=_CONVENTIONS["model"]))


def _last_text(told: Plain, *roles: str) -> str | None:
    """Each request repeats the whole conversation, so only the root span's is decoded."""
    messages = [] if isinstance(told, str) and len(told) > JSON_CHARACTERS_MAX else _messages(told)
    spoken = (each for each in reversed(messages) if each.get("role") in roles)
    return next((found for each in spoken if (found := _text_of(each.get("parts", each.get("content"))))), None)


def _text_of(parts: object) -> str:
    if not isinstance(parts, list):
        return parts if isinstance(parts, str) else ""
    told = (part for part in parts if isinstance(part, dict) and part.get("type", "text") == "text")
    texts = (part.get("content", part.get("text")) for part in told)
    return "\n".join(each for each in texts if isinstance(each, str) and each)


def _messages(told: Plain) -> list[dict[str, Any]]:
    """Of a conversation, a call's prompt, or a request's; none where they cannot be read."""
    if isinstance(told, str):
        try:
            told = msgspec.json.decode(told)
        except (msgspec.DecodeError, RecursionError):
            return []
    if isinstance(told, dict):
        prompt = told.get("prompt")
        told = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else told.get("messages") or prompt
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def ai_sdk(event: SourceEvent) -> list[RecordDraft]:
    attributes, said = event.attributes, text(event.attributes, "ai.operationId")
    if said == _SDK_TOOL:
        result = attributes.get("ai.toolCall.result")
        return _tool(event, _SDK, "opencode", json_object(result) or result, ok=not event.failed)
    asks = said in _SDK_REQUESTS
    messages = _messages(attributes.get("ai.prompt.messages" if asks else "ai.prompt"))
    # The agent itself asks, to name the session; what a person wrote may follow.
    begun = next((place for place in range(len(messages), 0, -1) if messages[place - 1].get("role") != "user"), 0)
    spoken = [*(each for each in messages if each.get("role") != "system")][:1] + messages[begun:][:1]
    for_a_title = any(maker_of(_text_of(each.get("content"))) == TITLE for each in spoken)
    if asks:
        return _request(event, _SDK, sidechain=for_a_title)
    drafts: list[RecordDraft] = []
    if not for_a_title:
        if begun < len(messages) and (words := _text_of(messages[-1].get("content"))):
            # What was refused is asked again, in a call of its own.
            place = sha256(f"{len(messages)} {words}".encode("utf-8", "replace")).hexdigest()
            drafts += event.only("prompt", words=words, request_id=place)
        if text(attributes, "ai.response.finishReason") not in _ON_THE_WAY:
            drafts += _answer(event)
    return drafts or event.other()


def helped_in(attributes: Attributes) -> str | None:
    """The session of a helper that a call of opencode's started: what is asked there, an agent asks."""
    if text(attributes, "ai.operationId") != _SDK_TOOL or text(attributes, "ai.toolCall.name") != _DELEGATES:
        return None
    told = json_object(attributes.get("ai.toolCall.result")).get("metadata")
    return identifier(told, "sessionId") if isinstance(told, dict) else None


STEPS_MAX = 64  # how far up a span's parents are followed


class SpanLink(msgspec.Struct, frozen=True):
    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    session: str | None
    operation: str | None


class SpanTree:
    def __init__(self, spans: Iterable[SpanLink]) -> None:
        self._spans: dict[tuple[str | None, str | None], SpanLink] = {}
        self._sessions: dict[str, set[str]] = {}
        self._outer: set[tuple[str | None, str]] = set()  # requests that another request is a part of
        for span in spans:
            if span.span_id is not None:
                self._spans[span.trace_id, span.span_id] = span
            if span.trace_id is not None and span.session is not None:
                self._sessions.setdefault(span.trace_id, set()).add(span.session)
            if span.operation in _REQUESTS and span.parent_id is not None:
                self._outer.add((span.trace_id, span.parent_id))

    def is_leaf(self, span: SpanLink) -> bool:
        """Whether no other request is directly a part of this one."""
        return span.span_id is None or (span.trace_id, span.span_id) not in self._outer

    def session_of(self, span: SpanLink) -> str | None:
        """Its own, else that of its nearest parent here, else the only one of its trace."""
        each: SpanLink | None = span
        for _ in range(STEPS_MAX):
            if each is None or each.session is not None:
                break
            each = self._spans.get((each.trace_id, each.parent_id))
        if each is not None and each.session is not None:
            return each.session
        known = self._sessions.get(span.trace_id or "", set())
        return next(iter(known)) if len(known) == 1 else None
