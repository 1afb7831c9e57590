"""The Codex CLI's log events."""

import json
from typing import Any

import pytest

from aggregates.capture.events import CaptureRecords
from aggregates.event import Words, cut
from aggregates.telemetry.agents import called
from aggregates.turns.turn import observe, sum_work
from tests.support.facts import DIGESTER
from tests.support.otlp import NOW_NANO, NOW_US, TRACE, Attributes, Taken, log, logs, span, taken, traces


def codex(event: str, attributes: Attributes | None = None, **members: Any) -> dict[str, Any]:
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
    return log({**named, **(attributes or {})}, **(usual | members))


def read(*records: object) -> Taken:
    return taken(logs(*records, service="codex_exec"))


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
    found = read(*events, codex("sse_event", COMPLETED, traceId=""))
    assert found.kinds == ["other", "other", "request"]
    record = found.records[-1]
    counts = (record.input_tokens, record.output_tokens, record.cache_read_tokens, record.cache_write_tokens)
    assert (record.model, counts) == ("gpt-5-codex", (496, 48, 1024, 0))
    assert (record.prompt_id, record.at_us, record.name) == (None, NOW_US, "codex.sse_event")


def test_counts_that_contradict_each_other_are_unknown() -> None:
    assert read(codex("sse_event", COMPLETED | {"input_token_count": "5"})).only.input_tokens is None


SHELL = {"tool_name": "exec_command", "success": "true"}
PATCH_OF_ONE = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-old\n+new\n+newer\n*** End Patch"


def tool(name: str, arguments: object, **more: object) -> dict[str, object]:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"tool_name": name, "arguments": given, "success": "true", **more}


@pytest.mark.parametrize(
    ("event", "attributes", "shown"),
    [
        # Every try of a request is logged; a good one is counted when its stream is complete.
        ("api_request", {"http.response.status_code": {"intValue": "200"}}, ["other 200"]),
        ("api_request", {"http.response.status_code": 500, "error.message": "oops"}, ["error 500 'oops'"]),
        ("api_request", {"http.response.status_code": 429}, ["error 429"]),
        ("api_request", {"error.message": "connection refused"}, ["error 'connection refused'"]),
        ("api_request", {}, ["other"]),
        (
            "sse_event",
            {"event.kind": "response.failed", "error.message": "try again in 20s"},
            ["error wait 20000 'try again in 20s'"],
        ),
        # Only a person rejects.
        ("tool_decision", {"decision": "approved", "source": "Config"}, ["other"]),
        ("tool_decision", {"decision": "approved_for_session", "source": "User"}, ["other"]),
        ("tool_decision", {"decision": "denied", "source": "User"}, ["rejection"]),
        ("tool_decision", {"decision": "abort", "source": "User"}, ["rejection", "interruption"]),
        ("tool_decision", {"decision": "denied", "source": "Config"}, ["other"]),
        # A call's input has many forms.
        ("tool_result", tool("exec_command", {"cmd": "cat a.txt"}), ["tool exec_command ok cat a.txt"]),
        ("tool_result", tool("shell", {"command": ["bash", "-lc", "pytest -q"]}), ["tool shell ok pytest -q"]),
        ("tool_result", tool("shell", {"command": ["git", "add", "a b"]}), ["tool shell ok git add 'a b'"]),
        ("tool_result", tool("apply_patch", {"input": PATCH_OF_ONE}), ["tool apply_patch ok src/a.py +2 -1"]),
        ("tool_result", tool("apply_patch", PATCH_OF_ONE), ["tool apply_patch ok src/a.py +2 -1"]),
        ("tool_result", tool("exec_command", "no json"), ["tool exec_command ok"]),
        # A command that ended badly failed, though Codex calls it a success; who stops one has interrupted the agent.
        ("tool_result", SHELL | {"output": "Process exited with code 1\nOutput:\n"}, ["tool exec_command failed"]),
        ("tool_result", SHELL | {"output": "aborted by user"}, ["tool exec_command", "interruption"]),
        # A sub-agent's call is known by its path; older versions tell none.
        ("tool_result", SHELL | {"agent_name": "/root"}, ["tool exec_command ok"]),
        ("tool_result", SHELL | {"agent_name": "/root/tests"}, ["tool exec_command ok beside"]),
        ("conversation_starts", {}, ["session_start"]),
    ],
)
def test_what_an_event_tells(event: str, attributes: dict[str, object], shown: list[str]) -> None:
    assert read(codex(event, attributes)).shown == shown


