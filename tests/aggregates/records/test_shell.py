"""What a shell command line is read as."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aggregates.records.shell import COMMAND_CHARACTERS_MAX, ShellReading, read_command
from aggregates.records.tools import tool_effect
from tests.support.tables import lines_of, table

READINGS = {
    "reads": ShellReading(),
    "changes": ShellReading(mutating=True),  # a command with side effects, or one that nobody knows
    "checks": ShellReading(check=True),
    "builds": ShellReading(check=True, mutating=True),  # linters that repair, too
    "reverts": ShellReading(mutating=True, revert=True),
}
COMMITS = ShellReading(mutating=True, commit=True)
PULL_REQUEST = ShellReading(mutating=True, pull_request=True)
MESSAGE = "Fix; rm -rf /tmp\n\nCo-Authored-By: A <a@example.test>"


@pytest.mark.parametrize(("section", "line"), lines_of(Path(__file__).with_name("commands.txt")))
def test_what_a_command_is_read_as(section: str, line: str) -> None:
    command, _, paths = line.partition(" => ")
    assert read_command(command) == replace(READINGS[section], reverted=tuple(paths.split()))


@table(
    ("command", "reading"),
    {
        "a message is no command": ("git add -A && git commit -m 'x > y'", COMMITS),
        "nor is a document": (f"git commit -m \"$(cat <<'EOF'\n{MESSAGE}\nEOF\n)\"", COMMITS),
        "a pull request": ("gh pr create --title x --body y", PULL_REQUEST),
        "a merge request": ("glab mr create --fill", PULL_REQUEST),
        "all in one line": (
            "npm test && git commit -am ok && git push && gh pr create --fill",
            ShellReading(mutating=True, check=True, commit=True, pull_request=True),
        ),
        "a stash that comes back": ("git stash && make test; git stash pop", ShellReading(mutating=True, check=True)),
        "what else was taken back": (
            "git stash && git checkout -- a.py && git stash pop",
            ShellReading(mutating=True, revert=True, reverted=("a.py",)),
        ),
        "a check that writes a file": ("pytest > report.txt", ShellReading(mutating=True, check=True)),
        "up to the bound": ("ls " + "x" * COMMAND_CHARACTERS_MAX + "; rm y", ShellReading()),
        "too deep to be seen": ("eval " * 20 + "ls", ShellReading(mutating=True)),
    },
)
def test_the_parts_of_a_line_add_up(command: str, reading: ShellReading) -> None:
    assert read_command(command) == reading


@given(st.text(alphabet=st.sampled_from("ab 'x\"\\$()`<>&|;\n{}#-=EOF0123/"), max_size=200))
def test_nothing_makes_it_raise(command: str) -> None:
    assert isinstance(read_command(command), ShellReading)


@pytest.mark.parametrize(
    ("effect", "tools"),
    [
        ("edit", "Edit MultiEdit NotebookEdit apply_patch replace mcp__serena__replace_symbol_body"),
        ("write", "Write write_file mcp__filesystem__write_file"),
        ("shell", "Bash exec_command run_shell_command"),
        ("read", "Read Grep Glob WebFetch TodoWrite mcp__github__get_file_contents mcp__db__searchRows"),
        ("other", "Task mcp__linear__create_issue mcp__x__"),
    ],
)
def test_a_tool_is_told_from_its_name(effect: str, tools: str) -> None:
    """The names of the agents' own tools are known; MCP tools go by their verb."""
    assert {tool: tool_effect(tool) for tool in (*tools.split(), "")} == {
        **dict.fromkeys(tools.split(), effect),
        "": "other",
    }
