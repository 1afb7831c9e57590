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
from svc.hook.inputs import Happening, clean
from svc.hook.machine import (
    MILLISECONDS_MAX,
    SESSION_SECONDS_MAX,
    TEXT_BYTES_MAX,
    TOOL_INPUT_BYTES_MAX,
    TOOL_TEXT_CHARACTERS_MAX,
    Connection,
    private_folder,
    replace_file,
)

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
