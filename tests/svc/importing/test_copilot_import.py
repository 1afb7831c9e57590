"""Importing the Copilot CLI's sessions."""

import json
from pathlib import Path
from typing import Any

from aggregates.telemetry.draft import Exchange
from svc.importing.copilot import EventReader
from svc.importing.exchange import Memory
from svc.importing.importer import FORMATS
from tests.support.imported import records

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


GO = asked(1, "Go on.")
EDIT = {"path": "a.py", "old_str": "x\n", "new_str": "y\nz\n"}


def make(second: int = 2, **ended: Any) -> bytes:
    return ran(second, "c", "bash", {"command": "make test"}, **ended)


def test_a_request_has_the_id_that_telemetry_gives_it_and_no_price() -> None:
    """Credits are no dollars. The prompt has its folder, and the answer its time."""
    _, (_, exchange) = read(begun(), GO, used(2, "chat_1"), said(6, "Done."))
    (request,) = records([exchange], "request")
    assert (request.request_id, request.model, request.cost_usd_nano) == ("chat_1", "gpt-5.1", None)
    assert (request.duration_ms, request.sidechain) == (19, False)
    assert (exchange.prompt and exchange.prompt.cwd, exchange.agent_session_id) == ("/work", SESSION)
    assert (exchange.answer and exchange.answer.elapsed_ms) == 5_000


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


OLD = {"model": "claude-sonnet-4.6", "outputTokens": 300}


def ended(second: int, output: int, **more: dict[str, Any]) -> bytes:
    usage = {"inputTokens": 50_000, "outputTokens": output, "cacheReadTokens": 40_000, "cacheWriteTokens": 2_000}
    return line(second, "session.shutdown", {"modelMetrics": {OLD["model"]: {"usage": usage}, **more}})


def answered(second: int) -> bytes:
    return line(second, "assistant.message", {"content": "Done.", "toolRequests": [], **OLD})


def test_where_no_request_is_told_by_itself_the_sums_stand_at_the_answers() -> None:
    """Each answer has what it gave; the last one of a run the rest, also where a resumed run sums up both."""
    lines = [begun(), GO, answered(2), asked(3, "And on."), answered(4), ended(5, 900)]
    _, (_, first, second) = read(*lines)
    _, (_, _, _, third) = read(*lines, begun(6, "session.resume"), asked(7, "Last."), answered(8), ended(9, 1_300))
    assert first.answer
    assert second.answer
    assert third.answer
    assert (first.answer.model, first.answer.tokens) == (OLD["model"], {"output_tokens": 300})
    rest = {"input_tokens": 8_000, "cache_read_tokens": 40_000, "cache_write_tokens": 2_000}
    assert second.answer.tokens == {"output_tokens": 600, **rest}
    assert third.answer.tokens == {"output_tokens": 400}


def test_sums_that_others_tell_or_that_several_models_share() -> None:
    """Requests that are told by themselves are no sums; a sum of several models has no model, so no price."""
    _, (_, told) = read(begun(), GO, used(2, "chat_1"), answered(3), ended(4, 900))
    assert told.answer
    assert told.answer.tokens == {}
    _, (_, mixed) = read(begun(), GO, answered(3), ended(4, 900, haiku={"usage": {"outputTokens": 100}}))
    assert mixed.answer
    assert (mixed.answer.model, mixed.answer.tokens["output_tokens"]) == (None, 1_000)
