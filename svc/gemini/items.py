"""A message of a session as records."""

import re
from typing import Any

from aggregates.records import Record
from aggregates.telemetry.attributes import json_object
from aggregates.telemetry.codex import uncached
from aggregates.telemetry.failures import status_in
from aggregates.telemetry.happening import Draft
from aggregates.telemetry.tools import tool_input
from aggregates.tool_names import tool_effect
from svc.gemini.messages import Message, Tokens, ToolCall

_OK = {"success": True, "error": False}
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)
_LINES_MAX = 2**31


def drafts_of(message: Message, *, sidechain: bool) -> list[Draft]:
    """The request that a message answers, where it says what that used, and the calls it asks for."""
    tokens = message.tokens
    drafts = [] if tokens is None else [Draft(_request(message, tokens, sidechain=sidechain))]
    calls = enumerate(message.tool_calls or ())
    return drafts + [_call(call, index, message, sidechain=sidechain) for index, call in calls]


def failure(message: Message, *, sidechain: bool) -> Draft:
    """A request that failed for good, as the agent told the user."""
    record = Record(
        record_id=f"error:{message.id}",
        at_us=message.at_us,
        kind="error",
        status_code=status_in(message.text),
        sidechain=sidechain,
    )
    return Draft(record, text=message.text)


def _request(message: Message, tokens: Tokens, *, sidechain: bool) -> Record:
    """Counted as telemetry does: thoughts are output, and the input of built-in tools stands in no count of ours."""
    return Record(
        record_id=f"request:{message.id}",
        at_us=message.at_us,
        kind="request",
        model=message.model,
        input_tokens=uncached(tokens.input, tokens.cached),
        output_tokens=None if tokens.output is None else tokens.output + (tokens.thoughts or 0),
        cache_read_tokens=tokens.cached,
        sidechain=sidechain,
    )


def _call(call: ToolCall, index: int, message: Message, *, sidechain: bool) -> Draft:
    """The agent's telemetry names no calls, so the id of one is no name to know it again by."""
    arguments = dict(call.args) if isinstance(call.args, dict) else json_object(call.args)
    known = tool_input(call.name, arguments)
    rejected = call.status == "cancelled"
    ok = None if rejected else _ok(call)
    counted = _counted(call.result_display)
    added, removed = (known.lines if counted == (None, None) else counted) if ok else (None, None)
    record = Record(
        record_id=f"tool:{call.id or f'{message.id}:{index}'}",
        # A request comes before the calls it asks for, and these in their order.
        at_us=max(message.at_us + 1 + index, call.at_us or 0),
        kind="rejection" if rejected else "tool",
        tool=call.name,
        ok=None if ok and known.background else ok,
        lines_added=added,
        lines_removed=removed,
        sidechain=sidechain,
    )
    return Draft(record, path=known.path, command=known.command, input_key=None if rejected else known.key)


def _ok(call: ToolCall) -> bool | None:
    """As the agent says; a command that ended badly is a success to it. None while it has not ended."""
    ok = _OK.get(call.status or "")
    if ok and tool_effect(call.name) == "shell":
        match = _EXIT_CODE.search(_output(call.result))
        return match is None or int(match.group(1)) == 0
    return ok


def _output(result: object) -> str:
    match result:
        case list():
            return "\n".join(_output(part) for part in result if not isinstance(part, list))
        case {"functionResponse": {"response": {"output": str(output)}}}:
            return output
        case _:
            return ""


def _counted(display: object) -> tuple[int | None, int | None]:
    """The changed lines by the tool's own count, of what the model proposed and what the user made of it."""
    match display:
        case {"diffStat": dict(stat)}:
            return _sum(stat, "model_added_lines", "user_added_lines"), _sum(
                stat, "model_removed_lines", "user_removed_lines"
            )
        case _:
            return None, None


def _sum(stat: dict[str, Any], *keys: str) -> int | None:
    known = [value for key in keys if isinstance(value := stat.get(key), int) and 0 <= value < _LINES_MAX]
    return sum(known) if known else None
