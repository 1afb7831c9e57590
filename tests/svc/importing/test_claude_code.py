"""Transcripts of Claude Code, read into exchanges."""

from pathlib import Path
from typing import Any

import pytest

from aggregates.records.record import Record
from aggregates.records.tools import COMMAND_BYTES_MAX, changed_lines
from aggregates.telemetry.exchanges import Exchange
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory
from tests.support.transcripts import SESSION, call, line, raw, result, said, usage, user

TEN_O_CLOCK_US = 1_772_445_600_000_000
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def read(*lines: dict[str, Any] | bytes, seen: Memory | None = None) -> list[Exchange]:
    return list(TranscriptReader(Path("stem.jsonl"), "s.jsonl", seen or Memory()).read(raw(*lines)))


def records(exchange: Exchange, kind: str) -> list[Record]:
    return [draft.record for draft in exchange.drafts if draft.record.kind == kind]


def prompts(*lines: dict[str, Any] | bytes) -> list[str]:
    return [exchange.prompt.text for exchange in read(*lines) if exchange.prompt]


def tool(*lines: dict[str, Any]) -> Record:
    """The one tool call of an exchange made of these lines."""
    return records(read(user("u1", 0, "go"), *lines)[0], "tool")[0]


# --- prompts and answers -----------------------------------------------------------------------------------


def test_a_prompt_and_its_answer_are_an_exchange() -> None:
    """The last message's text is the answer; elapsed time runs from the prompt to the agent's last line."""
    (exchange,) = read(
        user("u1", 0, "fix the login", promptId="p1"),
        said("a1", 5, "Let me look.", call("t1", "Read", file_path="/x.py")),
        result("u2", 6, "t1"),
        said("a2", 9.5, "Fixed.", stop_reason="end_turn"),
    )
    assert exchange.agent_session_id == SESSION
    assert exchange.prompt is not None
    assert exchange.prompt.text == "fix the login"
    assert exchange.prompt.at_us == TEN_O_CLOCK_US
    assert exchange.prompt.host_prompt_id == "p1"
    assert exchange.prompt.cwd == "/home/ana/shop"
    assert exchange.answer is not None
    assert exchange.answer.text == "Fixed."
    assert exchange.answer.elapsed_ms == 9500
    assert exchange.finished
    assert {draft.record.prompt_id for draft in exchange.drafts if draft.record.kind != "session_start"} == {"p1"}


def test_blocks_of_one_message_make_one_answer() -> None:
    """A message's texts stand on several lines and belong together."""
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, "First.", message_id="m", request_id="r"),
        said("a2", 2, "Second.", message_id="m", request_id="r"),
    )
    assert exchange.answer is not None
    assert exchange.answer.text == "First.\n\nSecond."


def test_a_prompt_ends_the_exchange_before_it() -> None:
    """What a later prompt follows is finished, even without a stop reason; the last one is open."""
    first, second = read(user("u1", 0, "one"), said("a1", 1, "1"), user("u2", 2, "two"), said("a2", 3, "2"))
    assert (first.finished, second.finished) == (True, False)


@pytest.mark.parametrize("subtype", ["turn_duration", "stop_hook_summary"])
def test_the_agents_note_of_a_turns_end_finishes_it(subtype: str) -> None:
    """Older versions give no stop reason but note the end of a turn."""
    (exchange,) = read(user("u1", 0, "one"), said("a1", 1, "1"), line("system", "s1", 2, subtype=subtype))
    assert exchange.finished


def test_a_running_tool_keeps_an_exchange_open() -> None:
    """A call without a result is still running."""
    (exchange,) = read(user("u1", 0, "one"), said("a1", 1, call("t1", "Bash", command="make"), stop_reason="tool_use"))
    assert not exchange.finished


