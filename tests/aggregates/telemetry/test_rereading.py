"""Telemetry that an older decoder took in, read anew from the export that was kept."""

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from aggregates.capture.events import DECODER_VERSION, RecordsCaptured, Telemetry, is_older
from aggregates.event import Words, cut
from aggregates.telemetry.export import reread
from tests.support.facts import ANA, DIGESTER
from tests.support.otlp import NOW_US, claude, counter, log, logs, metrics, span, taken, traces

KEY = "sk-ant-api03-" + "Zq7" * 20
EDIT = {"tool_name": "Edit", "success": "true", "tool_input": '{"file_path": "src/a.py", "new_string": "x"}'}
SPAWN = {"tool_name": "spawn_agent", "output": '{"agent_id": "child"}', "conversation.id": "s1"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1", "gen_ai.usage.output_tokens": 5}


def captured(export: dict[str, Any]) -> list[Telemetry]:
    """The facts of an export, as an older decoder would have stored them that read the same in it."""
    as_before: dict[str, Any] = {"received_at_us": NOW_US, "decoder_version": 1}
    return [replace(each, **as_before, **asdict(ANA)) for each in taken(export).commands]


EXPORTS = {
    "requests, a prompt, a tool": logs(
        claude("user_prompt", {"prompt": "Fix src/a.py"}),
        claude("api_request", {"input_tokens": 5, "output_tokens": 7}),
        claude("tool_result", EDIT),
        claude("api_error", {"error": "Overloaded"}, timeUnixNano="0"),
        claude("tool_decision", {"tool_name": "Bash", "decision": "reject", "source": "user_abort"}),
    ),
    "a secret in a prompt and in a tool's input": logs(
        claude("user_prompt", {"prompt": f"use {KEY} in src/a.py"}),
        claude("tool_result", {**EDIT, "tool_input": f'{{"file_path": "a.py", "new_string": "{KEY}"}}'}),
    ),
    "a session that another one starts": logs(
        log({**SPAWN, "event.name": "codex.tool_result"}),
        log({"event.name": "codex.user_prompt", "prompt": "go on", "conversation.id": "child"}),
    ),
    "a request within a request": traces(
        span("chat", CHAT, spanId="aaaaaaaaaaaaaaaa"),
        span("chat", CHAT, spanId="bbbbbbbbbbbbbbbb", parentSpanId="aaaaaaaaaaaaaaaa"),
    ),
    "counters": metrics(counter("claude_code.commit.count", {"asInt": 2}, {"session.id": "s1"})),
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_what_is_read_alike_stays_as_it_was(export: dict[str, Any]) -> None:
    """With the ids from before secrets were taken out, and each text at its place."""
    for fact in captured(export):
        assert is_older(fact)
        found = reread(fact, DIGESTER)
        assert found == replace(fact, decoder_version=DECODER_VERSION)
        assert not is_older(found)


def test_what_an_older_decoder_missed_is_there_afterwards() -> None:
    """Here tokens, a path and what a text says; what it knew keeps its id and its place."""
    (whole,) = captured(EXPORTS["requests, a prompt, a tool"])
    assert isinstance(whole, RecordsCaptured)
    bare = [replace(each, kind="other", input_tokens=None, output_tokens=None, path=None) for each in whole.records]
    found = reread(replace(whole, records=(whole.records[0], *bare[1:-1])), DIGESTER)
    assert isinstance(found, RecordsCaptured)
    assert [each.record_id for each in found.records] == [each.record_id for each in whole.records]
    assert (found.records[1].input_tokens, cut(found.words, found.records[2].path)) == (5, "src/a.py")
    assert found.records[0] == whole.records[0]


@pytest.mark.parametrize("gone", [{"raw": Words(None)}, {"raw": Words("{}")}, {"raw": Words("no JSON")}])
def test_where_the_export_is_gone_the_old_reading_stays(gone: dict[str, Words]) -> None:
    for export in EXPORTS.values():
        for fact in captured(export):
            assert reread(replace(fact, **gone), DIGESTER) == replace(fact, **gone)
    (fact, *_) = captured(EXPORTS["requests, a prompt, a tool"])
    assert not is_older(replace(fact, words=Words(None)))
