"""Claude Code's log events become the records that its transcript would give."""

import json
from pathlib import Path
from typing import Any

import pytest

from aggregates.records.record import Record
from aggregates.telemetry.draft import wait_told
from aggregates.telemetry.steps import Sender, batches
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory
from tests.support.facts import ANA, DIGESTER
from tests.support.otlp import Attributes, claude, log, logs, taken
from tests.support.transcripts import call, raw, result, said, user

REQUEST = {
    "model": "claude-opus-4-6",
    "input_tokens": 3,
    "output_tokens": 266,
    "cache_read_tokens": 10,
    "cache_creation_tokens": 44_206,
    "cost_usd": 0.2829525,
    "cost_usd_micros": 282_952,
    "duration_ms": 4_920,
    "request_id": "req_1",
    "query_source": "repl_main_thread",
}


def only(event: str, attributes: Attributes | None = None) -> Record:
    return taken(logs(claude(event, attributes))).only


@pytest.mark.parametrize("as_text", [False, True])
def test_a_request(as_text: bool) -> None:
    attributes: dict[str, object] = {key: str(each) if as_text else each for key, each in REQUEST.items()}
    record = only("api_request", attributes)
    counts = (record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens)
    assert (record.kind, record.model, counts) == ("request", "claude-opus-4-6", (3, 266, 10, 44_206))
    assert (record.cost_usd_nano, record.duration_ms, record.request_id) == (282_952_500, 4_920, "req_1")
    assert (record.prompt_id, record.sidechain, record.name) == ("p1", False, "api_request")


@pytest.mark.parametrize(
    ("attributes", "nano"),
    [
        ({"cost_usd": 0.1}, 100_000_000),
        ({"cost_usd": "0.000000001"}, 1),
        ({"cost_usd": 1}, 1_000_000_000),
        ({"cost_usd_micros": 7}, 7_000),
        ({"cost_usd_micros": "7"}, 7_000),
        ({"cost_usd": -1}, None),
        ({"cost_usd": "NaN"}, None),
        ({"cost_usd": {"doubleValue": "Infinity"}}, None),
        ({"cost_usd": "much"}, None),
        ({}, None),
    ],
)
def test_a_cost_is_exact_or_unknown(attributes: dict[str, object], nano: int | None) -> None:
    assert only("api_request", attributes).cost_usd_nano == nano


@pytest.mark.parametrize("count", [-1, 1e300, "x", True, {}, "", 2**60])
def test_a_count_that_is_none_is_unknown(count: object) -> None:
    assert only("api_request", {"input_tokens": count, "output_tokens": 5}).input_tokens is None


@pytest.mark.parametrize(
    ("source", "sidechain"),
    [
        ({}, False),
        ({"query_source": "repl_main_thread"}, False),
        ({"query_source": "repl_main_thread:outputStyle:Explanatory"}, False),
        ({"query_source": "sdk"}, False),
        ({"query_source": "compact"}, True),
        ({"query_source": "generate_session_title"}, True),
        ({"query_source": "Explore"}, True),
    ],
)
def test_requests_beside_the_main_conversation(source: dict[str, object], sidechain: bool) -> None:
    assert only("api_request", source).sidechain is sidechain


@pytest.mark.parametrize("name", ["user_prompt", "claude_code.user_prompt"])
@pytest.mark.parametrize("service", ["claude-code", "claude-code-desktop", "something else"])
def test_an_events_name_comes_with_and_without_its_prefix(name: str, service: str) -> None:
    record = log({"session.id": "s1", "event.name": name}, body={"stringValue": "claude_code.user_prompt"})
    found = taken(logs(record, service=service))
    assert (found.only.kind, found.commands[0].source) == ("prompt", "claude-code")


def test_the_body_alone_names_the_event() -> None:
    assert taken(logs(log({}, body={"stringValue": "claude_code.api_request"}))).only.kind == "request"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"prompt": "Fix it"}, "Fix it"),
        ({"prompt_text": "Fix it"}, "Fix it"),
        ({"prompt": "<REDACTED>"}, None),
        ({"prompt_length": "6"}, None),
        ({"prompt": ""}, None),
    ],
)
def test_a_prompt_that_was_blacked_out_has_no_text(attributes: dict[str, object], text: str | None) -> None:
    found = taken(logs(claude("user_prompt", attributes)))
    assert (found.kinds, found.text()) == (["prompt"], text)