@pytest.mark.parametrize(
    "content",
    [
        "<local-command-stdout>Catch you later!</local-command-stdout>",
        "<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>",
        "<task-notification>done</task-notification>",
        "Operation stopped by hook: another session is active",
        "[Request interrupted by user]",
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
        [{"type": "text", "text": "<system-reminder>be brief</system-reminder>"}],
        "   ",
        [],
    ],
)
def test_what_the_agent_put_there_is_no_prompt(content: Any) -> None:
    """Only what a person typed is a prompt."""
    assert prompts(user("u1", 0, content)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"isSidechain": True},
        {"origin": {"kind": "task-notification"}},
        {"promptSource": "system"},
    ],
)
def test_a_marked_line_is_no_prompt(fields: dict[str, Any]) -> None:
    """The format says itself what no person typed."""
    assert prompts(user("u1", 0, "some text", **fields)) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            "<command-name>/clear</command-name>\n<command-args></command-args>",
            "/clear",
        ),
        (
            "<command-message>review</command-message><command-name>review</command-name>"
            "<command-args>PR 2</command-args>",
            "/review PR 2",
        ),
        ("<bash-input>git status</bash-input>", "! git status"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (
            [
                {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
                {"type": "text", "text": "why?"},
            ],
            "why?",
        ),
        ([{"type": "image", "source": {}}], "[Image]"),
        ("why does <command-name> appear here?", "why does <command-name> appear here?"),
    ],
)
def test_commands_and_blocks_are_given_as_typed(content: Any, text: str) -> None:
    """A command is `/name arguments`, pass-through `! command`; what an editor adds is left out."""
    assert prompts(user("u1", 0, content)) == [text]


def test_a_newer_versions_local_command_is_a_prompt() -> None:
    """It stands in a system line, and what it printed in another."""
    command = "<command-name>/clear</command-name>\n<command-args></command-args>"
    output = "<local-command-stdout></local-command-stdout>"
    assert prompts(
        line("system", "s1", 0, subtype="local_command", content=command),
        line("system", "s2", 1, subtype="local_command", content=output),
    ) == ["/clear"]


def test_a_prompt_typed_while_the_agent_works_is_a_prompt() -> None:
    """It is given to the agent in the middle of its turn, as an attachment; notifications are not."""
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "and the tests"}
    notice = {"type": "queued_command", "prompt": "<task-notification>x</task-notification>"}
    blocks = {"type": "queued_command", "prompt": [{"type": "text", "text": "also this"}]}
    assert prompts(
        user("u1", 0, "go", promptId="p1"),
        line("attachment", "q1", 1, attachment=queued, promptId="p1"),
        line("attachment", "q2", 2, attachment=notice),
        line("attachment", "q3", 3, attachment=blocks),
    ) == ["go", "and the tests", "also this"]


def test_a_host_prompt_id_is_given_once() -> None:
    """A second prompt under the id of the first goes without, or both would be one turn."""
    queued = {"type": "queued_command", "prompt": "and the tests"}
    first, second = read(
        user("u1", 0, "go", promptId="p1"), line("attachment", "q", 1, attachment=queued, promptId="p1")
    )
    assert first.prompt is not None
    assert second.prompt is not None
    assert (first.prompt.host_prompt_id, second.prompt.host_prompt_id) == ("p1", None)


# --- requests ----------------------------------------------------------------------------------------------


def test_a_request_counts_once_with_its_last_usage() -> None:
    """Every line of a message repeats the usage; the last one is right."""
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, "Let me", message_id="m", request_id="r", usage=usage(output=1)),
        said("a2", 2, call("t1", "Read"), message_id="m", request_id="r", usage=usage(output=263, hour=5)),
        said("a3", 3, "Done", message_id="m", request_id="r2"),
    )
    first, second = records(exchange, "request")
    assert (first.output_tokens, first.input_tokens, first.cache_read_tokens) == (263, 3, 100)
    assert (first.cache_write_tokens, first.cache_write_1h_tokens) == (20, 5)
    assert (first.model, first.request_id, first.at_us) == (
        "claude-opus-4-6",
        "r",
        TEN_O_CLOCK_US + 2_000_000,
    )
    assert second.cache_write_1h_tokens is None