def test_a_calls_time_and_id_are_told() -> None:
    record = read(codex("tool_result", SHELL | {"duration_ms": "103", "call_id": "x"})).only
    assert (record.duration_ms, record.call_id) == (103, "x")


@pytest.mark.parametrize(("prompt", "text"), [("Read notes.txt", "Read notes.txt"), ("[REDACTED]", None)])
def test_a_prompt_is_named_by_its_trace(prompt: str, text: str | None) -> None:
    found = read(codex("user_prompt", {"prompt": prompt}))
    assert (found.only.kind, found.only.prompt_id, found.text()) == ("prompt", TRACE, text)
    assert (found.commands[0].agent_session_id, found.commands[0].source) == ("c1", "codex")


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** Add File: b.py\n+one\n+two\n*** End Patch"


@pytest.mark.parametrize(
    ("arguments", "patched"),
    [
        ({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}, True),
        ({"cmd": f"cd src && apply_patch <<EOF\n{PATCH}\nEOF"}, True),
        ({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, True),
        ({"command": ["apply_patch", PATCH]}, True),
        ({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\npytest -q"}, False),
        ({"cmd": f"cat > notes.md <<'EOF'\napply_patch\n{PATCH}\nEOF"}, False),
        ({"cmd": f"echo '{PATCH}'"}, False),
    ],
)
def test_a_patch_in_a_shells_stead_is_a_patch(arguments: dict[str, Any], patched: bool) -> None:
    """With all its files and their lines; one among other commands stays a command."""
    attributes = {"tool_name": "exec_command", "success": "true", "arguments": json.dumps(arguments)}
    found = read(codex("tool_result", attributes))
    record = found.only
    assert record.tool == ("apply_patch" if patched else "exec_command")
    if patched:
        (command,) = found.commands
        assert isinstance(command, CaptureRecords)
        (more,) = record.more_files
        assert (found.text("path"), record.lines_added, record.lines_removed) == ("a.py", 3, 1)
        assert (cut(Words(command.words), more.path), more.lines_added, more.lines_removed) == ("b.py", 2, 0)
        observed = observe(record, Words(command.words), DIGESTER)
        work = sum_work([(1, observed), (2, observed)])
        files = sorted((file.edits, file.lines_added, file.lines_removed) for file in work.files)
        assert files == [(2, 2, 2), (2, 4, 0)]
        assert (work.tool_calls, work.lines_added) == (2, 6)


def test_a_patch_that_failed_or_that_no_shell_was_given_changes_no_file() -> None:
    failed = {"tool_name": "apply_patch", "success": "false", "arguments": PATCH}
    assert read(codex("tool_result", failed)).only.more_files == ()
    given = {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}
    assert called("read_file", given) == ("read_file", given)


def test_who_spawns_a_sub_agent_tells_whose_its_conversation_is() -> None:
    """What is asked there an agent asks; the record itself is shown once."""
    spawning = {"tool_name": "spawn_agent", "success": "true", "output": '{"agent_id":"c2","nickname":"Ada"}'}
    found = read(codex("tool_result", spawning))
    assert [each.agent_session_id for each in found.commands] == ["c1", "c2"]
    assert [(each.kind, each.source, each.origin) for each in found.records] == [
        ("tool", None, 0),
        ("session_start", "subagent", None),
    ]
    for output in ("", "unsupported call: spawn_agent", '{"agent_id":7}'):
        assert len(read(codex("tool_result", spawning | {"output": output})).commands) == 1


def test_a_record_that_is_no_event_is_kept_and_says_nothing() -> None:
    """It names no session, and its name is a place in the source."""
    note = log({}, body={"stringValue": "flushing OTEL metrics"}, eventName="event otel/src/metrics/client.rs:1")
    found = read(note, codex("user_prompt"))
    assert [(each.agent_session_id, each.source) for each in found.commands] == [(None, "codex"), ("c1", "codex")]
    assert (found.records[0].kind, found.records[0].name) == ("other", None)


def test_spans_are_kept_only() -> None:
    """Codex's logs are the truth; a span without a session is of the one of its trace."""
    usage = {"conversation.id": "c1", "gen_ai.usage.input_tokens": 5, "gen_ai.operation.name": "chat"}
    found = taken(traces(span("codex.sampling", usage), span("inner", {}, spanId="a" * 16), service="codex_exec"))
    assert (found.kinds, [each.agent_session_id for each in found.commands]) == (["other", "other"], ["c1"])
