"""Spans: Copilot's and those of other agents by the conventions for generative AI, and those of the AI SDK."""

import json
from pathlib import Path
from typing import Any

from aggregates.event import Words
from aggregates.records.record import OF_SUB_AGENT
from tests.support.otlp import NOW_US, TRACE, Attributes, Taken, log, logs, span, taken, traces
from tests.support.tables import each_of, lines_of

AGENT, CHAT, INNER, TOOL = "a" * 16, "b" * 16, "c" * 16, "d" * 16
USAGE = {
    "gen_ai.request.model": "gpt-5.5",
    "gen_ai.response.model": "gpt-5.5-2026-03-05",
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": "50",
    "gen_ai.usage.cache_read.input_tokens": 900,
    "github.copilot.cost": 0.04,
}


def agent(attributes: Attributes | None = None, **members: Any) -> dict[str, Any]:
    """The root of a turn; its sums repeat those of its children."""
    usual = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "v1", **USAGE}
    return span("invoke_agent GitHub Copilot", {**usual, **(attributes or {})}, **({"spanId": AGENT} | members))


def chat(attributes: Attributes | None = None, **members: Any) -> dict[str, Any]:
    usual = {"gen_ai.operation.name": "chat", **USAGE}
    return span("chat gpt-5.5", {**usual, **(attributes or {})}, **({"spanId": CHAT, "parentSpanId": AGENT} | members))


def tool(name: str, arguments: object, attributes: Attributes | None = None, **members: Any) -> dict[str, Any]:
    usual = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }
    ids = {"spanId": TOOL, "parentSpanId": AGENT}
    return span(f"execute_tool {name}", {**usual, **(attributes or {})}, **(ids | members))


def messages(*pairs: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in pairs])


def of_copilot(*spans: object) -> Taken:
    return taken(traces(*spans))


def test_a_turn_is_its_root_and_only_leaves_are_requests() -> None:
    """A chat around another chat repeats its sums as well; children without a session have that of their root."""
    inner = chat(spanId=INNER, parentSpanId=CHAT)
    found = of_copilot(tool("get_file", {"path": "src/App.cs"}), inner, chat(), agent())
    assert found.kinds == ["tool", "request", "other", "prompt"]
    assert [each.agent_session_id for each in found.commands] == ["v1"]
    assert {record.prompt_id for record in found.records} == {TRACE}
    request = found.records[1]
    counts = (request.input_tokens, request.output_tokens, request.cache_read_tokens)
    assert (request.model, counts, request.cost_usd_nano) == ("gpt-5.5-2026-03-05", (100, 50, 900), None)
    assert (request.at_us, request.duration_ms) == (NOW_US, 1_000)


def test_what_was_asked_and_answered_stands_on_the_root() -> None:
    """The last message of the user, and at its end the agent's."""
    asked = messages(("user", "old"), ("assistant", "yes"), ("user", "Fix it"), ("tool", "x"))
    told = {"gen_ai.input.messages": asked, "gen_ai.output.messages": messages(("assistant", "Done."))}
    found = of_copilot(agent(told))
    prompt, response = found.records
    assert (prompt.kind, response.kind, response.record_id) == ("prompt", "response", prompt.record_id + "#response")
    assert (prompt.at_us, response.at_us) == (NOW_US, NOW_US + 1_000_000)
    (command,) = found.commands
    assert getattr(command, "words", None) == Words("Fix itDone.")


def test_a_chat_without_an_agent_is_request_and_prompt_in_one() -> None:
    attributes = {"gen_ai.conversation.id": "v1", "gen_ai.input.messages": messages(("user", "Explain"))}
    found = of_copilot(chat(attributes, parentSpanId=""))
    assert found.kinds == ["request", "prompt"]
    assert found.records[1].record_id == found.records[0].record_id + "#prompt"
    assert {record.origin for record in found.records} == {0}


UNTOLD = dict.fromkeys([name for name in USAGE if ".usage." in name], "?")
FAILED = {"status": {"code": 2, "message": "429, retry after 5s"}}
EDITED = {"filePath": "a", "oldString": "x", "newString": "y\nz"}


def test_two_conversations_in_one_trace_stay_apart() -> None:
    """A span without a session is its parent's; where that is unknown, nobody's."""
    found = of_copilot(
        agent(),
        agent({"gen_ai.conversation.id": "v2"}, spanId=INNER),
        tool("run_build", {}, parentSpanId=INNER),
        tool("run_build", {}, spanId="e" * 16, parentSpanId="f" * 16),
    )
    sessions = {each.agent_session_id: len(getattr(each, "records", ())) for each in found.commands}
    assert sessions == {"v1": 1, "v2": 2, None: 1}
    circle = of_copilot(chat(spanId=CHAT, parentSpanId=INNER), chat(spanId=INNER, parentSpanId=CHAT))
    assert [each.agent_session_id for each in circle.commands] == [None]


