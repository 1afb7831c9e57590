"""The log events of Claude Code, Codex, the Gemini CLI and svc's own hook, and how a tool call ended."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aggregates.capture.events import RecordsCaptured
from aggregates.event import cut
from aggregates.records.record import Record
from aggregates.telemetry.agents import called
from aggregates.telemetry.batches import Sender, steps
from aggregates.telemetry.draft import CWD_CHARACTERS_MAX, SourceEvent
from aggregates.telemetry.outcomes import EDGE_CHARACTERS_MAX, ToolOutcome, tool_outcome
from aggregates.turns.turn import observe, sum_work
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory
from tests.support.facts import ANA, DIGESTER
from tests.support.otlp import NOW_NANO, NOW_US, TRACE, Attributes, Taken, claude, log, logs, span, taken, traces
from tests.support.tables import beside, each_of, lines_of
from tests.support.transcripts import call, raw, result, said, user


def codex(event: str, attributes: Attributes, /, **members: Any) -> dict[str, Any]:
    """A log record as Codex sends it: no time of its own, a body that is null, a name that is a source position."""
    usual = {
        "timeUnixNano": "0",
        "observedTimeUnixNano": NOW_NANO,
        "body": None,
        "traceId": TRACE,
        "spanId": "",
        "eventName": "event otel/src/events/session_telemetry.rs:703",
    }
    named = {"event.name": f"codex.{event}", "conversation.id": "c1", "model": "gpt-5-codex"}
    return log({**named, **attributes}, **(usual | members))


def gemini(event: str, attributes: Attributes) -> dict[str, Any]:
    """A log record as Gemini sends it: attributes without a value among others."""
    return log({"session.id": "g1", "event.name": f"gemini_cli.{event}", "extension_id": {}, **attributes})


def of_hook(event: str, attributes: Attributes) -> dict[str, Any]:
    return log({"session.id": "s1", "event.name": f"svc.{event}", **attributes})


def of_codex(*records: object) -> Taken:
    return taken(logs(*records, service="codex_exec"))


MADE: Mapping[str, tuple[Any, str]] = {
    "claude-code": (claude, "claude-code"),
    "codex": (codex, "codex_exec"),
    "gemini": (gemini, "gemini-cli"),
    "svc": (of_hook, "anything"),
}


@each_of(lines_of(Path(__file__).with_name("events.txt")))
def test_what_an_event_tells(agent: str, line: str) -> None:
    told, _, shown = line.partition(" => ")
    event, _, attributes = told.partition(" ")
    texts = ("tool_parameters", "tool_input", "arguments", "function_args", "metadata")
    given = json.loads(attributes)
    sent = {key: json.dumps(each) if key in texts and isinstance(each, dict) else each for key, each in given.items()}
    made, service = MADE[agent]
    found = taken(logs(made(event, sent), service=service))
    assert (found.shown, found.commands[0].source) == (shown.split(" | "), agent)


@each_of(
    [
        ({}, {}, None),
        ({"workspace.host_paths": ["/home/ana/shop", "/home/ana/site"]}, {}, "/home/ana/shop"),
        ({"cwd": " "}, {"process.working_directory": "/home/ana/shop"}, "/home/ana/shop"),
        ({"cwd": 5, "workspace.host_paths": []}, {"process.working_directory": ["", "/x"]}, None),
        ({"cwd": "/\u202ex<b>" + "y" * 100_000}, {}, ("/\u202ex<b>" + "y" * 100_000)[:CWD_CHARACTERS_MAX]),
    ]
)
def test_the_folder_that_an_agent_works_in_is_told_by_an_event_or_above_it(
    attributes: dict[str, Any], resource: dict[str, Any], folder: str | None
) -> None:
    event = SourceEvent("r", 0, 0, "user_prompt", attributes, resource)
    assert event.folder == folder


def test_a_prompt_keeps_the_folder_among_its_words() -> None:
    told = {"prompt": "go", "cwd": "/home/ana/shop"}
    found = taken(logs(claude("user_prompt", told)))
    assert isinstance(found.commands[0], RecordsCaptured)
    assert cut(found.commands[0].words, found.only.path) == "/home/ana/shop"


# --- Claude Code ------------------------------------------------------------------------------------------

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


@each_of([False, True])
def test_a_request(as_text: bool) -> None:
    attributes: dict[str, object] = {key: str(each) if as_text else each for key, each in REQUEST.items()}
    record = only("api_request", attributes)
    counts = (record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens)
    assert (record.kind, record.model, counts) == ("request", "claude-opus-4-6", (3, 266, 10, 44_206))
    assert (record.cost_usd_nano, record.duration_ms, record.request_id) == (282_952_500, 4_920, "req_1")
    assert (record.prompt_id, record.sidechain, record.name) == ("p1", False, "api_request")


@pytest.mark.parametrize("name", ["user_prompt", "claude_code.user_prompt"])
@pytest.mark.parametrize("service", ["claude-code", "claude-code-desktop", "something else"])
def test_an_events_name_comes_with_and_without_its_prefix(name: str, service: str) -> None:
    record = log({"session.id": "s1", "event.name": name}, body={"stringValue": "claude_code.user_prompt"})
    found = taken(logs(record, service=service))
    assert (found.only.kind, found.commands[0].source) == ("prompt", "claude-code")


def test_the_body_alone_names_the_event() -> None:
    assert taken(logs(log({}, body={"stringValue": "claude_code.api_request"}))).only.kind == "request"


def test_the_records_of_one_event_have_ids_of_their_own() -> None:
    stopped = {"tool_name": "Bash", "decision": "reject", "source": "user_abort"}
    found = taken(logs(claude("tool_decision", stopped)))
    assert (found.kinds, {record.origin for record in found.records}) == (["rejection", "interruption"], {0})
    assert len({record.record_id for record in found.records}) == 2


@beside()
def test_a_tool_call_means_what_it_means_in_the_transcript(tool: str, arguments: dict[str, Any]) -> None:
    """The same path, command, digest of the input, lines and outcome."""
    attributes = {"tool_name": tool, "tool_use_id": "t1", "success": "true", "tool_input": json.dumps(arguments)}
    told = taken(logs(claude("tool_result", attributes)))
    exchanges = TranscriptReader(Path("s1.jsonl"), "s.jsonl", Memory()).read(
        raw(user("u1", 0, "go"), said("a1", 1, call("t1", tool, **arguments)), result("r1", 2, "t1"))
    )
    sender = Sender(ANA, "claude-code", DIGESTER)
    made = [step.command for exchange in exchanges for step in steps(exchange, sender)]
    commands = [command for command in made if isinstance(command, RecordsCaptured)]
    (imported, words) = next((r, c.words) for c in commands for r in c.records if r.kind == "tool")
    record = told.only
    same = ("kind", "tool", "call_id", "ok", "input_digest", "lines_added", "lines_removed")
    assert {name: getattr(record, name) for name in same} == {name: getattr(imported, name) for name in same}
    for field in ("path", "command"):
        span = getattr(imported, field)
        assert told.text(field) == cut(words, span)


def test_a_shortened_input_gives_no_lines_and_no_digest() -> None:
    arguments = {"file_path": "/a", "old_string": "a\nb", "new_string": "x" * 128 + "…[900 chars]"}
    attributes = {"tool_name": "Edit", "success": "true", "tool_input": json.dumps(arguments)}
    found = taken(logs(claude("tool_result", attributes)))
    assert (found.only.lines_added, found.only.input_digest, found.text("path")) == (None, None, "/a")


def test_ids_times_and_names_are_told() -> None:
    ended = only("tool_result", {"tool_name": "Edit", "tool_use_id": "t1", "success": "false", "duration_ms": "12"})
    assert (ended.call_id, ended.duration_ms, ended.input_digest) == ("t1", 12, None)
    assert only("tool_decision", {"decision": "reject", "tool_use_id": "t1"}).call_id == "t1"
    assert only("api_error", {"model": "<synthetic>", "request_id": "r"}).model is None
    assert only("assistant_response", {"response": "x", "request_id": "r1"}).request_id == "r1"


# --- Codex ------------------------------------------------------------------------------------------------

COMPLETED = {
    "event.kind": "response.completed",
    "input_token_count": "1520",
    "output_token_count": "48",
    "cached_token_count": {"intValue": "1024"},
    "cache_write_token_count": {"intValue": "0"},
    "reasoning_token_count": {"intValue": "16"},
}


def test_a_request_is_the_second_completed_event() -> None:
    """Input without what was cached; the reasoning is part of the output. The stream's other events say nothing."""
    events = [codex("sse_event", {"event.kind": kind}) for kind in ("response.created", "response.completed")]
    found = of_codex(*events, codex("sse_event", COMPLETED, traceId=""))
    assert found.kinds == ["other", "other", "request"]
    record = found.records[-1]
    counts = (record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens)
    assert (record.model, counts) == ("gpt-5-codex", (496, 48, 1024, 0))
    assert (record.prompt_id, record.at_us, record.name) == (None, NOW_US, "codex.sse_event")
    contradicting = codex("sse_event", COMPLETED | {"input_token_count": "5"})
    assert of_codex(contradicting).only.input_tokens is None