def test_an_older_versions_cost_is_kept_in_nano_dollars() -> None:
    """Versions of 2025 wrote what a request cost."""
    (exchange,) = read(user("u1", 0, "go"), said("a1", 1, "x", costUSD=0.0125))
    assert records(exchange, "request")[0].cost_usd_nano == 12_500_000


def test_a_synthetic_message_is_no_request_and_no_answer() -> None:
    """The agent's own words were never asked of a model."""
    (exchange,) = read(user("u1", 0, "go"), said("a1", 1, "No response requested.", model="<synthetic>"))
    assert records(exchange, "request") == []
    assert exchange.answer is None


@pytest.mark.parametrize(
    ("text", "fields", "status"),
    [
        ("API Error: 529 Overloaded", {}, 529),
        ("API Error (Connection error.)", {}, None),
        ("You've hit your session limit", {"error": "rate_limit"}, 429),
        ("Something failed", {"apiErrorStatus": 404}, 404),
    ],
)
def test_an_api_error_is_an_error_record(text: str, fields: dict[str, Any], status: int | None) -> None:
    """Its status is the one given, else the one that its text names."""
    (exchange,) = read(user("u1", 0, "go"), said("a1", 1, text, model="<synthetic>", isApiErrorMessage=True, **fields))
    (error,) = records(exchange, "error")
    assert error.status_code == status
    assert exchange.answer is None
    assert [draft.text for draft in exchange.drafts if draft.record.kind == "error"] == [text]
    assert exchange.finished


def test_an_unflagged_synthetic_message_is_no_error() -> None:
    """Only the flag makes an error."""
    (exchange,) = read(user("u1", 0, "go"), said("a1", 1, "x", model="<synthetic>", isApiErrorMessage=False))
    assert records(exchange, "error") == []


# --- tools -------------------------------------------------------------------------------------------------


def test_a_call_is_joined_with_its_result() -> None:
    """Outcome and duration come from the result's line."""
    record = tool(said("a1", 1, call("t1", "Bash", command="make")), result("u2", 3.5, "t1"))
    assert (record.tool, record.call_id, record.ok, record.duration_ms) == ("Bash", "t1", True, 2500)


def test_the_tools_own_duration_comes_first() -> None:
    """What the tool measured does not include the wait for a permission."""
    record = tool(said("a1", 1, call("t1", "Glob")), result("u2", 60, "t1", toolUseResult={"durationMs": 37}))
    assert record.duration_ms == 37


def test_a_failed_call_is_not_ok_and_changed_nothing() -> None:
    """Lines count for edits that succeeded."""
    edit = call("t1", "Edit", file_path="/a", old_string="x", new_string="y")
    record = tool(said("a1", 1, edit), result("u2", 2, "t1", "String not found", error=True))
    assert (record.ok, record.lines_added, record.lines_removed) == (False, None, None)


def test_a_call_without_a_result_is_of_unknown_outcome() -> None:
    """An aborted call is counted; nobody knows how it went."""
    first, second = read(
        user("u1", 0, "go"),
        said("a1", 1, call("t1", "Bash", command="make")),
        user("u2", 2, "[Request interrupted by user]"),
        user("u3", 3, "again"),
    )
    assert records(first, "tool")[0].ok is None
    assert records(second, "tool") == []


def test_a_result_that_comes_after_the_next_prompt_is_still_joined() -> None:
    """The call then goes on into the next exchange, under the prompt it was made for."""
    first, second = read(
        user("u1", 0, "go", promptId="p1"),
        said("a1", 1, call("t1", "Bash", command="make")),
        user("u2", 2, "<command-name>/status</command-name>", promptId="p2"),
        result("u3", 3, "t1"),
        said("a2", 4, "Made."),
    )
    assert records(first, "tool") == []
    assert [(record.ok, record.prompt_id) for record in records(second, "tool")] == [(True, "p1")]


def test_a_background_command_has_no_outcome_yet() -> None:
    """Its result only says that it began."""
    background = call("t1", "Bash", command="npm test", run_in_background=True)
    assert tool(said("a1", 1, background), result("u2", 2, "t1", "running as b1")).ok is None


