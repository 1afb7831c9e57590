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


FAILED = {"status": {"code": 2, "message": "429, retry after 5s"}}


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        ([tool("run_in_terminal", {"command": "dotnet test"})], ["tool run_in_terminal ok dotnet test"]),
        ([tool("bash", {"command": "dotnet test"})], ["tool bash ok dotnet test"]),
        ([tool("create_file", {"filePath": "a.cs", "content": "1\n2"})], ["tool create_file ok a.cs +2 -None"]),
        (
            [tool("replace_string_in_file", {"filePath": "a", "oldString": "x", "newString": "y\nz"})],
            ["tool replace_string_in_file ok a +2 -1"],
        ),
        ([tool("apply_patch", {"patch": "*** Update File: b.cs\n+x"})], ["tool apply_patch ok b.cs +1 -0"]),
        ([tool("edit", {"path": "a.cs", "old_str": "x", "new_str": "y\nz"})], ["tool edit ok a.cs +2 -1"]),
        ([tool("create", {"path": "a.cs", "file_text": "1\n2"})], ["tool create ok a.cs +2 -None"]),
        ([tool("get_file", {"path": "src/App.cs"})], ["tool get_file ok src/App.cs"]),
        ([tool("run_build", {"configuration": "Debug"})], ["tool run_build ok"]),
        # A command that ended badly has failed.
        *(
            ([span("x", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", **told})], [shown])
            for told, shown in (
                ({"gen_ai.tool.call.result": "x\n<completed with exit code 4>"}, "tool bash failed"),
                ({"gen_ai.tool.call.result": "x\n<completed with exit code 0>"}, "tool bash ok"),
                ({"process.exit.code": 1}, "tool bash failed"),
                ({"process.exit.code": 0}, "tool bash ok"),
                ({"error.type": "timeout"}, "tool bash failed"),
            )
        ),
        # A status of two is a failure.
        ([chat(**FAILED)], ["error 429 wait 5000 '429, retry after 5s'"]),
        ([tool("create_file", {"content": "x"}, **FAILED)], ["tool create_file failed"]),
        # Messages that say nothing leave a prompt without text; a sub-agent's is none.
        *(
            ([agent({"gen_ai.input.messages": said})], ["prompt"])
            for said in ("", "no json", "{}", "[5]", '[{"role":"user"}]', '[{"role":"user","parts":[5]}]')
        ),
        ([agent(parentSpanId=CHAT)], ["subagent"]),
    ],
)
def test_what_a_span_tells(spans: list[dict[str, Any]], shown: list[str]) -> None:
    assert read(*spans).shown == shown


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


def test_spans_that_are_each_others_parents_have_no_session() -> None:
    found = read(chat(spanId=CHAT, parentSpanId=INNER), chat(spanId=INNER, parentSpanId=CHAT))
    assert [each.agent_session_id for each in found.commands] == [None]


@pytest.mark.parametrize(
    ("event", "attributes", "shown"),
    [
        ("session_start", {"source": "clear"}, "session_start clear"),
        ("session_end", {"reason": "logout"}, "session_end logout"),
        ("tool_result", {"tool_name": "Bash", "success": "true", "tool_input": '{"command":"ls"}'}, "tool Bash ok ls"),
        ("stop_failure", {"error": "rate_limit"}, "error 429 'rate_limit'"),
        ("something_new", {}, "other"),
    ],
)
def test_the_events_of_svcs_own_hook(event: str, attributes: dict[str, object], shown: str) -> None:
    found = taken(logs(log({"session.id": "s1", "event.name": f"svc.{event}", **attributes}), service="anything"))
    assert (found.shown, found.commands[0].source) == ([shown], "svc")
