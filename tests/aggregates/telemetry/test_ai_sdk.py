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


def test_only_a_step_that_ends_with_a_users_words_is_a_prompt_and_only_the_last_an_answer() -> None:
    steps = (
        call(ASKED, text="I look.", finishReason="tool-calls"),
        call(ASKED, CALLED, GIVEN, text="It fails.", finishReason="stop"),
    )
    assert read(*steps).kinds == ["prompt", "response"]


def test_a_request_for_a_title_is_the_agents_own() -> None:
    found = read(request(SYSTEM, TITLE, ASKED), call(SYSTEM, TITLE, ASKED, text="A title", finishReason="stop"))
    assert found.kinds == ["request", "other"]
    assert found.records[0].sidechain


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"prompt": "Explain"}, "Explain"),
        ({"prompt": [ASKED]}, "Run the check"),
        ({"messages": [ASKED, {"role": "user", "content": "and tell"}]}, "and tell"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "image": "…"}]}]}, None),
        ({"messages": [ASKED, {"role": "assistant", "content": "I look."}]}, None),
        ({"messages": "x"}, None),
        ([5], None),
        ({}, None),
    ],
)
def test_what_was_asked_is_the_last_message_of_a_user(told: object, text: str | None) -> None:
    found = read(of("ai.generateText", {"ai.prompt": json.dumps(told)}))
    assert (found.kinds, found.text()) == (["other"], None) if text is None else (["prompt"], text)


@pytest.mark.parametrize(("code", "ok"), [(1, False), (0, True)])
def test_a_command_that_ended_badly_has_failed(code: int, ok: bool) -> None:
    result = {"title": "sh check.sh", "metadata": {"output": "1 failed\n", "exit": code}, "output": "1 failed\n"}
    found = read(tool("bash", {"command": "sh check.sh"}, result))
    assert (found.only.ok, found.text("command")) == (ok, "sh check.sh")


def test_an_edit_has_its_file_and_lines() -> None:
    found = read(tool("edit", {"filePath": "a.py", "oldString": "x", "newString": "y\nz"}, {"output": "done"}))
    assert (found.only.lines_added, found.only.lines_removed, found.text("path")) == (2, 1, "a.py")


def test_the_session_of_a_helper_is_an_agents() -> None:
    result = {"metadata": {"sessionId": "ses_2"}, "output": "looked"}
    found = read(tool("task", {"prompt": "Look around."}, result))
    child = next(each for each in found.commands if each.agent_session_id == "ses_2")
    (start,) = child.records  # type: ignore[union-attr]
    assert (start.kind, start.source) == ("session_start", OF_SUB_AGENT)


def test_a_request_that_failed_is_an_error() -> None:
    found = read(request(ASKED, status={"code": 2, "message": "429 Too Many Requests, retry after 20 seconds"}))
    assert (found.only.kind, found.only.retry_after_ms) == ("error", 20_000)


def test_other_spans_are_kept_only() -> None:
    assert read(span("Session.get", {"session.id": "ses_1"})).kinds == ["other"]
