"""Importing the Copilot CLI's sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from aggregates.records.record import Record
from aggregates.telemetry.exchanges import Exchange
from svc.importing.copilot import EventReader
from svc.importing.exchange import Memory
from svc.importing.importer import FORMATS

SESSION = "d0f8667b-3eea-41c2-9e39-d4197d3b4808"


def line(second: int, kind: str, data: dict[str, Any], **more: Any) -> bytes:
    told = {"type": kind, "data": data, "id": f"e{second}", "timestamp": f"2026-11-23T10:00:{second:02}.000Z", **more}
    return json.dumps(told).encode() + b"\n"


def begun(second: int = 0, kind: str = "session.start") -> bytes:
    return line(second, kind, {"sessionId": SESSION, "context": {"cwd": "/work"}})


def asked(second: int, text: str, **more: Any) -> bytes:
    return line(second, "user.message", {"content": text, "delivery": "idle"}, **more)


def used(second: int, name: str, **more: Any) -> bytes:
    usage = {"model": "gpt-5.1", "inputTokens": 1000, "outputTokens": 11, "cacheReadTokens": 400, "cost": 1.0}
    return line(second, "session.usage_record", {"usage": {**usage, "duration": 19.2, "apiCallId": name}}, **more)


def said(second: int, text: str, *tools: str, **more: Any) -> bytes:
    return line(
        second, "assistant.message", {"content": text, "toolRequests": [{"name": name} for name in tools]}, **more
    )


def ran(second: int, call: str, name: str, arguments: dict[str, Any], **ended: Any) -> bytes:
    start = {"toolCallId": call, "toolName": name, "arguments": arguments}
    return line(second, "tool.execution_start", start) + line(
        second + 1, "tool.execution_complete", {"toolCallId": call, "success": True, **ended}
    )


def read(*lines: bytes, seen: Memory | None = None) -> tuple[EventReader, list[Exchange]]:
    reader = EventReader(Path("x/events.jsonl"), "events.jsonl", seen or Memory())
    return reader, list(reader.read(b"".join(lines).splitlines(keepends=True)))


def records(exchange: Exchange, kind: str) -> list[Record]:
    return [draft.record for draft in exchange.drafts if draft.record.kind == kind]


def test_a_session_becomes_exchanges() -> None:
    """Prompts with the folder, answers with their time; a session that is resumed goes on."""
    reader, (start, first, second) = read(
        begun(),
        asked(1, "Run the check."),
        used(2, "chat_1"),
        said(3, "", "bash"),
        ran(4, "call_1", "bash", {"command": "sh check.sh"}, shellExecution={"exitCode": 1}),
        said(6, "The check fails."),
        begun(7, "session.resume"),
        asked(8, "<current_datetime>now</current_datetime>\n\nThank you."),
        said(9, "You are welcome."),
    )
    assert (start.prompt, [draft.record.kind for draft in start.drafts]) == (None, ["session_start"])
    assert first.prompt is not None
    assert (first.agent_session_id, first.prompt.text, first.prompt.cwd) == (SESSION, "Run the check.", "/work")
    assert first.answer is not None
    assert (first.answer.text, first.answer.elapsed_ms) == ("The check fails.", 5_000)
    assert second.prompt is not None
    assert (second.prompt.text, second.finished) == ("Thank you.", True)
    assert reader.torn == []


def test_a_request_has_the_id_that_telemetry_gives_it_and_no_price() -> None:
    """Credits are no dollars; what was cached is no input."""
    _, (_, exchange) = read(begun(), asked(1, "Go on."), used(2, "chat_1"), said(3, "Done."))
    (request,) = records(exchange, "request")
    assert (request.request_id, request.model, request.cost_usd_nano) == ("chat_1", "gpt-5.1", None)
    assert (request.input_tokens, request.cache_read_tokens, request.output_tokens) == (600, 400, 11)
    assert (request.duration_ms, request.sidechain) == (19, False)


@pytest.mark.parametrize(
    ("ended", "ok"),
    [
        ({"shellExecution": {"exitCode": 1}}, False),
        ({"shellExecution": {"exitCode": 0}}, True),
        ({"result": {"content": "1 failed\n<shellId: 0 completed with exit code 4>"}}, False),
        ({"success": False}, False),
        ({}, True),
    ],
)
def test_a_command_that_ended_badly_has_failed(ended: dict[str, Any], ok: bool) -> None:
    _, (_, exchange) = read(begun(), asked(1, "Go on."), ran(2, "c", "bash", {"command": "make test"}, **ended))
    (call,) = records(exchange, "tool")
    assert (call.ok, call.call_id, call.duration_ms) == (ok, "c", 1_000)


def test_an_edit_has_its_lines_where_it_went_well() -> None:
    edit = {"path": "a.py", "old_str": "x\n", "new_str": "y\nz\n"}
    _, (_, good) = read(begun(), asked(1, "Go on."), ran(2, "c", "edit", edit))
    _, (_, bad) = read(begun(), asked(1, "Go on."), ran(2, "c", "edit", edit, success=False))
    assert [(each.lines_added, each.lines_removed) for each in records(good, "tool")] == [(2, 1)]
    assert [(each.lines_added, each.lines_removed) for each in records(bad, "tool")] == [(None, None)]


def test_what_a_sub_agent_does_is_its_own() -> None:
    """Its prompt is no person's, its answer not the agent's; its requests count."""
    _, (_, exchange) = read(
        begun(),
        asked(1, "Delegate it."),
        ran(2, "c", "task", {"agent_type": "explore", "prompt": "Look around."}),
        asked(4, "Look around.", agentId="a"),
        used(5, "chat_2", agentId="a"),
        said(6, "I looked.", agentId="a"),
        said(7, "The helper has looked."),
    )
    assert exchange.answer is not None
    assert exchange.answer.text == "The helper has looked."
    assert [each.sidechain for each in records(exchange, "request")] == [True]
    assert [each.source for each in records(exchange, "subagent")] == ["explore"]


def test_an_interruption_and_a_failure_are_told() -> None:
    _, (_, exchange) = read(
        begun(),
        asked(1, "Go on."),
        line(2, "session.error", {"message": "429 Too Many Requests", "statusCode": 429}),
        line(3, "abort", {"reason": "user initiated"}),
    )
    assert [each.status_code for each in records(exchange, "error")] == [429]
    assert (len(records(exchange, "interruption")), exchange.finished) == (1, True)


def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_taken() -> None:
    """And a line that another file repeats is not taken twice."""
    seen = Memory()
    reader, (_, exchange) = read(
        begun(), b'{"type": "user.message", "id": 5}\n', b"{no\n", asked(3, "Go on."), seen=seen
    )
    assert [each.line for each in reader.torn] == [2, 3]
    assert exchange.prompt is not None
    assert read(begun(), asked(3, "Go on."), seen=seen)[1] == []


def test_only_files_of_events_are_sessions() -> None:
    assert FORMATS["copilot"].is_transcript(Path("session-state/x/events.jsonl"))
    assert not FORMATS["copilot"].is_transcript(Path("session-state/x/workspace.yaml"))