def test_copilot_under_another_name_is_known_by_its_attributes() -> None:
    found = taken(traces(agent(), service="my-service"))
    assert (found.kinds, found.commands[0].source) == (["prompt"], "copilot")


def test_copilots_logs_repeat_its_spans() -> None:
    """They are kept; the resource of VS Code names a window, and no session."""
    record = log({"event.name": "copilot_chat.agent.turn", "turn.index": 1})
    found = taken(logs(record, service="copilot-chat", resource={"session.id": "window"}))
    assert (found.kinds, found.commands[0].agent_session_id) == (["other"], None)


def test_any_agent_that_follows_the_conventions_is_read() -> None:
    """Session, prompt, tool and tokens, whatever its service is called; an operation of its own is kept only."""
    asked = {"gen_ai.conversation.id": "c1", "gen_ai.input.messages": messages(("user", "Fix it"))}
    used = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}
    spans = (
        span("execute_tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}, parentSpanId=AGENT),
        span("chat", used, spanId=CHAT, parentSpanId=AGENT),
        span("invoke_agent", {"gen_ai.operation.name": "invoke_agent", **asked}, spanId=AGENT),
        span("embed", {"gen_ai.operation.name": "embed_everything"}, spanId=TOOL, parentSpanId=AGENT),
    )
    found = taken(traces(*spans, service="my-own-agent"))
    assert found.kinds == ["tool", "request", "prompt", "other"]
    assert {(each.agent_session_id, each.source) for each in found.commands} == {("c1", "unknown")}
    assert (found.records[1].input_tokens, found.records[1].output_tokens) == (5, 7)


def test_an_unknown_service_is_kept() -> None:
    found = taken(logs(log({}, eventName="browser.page_view"), service="my-service"))
    assert (found.only.kind, found.only.name, found.commands[0].source) == ("other", "browser.page_view", "unknown")


# --- The AI SDK, as opencode and other programs send it ---------------------------------------------------

SDK_USAGE = {
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


def sdk(operation: str, attributes: Attributes, **members: Any) -> dict[str, Any]:
    return span(operation, {"ai.operationId": operation, "session.id": "ses_1", **attributes}, **members)


def call(*said: object, **attributes: Any) -> dict[str, Any]:
    told = {f"ai.response.{name}": value for name, value in attributes.items()}
    return sdk("ai.streamText", {"ai.prompt": json.dumps({"messages": said}), **SDK_USAGE, **told})


def request(*said: object, **members: Any) -> dict[str, Any]:
    return sdk("ai.streamText.doStream", {"ai.prompt.messages": json.dumps(said), **SDK_USAGE}, **members)


def asked(told: object) -> dict[str, Any]:
    return sdk("ai.generateText", {"ai.prompt": json.dumps(told)})


def sdk_tool(name: str, arguments: object, result: object, **members: Any) -> dict[str, Any]:
    told = {"name": name, "id": "call_1", "args": json.dumps(arguments), "result": json.dumps(result)}
    return sdk("ai.toolCall", {f"ai.toolCall.{key}": value for key, value in told.items()}, **members)


def check(code: int) -> dict[str, Any]:
    return sdk_tool("bash", {"command": "sh check.sh"}, {"metadata": {"exit": code}, "output": "1 failed\n"})


@each_of(["opencode", "our-own-helper"])
def test_a_call_is_prompt_and_answer_and_its_request_has_the_tokens(service: str) -> None:
    spans = request(SYSTEM, ASKED), call(SYSTEM, ASKED, text="Done.", finishReason="stop")
    found = taken(traces(*spans, service=service))
    assert found.shown == ["request 100+900 > 50", "prompt 'Run the check'", "response 'Done.'"]
    used, prompt, response = found.records
    assert (used.model, used.request_id) == ("gpt-5.1-2026", "chat_1")
    assert (prompt.at_us, response.at_us) == (NOW_US, NOW_US + 1_000_000)
    assert [each.agent_session_id for each in found.commands] == ["ses_1"]


def test_the_session_of_a_helper_is_an_agents() -> None:
    result = {"metadata": {"sessionId": "ses_2"}, "output": "looked"}
    found = taken(traces(sdk_tool("task", {"prompt": "Look around."}, result), service="opencode"))
    child = next(each for each in found.commands if each.agent_session_id == "ses_2")
    (start,) = child.records  # type: ignore[union-attr]
    assert (start.kind, start.source) == ("session_start", OF_SUB_AGENT)


@each_of(lines_of(Path(__file__).with_name("spans.txt")))
def test_what_a_span_tells(agent: str, line: str) -> None:
    told, _, shown = line.rpartition(" => ")
    found = taken(traces(eval(told, dict(globals())), service="vs-copilot" if agent == "copilot" else agent))
    assert (found.shown, found.commands[0].source) == ([shown], agent)
