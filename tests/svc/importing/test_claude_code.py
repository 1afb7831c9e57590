"""Transcripts of Claude Code, read into exchanges."""

from pathlib import Path
from typing import Any

import pytest

from aggregates.records.record import Record
from aggregates.telemetry.draft import Exchange
from svc.importing.claude_code import TranscriptReader
from svc.importing.exchange import Memory
from tests.support import imported
from tests.support.transcripts import call, line, raw, result, said, usage, user

TEN_O_CLOCK_US = 1_772_445_600_000_000


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


FIRST_LAST = [said(f"a{n}", n, text, message_id="m", request_id="r") for n, text in ((1, "First."), (2, "Last."))]
GO, MAKE = user("u1", 0, "go"), call("t1", "Bash", command="make")
QUEUED = {"type": "queued_command", "prompt": "and the tests"}
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
STOPPED = user("u3", 2, [{"type": "text", "text": "[Request interrupted by user for tool use]"}])
SUMMARY = user("u2", 2, "This session is being continued from a previous conversation …", isCompactSummary=True)


def hook(start: str) -> dict[str, Any]:
    return {"hookEvent": "SessionStart", "hookName": f"SessionStart:{start}"}


EDIT = call("t1", "Edit", file_path="/a", old_string="x", new_string="y")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # The texts of one message belong together.
        ((GO, *FIRST_LAST), ["go | = 'First.\\n\\nLast.' | …"]),
        # A prompt ends the exchange before it; older versions give no stop reason, but note the end of a turn.
        ((GO, said("a1", 1, "1"), user("u2", 2, "two"), said("a2", 3, "2")), ["go | = '1'", "two | = '2' | …"]),
        *(
            ((GO, said("a1", 1, "1"), line("system", "s1", 2, subtype=note)), ["go | = '1'"])
            for note in ("turn_duration", "stop_hook_summary")
        ),
        ((GO, said("a1", 1, MAKE, stop_reason="tool_use")), ["go | t1 Bash None None None | …"]),
        # A second prompt under the id of the first goes without, or both would be one turn.
        (
            (user("u1", 0, "go", promptId="p1"), line("attachment", "q", 1, attachment=QUEUED, promptId="p1")),
            ["go (p1)", "and the tests | …"],
        ),
        # Versions of 2025 wrote what a request cost; the agent's own words were never asked of a model.
        ((GO, said("a1", 1, "x", costUSD=0.0125)), ["go | $0.0125 | = 'x' | …"]),
        ((GO, said("a1", 1, "No response requested.", model="<synthetic>")), ["go | …"]),
        ((GO, said("a1", 1, "x", model="<synthetic>", isApiErrorMessage=False)), ["go | …"]),
        # Outcome and duration come from the result's line; what the tool measured includes no wait for a permission.
        ((GO, said("a1", 1, MAKE), result("u2", 3.5, "t1")), ["go | t1 Bash True 2500 None | …"]),
        (
            (GO, said("a1", 1, call("t1", "Glob")), result("u2", 60, "t1", toolUseResult={"durationMs": 37})),
            ["go | t1 Glob True 37 None | …"],
        ),
        # Lines count for edits that succeeded.
        ((GO, said("a1", 1, EDIT), result("u2", 2, "t1")), ["go | t1 Edit True 1000 1 | …"]),
        ((GO, said("a1", 1, EDIT), result("u2", 2, "t1", "No", error=True)), ["go | t1 Edit False 1000 None | …"]),
        # Nobody knows how an aborted call went.
        (
            (GO, said("a1", 1, MAKE), user("u2", 2, "[Request interrupted by user]"), user("u3", 3, "again")),
            ["go | t1 Bash None None None | interruption", "again | …"],
        ),
        # A result that comes after the next prompt is still joined, there.
        (
            (
                *(user("u1", 0, "go", promptId="p1"), said("a1", 1, MAKE), user("u2", 2, "and?", promptId="p2")),
                *(result("u3", 3, "t1"), said("a2", 4, "Made.")),
            ),
            ["go (p1)", "and? (p2) | t1 Bash True 2000 None for p1 | = 'Made.' | …"],
        ),
        # That of a command in the background only says that it began.
        (
            (GO, said("a1", 1, call("t1", "Bash", command="x", run_in_background=True)), result("u2", 2, "t1", "b1")),
            ["go | t1 Bash None 1000 None | …"],
        ),
        # A sub-agent's end stands beside its call.
        (
            (
                *(GO, said("a1", 1, call("t1", "Task", subagent_type="Explore", prompt="look"))),
                result("u2", 9, "t1", toolUseResult={"totalDurationMs": 7000}),
            ),
            ["go | t1 Task True 7000 None | t1 Explore True 7000 None | …"],
        ),
        # What was refused was never run.
        *(
            (
                (
                    GO,
                    said("a1", 1, call("t1", "Write", content="x")),
                    result("u2", 2, "t1", words, error=True),
                    STOPPED,
                ),
                ["go | rejection Write | interruption"],
            )
            for words in (REFUSED, [{"type": "text", "text": REFUSED}])
        ),
        # Two hooks of one start are one start, and it stands apart from what was finished before.
        *(
            ((line(kind, "h1", 0, **told), line(kind, "h2", 0.1, **told), GO), ["session_start clear", "go | …"])
            for kind, told in (("progress", {"data": hook("clear")}), ("attachment", {"attachment": hook("clear")}))
        ),
        (
            (GO, said("a1", 1, "1", stop_reason="end_turn"), line("progress", "h1", 900, data=hook("resume"))),
            ["go | = '1'", "session_start resume | …"],
        ),
        # Leaving ends the session, and is no prompt.
        ((user("u1", 0, "<command-name>/exit</command-name>"),), ["session_end prompt_input_exit"]),
        # Newer versions write a boundary and a summary of a compaction, older ones only the summary.
        (
            (GO, line("system", "s", 1, subtype="compact_boundary", compactMetadata={"trigger": "auto"}), SUMMARY),
            ["go | compaction auto | …"],
        ),
        ((GO, SUMMARY), ["go | compaction | …"]),
        # A newer version's local command stands in a system line, and what it printed in another.
        (
            (
                line("system", "s1", 0, subtype="local_command", content="<command-name>/clear</command-name>"),
                line("system", "s2", 1, subtype="local_command", content="<local-command-stdout>x"),
            ),
            ["/clear | …"],
        ),
        # What is typed while the agent works is an attachment; notifications are none.
        (
            (
                *(GO, line("attachment", "q1", 1, attachment=QUEUED | {"commandMode": "prompt"})),
                line("attachment", "q2", 2, attachment=QUEUED | {"prompt": "<task-notification>x</task-notification>"}),
                line("attachment", "q3", 3, attachment=QUEUED | {"prompt": [{"type": "text", "text": "also this"}]}),
            ),
            ["go", "and the tests | prompt", "also this | …"],
        ),
        # The status of an error is the one given, else the one that its text names.
        *(
            ((GO, said("a1", 1, text, model="<synthetic>", isApiErrorMessage=True, **told)), [f"go | error{status}"])
            for text, told, status in (
                ("API Error: 529 Overloaded", {}, " 529"),
                ("API Error (Connection error.)", {}, ""),
                ("You've hit your session limit", {"error": "rate_limit"}, " 429"),
                ("Something failed", {"apiErrorStatus": 404}, " 404"),
            )
        ),
    ],
)
def test_lines_become_exchanges(lines: tuple[dict[str, Any], ...], expected: list[str]) -> None:
    assert [imported.shown(each, tokens=False) for each in read(*lines)] == expected


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
    assert prompts(user("u1", 0, "some text", **fields)) == []


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<command-name>/clear</command-name>\n<command-args></command-args>", "/clear"),
        (
            "<command-message>review</command-message><command-name>review</command-name>"
            "<command-args>PR 2</command-args>",
            "/review PR 2",
        ),
        ("<bash-input>git status</bash-input>", "! git status"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        (
            [{"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"}, {"type": "text", "text": "why?"}],
            "why?",
        ),
        ([{"type": "image", "source": {}}], "[Image]"),
        ("why does <command-name> appear here?", "why does <command-name> appear here?"),
    ],
)
def test_commands_and_blocks_are_given_as_typed(content: Any, text: str) -> None:
    """A command is `/name arguments`, pass-through `! command`; what an editor adds is left out."""
    assert prompts(user("u1", 0, content)) == [text]


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
    assert (first.model, first.request_id, first.at_us) == ("claude-opus-4-6", "r", TEN_O_CLOCK_US + 2_000_000)
    assert second.cache_write_1h_tokens is None


# --- tools -------------------------------------------------------------------------------------------------
