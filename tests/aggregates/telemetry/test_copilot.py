"""Copilot's spans, by the semantic conventions, and what is in no vocabulary."""

import json
from typing import Any

import pytest

from tests.support.otlp import NOW_US, TRACE, Attributes, Taken, log, logs, span, taken, traces

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


def tool(name: str, arguments: object, **members: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }
    return span(f"execute_tool {name}", attributes, **({"spanId": TOOL, "parentSpanId": AGENT} | members))


def messages(*pairs: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in pairs])


def read(*spans: object) -> Taken:
    return taken(traces(*spans))


def test_a_turn_is_its_root_and_only_leaves_are_requests() -> None:
    """A chat around another chat repeats its sums as well; children without a session have that of their root."""
    inner = chat(spanId=INNER, parentSpanId=CHAT)
    found = read(tool("get_file", {"path": "src/App.cs"}), inner, chat(), agent())
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
    found = read(agent({"gen_ai.input.messages": asked, "gen_ai.output.messages": messages(("assistant", "Done."))}))
    prompt, response = found.records
    assert (prompt.kind, response.kind, response.record_id) == ("prompt", "response", prompt.record_id + "#response")
    assert (prompt.at_us, response.at_us) == (NOW_US, NOW_US + 1_000_000)
    (command,) = found.commands
    assert getattr(command, "words", None) == "Fix itDone."


def test_a_chat_without_an_agent_is_request_and_prompt_in_one() -> None:
    attributes = {"gen_ai.conversation.id": "v1", "gen_ai.input.messages": messages(("user", "Explain"))}
    found = read(chat(attributes, parentSpanId=""))
    assert found.kinds == ["request", "prompt"]
    assert found.records[1].record_id == found.records[0].record_id + "#prompt"
    assert {record.origin for record in found.records} == {0}


@pytest.mark.parametrize(
    ("told", "ok"),
    [
        ({"process.exit.code": 1}, False),
        ({"process.exit.code": 0}, True),
        ({"gen_ai.tool.call.result": "1 failed\n<shellId: 0 completed with exit code 4>"}, False),
        ({"gen_ai.tool.call.result": "fine\n<shellId: 0 completed with exit code 0>"}, True),
        ({"error.type": "timeout"}, False),
        ({}, True),
    ],
)
def test_a_command_that_ended_badly_has_failed(told: dict[str, Any], ok: bool) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", **told}
    found = read(span("execute_tool bash", attributes, spanId=TOOL, parentSpanId=AGENT))
    assert found.only.ok is ok


@pytest.mark.parametrize("content", ["", "no json", "{}", "[5]", '[{"role":"user"}]', '[{"role":"user","parts":[5]}]'])
def test_messages_that_say_nothing_leave_a_prompt_without_text(content: str) -> None:
    found = read(agent({"gen_ai.input.messages": content}))
    assert (found.kinds, found.text()) == (["prompt"], None)


@pytest.mark.parametrize(
    ("name", "arguments", "path", "command", "lines"),
    [
        ("run_in_terminal", {"command": "dotnet test"}, None, "dotnet test", (None, None)),
        ("run_command_in_terminal", {"command": "dotnet test"}, None, "dotnet test", (None, None)),
        ("create_file", {"filePath": "a.cs", "content": "1\n2"}, "a.cs", None, (2, None)),
        ("replace_string_in_file", {"filePath": "a", "oldString": "x", "newString": "y\nz"}, "a", None, (2, 1)),
        ("apply_patch", {"patch": "*** Update File: b.cs\n+x"}, "b.cs", None, (1, 0)),
        ("edit", {"path": "a.cs", "old_str": "x", "new_str": "y\nz"}, "a.cs", None, (2, 1)),
        ("create", {"path": "a.cs", "file_text": "1\n2"}, "a.cs", None, (2, None)),
        ("bash", {"command": "dotnet test"}, None, "dotnet test", (None, None)),
        ("get_file", {"path": "src/App.cs"}, "src/App.cs", None, (None, None)),
        ("run_build", {"configuration": "Debug"}, None, None, (None, None)),
    ],
)
def test_tool_calls(
    name: str, arguments: object, path: str | None, command: str | None, lines: tuple[int | None, int | None]
) -> None:
    found = read(tool(name, arguments))
    record = found.only
    assert (record.kind, record.tool, record.ok, record.call_id) == ("tool", name, True, "call_1")
    assert (found.text("path"), found.text("command")) == (path, command)
    assert (record.lines_added, record.lines_removed) == lines