@pytest.mark.parametrize("content", [REFUSED, [{"type": "text", "text": REFUSED}]])
def test_a_refused_call_is_a_rejection(content: Any) -> None:
    """It was never run, so it is no finished tool call."""
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, call("t1", "Write", file_path="/a.py", content="x")),
        result("u2", 2, "t1", content, error=True),
        user("u3", 2, [{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
    )
    assert records(exchange, "tool") == []
    assert [record.tool for record in records(exchange, "rejection")] == ["Write"]
    assert len(records(exchange, "interruption")) == 1
    assert exchange.finished


def test_paths_commands_and_inputs_stand_beside_their_records() -> None:
    """Texts are put together later, redacted; a command is bounded; equal inputs have equal keys."""
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, call("t1", "Edit", file_path="/a.py", old_string="x", new_string="y")),
        said("a2", 2, call("t2", "Bash", command="é" * COMMAND_BYTES_MAX, description="long")),
        said("a3", 3, call("t3", "Bash", description="long", command="é" * COMMAND_BYTES_MAX)),
        said("a4", 4, call("t4", "Grep", path="/src", pattern="x")),
    )
    edit, first, second, grep = (draft for draft in exchange.drafts if draft.record.kind == "tool")
    assert (edit.path, edit.command, grep.path) == ("/a.py", None, None)
    assert first.command == "é" * (COMMAND_BYTES_MAX // 2)
    assert first.input_key == second.input_key != edit.input_key


def test_a_sub_agents_end_is_a_record_beside_its_call() -> None:
    """Which kind of sub-agent, and how long it took."""
    (exchange,) = read(
        user("u1", 0, "go"),
        said("a1", 1, call("t1", "Task", subagent_type="Explore", prompt="look")),
        result("u2", 9, "t1", toolUseResult={"totalDurationMs": 7000}),
    )
    (ended,) = records(exchange, "subagent")
    assert (ended.source, ended.duration_ms, ended.call_id) == ("Explore", 7000, "t1")
    assert len(records(exchange, "tool")) == 1


PATCH = {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}, {"lines": ["+e"]}]}


@pytest.mark.parametrize(
    ("name", "arguments", "outcome", "lines"),
    [
        ("Edit", {"old_string": "x", "new_string": "y"}, PATCH, (3, 1)),
        ("Edit", {"old_string": "a\nb\nc", "new_string": "a\nB\nB2\nc"}, {}, (2, 1)),
        ("Edit", {"old_string": "a\nb\nc\nd", "new_string": "x\nb\ny\nd"}, "text", (2, 2)),
        ("Edit", {"old_string": "a\n" * 900, "new_string": "b\n" * 500}, {}, (500, 900)),
        (
            "MultiEdit",
            {"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c\nd"}]},
            {},
            (3, 1),
        ),
        ("MultiEdit", {"edits": "all"}, {}, (None, None)),
        ("Write", {"content": "a\nb\n"}, {"type": "create", "structuredPatch": []}, (2, 0)),
        ("Write", {"content": "a\nb\n"}, {"type": "update", "originalFile": "a\n"}, (1, 0)),
        ("Write", {"content": "a\nb\n"}, {}, (2, None)),
        ("Write", {}, {}, (None, None)),
        ("NotebookEdit", {"new_source": "a\nb", "edit_mode": "insert"}, {}, (2, 0)),
        ("NotebookEdit", {"new_source": "a\nb"}, {}, (2, None)),
        ("NotebookEdit", {"edit_mode": "delete"}, {}, (None, None)),
        ("mcp__fs__write_file", {"content": "a"}, {}, (None, None)),
    ],
)
def test_changed_lines_come_from_the_patch_or_the_texts(
    name: str, arguments: dict[str, Any], outcome: object, lines: tuple[int | None, int | None]
) -> None:
    """What was not observed is None, never zero."""
    assert changed_lines(name, arguments, outcome) == lines
