"""Tables of examples, whose rows are called by a sentence."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


def table(names: str | tuple[str, ...], rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test with each row; its values are a tuple where there is more than one name."""
    return pytest.mark.parametrize(names, list(rows.values()), ids=list(rows))


def lines_of(path: Path) -> list[tuple[str, str]]:
    """The lines of a text beside a test, each with its section's name; remarks are left out, JSON is decoded."""
    section, found = "", list[tuple[str, str]]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\[([\w -]+)\]", line):
            section = heading[1]
        elif line and not line.startswith("# "):
            found.append((section, json.loads(line) if line.startswith('"') else line))
    return found
