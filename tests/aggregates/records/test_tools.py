"""How many lines a call changed, as far as its input and its result tell."""

from typing import Any

import pytest

from aggregates.records.tools import COMMAND_BYTES_MAX, Changed, changed_lines, tool_input

LONG = "".join(f"line {number}\n" for number in range(500))  # too long to be aligned: what differs was replaced


PATCH = {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}, {"lines": ["+e"]}]}


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "lines"),
    [
        ("Edit", {"old_string": "x", "new_string": "y"}, PATCH, (3, 1)),
        ("Edit", {"old_string": "a\nb\nc", "new_string": "a\nB\nB2\nc"}, {}, (2, 1)),
        ("Edit", {"old_string": "a\nb\nc\nd", "new_string": "x\nb\ny\nd"}, "text", (2, 2)),
        ("Edit", {"old_string": "a\n" * 900, "new_string": "b\n" * 500}, {}, (500, 900)),
        ("Edit", {"old_string": LONG, "new_string": f"one more\n{LONG}"}, None, (1, 0)),
        ("Edit", {"old_string": LONG, "new_string": f"{LONG}one more\n"}, None, (1, 0)),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "c\nd"}]}, {}, (3, 1)),
        ("MultiEdit", {"edits": "all"}, {}, (None, None)),
        ("Write", {"content": "a\nb\n"}, {"type": "create", "structuredPatch": []}, (2, 0)),
        ("Write", {"content": "a\nb\n"}, {"type": "update", "originalFile": "a\n"}, (1, 0)),
        ("Write", {"content": "a\nb\n"}, None, (2, None)),
        ("Write", {}, {}, (None, None)),
        ("NotebookEdit", {"new_source": "a\nb", "edit_mode": "insert"}, {}, (2, 0)),
        ("NotebookEdit", {"new_source": "a\nb"}, {}, (2, None)),
        ("NotebookEdit", {"edit_mode": "delete"}, {}, (None, None)),
        ("mcp__fs__write_file", {"content": "a"}, {}, (1, None)),
        ("Bash", {"command": "ls"}, None, (None, None)),
    ],
)
def test_changed_lines_come_from_the_patch_or_the_texts(
    tool: str, arguments: dict[str, Any], result: object, lines: Changed
) -> None:
    assert changed_lines(tool, arguments, result) == lines


def test_a_command_is_bounded_and_equal_inputs_have_equal_keys() -> None:
    one = tool_input("Bash", {"command": "é" * COMMAND_BYTES_MAX, "description": "long"})
    other = tool_input("Bash", {"description": "long", "command": "é" * COMMAND_BYTES_MAX})
    assert one.command == "é" * (COMMAND_BYTES_MAX // 2)
    assert one.key == other.key != tool_input("Bash", {"command": "ls"}).key
