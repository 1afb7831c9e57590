"""A tool call's input, whatever the agent calls its members: the file, the command, the lines it changed."""

import re
import shlex
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from hashlib import blake2b
from itertools import islice
from pkgutil import get_data
from typing import Any, Literal, NamedTuple

import msgspec

from aggregates.records.record import Count

_COMPARED_LINES_MAX = 400  # longer texts are not aligned: what differs between their common ends counts as replaced
_STEPS_PER_LINE_MAX = 64  # comparisons that aligning may take a line; of many equal lines the rest counts as replaced
Changed = tuple[int | None, int | None]  # lines added and removed; None where that was not observed
NOT_OBSERVED: Changed = (None, None)
ToolEffect = Literal["edit", "write", "shell", "read", "other"]
_NAMES = msgspec.toml.decode(get_data(__name__, "tools.toml") or b"")
_TOOLS, _VERBS = (
    {name: effect for effect, names in _NAMES[table].items() for name in names.split()} for table in ("tools", "verbs")
)
_MEMBERS: dict[str, list[str]] = {what: names.split() for what, names in _NAMES["members"].items()}
_OF_FILES = frozenset(_NAMES["of_files"].split())
_NAME_CHARACTERS_MAX = 200
COMMAND_BYTES_MAX = 8192
_ENCODE = msgspec.json.Encoder(order="sorted").encode
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_CUT = re.compile(r"…\[|\[TRUNCATED|\.\.\.\[truncated", re.IGNORECASE)  # how agents mark a value that they shortened


def tool_effect(tool_name: str) -> ToolEffect:
    """What a tool does; `other` (not mutating) where its name says nothing. An MCP tool is known by its first verb."""
    name = tool_name[:_NAME_CHARACTERS_MAX]
    tool = name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name
    known = _TOOLS.get(tool.lower())
    if known is not None or not name.startswith("mcp__"):
        return known or "other"
    words = [word.lower() for word in _WORD.findall(tool)]
    effect: ToolEffect = _VERBS.get(words[0] if words else "", "other")
    return "other" if effect in ("edit", "write") and _OF_FILES.isdisjoint(words) else effect


def changed_lines(tool: str, arguments: dict[str, Any], result: object = None) -> Changed:
    """By what the call brought, where it tells that; else by what was asked for."""
    outcome = result if isinstance(result, dict) else {}
    hunks = outcome.get("structuredPatch")
    if isinstance(hunks, list) and hunks:  # that of a new file is empty
        kept = [hunk.get("lines") for hunk in hunks if isinstance(hunk, dict)]
        return _signed(each for lines in kept if isinstance(lines, list) for each in lines if isinstance(each, str))
    if tool in ("Edit", "MultiEdit"):
        edits = arguments.get("edits", [arguments])
        told = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else None
        counts = [_replaced(edit.get("old_string"), edit.get("new_string")) for edit in told or ()]
        return NOT_OBSERVED if told is None else (sum(count[0] for count in counts), sum(count[1] for count in counts))
    if tool == "NotebookEdit":
        mode, source = arguments.get("edit_mode"), arguments.get("new_source")
        if mode == "delete" or not isinstance(source, str):
            return NOT_OBSERVED
        return len(source.splitlines()), 0 if mode == "insert" else None
    if (patch := _patch(arguments)) is not None:
        signed = _signed(patch.splitlines())
        return signed if any(signed) else NOT_OBSERVED
    old, new = _first(arguments, "old"), _first(arguments, "new")
    if old is not None and new is not None:
        return _replaced(old, new)
    content = arguments.get("content", arguments.get("file_text"))
    if tool_effect(tool) != "write" or not isinstance(content, str):
        return NOT_OBSERVED
    before, kind = outcome.get("originalFile"), outcome.get("type")
    if kind == "update" and isinstance(before, str):
        return _replaced(before, content)
    return len(content.splitlines()), 0 if kind == "create" else None


def _signed(lines: Iterable[str]) -> tuple[int, int]:
    signs = Counter(line[:1] for line in lines)
    return signs["+"], signs["-"]


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
    kept = _kept(before, after)
    return len(after) - kept, len(before) - kept


