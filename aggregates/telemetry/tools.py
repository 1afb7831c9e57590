"""A tool call's input, whatever the agent calls its members: the file, the command, the lines it changed."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from aggregates.changed_lines import Changed, changed_lines
from aggregates.tool_input import bounded_command, input_key
from aggregates.tool_names import tool_effect

NOT_OBSERVED: Changed = (None, None)

_PATHS = ("file_path", "notebook_path", "filePath", "absolute_path", "path", "fileName")
_COMMANDS = ("command", "cmd", "full_command")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str")
_PATCHES = ("patch", "input", "patchText")
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_CUT = re.compile(r"…\[|\[TRUNCATED|\.\.\.\[truncated", re.IGNORECASE)
"""How agents mark a value that they shortened."""


class ToolInput(msgspec.Struct, frozen=True):
    """What a call's input says; None for what it does not."""

    path: str | None = None
    command: str | None = None
    key: str | None = None
    lines: Changed = NOT_OBSERVED
    background: bool = False
    """The command was only started: how it ends is not known."""


def tool_input(tool: str, arguments: Mapping[str, Any]) -> ToolInput:
    """Reads the input of a call. A shortened input gives neither lines nor a key, for they would be wrong."""
    if not arguments:
        return ToolInput()
    whole = not any(isinstance(value, str) and _CUT.search(value) for value in arguments.values())
    effect = tool_effect(tool)
    known = dict(arguments)
    return ToolInput(
        path=_path(known) if effect in ("edit", "write", "read") else None,
        command=_command(known) if effect == "shell" else None,
        key=input_key(tool, known) if whole else None,
        lines=_lines(tool, known) if whole and effect in ("edit", "write") else NOT_OBSERVED,
        background=effect == "shell" and (known.get("run_in_background") or known.get("background")) is True,
    )


def _path(arguments: dict[str, Any]) -> str | None:
    found = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), None)
    if found is None:
        patched = _PATCHED_FILE.search(_patch(arguments) or "")
        found = patched and patched.group(1).strip()
    return found or None


def _command(arguments: dict[str, Any]) -> str | None:
    """The shell's text; of a list, what a shell is told to run, else the words joined."""
    found = next((arguments[key] for key in _COMMANDS if arguments.get(key)), None)
    if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
        told = len(found) > 2 and found[0] in _SHELLS and found[1] in ("-c", "-lc", "-ic")
        found = found[2] if told else shlex.join(found)
    return bounded_command(found) if isinstance(found, str) else None


def _patch(arguments: dict[str, Any]) -> str | None:
    patches = (arguments.get(key) for key in _PATCHES)
    return next((each for each in patches if isinstance(each, str) and "*** " in each), None)


def _lines(tool: str, arguments: dict[str, Any]) -> Changed:
    known = changed_lines(tool, arguments, None)
    if known != NOT_OBSERVED:
        return known
    patch = _patch(arguments)
    if patch is not None:
        return _patched(patch)
    old, new = _first(arguments, _OLD), _first(arguments, _NEW)
    if old is not None and new is not None:
        return changed_lines("Edit", {"old_string": old, "new_string": new}, None)
    return changed_lines("Write", arguments, None) if tool_effect(tool) == "write" else NOT_OBSERVED


def _first(arguments: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), None)


def _patched(patch: str) -> Changed:
    """Counted from the lines of the patch; where it has none, nothing was observed."""
    lines = patch.splitlines()
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return (added, removed) if added or removed else NOT_OBSERVED
