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


@pytest.mark.parametrize(("role", "sidechain"), [("main", False), ("subagent", True), (None, False)])
def test_requests_of_other_roles_are_beside_the_conversation(role: str | None, sidechain: bool) -> None:
    attributes = RESPONSE if role is None else {**RESPONSE, "role": role}
    assert read(gemini("api_response", attributes)).only.sidechain is sidechain


@pytest.mark.parametrize("status", [429, "429"])
def test_a_failed_request(status: object) -> None:
    attributes = {"model_name": "gemini-2.5-pro", "status_code": status, "error": "Please retry in 3s", "duration": 8}
    record = read(gemini("api_error", attributes)).only
    assert (record.kind, record.status_code, record.model) == ("error", 429, "gemini-2.5-pro")
    assert (record.duration_ms, record.retry_after_ms) == (8, 3_000)


@pytest.mark.parametrize(("attributes", "text"), [({"prompt": "Read it"}, "Read it"), ({"prompt_length": 7}, None)])
def test_a_prompt(attributes: dict[str, object], text: str | None) -> None:
    found = read(gemini("user_prompt", {**attributes, "prompt_id": "g1"}))
    assert (found.only.kind, found.only.prompt_id, found.text()) == ("prompt", "g1", text)


@pytest.mark.parametrize(
    ("attributes", "kind", "ok", "lines"),
    [
        ({"success": True, "decision": "auto_accept"}, "tool", True, (1, 0)),
        (
            {
                "success": True,
                "decision": "accept",
                "metadata": {
                    "model_added_lines": 7,
                    "user_added_lines": 1,
                    "model_removed_lines": 2,
                    "user_removed_lines": 0,
                },
            },
            "tool",
            True,
            (8, 2),
        ),
        ({"success": False, "error": "no file"}, "tool", False, (None, None)),
        ({"success": True, "metadata": {"exitCode": 4, "isError": True}}, "tool", False, (None, None)),
        ({"success": True, "metadata": {"exitCode": 0, "isError": False}}, "tool", True, (1, 0)),
        ({"success": False, "decision": "reject"}, "rejection", None, (None, None)),
    ],
)
def test_tool_calls(
    attributes: dict[str, Any], kind: str, ok: bool | None, lines: tuple[int | None, int | None]
) -> None:
    """The tool's own count of lines, else what its input says."""
    given = {key: json.dumps(each) if key == "metadata" else each for key, each in attributes.items()}
    arguments = json.dumps({"file_path": "/a.py", "old_string": "a", "new_string": "a\nb"})
    found = read(gemini("tool_call", {"function_name": "replace", "function_args": arguments, **given}))
    record = found.only
    assert (record.kind, record.tool, record.ok) == (kind, "replace", ok)
    assert (record.lines_added, record.lines_removed) == lines
    assert found.text("path") == ("/a.py" if kind == "tool" else None)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"error": "The operation was aborted.", "error.type": "AbortError", "role": "main"}, "interruption"),
        ({"error.message": "This operation was aborted"}, "interruption"),
        (
            {"error": "exception AbortError: This operation was aborted sending request", "error.type": "Error"},
            "interruption",
        ),
        ({"error.message": "The user aborted a request.", "error_type": "AbortError"}, "interruption"),
        ({"error.message": "The operation was aborted.", "role": "utility_next_speaker"}, "other"),
        ({"error.message": "429 the quota was aborted", "role": "main"}, "error"),
    ],
)
def test_who_presses_esc_interrupts(attributes: dict[str, Any], kind: str) -> None:
    """That is no failure of the API; a helper's request is given up with it."""
    assert read(gemini("api_error", attributes)).kinds == [kind]


@pytest.mark.parametrize(
    ("event", "attributes", "kind"),
    [
        ("config", {"model": "gemini-2.5-pro"}, "session_start"),
        ("slash_command", {"command": "clear"}, "session_start"),
        ("slash_command", {"command": "help"}, "other"),
        ("chat_compression", {}, "compaction"),
        ("agent.finish", {"agent_name": "x"}, "subagent"),
        ("file_operation", {"operation": "read"}, "other"),
        ("loop_detected", {}, "other"),
    ],
)
def test_other_events(event: str, attributes: dict[str, object], kind: str) -> None:
    assert read(gemini(event, attributes)).kinds == [kind]
