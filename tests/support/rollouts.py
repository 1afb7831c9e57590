"""Lines as Codex writes them, for tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.transcripts import at

THREAD = "019aad50-a7e6-7422-b7a8-0b384290624f"
CHILD = "019aad50-b111-7422-b7a8-0b384290624f"
MODEL = "gpt-5.3-codex"


def line(kind: str, seconds: float, payload: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"timestamp": at(seconds), **fields, "type": kind, "payload": payload}


def meta(seconds: float = 0, session: str = THREAD, **fields: Any) -> dict[str, Any]:
    payload = {"id": session, "timestamp": at(seconds), "cwd": "/home/ana/shop", "originator": "codex_cli_rs"}
    return line("session_meta", seconds, {**payload, "cli_version": "0.98.0", "source": "cli", **fields})


def event(told: str, seconds: float, **fields: Any) -> dict[str, Any]:
    return line("event_msg", seconds, {"type": told, **fields})


def item(told: str, seconds: float, **fields: Any) -> dict[str, Any]:
    return line("response_item", seconds, {"type": told, **fields})


def completed(kind: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """As newer versions tell what was said and what was called."""
    return event("item_completed", seconds, turn_id="t", item={"type": kind, "id": f"{kind} {seconds}", **fields})


def said(kind: str, seconds: float, text: str, **fields: Any) -> dict[str, Any]:
    return completed(f"{kind}Message", seconds, content=[{"type": "text", "text": text}], **fields)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"role": role, "content": [{"type": kind, "text": text}]}


def prompted(seconds: float, text: str, turn: str = "t1") -> list[dict[str, Any]]:
    """A turn's beginning: the prompt stands there as an item and as an event."""
    context = {"turn_id": turn, "cwd": "/home/ana/shop", "model": MODEL, "approval_policy": "on-request"}
    return [
        event("task_started", seconds, turn_id=turn, model_context_window=258_400),
        line("turn_context", seconds, context),
        item("message", seconds, **message("user", "<environment_context>\n  <cwd>/home/ana/shop</cwd>")),
        item("message", seconds, **message("user", text)),
        event("user_message", seconds, message=text, images=[]),
    ]


def usage(whole: int, cached: int, output: int, reasoning: int = 0) -> dict[str, int]:
    return {
        "input_tokens": whole,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": whole + output,
    }


def tokens(seconds: float, last: dict[str, int], total: dict[str, int] | None = None) -> dict[str, Any]:
    """The count after a response; `total` defaults to the same."""
    info = {"total_token_usage": total or last, "last_token_usage": last, "model_context_window": 258_400}
    return event("token_count", seconds, info=info, rate_limits=None)


def call(seconds: float, call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return item("function_call", seconds, name=name, arguments=json.dumps(arguments), call_id=call_id)


def output(seconds: float, call_id: str, told: Any) -> dict[str, Any]:
    return item("function_call_output", seconds, call_id=call_id, output=told)


PATCH = "*** Begin Patch\n*** Update File: src/login.py\n@@\n-old\n+new\n+more\n*** End Patch\n"


def turn(second: float, text: str = "fix the login", number: int = 1, spent: int = 0) -> list[dict[str, Any]]:
    """A whole turn: a patch, a check, an answer, three responses. `spent` is what came before, in responses."""
    last = usage(1000, 600, 50, 10)
    totals = [usage(1000 * n, 600 * n, 50 * n, 10 * n) for n in range(spent + 1, spent + 4)]
    changes = {"src/login.py": {"type": "update", "unified_diff": "@@ -1 +1,2 @@\n-old\n+new\n+more\n"}}
    patched = f"call_p{number}"
    shell = f"call_s{number}"
    return [
        *prompted(second, text, f"t{number}"),
        item("reasoning", second + 1, summary=[], encrypted_content="gAAAA"),
        item("custom_tool_call", second + 1, name="apply_patch", input=PATCH, call_id=patched, status="completed"),
        tokens(second + 1, last, totals[0]),
        event("patch_apply_end", second + 2, call_id=patched, success=True, changes=changes, stdout="", stderr=""),
        item("custom_tool_call_output", second + 2, call_id=patched, output='{"output":"Success.","metadata":{}}'),
        call(second + 3, shell, "exec_command", cmd="pytest -q", workdir="/home/ana/shop"),
        tokens(second + 3, last, totals[1]),
        output(second + 5, shell, "Wall time: 2.0 seconds\nProcess exited with code 1\nOutput:\n1 failed\n"),
        event("agent_message", second + 6, message=f"Fixed {number}."),
        item("message", second + 6, **message("assistant", f"Fixed {number}.")),
        tokens(second + 6, last, totals[2]),
        # The limits of the account changed: told again, nothing was asked for.
        tokens(second + 6.5, last, totals[2]),
        event("task_complete", second + 7, turn_id=f"t{number}", last_agent_message=f"Fixed {number}."),
    ]


def bare(*items: dict[str, Any], session: str = THREAD) -> list[dict[str, Any]]:
    """A file of before September 2025: a head and the items of responses, without times."""
    head: dict[str, Any] = {"id": session, "timestamp": at(0), "instructions": None, "git": {}}
    return [head, *(each["payload"] for each in items), {"record_type": "state"}]


def raw(lines: Iterable[dict[str, Any] | bytes]) -> bytes:
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines)


def write(folder: Path, lines: Iterable[dict[str, Any] | bytes], session: str = THREAD) -> Path:
    """A file where the agent would put it."""
    file = folder / "2026" / "03" / "02" / f"rollout-2026-03-02T10-00-00-{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(raw(lines))
    return file
