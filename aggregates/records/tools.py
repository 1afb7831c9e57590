"""A tool call's input, whatever the agent calls its members: the file, the command, the lines it changed."""

import re
import shlex
from collections.abc import Mapping
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import Any, Literal

import msgspec

_COMPARED_LINES_MAX = 400
"""Longer texts are not aligned: what differs between their common ends counts as replaced."""
Changed = tuple[int | None, int | None]
"""Lines added and removed; None where that was not observed."""


def changed_lines(tool: str, arguments: dict[str, Any], result: object) -> Changed:
    outcome = result if isinstance(result, dict) else {}
    patched = _patched(outcome.get("structuredPatch"))
    if patched is not None:
        return patched
    match tool:
        case "Edit" | "MultiEdit":
            return _edited(arguments)
        case "Write":
            return _written(arguments, outcome)
        case "NotebookEdit":
            return _cell(arguments)
        case _:
            return None, None


def _patched(patch: object) -> Changed | None:
    """Counted from the hunks that the agent kept; an empty patch says nothing (a new file has none)."""
    if not isinstance(patch, list) or not patch:
        return None
    lines = [line for hunk in patch if isinstance(hunk, dict) for line in _strings(hunk.get("lines"))]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _edited(arguments: dict[str, Any]) -> Changed:
    edits = arguments.get("edits", [arguments])
    if not isinstance(edits, list):
        return None, None
    counts = [_replaced(edit.get("old_string"), edit.get("new_string")) for edit in edits if isinstance(edit, dict)]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def _written(arguments: dict[str, Any], outcome: dict[str, Any]) -> Changed:
    content = arguments.get("content")
    if not isinstance(content, str):
        return None, None
    before = outcome.get("originalFile")
    if outcome.get("type") == "update" and isinstance(before, str):
        return _replaced(before, content)
    return len(content.splitlines()), 0 if outcome.get("type") == "create" else None


def _cell(arguments: dict[str, Any]) -> Changed:
    source = arguments.get("new_source")
    if arguments.get("edit_mode") == "delete" or not isinstance(source, str):
        return None, None
    return len(source.splitlines()), 0 if arguments.get("edit_mode") == "insert" else None


def _replaced(old: object, new: object) -> tuple[int, int]:
    before = old.splitlines() if isinstance(old, str) else []
    after = new.splitlines() if isinstance(new, str) else []
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    if max(len(before), len(after)) > _COMPARED_LINES_MAX:
        return len(after), len(before)
    kept = sum(block.size for block in SequenceMatcher(None, before, after, False).get_matching_blocks())
    return len(after) - kept, len(before) - kept


def _strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


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
        return _patch_lines(patch)
    old, new = _first(arguments, _OLD), _first(arguments, _NEW)
    if old is not None and new is not None:
        return changed_lines("Edit", {"old_string": old, "new_string": new}, None)
    return changed_lines("Write", arguments, None) if tool_effect(tool) == "write" else NOT_OBSERVED


def _first(arguments: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), None)


def _patch_lines(patch: str) -> Changed:
    """Counted from the lines of the patch; where it has none, nothing was observed."""
    lines = patch.splitlines()
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return (added, removed) if added or removed else NOT_OBSERVED


ToolEffect = Literal["edit", "write", "shell", "read", "other"]


def _effects(table: dict[ToolEffect, str]) -> dict[str, ToolEffect]:
    return {name: effect for effect, names in table.items() for name in names.split()}


_TOOLS = _effects(
    {
        "edit": """
            edit multiedit notebookedit str_replace str_replace_editor str_replace_based_edit_tool
            search_replace replace replace_in_file replace_string_in_file multi_replace_string_in_file
            edit_file edit_files edit_notebook_file apply_patch apply_diff patch insert_edit_into_file
            insert_content update_file
        """,
        "write": "write write_file write_to_file create create_file create_new_jupyter_notebook save_file",
        "shell": """
            bash shell sh exec exec_command local_shell container.exec shell_command unified_exec
            run_shell_command run_in_terminal run_terminal_cmd run_command execute_command powershell
            terminal run_terminal_command run_command_in_terminal
        """,
        "read": """
            read glob grep ls notebookread read_file read_many_files read_multiple_files list_directory
            list_dir list_files search_file_content grep_search glob_search search_files file_search
            codebase_search semantic_search code_search get_errors webfetch websearch web_fetch web_search
            fetch_webpage google_web_search view view_image get_file_contents read_notebook_cell_output
            test_search bashoutput taskoutput get_terminal_output find_files toolsearch lsp
            get_changed_files readfile readfolder findfiles searchtext get_file
        """,
    }
)
"""Lower-cased names of the tools of Claude Code, Codex, Gemini and Copilot."""

_VERBS = _effects(
    {
        "edit": "edit replace patch update modify insert rename move delete remove",
        "write": "write create save append",
        "shell": "exec execute shell bash terminal",
        "read": "read get list search find query fetch view show describe lookup resolve inspect browse",
    }
)


# A change counts only beside one of these: `create_issue` changes nothing in the code.
_OF_FILES = frozenset(
    {"file", "files", "text", "symbol", "content", "contents", "body", "lines", "line", "code", "notebook"}
)

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAME_CHARACTERS_MAX = 200


def tool_effect(tool_name: str) -> ToolEffect:
    """What a tool does; `other` (not mutating) where its name says nothing. An MCP tool is known by its first verb."""
    name = tool_name[:_NAME_CHARACTERS_MAX]
    tool = name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name
    known = _TOOLS.get(tool.lower())
    if known is not None or not name.startswith("mcp__"):
        return known or "other"
    words = [word.lower() for word in _WORD.findall(tool)]
    effect: ToolEffect = _VERBS.get(words[0], "other") if words else "other"
    return "other" if effect in ("edit", "write") and _OF_FILES.isdisjoint(words) else effect


COMMAND_BYTES_MAX = 8192


def input_key(tool: str, arguments: dict[str, Any]) -> str:
    """Equal for two calls of one tool with the same input, whatever the order of its members."""
    return f"{tool}\x1f{blake2b(msgspec.json.encode(arguments, order='sorted'), digest_size=16).hexdigest()}"


def bounded_command(command: str) -> str:
    """The beginning of a shell command; what decides what it does stands there."""
    return command.encode()[:COMMAND_BYTES_MAX].decode(errors="ignore")
