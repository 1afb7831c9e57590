"""How a tool call ended, by what its agent says of it: one reading for telemetry, hooks and transcripts.

To an agent a command that ended badly is often a success: it ran. What it ended with stands in the result, for each
agent at a place of its own, and nowhere else: what a command printed is not looked at.
"""

import re
import tomllib
from pkgutil import get_data
from typing import Any, NamedTuple

import msgspec

from aggregates.telemetry.otlp import json_object

VOCABULARY: dict[str, Any] = tomllib.loads((get_data(__name__, "vocabulary.toml") or b"").decode())
EDGE_CHARACTERS_MAX = 500  # what a result says of itself stands in so many characters at its beginning, or at its end
_PARTS_MAX = 64
_DEPTH_MAX = 4  # of a result in parts so many are looked at, and so deep
_CODES = ("exit_code", "exitCode", "exit")
_ERRORS = ("isError", "is_error")
_NEVER = re.compile(r"(?!)")  # for what an agent does not say


class ToolOutcome(NamedTuple):
    ok: bool | None  # None where it did not end by itself, still runs, or nothing was said
    stopped: bool = False  # by a person


class _Wording(msgspec.Struct, frozen=True):
    code: re.Pattern[str] = _NEVER
    running: re.Pattern[str] = _NEVER
    stopped: re.Pattern[str] = _NEVER
    failed: re.Pattern[str] = _NEVER
    good: re.Pattern[str] = _NEVER
    at_end: bool = False
    of_failures: bool = False


_WORDINGS = msgspec.convert(VOCABULARY["outcomes"], dict[str, _Wording], dec_hook=lambda _, text: re.compile(text))
_SILENT = _Wording()


def tool_outcome(agent: str, result: object, flag: bool | None = None) -> ToolOutcome:
    """`result`: a text, parsed JSON, or a list of such parts. `flag`: whether the agent calls it a success.

    `agent` by the name that it has everywhere; of one that is not known only JSON and the flag are read.
    """
    if not result:  # mostly nothing is said
        return ToolOutcome(flag)
    wording = _WORDINGS.get(agent, _SILENT)
    if agent == "codex" and isinstance(result, str) and result.startswith('{"output":'):
        result = json_object(result)  # its older versions wrap the text
    told = result if isinstance(result, dict) else {}
    text = _text(result)
    head = text[:EDGE_CHARACTERS_MAX]
    edge = text[-EDGE_CHARACTERS_MAX:] if wording.at_end else head
    if not text or (wording.of_failures and flag is not False):
        head, edge, wording = "", "", _SILENT  # nothing was said
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