@each_of([("Read notes.txt", "Read notes.txt"), ("[REDACTED]", None)])
def test_a_prompt_is_named_by_its_trace(prompt: str, text: str | None) -> None:
    found = of_codex(codex("user_prompt", {"prompt": prompt}))
    assert (found.only.kind, found.only.prompt_id, found.text()) == ("prompt", TRACE, text)
    assert (found.commands[0].agent_session_id, found.commands[0].source) == ("c1", "codex")


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** Add File: b.py\n+one\n+two\n*** End Patch"


@each_of(
    [
        ({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}, True),
        ({"cmd": f"cd src && apply_patch <<EOF\n{PATCH}\nEOF"}, True),
        ({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, True),
        ({"command": ["apply_patch", PATCH]}, True),
        ({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\npytest -q"}, False),
        ({"cmd": f"cat > notes.md <<'EOF'\napply_patch\n{PATCH}\nEOF"}, False),
        ({"cmd": f"echo '{PATCH}'"}, False),
    ]
)
def test_a_patch_in_a_shells_stead_is_a_patch(arguments: dict[str, Any], patched: bool) -> None:
    """With all its files and their lines; one among other commands stays a command."""
    attributes = {"tool_name": "exec_command", "success": "true", "arguments": json.dumps(arguments), "call_id": "x"}
    found = of_codex(codex("tool_result", attributes | {"duration_ms": "103"}))
    record = found.only
    assert (record.duration_ms, record.call_id) == (103, "x")
    assert record.tool == ("apply_patch" if patched else "exec_command")
    if patched:
        (command,) = found.commands
        assert isinstance(command, RecordsCaptured)
        (more,) = record.more_files
        assert (found.text("path"), record.lines_added, record.lines_removed) == ("a.py", 3, 1)
        assert (cut(command.words, more.path), more.lines_added, more.lines_removed) == ("b.py", 2, 0)
        observed = observe(record, command.words, DIGESTER)
        work = sum_work([(1, observed), (2, observed)])
        files = sorted((file.edits, file.lines_added, file.lines_removed) for file in work.files)
        assert files == [(2, 2, 2), (2, 4, 0)]
        assert (work.tool_calls, work.lines_added) == (2, 6)


def test_a_patch_that_failed_or_that_no_shell_was_given_changes_no_file() -> None:
    failed = {"tool_name": "apply_patch", "success": "false", "arguments": PATCH}
    assert of_codex(codex("tool_result", failed)).only.more_files == ()
    given = {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}
    assert called("read_file", given) == ("read_file", given)


def test_who_spawns_a_sub_agent_tells_whose_its_conversation_is() -> None:
    """What is asked there an agent asks; the record itself is shown once."""
    spawning = {"tool_name": "spawn_agent", "success": "true", "output": '{"agent_id":"c2","nickname":"Ada"}'}
    found = of_codex(codex("tool_result", spawning))
    assert [each.agent_session_id for each in found.commands] == ["c1", "c2"]
    assert [(each.kind, each.source, each.origin) for each in found.records] == [
        ("tool", None, 0),
        ("session_start", "subagent", None),
    ]
    for output in ("", "unsupported call: spawn_agent", '{"agent_id":7}'):
        assert len(of_codex(codex("tool_result", spawning | {"output": output})).commands) == 1


def test_a_record_that_is_no_event_is_kept_and_says_nothing() -> None:
    """It names no session, and its name is a place in the source."""
    note = log({}, body={"stringValue": "flushing OTEL metrics"}, eventName="event otel/src/metrics/client.rs:1")
    found = of_codex(note, codex("user_prompt", {}))
    assert [(each.agent_session_id, each.source) for each in found.commands] == [(None, "codex"), ("c1", "codex")]
    assert (found.records[0].kind, found.records[0].name) == ("other", None)


def test_spans_are_kept_only() -> None:
    """Codex's logs are the truth; a span without a session is of the one of its trace."""
    usage = {"conversation.id": "c1", "gen_ai.usage.input_tokens": 5, "gen_ai.operation.name": "chat"}
    found = taken(traces(span("codex.sampling", usage), span("inner", {}, spanId="a" * 16), service="codex_exec"))
    assert (found.kinds, [each.agent_session_id for each in found.commands]) == (["other", "other"], ["c1"])


# --- Gemini -----------------------------------------------------------------------------------------------


def test_a_request_counts_thoughts_as_output_and_cached_input_apart() -> None:
    """Its twin by the semantic conventions is not counted again."""
    counts = {"input_token_count": 1520, "output_token_count": 48, "cached_content_token_count": 1024}
    told = {"model": "gemini-2.5-pro", "thoughts_token_count": 16, "prompt_id": "g1########3", **counts}
    twin = log({"event.name": "gen_ai.client.inference.operation.details", "gen_ai.usage.input_tokens": 1520})
    records = gemini("api_request", {}), gemini("api_response", told), twin
    found = taken(logs(*records, service="gemini-cli", resource={"session.id": "g1"}))
    assert found.kinds == ["other", "request", "other"]
    record = found.records[1]
    assert (record.input_tokens, record.output_tokens, record.cache_read_tokens) == (496, 64, 1024)
    assert (record.model, record.prompt_id, record.cache_write_tokens) == ("gemini-2.5-pro", "g1########3", None)
    assert [each.agent_session_id for each in found.commands] == ["g1"]


def test_a_failed_request_has_its_model_and_its_time() -> None:
    told = {"model_name": "gemini-2.5-pro", "duration": 8, "prompt_id": "g1"}
    record = taken(logs(gemini("api_error", told))).only
    assert (record.model, record.duration_ms, record.prompt_id) == ("gemini-2.5-pro", 8, "g1")


# --- whatever an agent calls a success, a failed command failed ------------------------------------------

OUTCOMES = {
    "good": ToolOutcome(True),
    "failed": ToolOutcome(False),
    "unknown": ToolOutcome(None),
    "stopped": ToolOutcome(None, stopped=True),
}


@each_of(line for _, line in lines_of(Path(__file__).with_name("outcomes.txt")))
def test_a_call_ended_as_its_result_says(line: str) -> None:
    """The exit code before the flag, and only where the agent itself puts it."""
    told, _, outcome = line.rpartition(" => ")
    agent, flag, result = told.split(" ", 2)
    assert tool_outcome(agent, json.loads(result), json.loads(flag)) == OUTCOMES[outcome]


def test_a_result_without_measure_says_nothing() -> None:
    deep: object = "Exit code: 1"
    for _ in range(2_000):
        deep = {"output": deep}
    assert tool_outcome("codex", deep) == OUTCOMES["unknown"]


@each_of([("codex", "Exit code: 1\n"), ("copilot", "\n<exited with exit code 1>")])
def test_only_the_edge_of_a_result_is_read(agent: str, said: str) -> None:
    printed = "Exit code: 0\n" + EDGE_CHARACTERS_MAX * "x\n"
    whole = said + printed if agent == "codex" else printed + said
    assert tool_outcome(agent, whole, True) == OUTCOMES["failed"]
