"""The Gemini CLI's log events."""

import json
from typing import Any

import pytest

from tests.support.otlp import Attributes, Taken, log, logs, taken


def gemini(event: str, attributes: Attributes | None = None, **members: Any) -> dict[str, Any]:
    """A log record as Gemini sends it: attributes without a value among others."""
    usual: dict[str, object] = {"session.id": "g1", "event.name": f"gemini_cli.{event}", "extension_id": {}}
    return log({**usual, **(attributes or {})}, **members)


def read(*records: object) -> Taken:
    return taken(logs(*records, service="gemini-cli", resource={"session.id": "g1"}))


RESPONSE = {
    "model": "gemini-2.5-pro",
    "input_token_count": 1520,
    "output_token_count": 48,
    "cached_content_token_count": 1024,
    "thoughts_token_count": 16,
    "tool_token_count": 0,
    "status_code": 200,
    "duration_ms": 117,
    "prompt_id": "g1########3",
}


def test_a_request_counts_thoughts_as_output_and_cached_input_apart() -> None:
    """Its twin by the semantic conventions is not counted again."""
    twin = log({"event.name": "gen_ai.client.inference.operation.details", "gen_ai.usage.input_tokens": 1520})
    found = read(gemini("api_request"), gemini("api_response", RESPONSE), twin)
    assert found.kinds == ["other", "request", "other"]
    record = found.records[1]
    assert (record.input_tokens, record.output_tokens, record.cache_read_tokens) == (496, 64, 1024)
    assert (record.model, record.prompt_id, record.cache_write_tokens) == ("gemini-2.5-pro", "g1########3", None)
    assert [each.agent_session_id for each in found.commands] == ["g1"]


EDIT = {
    "function_name": "replace",
    "function_args": json.dumps({"file_path": "/a.py", "old_string": "a", "new_string": "a\nb"}),
}
COUNTED = {"model_added_lines": 7, "user_added_lines": 1, "model_removed_lines": 2, "user_removed_lines": 0}
ABORTED = "exception AbortError: This operation was aborted sending request"


@pytest.mark.parametrize(
    ("event", "attributes", "shown"),
    [
        # A sub-agent's request, or a summary's, is beside the conversation.
        ("api_response", RESPONSE | {"role": "main"}, "request 496+1024 > 64 200"),
        ("api_response", RESPONSE | {"role": "subagent"}, "request 496+1024 > 64 200 beside"),
        ("api_error", {"status_code": 429, "error": "Retry in 3s"}, "error 429 wait 3000 'Retry in 3s'"),
        ("api_error", {"status_code": "429", "error": "x"}, "error 429 'x'"),
        ("user_prompt", {"prompt": "Read it"}, "prompt 'Read it'"),
        ("user_prompt", {"prompt_length": 7}, "prompt"),
        # Lines are the tool's own count, else what its input says.
        ("tool_call", EDIT | {"success": True, "decision": "auto_accept"}, "tool replace ok /a.py +1 -0"),
        ("tool_call", EDIT | {"success": True, "metadata": json.dumps(COUNTED)}, "tool replace ok /a.py +8 -2"),
        ("tool_call", EDIT | {"success": False, "error": "no file"}, "tool replace failed /a.py"),
        (
            "tool_call",
            EDIT | {"success": True, "metadata": '{"exitCode":4}'},
            "tool replace failed /a.py",
        ),
        ("tool_call", EDIT | {"success": True, "metadata": '{"exitCode":0}'}, "tool replace ok /a.py +1 -0"),
        ("tool_call", EDIT | {"success": False, "decision": "reject"}, "rejection replace"),
        # Who presses Esc interrupts; a helper's request is given up with it.
        ("api_error", {"error": "x", "error.type": "AbortError", "role": "main"}, "interruption"),
        ("api_error", {"error.message": "This operation was aborted"}, "interruption"),
        ("api_error", {"error": ABORTED, "error.type": "Error"}, "interruption"),
        ("api_error", {"error.message": "The user aborted a request.", "error_type": "AbortError"}, "interruption"),
        ("api_error", {"error.message": "The operation was aborted.", "role": "utility_next_speaker"}, "other"),
        ("api_error", {"error.message": "429 was aborted", "role": "main"}, "error 429 '429 was aborted'"),
        ("config", {"model": "gemini-2.5-pro"}, "session_start"),
        ("slash_command", {"command": "clear"}, "session_start clear"),
        ("slash_command", {"command": "help"}, "other"),
        ("chat_compression", {}, "compaction"),
        ("agent.finish", {"agent_name": "x"}, "subagent x"),
        ("file_operation", {"operation": "read"}, "other"),
    ],
)
def test_what_an_event_tells(event: str, attributes: dict[str, Any], shown: str) -> None:
    assert read(gemini(event, attributes)).shown == [shown]


def test_a_failed_request_has_its_model_and_its_time() -> None:
    record = read(gemini("api_error", {"model_name": "gemini-2.5-pro", "duration": 8, "prompt_id": "g1"})).only
    assert (record.model, record.duration_ms, record.prompt_id) == ("gemini-2.5-pro", 8, "g1")