def test_a_status_of_two_is_a_failure() -> None:
    failed = {"status": {"code": 2, "message": "429 Too Many Requests, retry after 5s"}}
    found = read(chat(**failed), tool("create_file", {"content": "x"}, **failed))
    error, call = found.records
    assert (error.kind, error.status_code, error.retry_after_ms) == ("error", 429, 5_000)
    assert (call.kind, call.ok, call.lines_added) == ("tool", False, None)


def test_two_conversations_in_one_trace_stay_apart() -> None:
    """A span without a session is its parent's; where that is unknown, nobody's."""
    found = read(
        agent(),
        agent({"gen_ai.conversation.id": "v2"}, spanId=INNER),
        tool("run_build", {}, parentSpanId=INNER),
        tool("run_build", {}, spanId="e" * 16, parentSpanId="f" * 16),
    )
    sessions = {each.agent_session_id: len(getattr(each, "records", ())) for each in found.commands}
    assert sessions == {"v1": 1, "v2": 2, None: 1}


def test_spans_that_are_each_others_parents_have_no_session() -> None:
    found = read(chat(spanId=CHAT, parentSpanId=INNER), chat(spanId=INNER, parentSpanId=CHAT))
    assert [each.agent_session_id for each in found.commands] == [None]


def test_a_sub_agent_is_no_prompt() -> None:
    assert read(agent(parentSpanId=CHAT)).kinds == ["subagent"]


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
    session = {"gen_ai.conversation.id": "c1"}
    asked = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": messages(("user", "Fix it")), **session}
    used = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}
    spans = (
        span("execute_tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash"}, parentSpanId=AGENT),
        span("chat", used, spanId=CHAT, parentSpanId=AGENT),
        span("invoke_agent", asked, spanId=AGENT),
        span("embed", {"gen_ai.operation.name": "embed_everything"}, spanId=TOOL, parentSpanId=AGENT),
    )
    found = taken(traces(*spans, service="my-own-agent"))
    assert found.kinds == ["tool", "request", "prompt", "other"]
    assert {(each.agent_session_id, each.source) for each in found.commands} == {("c1", "unknown")}
    assert (found.records[1].input_tokens, found.records[1].output_tokens) == (5, 7)


def test_an_unknown_service_is_kept() -> None:
    found = taken(logs(log({}, eventName="browser.page_view"), service="my-service"))
    assert (found.only.kind, found.only.name, found.commands[0].source) == ("other", "browser.page_view", "unknown")


@pytest.mark.parametrize(
    ("event", "attributes", "kind", "source"),
    [
        ("session_start", {"source": "clear"}, "session_start", "clear"),
        ("session_end", {"reason": "logout"}, "session_end", "logout"),
        ("tool_result", {"tool_name": "Bash", "success": "true", "tool_input": '{"command":"ls"}'}, "tool", None),
        ("something_new", {}, "other", None),
    ],
)
def test_the_events_of_svcs_own_hook(event: str, attributes: dict[str, object], kind: str, source: str | None) -> None:
    record = log({"session.id": "s1", "event.name": f"svc.{event}", **attributes})
    found = taken(logs(record, service="anything"))
    assert (found.only.kind, found.only.source, found.commands[0].source) == (kind, source, "svc")