@pytest.mark.parametrize(
    ("command", "kinds", "source"),
    [
        ("clear", ["prompt", "session_start"], "clear"),
        ("exit", ["session_end"], "prompt_input_exit"),
        ("/quit", ["session_end"], "prompt_input_exit"),
        ("model", ["prompt"], None),
    ],
)
def test_commands_that_clear_or_leave_say_so(command: str, kinds: list[str], source: str | None) -> None:
    """Even where the prompt's text is not sent. Who leaves has asked for nothing."""
    found = taken(logs(claude("user_prompt", {"prompt": "<REDACTED>", "command_name": command})))
    assert (found.kinds, found.records[-1].source) == (kinds, source)
    assert len({record.record_id for record in found.records}) == len(kinds)
    assert {record.origin for record in found.records} == {0}


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"status_code": 529, "error": "Overloaded"}, 529),
        ({"status_code": "429"}, 429),
        ({"error": 'API Error: 500 {"type":"error"}'}, 500),
        ({"error": '529 {"type":"error","error":{"type":"overloaded_error"}}'}, 529),
        ({"error": '[{"type": "text", "text": "API Error: 500 {}"}]'}, 500),
        ({"error": "Connection error after 500 bytes."}, None),
    ],
)
def test_a_failed_request(attributes: dict[str, object], status: int | None) -> None:
    """The status is the attribute, or what the message begins with."""
    record = only("api_error", {**attributes, "model": "<synthetic>", "attempt": 11})
    assert (record.kind, record.status_code, record.model) == ("error", status, None)


@pytest.mark.parametrize(
    ("message", "wait_ms"),
    [
        ("Rate limit reached. Please try again in 11.054s.", 11_054),
        ("Please retry after 30 seconds", 30_000),
        ("Try again in 250ms", 250),
        ("Please wait for 2 minutes", 120_000),
        ("Rate limit reached. Please try again in 6m0s.", 360_000),
        ("try again in 1 hour and 5 minutes", 3_900_000),
        ('{"error": {"details": [{"retryDelay": "34.07s"}]}}', 34_070),
        ("429 Too Many Requests, Retry-After: 20", 20_000),
        ("retry after 3 attempts", None),
        ("Please try again later", None),
        ("try again in 99999999 minutes", None),
    ],
)
def test_how_long_the_provider_asks_to_wait(message: str, wait_ms: int | None) -> None:
    assert only("api_error", {"error": message}).retry_after_ms == wait_ms


@pytest.mark.parametrize(
    ("attributes", "wait_ms"),
    [
        ({"retry_after": 20}, 20_000),
        ({"retry_after": "20"}, 20_000),
        ({"retry_after_ms": 250, "retry_after": 20}, 250),
        ({"http.response.header.retry-after": ["7"]}, 7_000),
        ({"http.response.header.retry-after": ["Wed, 21 Oct 2026 07:28:00 GMT"]}, None),
        ({"retry_after": 99_999_999}, None),
        ({"retry_after": 20, "error": "try again in 5s"}, 20_000),
    ],
)
def test_how_long_an_attribute_says_to_wait(attributes: dict[str, Any], wait_ms: int | None) -> None:
    assert wait_told(attributes, str(attributes.get("error", "429"))) == wait_ms


def test_a_refusal_ends_a_request_unless_another_model_was_asked() -> None:
    """The exhausted retries beside the last error are no second one."""
    assert only("api_refusal", {"request_id": "r"}).kind == "error"
    assert only("api_refusal", {"server_fallback_hop": True}).kind == "other"
    assert only("api_retries_exhausted", {"status_code": 529}).kind == "other"


@pytest.mark.parametrize(
    ("decision", "source", "kinds"),
    [
        ("accept", "config", ["other"]),
        ("reject", "user_reject", ["rejection"]),
        ("reject", "user_abort", ["rejection", "interruption"]),
        ("reject", "config", ["other"]),
        ("reject", "hook", ["other"]),
        ("reject", None, ["rejection"]),
    ],
)
def test_only_a_person_rejects(decision: str, source: str | None, kinds: list[str]) -> None:
    """What settings and hooks forbid is none of the user's."""
    attributes = {"decision": decision, "tool_name": "Edit", "tool_use_id": "t1"}
    found = taken(logs(claude("tool_decision", attributes if source is None else {**attributes, "source": source})))
    assert (found.kinds, found.records[0].tool, found.records[0].call_id) == (kinds, "Edit", "t1")


