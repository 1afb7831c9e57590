"""Claude Code's log events become the records that its transcript would give."""

import json
from pathlib import Path
from typing import Any

import pytest

from aggregates.capture.events import CaptureRecords
from aggregates.records.record import Record
from aggregates.telemetry.batches import Sender, steps
from aggregates.telemetry.draft import wait_told
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


@pytest.mark.parametrize("name", ["user_prompt", "claude_code.user_prompt"])
@pytest.mark.parametrize("service", ["claude-code", "claude-code-desktop", "something else"])
def test_an_events_name_comes_with_and_without_its_prefix(name: str, service: str) -> None:
    record = log({"session.id": "s1", "event.name": name}, body={"stringValue": "claude_code.user_prompt"})
    found = taken(logs(record, service=service))
    assert (found.only.kind, found.commands[0].source) == ("prompt", "claude-code")


def test_the_body_alone_names_the_event() -> None:
    assert taken(logs(log({}, body={"stringValue": "claude_code.api_request"}))).only.kind == "request"


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
    made = [step.command for exchange in exchanges for step in steps(exchange, sender)]
    commands = [command for command in made if isinstance(command, CaptureRecords)]
    (imported, words) = next((r, c.words) for c in commands for r in c.records if r.kind == "tool")
    record = told.only
    same = ("kind", "tool", "call_id", "ok", "input_digest", "lines_added", "lines_removed")
    assert {name: getattr(record, name) for name in same} == {name: getattr(imported, name) for name in same}
    for field in ("path", "command"):
        span = getattr(imported, field)
        assert told.text(field) == (None if span is None else words[span.start : span.end])


def test_a_shortened_input_gives_no_lines_and_no_digest() -> None:
    arguments = {"file_path": "/a", "old_string": "a\nb", "new_string": "x" * 128 + "…[900 chars]"}
    attributes = {"tool_name": "Edit", "success": "true", "tool_input": json.dumps(arguments)}
    found = taken(logs(claude("tool_result", attributes)))
    assert (found.only.lines_added, found.only.input_digest, found.text("path")) == (None, None, "/a")


EDIT = {"tool_name": "Edit", "tool_input": '{"file_path":"/a","old_string":"a","new_string":"b"}'}
REFUSED = {"tool_name": "Edit", "decision": "reject"}


def bash(**told: object) -> dict[str, object]:
    texts = {key: each if isinstance(each, str) else json.dumps(each) for key, each in told.items()}
    return {"tool_name": "Bash", "success": "true", **texts}


def failed(message: str, **told: object) -> tuple[str, dict[str, object]]:
    return "api_error", {"error": message, "model": "<synthetic>", **told}


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        # Requests of sub-agents, and the agent's own chores, are beside the conversation.
        *(
            (("api_request", {"query_source": source}), ["request None+None > None"])
            for source in ("repl_main_thread", "repl_main_thread:outputStyle:Explanatory", "sdk")
        ),
        *(
            (("api_request", {"query_source": source}), ["request None+None > None beside"])
            for source in ("compact", "generate_session_title", "Explore")
        ),
        # A prompt that was blacked out is one all the same.
        (("user_prompt", {"prompt": "Fix it"}), ["prompt 'Fix it'"]),
        (("user_prompt", {"prompt_text": "Fix it"}), ["prompt 'Fix it'"]),
        (("user_prompt", {"prompt": "<REDACTED>"}), ["prompt"]),
        (("user_prompt", {"prompt_length": "6", "prompt": ""}), ["prompt"]),
        # The status is the attribute, or what the message begins with.
        (failed("Overloaded", status_code=529), ["error 529 'Overloaded'"]),
        (failed("x", status_code="429"), ["error 429 'x'"]),
        (failed("API Error: 500 {}"), ["error 500 'API Error: 500 {}'"]),
        (failed('529 {"type":"error"}'), ['error 529 \'529 {"type":"error"}\'']),
        (failed("Connection error after 500 bytes."), ["error 'Connection error after 500 bytes.'"]),
        # A refusal ends a request unless another model was asked; exhausted retries are no second error.
        (("api_refusal", {"request_id": "r"}), ["error"]),
        (("api_refusal", {"server_fallback_hop": True}), ["other"]),
        (("api_retries_exhausted", {"status_code": 529}), ["other"]),
        # What settings and hooks forbid is none of the user's.
        (("tool_decision", {"tool_name": "Edit", "decision": "accept", "source": "config"}), ["other Edit"]),
        (("tool_decision", REFUSED | {"source": "user_reject"}), ["rejection Edit"]),
        (("tool_decision", REFUSED | {"source": "user_abort"}), ["rejection Edit", "interruption"]),
        (("tool_decision", REFUSED | {"source": "config"}), ["other Edit"]),
        (("tool_decision", REFUSED | {"source": "hook"}), ["other Edit"]),
        (("tool_decision", REFUSED), ["rejection Edit"]),
        # A shell's command is whole, or unknown: its first word alone says too little. A commit is known by its id.
        (
            ("tool_result", bash(tool_parameters={"bash_command": "git", "full_command": "git push"})),
            ["tool Bash ok git push"],
        ),
        (
            ("tool_result", bash(tool_parameters={"full_command": "a"}, tool_input={"command": "b"})),
            ["tool Bash ok a"],
        ),
        (("tool_result", bash(tool_parameters={"git_commit_id": "abc123"})), ["tool Bash ok git commit"]),
        (("tool_result", bash(tool_parameters={"bash_command": "git"})), ["tool Bash ok"]),
        (("tool_result", bash(tool_parameters="no object", tool_input={"command": "b"})), ["tool Bash ok b"]),
        # A failed edit changed no lines.
        (("tool_result", EDIT | {"success": "true"}), ["tool Edit ok /a +1 -1"]),
        (("tool_result", EDIT | {"success": "false"}), ["tool Edit failed /a"]),
        (("compaction", {"trigger": "auto", "success": True}), ["compaction ok auto"]),
        (("compaction", {"trigger": "auto", "success": "false"}), ["other failed auto"]),
        (("subagent_completed", {"agent_type": "Explore", "duration_ms": 5}), ["subagent Explore"]),
        (("hook_registered", {"hook_event": "Stop"}), ["other"]),
        # A sub-agent's answer is none of the turn's.
        (("assistant_response", {"response": "Done."}), ["response 'Done.'"]),
        (("assistant_response", {"response": "<REDACTED>"}), ["response"]),
        (("assistant_response", {"response": "Done.", "query_source": "Explore"}), ["other"]),
    ],
)
def test_what_an_event_tells(told: tuple[str, Attributes], shown: list[str]) -> None:
    assert taken(logs(claude(*told))).shown == shown


def test_ids_times_and_names_are_told() -> None:
    call = only("tool_result", {"tool_name": "Edit", "tool_use_id": "t1", "success": "false", "duration_ms": "12"})
    assert (call.call_id, call.duration_ms, call.input_digest) == ("t1", 12, None)
    assert only("tool_decision", REFUSED | {"tool_use_id": "t1"}).call_id == "t1"
    assert only("api_error", {"model": "<synthetic>", "request_id": "r"}).model is None
    assert only("assistant_response", {"response": "x", "request_id": "r1"}).request_id == "r1"


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
    assert wait_told({}, message) == wait_ms
