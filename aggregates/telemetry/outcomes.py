"""How a tool call ended, by what its agent says of it: one reading for telemetry, hooks and transcripts.

To an agent a command that ended badly is often a success: it ran. What it ended with stands in the result, for each
agent at a place of its own, and nowhere else: what a command printed is not looked at.
"""

import re
from typing import NamedTuple

from aggregates.telemetry.otlp import json_object

EDGE_CHARACTERS_MAX = 500  # what a result says of itself stands in so many characters at its beginning, or at its end
_PARTS_MAX = 64
_DEPTH_MAX = 4  # of a result in parts so many are looked at, and so deep


class ToolOutcome(NamedTuple):
    ok: bool | None  # None where it did not end by itself, still runs, or nothing was said
    stopped: bool = False  # by a person


_NEVER = re.compile(r"(?!)")


class _Wording(NamedTuple):
    """How an agent puts it, for `search`; a pattern that nothing matches for what it does not say."""

    code: re.Pattern[str] = _NEVER
    running: re.Pattern[str] = _NEVER
    at_end: bool = False  # whether these two stand at the end of a result, else at its beginning, like all that follow
    stopped: re.Pattern[str] = _NEVER
    failed: re.Pattern[str] = _NEVER
    good: re.Pattern[str] = _NEVER
    of_failures: bool = False
    """Whether it says so of failures only: what else begins like that was printed by a command."""


_CODEX_HEAD = r"\A(?:(?:Chunk ID|Wall time)[^\n]*\n)*"
_GEMINI_HEAD = r"\A(?:<untrusted_context>\n)?"
_WORDINGS = {
    "claude-code": _Wording(
        code=re.compile(r"\A\s*(?:Error: )?Exit code (-?\d+)\b"),
        stopped=re.compile(r"\[Request interrupted by user"),
        of_failures=True,
    ),
    "codex": _Wording(
        # A patch that was applied in a shell's stead has a second header.
        code=re.compile(
            _CODEX_HEAD + r"(?:Process exited with code|Exit code:|Output:\nExit code:(?= -?\d+\nWall time:)) (-?\d+)"
        ),
        running=re.compile(_CODEX_HEAD + r"Process running with session ID|\AScript running with cell ID"),
        stopped=re.compile(_CODEX_HEAD + "aborted by user"),
        failed=re.compile(
            r"\A(?:Script failed|apply_patch verification failed|exec_command failed|execution error:"
            r"|unsupported call:)"
        ),
        good=re.compile(r"\A(?:Script completed|Success\. Updated the following files)"),
    ),
    "gemini": _Wording(
        code=re.compile(
            r"^Exit Code: (-?\d+)(?:\n(?:Signal|Background PIDs|Process Group PGID):[^\n]*)*"
            r"\s*(?:</untrusted_context>\s*)?\Z",
            re.MULTILINE,
        ),
        running=re.compile(_GEMINI_HEAD + r"Command (?:moved to|is running in) background"),
        at_end=True,
        # Who denies a call has not stopped the agent.
        stopped=re.compile(
            _GEMINI_HEAD
            + r"(?:\[Operation Cancelled\] (?!Reason: User (?:did not allow|denied))|Command was cancelled by user)"
        ),
    ),
    "copilot": _Wording(
        code=re.compile(r"\b(?:completed|exited) with exit code (-?\d+)>?\s*\Z"),
        running=re.compile(r"\bis still running\b[^\n]*>\s*\Z"),
        at_end=True,
    ),
}
_SILENT = _Wording()
_CODES = ("exit_code", "exitCode", "exit")
_ERRORS = ("isError", "is_error")


def tool_outcome(agent: str, result: object, flag: bool | None = None) -> ToolOutcome:
    """`result`: a text, parsed JSON, or a list of such parts. `flag`: whether the agent calls it a success.

    `agent` by the name that it has everywhere; of one that is not known only JSON and the flag are read.
    """
    wording = _WORDINGS.get(agent, _SILENT)
    if agent == "codex" and isinstance(result, str) and result.startswith('{"output":'):
        result = json_object(result)  # its older versions wrap the text
    told = result if isinstance(result, dict) else {}
    text = _text(result)
    head = text[:EDGE_CHARACTERS_MAX]
    edge = text[-EDGE_CHARACTERS_MAX:] if wording.at_end else head
    if wording.of_failures and flag is not False:
        head = edge = ""
    error = next((value for key in _ERRORS if isinstance(value := told.get(key), bool)), None)
    places = [place for place in (told, told.get("metadata"), told.get("data")) if isinstance(place, dict)]
    codes = (place.get(key) for place in places for key in _CODES)
    code = next((each for each in codes if isinstance(each, int) and not isinstance(each, bool)), None)
    if code is None and (found := wording.code.search(edge)):
        code = int(found.group(1))
    if told.get("interrupted") is True or wording.stopped.search(head):
        return ToolOutcome(None, stopped=True)
    if flag is False or error or code or wording.failed.search(head):
        return ToolOutcome(False)
    if code is None and wording.running.search(edge):
        return ToolOutcome(None)
    good = flag is True or error is False or code == 0 or wording.good.search(head) is not None
    return ToolOutcome(True if good else None)


def _text(result: object, depth: int = 0) -> str:
    """The words of a result, whatever they are wrapped in."""
    if depth > _DEPTH_MAX:
        return ""
    match result:
        case str():
            return result
        case list():
            return "\n".join(_text(part, depth + 1) for part in result[:_PARTS_MAX])
        case {"output": inner} | {"error": inner} | {"text": inner} | {"content": inner} | {"message": inner}:
            return _text(inner, depth + 1)
        case {"functionResponse": {"response": inner}}:
            return _text(inner, depth + 1)
        case _:
            return ""