def test_a_tool_call_without_details() -> None:
    attributes = {"tool_name": "Edit", "tool_use_id": "t1", "success": "false", "duration_ms": "12"}
    record = only("tool_result", attributes)
    assert (record.kind, record.tool, record.ok, record.duration_ms) == ("tool", "Edit", False, 12)
    assert (record.path, record.command, record.input_digest, record.lines_added) == (None, None, None, None)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "pytest -q && git commit -m x", "description": "Test"}),
        ("Bash", {"command": "sleep 9", "run_in_background": True}),
        ("Edit", {"file_path": "/src/a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nB2\nc"}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x", "new_string": ""}, {"new_string": "y\nz"}]}),
        ("Write", {"file_path": "/src/b.py", "content": "1\n2\n3\n"}),
        ("NotebookEdit", {"notebook_path": "/n.ipynb", "new_source": "a\nb"}),
        ("Read", {"file_path": "/src/a.py", "limit": 10}),
        ("Grep", {"pattern": "x"}),
        ("mcp__linear__create_issue", {"title": "t"}),
    ],
)
def test_a_tool_call_means_what_it_means_in_the_transcript(tool: str, arguments: dict[str, Any]) -> None:
    """The same path, command, digest of the input, lines and outcome."""
    attributes = {"tool_name": tool, "tool_use_id": "t1", "success": "true", "tool_input": json.dumps(arguments)}
    told = taken(logs(claude("tool_result", attributes)))
    exchanges = TranscriptReader(Path("s1.jsonl"), "s.jsonl", Memory()).read(
        raw(user("u1", 0, "go"), said("a1", 1, call("t1", tool, **arguments)), result("r1", 2, "t1"))
    )
    sender = Sender(ANA, "claude-code", DIGESTER)
    commands = [command for exchange in exchanges for command in batches(exchange, sender)]
    (imported, words) = next((r, c.words) for c in commands for r in c.records if r.kind == "tool")
    record = told.only
    same = ("kind", "tool", "call_id", "ok", "input_digest", "lines_added", "lines_removed")
    assert {name: getattr(record, name) for name in same} == {name: getattr(imported, name) for name in same}
    for field in ("path", "command"):
        span = getattr(imported, field)
        assert told.text(field) == (None if span is None else words[span.start : span.end])


@pytest.mark.parametrize(
    ("details", "command"),
    [
        ({"tool_parameters": {"bash_command": "git", "full_command": "git push"}}, "git push"),
        ({"tool_parameters": {"full_command": "a"}, "tool_input": {"command": "b"}}, "a"),
        ({"tool_parameters": {"bash_command": "git", "git_commit_id": "abc123"}}, "git commit"),
        ({"tool_parameters": {"bash_command": "git"}}, None),
        ({"tool_parameters": "no object", "tool_input": {"command": "b"}}, "b"),
    ],
)
def test_a_shells_command(details: dict[str, Any], command: str | None) -> None:
    """Whole, or unknown: its first word alone says too little. A commit is known by its id."""
    texts = {key: each if isinstance(each, str) else json.dumps(each) for key, each in details.items()}
    found = taken(logs(claude("tool_result", {"tool_name": "Bash", "success": "true", **texts})))
    assert found.text("command") == command


def test_a_shortened_input_gives_no_lines_and_no_digest() -> None:
    arguments = {"file_path": "/a", "old_string": "a\nb", "new_string": "x" * 128 + "…[900 chars]"}
    attributes = {"tool_name": "Edit", "success": "true", "tool_input": json.dumps(arguments)}
    found = taken(logs(claude("tool_result", attributes)))
    assert (found.only.lines_added, found.only.input_digest, found.text("path")) == (None, None, "/a")


def test_a_failed_edit_changed_no_lines() -> None:
    arguments = {"file_path": "/a", "old_string": "a", "new_string": "b"}
    attributes = {"tool_name": "Edit", "success": "false", "tool_input": json.dumps(arguments)}
    assert only("tool_result", attributes).lines_added is None


@pytest.mark.parametrize(
    ("event", "attributes", "kind", "source"),
    [
        ("compaction", {"trigger": "auto", "success": True}, "compaction", "auto"),
        ("compaction", {"trigger": "auto", "success": "false"}, "other", "auto"),
        ("subagent_completed", {"agent_type": "Explore", "duration_ms": 5}, "subagent", "Explore"),
        ("permission_mode_changed", {"from_mode": "default"}, "other", None),
        ("hook_registered", {"hook_event": "Stop"}, "other", None),
    ],
)
def test_other_events(event: str, attributes: dict[str, object], kind: str, source: str | None) -> None:
    record = only(event, attributes)
    assert (record.kind, record.source) == (kind, source)


def test_the_agents_answer() -> None:
    found = taken(logs(claude("assistant_response", {"response": "Done.", "request_id": "r1"})))
    assert (found.only.kind, found.text()) == ("response", "Done.")
    assert only("assistant_response", {"response": "Done.", "query_source": "Explore"}).kind == "other"
    assert taken(logs(claude("assistant_response", {"response": "<REDACTED>"}))).text() is None
