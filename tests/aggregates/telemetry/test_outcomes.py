"""How a tool call ended, as each agent says it: whatever it calls a success, a failed command failed."""

import json
from pathlib import Path

import pytest

from aggregates.telemetry.outcomes import EDGE_CHARACTERS_MAX, ToolOutcome, tool_outcome
from tests.support.tables import lines_of

OUTCOMES = {
    "good": ToolOutcome(True),
    "failed": ToolOutcome(False),
    "unknown": ToolOutcome(None),
    "stopped": ToolOutcome(None, stopped=True),
}


@pytest.mark.parametrize("line", [line for _, line in lines_of(Path(__file__).with_name("outcomes.txt"))])
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


@pytest.mark.parametrize(("agent", "said"), [("codex", "Exit code: 1\n"), ("copilot", "\n<exited with exit code 1>")])
def test_only_the_edge_of_a_result_is_read(agent: str, said: str) -> None:
    printed = "Exit code: 0\n" + EDGE_CHARACTERS_MAX * "x\n"
    whole = said + printed if agent == "codex" else printed + said
    assert tool_outcome(agent, whole, True) == OUTCOMES["failed"]
