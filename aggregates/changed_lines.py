"""How many lines an edit added and removed, from the tool's result or, without it, from its input."""

from difflib import SequenceMatcher
from typing import Any

_COMPARED_LINES_MAX = 400
"""Longer texts are not aligned: what differs between their common ends counts as replaced."""

Changed = tuple[int | None, int | None]
"""Lines added and removed; None where that was not observed."""


def changed_lines(tool: str, arguments: dict[str, Any], result: object) -> Changed:
    """Lines that a successful file tool changed."""
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
    """Lines added and removed between two texts."""
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
