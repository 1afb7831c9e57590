"""From what happened to what is sent: at most one request a call, the same one however often it is sent."""

import json
import os
import time
from hashlib import sha256
from pathlib import Path
from time import gmtime, strftime
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

from svc import __version__
from svc.hook.machine import (
    CWD_CHARACTERS_MAX,
    ID_CHARACTERS_MAX,
    MILLISECONDS_MAX,
    SESSION_SECONDS_MAX,
    TEXT_BYTES_MAX,
    TOOL_INPUT_BYTES_MAX,
    TOOL_TEXT_CHARACTERS_MAX,
    TRANSCRIPT_TAIL_BYTES_MAX,
    Connection,
    private_folder,
    replace_file,
)

# What a hook was told, whichever agent calls it. Pure: the hook's JSON in, one happening out.

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


PROMPTS = "/v1/prompts"
RESPONSES = "/v1/prompts/response"
LOGS = "/v1/logs"
CUT = "…[cut]"
"""How a shortened text of a tool's input ends; the server draws nothing from such an input that would be wrong."""
_EVENTS = UUID("5d8f0f0e-7b0b-5a53-8c0e-3f2a1f6c9d10")


class OpenPrompt(NamedTuple):
    """The last prompt of a session."""

    event_id: str
    at: float
    """Seconds since 1970."""
    moment: str | None = None
    """What the agent calls it; an answer to something else is not its answer."""
    answered: bool = False


class Letter(NamedTuple):
    """A request that waits to be sent."""

    path: str
    body: dict[str, Any]


def captured(
    connection: Connection, happening: Happening, last: OpenPrompt | None, at: float
) -> tuple[Letter | None, OpenPrompt | None]:
    """The request, and what is remembered of the session from now on; None where there is nothing to send or change.

    `last`: the prompt that the session is at. `at`: seconds since 1970.
    """
    if happening.kind == "prompt":
        return _prompt(connection, happening, at)
    if happening.kind == "response":
        return _response(connection, happening, last, at)
    attributes = {"session.id": happening.session, **_attributes(happening)}
    return Letter(LOGS, log_export("hook", f"svc.{happening.kind}", attributes, at)), None


def _prompt(connection: Connection, happening: Happening, at: float) -> tuple[Letter | None, OpenPrompt | None]:
    text = happening.text
    if not connection.prompts or text is None or text.isspace():
        return None, None
    event_id = _event_id(happening, text)
    body = {
        "prompt_text": text,
        "tool_session_id": happening.session,
        "source": happening.agent,
        "client_event_id": event_id,
        "host_prompt_id": happening.prompt_id,
        "submitted_at": _iso(at),
        "cwd": happening.cwd,
        **_cut(text, connection),
    }
    return Letter(PROMPTS, body), OpenPrompt(event_id, at, happening.moment)


def _event_id(happening: Happening, text: str) -> str:
    """The same for the same prompt, so that two hooks that tell of it tell of one; by chance where it has no name."""
    if happening.moment is None:
        return str(uuid4())
    digest = sha256(text.encode()).hexdigest()
    return str(uuid5(_EVENTS, json.dumps([happening.agent, happening.session, happening.moment, digest])))


def _cut(text: str, connection: Connection) -> dict[str, Any]:
    """What says that a text was cut, and the text as it was cut; nothing where it fits."""
    data = text.encode()
    limit = min(TEXT_BYTES_MAX, connection.max_bytes or TEXT_BYTES_MAX)
    if len(data) <= limit:
        return {}
    return {
        "prompt_text": data[:limit].decode(errors="ignore"),
        "truncated": True,
        "original_char_count": len(text),
        "untruncated_sha256": sha256(data).hexdigest(),
    }


