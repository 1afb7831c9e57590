"""How many lines a call changed, as far as its input and its result tell."""

from typing import Any

import pytest

from aggregates.records.tools import Changed, changed_lines

LONG = "".join(f"line {number}\n" for number in range(500))  # too long to be aligned: what differs was replaced


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "lines"),
    [
        ("Write", {"content": "a\nb"}, {"type": "update", "originalFile": "a"}, (1, 0)),
        ("Write", {"content": "a\nb"}, {"type": "create"}, (2, 0)),
        ("Write", {"content": "a\nb"}, None, (2, None)),
        ("Edit", {"old_string": "a\nb\nc", "new_string": "a\nB\nc"}, None, (1, 1)),
        ("Edit", {"old_string": LONG, "new_string": f"one more\n{LONG}"}, None, (1, 0)),
        ("Edit", {"old_string": LONG, "new_string": f"{LONG}one more\n"}, None, (1, 0)),
        ("Edit", {}, {"structuredPatch": [{"lines": ["+a", "+b", "-c", " d"]}]}, (2, 1)),
        ("Bash", {"command": "ls"}, None, (None, None)),
    ],
)
def test_lines_are_counted(tool: str, arguments: dict[str, Any], result: object, lines: Changed) -> None:
    assert changed_lines(tool, arguments, result) == lines
