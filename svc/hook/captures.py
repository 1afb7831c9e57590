"""From what a hook was told to what is sent: at most one request a call, the same one however often it is sent."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from time import gmtime, strftime
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

from aggregates import REVIEW_MARK
from svc import __version__
from svc.hook.machine import KIB_BYTES, Connection, Letter, OpenPrompt

TEXT_BYTES_MAX = 512 * KIB_BYTES  # of a prompt or answer, unless the server asks for less: it fits one frame, escaped
TOOL_INPUT_BYTES_MAX = 256 * KIB_BYTES  # a tool call's input as JSON; of a larger one the long texts are cut
TOOL_TEXT_CHARACTERS_MAX = 1_000  # of a long text in it: a path or the beginning of a command stands in so many
MILLISECONDS_MAX = 10**12  # a longer duration is none, here as on the server
ID_CHARACTERS_MAX = 1_024
CWD_CHARACTERS_MAX = 32_767
AGENTS = ("claude-code", "codex", "gemini")
PROMPTS = "/v1/prompts"
RESPONSES = "/v1/prompts/response"
LOGS = "/v1/logs"
CHECK = "SvcDoctor"  # no event of an agent: `svc doctor` runs the hooks with it
CUT = "…[cut]"  # ends a shortened text of a tool's input; the server draws nothing wrong from it
_EVENTS = UUID("5d8f0f0e-7b0b-5a53-8c0e-3f2a1f6c9d10")
_KINDS = {  # Claude Code's and Codex's names, and Gemini's two of its own
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "Stop": "response",
    "AfterAgent": "response",
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "PostToolUse": "tool_result",
    "PostToolUseFailure": "tool_result",
    "Interrupt": "interruption",
    "StopFailure": "stop_failure",
}
_NO_ANSWER = "[no response text]"  # Gemini's, where the model said nothing
_MENDED = "\ufffd"  # stands for what no intake takes


class Captured(NamedTuple):
    kind: str
    session: str
    letter: Letter | None = None
    prompt: OpenPrompt | None = None  # which the session is at from now on; None where that does not change


def captured(
    connection: Connection, agent: str, told: dict[str, Any], last_of: Callable[[str], OpenPrompt | None], at: float
) -> Captured | None:
    """None where nothing happened that is captured, or not whole. `last_of`: the prompt that a session is at."""
    kind, session = _KINDS.get(str(told.get("hook_event_name"))), _id(told, "session_id")
    if told.get("hook_event_name") == CHECK:
        return Captured("check", "", Letter(LOGS, checking(session, at)))
    inside = _id(told, "agent_id")
    if of_review(told):
        return None
    if kind == "prompt" and agent == "codex" and inside is not None:
        # Told under the name of the session that it works for, its telemetry comes under its own.
        kind, session, told = "session_start", inside, {"source": "subagent", "model": told.get("model")}
    elif inside is not None and kind != "tool_result":
        return None  # an agent told a sub-agent what to do, and is answered
    if kind is None or session is None:
        return None
    if kind == "prompt":
        letter, prompt = _prompt(connection, agent, session, told, last_of(session), at)
    elif kind == "response":
        letter, prompt = _response(connection, told, last_of(session), at)
    else:
        attributes = {"session.id": session, **_attributes(kind, told, _prompt_id(agent, told))}
        letter, prompt = Letter(LOGS, log_export("hook", f"svc.{kind}", attributes, at)), None
    return Captured(kind, session, letter, prompt)


def of_review(told: dict[str, Any]) -> bool:
    """Whether it is `svc review` that runs the agent."""
    return f"/{REVIEW_MARK}" in str(told.get("cwd")) or str(told.get("prompt")).startswith(REVIEW_MARK)


_Outcome = tuple[Letter | None, OpenPrompt | None]


def _prompt(
    connection: Connection, agent: str, session: str, told: dict[str, Any], last: OpenPrompt | None, at: float
) -> _Outcome:
    """Its id is the same for the same prompt, so that two hooks tell of one; by chance where it has no name."""
    text, moment = clean(told.get("prompt")), _moment(told) or _id(told, "timestamp")
    if not connection.prompts or text is None or text.isspace():
        return None, None
    data = text.encode()
    digest = sha256(data).hexdigest()
    event_id = str(uuid4() if moment is None else uuid5(_EVENTS, json.dumps([agent, session, moment, digest])))
    body: dict[str, Any] = {
        "prompt_text": text,
        "tool_session_id": session,
        "source": agent,
        "client_event_id": event_id,
        "host_prompt_id": _prompt_id(agent, told),
        "submitted_at": _iso(at),
        "cwd": (clean(told.get("cwd")) or "")[:CWD_CHARACTERS_MAX] or None,
    }
    limit = min(TEXT_BYTES_MAX, connection.max_bytes or TEXT_BYTES_MAX)
    if len(data) > limit:
        body |= {
            "prompt_text": data[:limit].decode(errors="ignore"),
            "truncated": True,
            "original_char_count": len(text),
            "untruncated_sha256": digest,
        }
    if last is not None and event_id == last.event_id:
        moment = last.moment
    elif last is not None and moment == last.moment:
        # Typed while the agent works, it bears the name of the turn that runs: an answer may bear another.
        moment = None
    return Letter(PROMPTS, body), OpenPrompt(event_id, at, moment)


def _response(connection: Connection, told: dict[str, Any], last: OpenPrompt | None, at: float) -> _Outcome:
    """A prompt's first answer: where another hook has the agent go on, the server has that one already."""
    text, moment = clean(told.get("last_assistant_message") or told.get("prompt_response")), _moment(told)
    if not connection.responses or text in (None, _NO_ANSWER) or last is None or last.answered:
        return None, None
    if None not in (moment, last.moment) and moment != last.moment:
        return None, None
    body = {
        "client_event_id": last.event_id,
        "response_operation_id": str(uuid5(UUID(last.event_id), "response")),
        "response_text": (text or "").encode()[:TEXT_BYTES_MAX].decode(errors="ignore"),
        "elapsed_ms": max(0, round((at - last.at) * 1000)),
        "responded_at": _iso(at),
        "plugin_version": __version__,
    }
    return Letter(RESPONSES, body), last._replace(answered=True)


