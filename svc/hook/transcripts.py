"""The agent's last message, from the end of its transcript: what an older agent does not tell its hooks itself."""

import json
from typing import Any

from svc.hook.bounds import TRANSCRIPT_TAIL_BYTES_MAX


def last_message(path: str | None) -> str | None:
    """The texts of the last assistant message after the last prompt; None where the tail holds none."""
    if path is None:
        return None
    try:
        with open(path, "rb") as transcript:
            size = transcript.seek(0, 2)
            transcript.seek(max(0, size - TRANSCRIPT_TAIL_BYTES_MAX))
            return _last(transcript.read(TRANSCRIPT_TAIL_BYTES_MAX).splitlines())
    except (OSError, ValueError):
        return None


def _last(lines: list[bytes]) -> str | None:
    message_id: object = None
    texts: list[str] = []
    for raw in reversed(lines):
        line = _object(raw)
        if line.get("isSidechain"):
            continue
        if line.get("type") == "user" and _typed(line):
            break
        message = line.get("message")
        if line.get("type") != "assistant" or not isinstance(message, dict):
            continue
        found = _texts(message)
        if texts and message.get("id") != message_id:
            break
        if found:
            message_id, texts = message.get("id"), found + texts
    return "".join(texts) or None


def _typed(line: dict[str, Any]) -> bool:
    """Whether a person wrote it: a tool's result is a user line as well."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) or not any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content or ()
    )


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    blocks = [block for block in content or () if isinstance(block, dict) and block.get("type") == "text"]
    return [block["text"] for block in blocks if isinstance(block.get("text"), str) and block["text"].strip()]


def _object(raw: bytes) -> dict[str, Any]:
    """The line as JSON; nothing where it is cut off or no object."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
