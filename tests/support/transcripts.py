"""Lines as Claude Code writes them, for tests."""

import json
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
START_SECONDS = 36_000


def at(seconds: float) -> str:
    """A time on a fixed day, so many seconds after ten o'clock."""
    total = START_SECONDS + seconds
    hours, rest = divmod(int(total), 3600)
    return f"2026-03-02T{hours:02}:{rest // 60:02}:{rest % 60:02}.{round(total % 1 * 1000):03}Z"


def line(kind: str, uuid: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """A line of any kind, with what most lines carry."""
    common = {"type": kind, "uuid": uuid, "timestamp": at(seconds), "sessionId": SESSION}
    return {**common, "cwd": "/home/ana/shop", "isSidechain": False, "version": "2.1.37", **fields}


def user(uuid: str, seconds: float, content: Any, **fields: Any) -> dict[str, Any]:
    return line("user", uuid, seconds, message={"role": "user", "content": content}, **fields)


def said(uuid: str, seconds: float, *blocks: Any, **fields: Any) -> dict[str, Any]:
    """An assistant line; a plain text stands for a text block."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {
        "id": fields.pop("message_id", f"msg_{uuid}"),
        "type": "message",
        "role": "assistant",
        "model": fields.pop("model", "claude-opus-4-6"),
        "content": content,
        "stop_reason": fields.pop("stop_reason", None),
        "usage": fields.pop("usage", usage()),
    }
    return line(
        "assistant", uuid, seconds, message=message, requestId=fields.pop("request_id", f"req_{uuid}"), **fields
    )


def usage(
    read: int = 100, write: int = 20, output: int = 7, uncached: int = 3, hour: int | None = None
) -> dict[str, Any]:
    tokens: dict[str, Any] = {
        "input_tokens": uncached,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    }
    if hour is not None:
        lasting = {"ephemeral_5m_input_tokens": write - hour, "ephemeral_1h_input_tokens": hour}
        tokens["cache_creation"] = lasting
    return tokens


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(
    uuid: str, seconds: float, call_id: str, content: Any = "ok", *, error: bool | None = None, **fields: Any
) -> dict[str, Any]:
    """The line that brings a tool's result."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if error is not None:
        block["is_error"] = error
    return user(uuid, seconds, [block], **fields)


def raw(*lines: dict[str, Any] | bytes) -> list[bytes]:
    """Lines as they stand in a file."""
    return [each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines]
