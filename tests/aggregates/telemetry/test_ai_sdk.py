"""Spans of the AI SDK, as opencode and other programs send them."""

import json
from typing import Any

import pytest

from aggregates.records.record import OF_SUB_AGENT
from tests.support.otlp import NOW_US, Attributes, Taken, span, taken, traces

USAGE = {
    "ai.response.model": "gpt-5.1-2026",
    "ai.response.id": "chat_1",
    "ai.usage.inputTokens": 1_000,
    "ai.usage.outputTokens": 50,
    "ai.usage.cachedInputTokens": 900,
}
ASKED = {"role": "user", "content": [{"type": "text", "text": "Run the check"}]}
TITLE = {"role": "user", "content": "Generate a title for this conversation:\n"}
CALLED = {"role": "assistant", "content": [{"type": "tool-call", "toolName": "bash"}]}
GIVEN = {"role": "tool", "content": [{"type": "tool-result", "toolName": "bash"}]}
SYSTEM = {"role": "system", "content": "You are opencode"}


def of(operation: str, attributes: Attributes, **members: Any) -> dict[str, Any]:
    usual = {"ai.operationId": operation, "session.id": "ses_1"}
    return span(operation, {**usual, **attributes}, **members)


def call(*messages: object, **attributes: Any) -> dict[str, Any]:
    told = {f"ai.response.{name}": value for name, value in attributes.items()}
    return of("ai.streamText", {"ai.prompt": json.dumps({"messages": messages}), **USAGE, **told})


def request(*messages: object, **members: Any) -> dict[str, Any]:
    return of("ai.streamText.doStream", {"ai.prompt.messages": json.dumps(messages), **USAGE}, **members)


def tool(name: str, arguments: object, result: object, **members: Any) -> dict[str, Any]:
    told = {"name": name, "id": "call_1", "args": json.dumps(arguments), "result": json.dumps(result)}
    return of("ai.toolCall", {f"ai.toolCall.{key}": value for key, value in told.items()}, **members)


def read(*spans: object, service: str = "opencode") -> Taken:
    return taken(traces(*spans, service=service))


@pytest.mark.parametrize("service", ["opencode", "our-own-helper"])
def test_a_call_is_prompt_and_answer_and_its_request_has_the_tokens(service: str) -> None:
    found = read(request(SYSTEM, ASKED), call(SYSTEM, ASKED, text="Done.", finishReason="stop"), service=service)
    assert found.kinds == ["request", "prompt", "response"]
    asked, prompt, response = found.records
    counts = (asked.input_tokens, asked.output_tokens, asked.cache_read_tokens)
    assert (asked.model, counts, asked.sidechain) == ("gpt-5.1-2026", (100, 50, 900), False)
    assert (prompt.at_us, response.at_us) == (NOW_US, NOW_US + 1_000_000)
    assert [each.agent_session_id for each in found.commands] == ["ses_1"]


def test_the_session_of_a_helper_is_an_agents() -> None:
    result = {"metadata": {"sessionId": "ses_2"}, "output": "looked"}
    found = read(tool("task", {"prompt": "Look around."}, result))
    child = next(each for each in found.commands if each.agent_session_id == "ses_2")
    (start,) = child.records  # type: ignore[union-attr]
    assert (start.kind, start.source) == ("session_start", OF_SUB_AGENT)


def asked(told: object) -> dict[str, Any]:
    return of("ai.generateText", {"ai.prompt": json.dumps(told)})


def check(code: int) -> dict[str, Any]:
    result = {"metadata": {"output": "1 failed\n", "exit": code}, "output": "1 failed\n"}
    return tool("bash", {"command": "sh check.sh"}, result)


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        # Only a step that ends with a user's words is a prompt, and only the last an answer.
        ([call(ASKED, text="I look.", finishReason="tool-calls")], ["prompt 'Run the check'"]),
        ([call(ASKED, CALLED, GIVEN, text="It fails.", finishReason="stop")], ["response 'It fails.'"]),
        # A request for a title is the agent's own.
        ([request(SYSTEM, TITLE, ASKED)], ["request 100+900 > 50 beside"]),
        ([call(SYSTEM, TITLE, ASKED, text="A title", finishReason="stop")], ["other"]),
        # What was asked is the last message of a user.
        ([asked({"prompt": "Explain"})], ["prompt 'Explain'"]),
        ([asked({"prompt": [ASKED]})], ["prompt 'Run the check'"]),
        ([asked({"messages": [ASKED, {"role": "user", "content": "and tell"}]})], ["prompt 'and tell'"]),
        ([asked({"messages": [{"role": "user", "content": [{"type": "image", "image": "…"}]}]})], ["other"]),
        ([asked({"messages": [ASKED, {"role": "assistant", "content": "I look."}]})], ["other"]),
        ([asked({"messages": "x"})], ["other"]),
        ([asked([5])], ["other"]),
        ([asked({})], ["other"]),
        # To opencode a command that ended badly is a success: it ran.
        ([check(1)], ["tool bash failed sh check.sh"]),
        ([check(0)], ["tool bash ok sh check.sh"]),
        ([tool("bash", {"command": "ls"}, {}, status={"code": 2})], ["tool bash failed ls"]),
        (
            [tool("edit", {"filePath": "a.py", "oldString": "x", "newString": "y\nz"}, {"output": "done"})],
            ["tool edit ok a.py +2 -1"],
        ),
        (
            [request(ASKED, status={"code": 2, "message": "429, retry after 20 seconds"})],
            ["error 429 wait 20000 '429, retry after 20 seconds'"],
        ),
        ([span("Session.get", {"session.id": "ses_1"})], ["other"]),
    ],
)
def test_what_a_span_tells(spans: list[dict[str, Any]], shown: list[str]) -> None:
    assert read(*spans).shown == shown