def _response(
    connection: Connection, happening: Happening, last: OpenPrompt | None, at: float
) -> tuple[Letter | None, OpenPrompt | None]:
    """A prompt's first answer: where another hook has the agent go on, the server has that one already."""
    if not connection.responses or happening.text is None or last is None or last.answered:
        return None, None
    if None not in (happening.moment, last.moment) and happening.moment != last.moment:
        return None, None
    body = {
        "client_event_id": last.event_id,
        "response_operation_id": str(uuid5(UUID(last.event_id), "response")),
        "response_text": happening.text.encode()[:TEXT_BYTES_MAX].decode(errors="ignore"),
        "elapsed_ms": max(0, round((at - last.at) * 1000)),
        "responded_at": _iso(at),
        "plugin_version": __version__,
    }
    return Letter(RESPONSES, body), last._replace(answered=True)


def log_export(program: str, name: str, attributes: dict[str, str | None], at: float) -> dict[str, Any]:
    """An export of one log record. `program`: hook or doctor."""
    named = {"event.name": name, **attributes}
    record = {
        "timeUnixNano": str(int(at * 1_000_000) * 1_000),
        "body": {"stringValue": name},
        "attributes": [_attribute(key, value) for key, value in named.items() if value is not None],
    }
    scope = {"scope": {"name": f"svc.{program}", "version": __version__}, "logRecords": [record]}
    resource = {"attributes": [_attribute("service.name", f"svc-{program}")]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _attributes(happening: Happening) -> dict[str, str | None]:
    match happening.kind:
        case "session_start":
            return {"source": happening.source, "model": happening.model}
        case "session_end":
            return {"reason": happening.source}
    return _tool(happening, happening.tool or {})


def _tool(happening: Happening, told: dict[str, Any]) -> dict[str, str | None]:
    """In the words of Claude Code's own report of the call, so that the two are known to be one."""
    inside = told.get("agent_id") is not None
    return {
        "prompt.id": happening.prompt_id,
        "tool_name": clean(told.get("tool_name")),
        "tool_use_id": clean(told.get("tool_use_id")),
        "success": "false" if told.get("hook_event_name") == "PostToolUseFailure" else "true",
        "duration_ms": _whole(told.get("duration_ms")),
        "query_source": (clean(told.get("agent_type")) or "subagent") if inside else None,
        "tool_input": _tool_input(told.get("tool_input")),
    }


def _whole(number: object) -> str | None:
    """None also for what is no number of anything: Python reads NaN and Infinity in JSON."""
    return str(round(number)) if isinstance(number, int | float) and 0 <= number <= MILLISECONDS_MAX else None


def _tool_input(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    whole = json.dumps(value)
    if len(whole) <= TOOL_INPUT_BYTES_MAX:
        return whole
    short = {key: _shortened(member) for key, member in value.items() if isinstance(member, str | int | float)}
    found = json.dumps(short)
    return found if len(found) <= TOOL_INPUT_BYTES_MAX else None


def _shortened(value: object) -> object:
    if not isinstance(value, str) or len(value) <= TOOL_TEXT_CHARACTERS_MAX:
        return value
    return value[:TOOL_TEXT_CHARACTERS_MAX] + CUT


def _iso(at: float) -> str:
    """ISO 8601 with milliseconds, in UTC."""
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(at))}.{int(at * 1000) % 1000:03}Z"


# --- which prompt of a session is without an answer: one small file each, no text in it --------------------


class Sessions:
    """The files of one connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sessions"

    def last(self, session: str) -> OpenPrompt | None:
        """The session's last prompt; None where it is not known."""
        try:
            found = json.loads(self._path(session).read_bytes())
            return OpenPrompt(found["event_id"], found["at"], found["moment"], found["answered"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remember(self, session: str, prompt: OpenPrompt) -> None:
        """Keep it until the next one."""
        private_folder(self._folder)
        replace_file(self._path(session), json.dumps(prompt._asdict()).encode())

    def forget_old(self) -> None:
        """Drop what belongs to sessions that nobody goes on with."""
        oldest = time.time() - SESSION_SECONDS_MAX
        for entry in os.scandir(self._folder) if self._folder.is_dir() else ():
            if entry.stat().st_mtime < oldest:
                Path(entry.path).unlink(missing_ok=True)

    def _path(self, session: str) -> Path:
        return self._folder / f"{sha256(session.encode()).hexdigest()[:32]}.json"
