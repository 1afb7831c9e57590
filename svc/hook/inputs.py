"""What a hook was told, whichever agent calls it. Pure: the hook's JSON in, one happening out."""

import json
from typing import Any, NamedTuple

from svc.hook.machine import CWD_CHARACTERS_MAX, ID_CHARACTERS_MAX, TRANSCRIPT_TAIL_BYTES_MAX

AGENTS = ("claude-code", "codex", "gemini")
_KINDS = {
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "Stop": "response",
    "AfterAgent": "response",
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "PostToolUse": "tool_result",
    "PostToolUseFailure": "tool_result",
}
"""Claude Code's and Codex's names, and Gemini's two of its own."""
_RESPONSES = ("last_assistant_message", "prompt_response")
_MENDED = "\ufffd"
"""Stands for what no intake takes."""


class Happening(NamedTuple):
    """One call of a hook; None for what it did not say."""

    kind: str
    agent: str
    session: str
    prompt_id: str | None = None
    """The agent's name for the prompt, the same as in its telemetry."""
    moment: str | None = None
    """What tells this prompt from an equal one of the session where it has no such name."""
    cwd: str | None = None
    text: str | None = None
    """The prompt, or the response."""
    transcript: str | None = None
    source: str | None = None
    """Why a session began or ended."""
    model: str | None = None
    tool: dict[str, Any] | None = None
    """The whole input of a hook that tells of a tool call."""


def happening(agent: str, told: dict[str, Any]) -> Happening | None:
    """What happened; None where it is nothing that is captured, or not whole."""
    kind, session = _KINDS.get(str(told.get("hook_event_name"))), _id(told, "session_id")
    if kind is None or session is None:
        return None
    return Happening(
        kind,
        agent,
        session,
        # Codex calls a turn by another name here than in its telemetry: by text and time the two are joined.
        prompt_id=_id(told, "prompt_id") if agent == "claude-code" else None,
        moment=_id(told, "prompt_id") or _id(told, "turn_id") or (_id(told, "timestamp") if kind == "prompt" else None),
        cwd=(_text(told, "cwd") or "")[:CWD_CHARACTERS_MAX] or None,
        text=_text(told, "prompt") if kind == "prompt" else _text(told, *_RESPONSES),
        transcript=_text(told, "transcript_path"),
        source=_id(told, "reason") if kind == "session_end" else _id(told, "source"),
        model=_id(told, "model"),
        tool=told if kind == "tool_result" else None,
    )


def _text(told: dict[str, Any], *names: str) -> str | None:
    """The first of them that is there."""
    return next((found for name in names if (found := clean(told.get(name))) is not None), None)


def clean(value: object) -> str | None:
    """A text without what no intake takes: NUL and halves of characters. None where it is none, or empty."""
    if not isinstance(value, str) or not value:
        return None
    return value.replace("\0", _MENDED).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _id(told: dict[str, Any], name: str) -> str | None:
    """None also for a broken one: mended, two of them would be taken for one, and no intake knows it."""
    value = (_text(told, name) or "").strip()
    return value if 0 < len(value) <= ID_CHARACTERS_MAX and _MENDED not in value else None


# --- the agent's last message: an older agent does not tell it to its hooks -------------------------------


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