def _attributes(kind: str, told: dict[str, Any], prompt_id: str | None) -> dict[str, str | None]:
    match kind:
        case "session_start":
            return {"source": _id(told, "source"), "model": _id(told, "model")}
        case "session_end":
            return {"reason": _id(told, "reason")}
        case "stop_failure":
            message = clean(told.get("error_details")) or clean(told.get("last_assistant_message"))
            cut = None if message is None else message[:TOOL_TEXT_CHARACTERS_MAX]
            return {"prompt.id": prompt_id, "error": _id(told, "error"), "error.message": cut}
        case "tool_result":  # in the words of Claude Code's own report of the call, so that the two are known to be one
            inside, response = told.get("agent_id") is not None, told.get("tool_response")
            stopped = response.get("interrupted") if isinstance(response, dict) else None
            took = told.get("duration_ms")  # Python reads NaN and Infinity in JSON
            took = took if isinstance(took, int | float) and 0 <= took <= MILLISECONDS_MAX else None
            return {
                "prompt.id": prompt_id,
                "tool_name": clean(told.get("tool_name")),
                "tool_use_id": clean(told.get("tool_use_id")),
                "success": "false" if told.get("hook_event_name") == "PostToolUseFailure" else "true",
                "interrupted": "true" if True in (told.get("is_interrupt"), stopped) else None,
                "duration_ms": None if took is None else str(round(took)),
                "query_source": (clean(told.get("agent_type")) or "subagent") if inside else None,
                "tool_input": _tool_input(told.get("tool_input")),
            }
    return {}


def _tool_input(value: object) -> str | None:
    """As JSON; of a large one the long texts are cut, and None where that is not enough."""
    if not isinstance(value, dict):
        return None
    found = json.dumps(value)
    if len(found) > TOOL_INPUT_BYTES_MAX:
        short = {key: member for key, member in value.items() if isinstance(member, str | int | float)}
        for key, member in short.items():
            if isinstance(member, str) and len(member) > TOOL_TEXT_CHARACTERS_MAX:
                short[key] = member[:TOOL_TEXT_CHARACTERS_MAX] + CUT
        found = json.dumps(short)
    return found if len(found) <= TOOL_INPUT_BYTES_MAX else None


def clean(value: object) -> str | None:
    """A text without what no intake takes: NUL and halves of characters. None where it is none, or empty."""
    if not isinstance(value, str) or not value:
        return None
    return value.replace("\0", _MENDED).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _id(told: dict[str, Any], name: str) -> str | None:
    """None also for a broken one: mended, two of them would be taken for one, and no intake knows it."""
    value = (clean(told.get(name)) or "").strip()
    return value if 0 < len(value) <= ID_CHARACTERS_MAX and _MENDED not in value else None


def _prompt_id(agent: str, told: dict[str, Any]) -> str | None:
    """The prompt's name in telemetry. Codex calls a turn by another name here: text and time join the two."""
    return _id(told, "prompt_id") if agent == "claude-code" else None


def _moment(told: dict[str, Any]) -> str | None:
    """What tells this prompt from an equal one of the session."""
    return _id(told, "prompt_id") or _id(told, "turn_id")


def _iso(at: float) -> str:
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(at))}.{int(at * 1000) % 1000:03}Z"


def checking(mark: str | None, at: float) -> dict[str, Any]:
    """A record that belongs to no session, so that no score knows it."""
    return log_export("doctor", "svc.doctor", {"svc.doctor.mark": mark}, at)


def log_export(program: str, name: str, attributes: Mapping[str, str | None], at: float) -> dict[str, Any]:
    """An export of one log record. `program`: hook or doctor."""
    record = {
        "timeUnixNano": str(int(at * 1_000_000) * 1_000),
        "body": {"stringValue": name},
        "attributes": _otlp({"event.name": name, **attributes}),
    }
    scope = {"scope": {"name": f"svc.{program}", "version": __version__}, "logRecords": [record]}
    resource = {"attributes": _otlp({"service.name": f"svc-{program}"})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _otlp(attributes: Mapping[str, str | None]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items() if value is not None]