def _kept(before: list[str], after: list[str]) -> int:
    """How many lines stay, as `SequenceMatcher.get_matching_blocks` has it; the longest blocks first."""
    matcher = SequenceMatcher(None, before, after, False)
    places, kept = Counter(after), 0
    steps_left = _STEPS_PER_LINE_MAX * (len(before) + len(after))
    windows = deque([(0, len(before), 0, len(after))])
    while windows:
        low, high, after_low, after_high = windows.popleft()
        steps_left -= high - low + sum(map(places.__getitem__, before[low:high]))
        if steps_left < 0:
            break
        at, after_at, size = matcher.find_longest_match(low, high, after_low, after_high)
        kept += size
        for window in ((low, at, after_low, after_at), (at + size, high, after_at + size, after_high)):
            if size and window[0] < window[1] and window[2] < window[3]:
                windows.append(window)
    return kept


PATCHED_FILES_MAX = 100  # of a patch of more files the first ones are told apart


class ChangedFile(NamedTuple):
    path: str
    lines_added: Count
    lines_removed: Count


class ToolInput(msgspec.Struct, frozen=True):
    path: str | None = None
    command: str | None = None
    key: str | None = None
    lines: Changed = NOT_OBSERVED
    background: bool = False  # the command was only started: how it ends is not known
    more: tuple[ChangedFile, ...] = ()  # what a patch changes beside `path`; its lines are among `lines`


def tool_input(tool: str, arguments: Mapping[str, Any], *, whole: bool = False, result: object = None) -> ToolInput:
    """Reads the input of a call. One that may be shortened gives neither lines nor a key, for they would be wrong."""
    if not arguments:
        return ToolInput()
    whole = whole or not any(isinstance(value, str) and _CUT.search(value) for value in arguments.values())
    effect = tool_effect(tool)
    known = dict(arguments)
    patch = (_patch(known) or "") if effect in ("edit", "write", "read") else ""
    patched: list[ChangedFile] = []
    if whole and effect == "edit":
        heads = list(islice(_PATCHED_FILE.finditer(patch), PATCHED_FILES_MAX))
        for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(patch)], strict=False):
            patched.append(ChangedFile(head[1].strip(), *_signed(patch[head.end() : end].splitlines())))
    path = _first(known, "path") if effect in ("edit", "write", "read") else None
    if path is None and (named := _PATCHED_FILE.search(patch)):
        path = named.group(1).strip()
    digest = blake2b(_ENCODE(known), digest_size=16).hexdigest() if whole else None
    return ToolInput(
        path=path or None,
        command=_command(known) if effect == "shell" else None,
        key=f"{tool}\x1f{digest}" if whole else None,
        lines=changed_lines(tool, known, result) if whole and effect in ("edit", "write") else NOT_OBSERVED,
        background=effect == "shell" and (known.get("run_in_background") or known.get("background")) is True,
        more=tuple(patched[1:]),
    )


def _command(arguments: dict[str, Any]) -> str | None:
    """The shell's text; of a list, what a shell is told to run, else the words joined."""
    found = next((arguments[key] for key in _MEMBERS["command"] if arguments.get(key)), None)
    if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
        told = len(found) > 2 and found[0] in _SHELLS and found[1] in ("-c", "-lc", "-ic")
        found = found[2] if told else shlex.join(found)
    return bounded_command(found) if isinstance(found, str) else None


def _patch(arguments: dict[str, Any]) -> str | None:
    patches = (arguments.get(key) for key in _MEMBERS["patch"])
    return next((each for each in patches if isinstance(each, str) and "*** " in each), None)


def _first(arguments: dict[str, Any], what: str) -> str | None:
    return next((arguments[key] for key in _MEMBERS[what] if isinstance(arguments.get(key), str)), None)


def bounded_command(command: str) -> str:
    """The beginning of a shell command; what decides what it does stands there."""
    return command.encode()[:COMMAND_BYTES_MAX].decode(errors="ignore")
