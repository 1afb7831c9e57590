"""How a tool call ended, as each agent says it: whatever it calls a success, a failed command failed."""

import pytest

from aggregates.telemetry.outcomes import EDGE_CHARACTERS_MAX, ToolOutcome, tool_outcome

GOOD, FAILED, UNKNOWN, STOPPED = ToolOutcome(True), ToolOutcome(False), ToolOutcome(None), ToolOutcome(None, True)
DEEP: object = "Exit code: 1"
for _ in range(2_000):
    DEEP = {"output": DEEP}


SPOKEN: list[tuple[str, object, bool | None, ToolOutcome]] = [
    # Codex: a header, then what the command printed.
    ("codex", "Chunk ID: 27\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\n", True, FAILED),
    ("codex", "Chunk ID: 27\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n", True, GOOD),
    ("codex", "Exit code: 124\nWall time: 9 seconds\nOutput:\nProcess exited with code 0", True, FAILED),
    ("codex", "Wall time: 1 seconds\nOutput:\nProcess exited with code 3", True, GOOD),
    ("codex", "Wall time: 3.2 seconds\naborted by user", True, STOPPED),
    ("codex", "aborted by user after 3.2s", True, STOPPED),
    ("codex", "Chunk ID: 27\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\n", True, UNKNOWN),
    ("codex", '{"output":"broken","metadata":{"exit_code":2,"duration_seconds":0.1}}', True, FAILED),
    ("codex", [{"type": "input_text", "text": "Exit code: 0\nOutput:\n"}], None, GOOD),
    ("codex", "apply_patch verification failed: Failed to find expected lines", None, FAILED),
    ("codex", "Success. Updated the following files:\nM a.py", None, GOOD),
    ("codex", "Script failed\nWall time 0.1 seconds\nOutput:\n", None, FAILED),
    ("codex", "Wall time: 0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", None, GOOD),
    ("codex", "Wall time: 0 seconds\nOutput:\nExit code: 1\nprinted by a command", True, GOOD),
    ("codex", "unsupported call: spawn_agent", None, FAILED),
    ("codex", "Plan updated", None, UNKNOWN),
    ("codex", DEEP, None, UNKNOWN),
    # Gemini: metadata in telemetry, lines at the end in its files.
    ("gemini", {"exitCode": 4, "isError": True}, True, FAILED),
    ("gemini", {"exitCode": 0, "isError": False}, True, GOOD),
    ("gemini", {"isError": True}, True, FAILED),
    ("gemini", {"model_added_lines": 3}, True, GOOD),
    ("gemini", "Output: 1 failed\nExit Code: 4\nProcess Group PGID: 12", True, FAILED),
    (
        "gemini",
        "<untrusted_context>\nOutput: 1 failed\nExit Code: 4\nProcess Group PGID: 2180\n</untrusted_context>",
        True,
        FAILED,
    ),
    ("gemini", "Output: Exit Code: 4\nbut then it went well", True, GOOD),
    ("gemini", [{"functionResponse": {"response": {"output": "Output: x\nExit Code: 4"}}}], True, FAILED),
    ("gemini", "[Operation Cancelled] Reason: User cancelled the operation.", False, STOPPED),
    ("gemini", "[Operation Cancelled] Reason: User denied execution.", False, FAILED),
    ("gemini", {"error": "[Operation Cancelled] Reason: User cancelled the operation."}, False, STOPPED),
    ("gemini", "Command was cancelled by user before it could complete.", True, STOPPED),
    ("gemini", "Command moved to background (PID: 12). Output hidden.", True, UNKNOWN),
    # Copilot: the last line.
    ("copilot", "1 failed\n<command with shellId: 0 completed with exit code 4>", True, FAILED),
    ("copilot", {"content": "1 failed\n<exited with exit code 4>"}, True, FAILED),
    ("copilot", "Job completed with exit code 4\n<command with shellId: 0 completed with exit code 0>", True, GOOD),
    ("copilot", "<command with shellId: 0 is still running after 30 seconds. Use read_bash.>", True, UNKNOWN),
    # Claude Code: of failures only; what a good command printed may look alike.
    ("claude-code", "Exit code 2\nboom", False, FAILED),
    ("claude-code", "Exit code 2\nprinted by a good command", True, GOOD),
    ("claude-code", {"interrupted": True, "stdout": ""}, False, STOPPED),
    ("claude-code", "[Request interrupted by user for tool use]", False, STOPPED),
    ("claude-code", 'grep: "[Request interrupted by user" found', True, GOOD),
    ("claude-code", '{"isError": true, "exit_code": 1}', True, GOOD),
    # Any other: what it says in so many words.
    ("opencode", {"output": "1 failed", "metadata": {"exit": 1}}, True, FAILED),
    ("unknown", "Process exited with code 1", True, GOOD),
    ("unknown", {"is_error": True}, None, FAILED),
    ("unknown", {"exit_code": True}, None, UNKNOWN),
    ("unknown", None, None, UNKNOWN),
    ("unknown", None, False, FAILED),
]


@pytest.mark.parametrize(("agent", "result", "flag", "outcome"), SPOKEN)
def test_a_call_ended_as_its_result_says(agent: str, result: object, flag: bool | None, outcome: ToolOutcome) -> None:
    """The exit code before the flag, and only where the agent itself puts it."""
    assert tool_outcome(agent, result, flag) == outcome


@pytest.mark.parametrize(("agent", "said"), [("codex", "Exit code: 1\n"), ("copilot", "\n<exited with exit code 1>")])
def test_only_the_edge_of_a_result_is_read(agent: str, said: str) -> None:
    printed = "Exit code: 0\n" + EDGE_CHARACTERS_MAX * "x\n"
    whole = said + printed if agent == "codex" else printed + said
    assert tool_outcome(agent, whole, True) == FAILED
