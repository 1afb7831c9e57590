"""What a tool call's input says: its lines, and what a shell command line is read as."""

from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st
from msgspec.structs import replace

from aggregates.records.shell import COMMAND_CHARACTERS_MAX, ShellReading, read_command
from aggregates.records.tools import COMMAND_BYTES_MAX, Changed, changed_lines, tool_effect, tool_input
from tests.support.tables import beside, each_of, lines_of

LONG = "".join(f"line {number}\n" for number in range(500))  # too long to be aligned: what differs was replaced


PATCH = {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}, {"lines": ["+e"]}]}


@beside()
def test_changed_lines_come_from_the_patch_or_the_texts(
    tool: str, arguments: dict[str, Any], result: object, lines: Changed
) -> None:
    assert changed_lines(tool, arguments, PATCH if result == "PATCH" else result) == lines


def test_what_is_too_long_to_be_aligned_was_replaced_but_for_its_ends() -> None:
    for old, new, lines in (
        ("a\n" * 900, "b\n" * 500, (500, 900)),
        (LONG, f"one more\n{LONG}", (1, 0)),
        (LONG, f"{LONG}one more\n", (1, 0)),
    ):
        assert changed_lines("Edit", {"old_string": old, "new_string": new}, None) == lines


def test_a_command_is_bounded_and_equal_inputs_have_equal_keys() -> None:
    one = tool_input("Bash", {"command": "é" * COMMAND_BYTES_MAX, "description": "long"})
    other = tool_input("Bash", {"description": "long", "command": "é" * COMMAND_BYTES_MAX})
    assert one.command == "é" * (COMMAND_BYTES_MAX // 2)
    assert one.key == other.key != tool_input("Bash", {"command": "ls"}).key


# --- shell commands --------------------------------------------------------------------------------------

READINGS = {
    "reads": ShellReading(),
    "changes": ShellReading(mutating=True),  # a command with side effects, or one that nobody knows
    "checks": ShellReading(check=True),
    "builds": ShellReading(check=True, mutating=True),  # linters that repair, too
    "commits": ShellReading(mutating=True, commit=True),
    "reverts": ShellReading(mutating=True, revert=True),
}


@each_of(lines_of(Path(__file__).with_name("commands.txt")))
def test_what_a_command_is_read_as(section: str, line: str) -> None:
    command, _, paths = line.partition(" => ")
    assert read_command(command) == replace(READINGS[section], reverted=tuple(paths.split()))


@beside()
def test_the_parts_of_a_line_add_up(command: str, told: str) -> None:
    """What holds of it, and behind a slash the paths that were taken back."""
    flags, _, paths = told.partition("/")
    holds: dict[str, Any] = dict.fromkeys(flags.split(), True)
    assert read_command(command) == ShellReading(**holds, reverted=tuple(paths.split()))


def test_a_line_is_read_up_to_its_bound() -> None:
    assert read_command("ls " + "x" * COMMAND_CHARACTERS_MAX + "; rm y") == ShellReading()


@given(st.text(alphabet=st.sampled_from("ab 'x\"\\$()`<>&|;\n{}#-=EOF0123/"), max_size=200))
def test_nothing_makes_it_raise(command: str) -> None:
    assert isinstance(read_command(command), ShellReading)


@each_of(
    [
        ("edit", "Edit MultiEdit NotebookEdit apply_patch replace mcp__serena__replace_symbol_body"),
        ("write", "Write write_file mcp__filesystem__write_file"),
        ("shell", "Bash exec_command run_shell_command"),
        ("read", "Read Grep Glob WebFetch TodoWrite mcp__github__get_file_contents mcp__db__searchRows"),
        ("other", "Task mcp__linear__create_issue mcp__x__"),
    ]
)
def test_a_tool_is_told_from_its_name(effect: str, tools: str) -> None:
    """The names of the agents' own tools are known; MCP tools go by their verb."""
    assert {tool: tool_effect(tool) for tool in (*tools.split(), "")} == {
        **dict.fromkeys(tools.split(), effect),
        "": "other",
    }
