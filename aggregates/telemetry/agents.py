"""What the log events of each agent mean, and whose session they name. Session files are read by the same rules."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from aggregates.records.record import LABEL_CHARACTERS_MAX, RecordKind
from aggregates.records.tools import Changed, bounded_command, tool_effect, tool_input
from aggregates.telemetry import otlp
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent, cache_writes, inside, terms
from aggregates.telemetry.otlp import Attributes, Plain, count, flag, identifier, json_object, name, text, usd_nano
from aggregates.telemetry.outcomes import VOCABULARY, tool_outcome

Agent = Literal["claude-code", "codex", "gemini", "copilot", "opencode", "svc", "unknown"]
FAILED_FROM = 400

# Claude Code: its events' names come with and without `claude_code.` before them. Every request, its tokens and its
# cost stand in `api_request`; metrics and spans repeat them.

CLAUDE_PREFIX = "claude_code."
SYNTHETIC_MODEL = "<synthetic>"  # the agent's own messages carry this model: they were never asked of one
STATUSES = {"rate_limit": 429, "overloaded": 529, "authentication_failed": 401, "invalid_request": 400}
"""Of the failures that Claude Code tells its hooks, and its transcripts."""
_NANO_PER_MICRO = 1_000


def _asked(event: SourceEvent, **more: str) -> dict[str, Any]:
    """Which request an event is about."""
    told = event.told(model="model", request_id="request_id", **more)
    told["model"] = None if told["model"] == SYNTHETIC_MODEL else told["model"]
    return told


def _claude_prompt(event: SourceEvent) -> list[RecordDraft]:
    """A command is a prompt too, but for the program's own that leave or clear a session: no model is asked."""
    match (name(event.attributes, "command_name") or "").removeprefix("/"):
        case "clear" | "reset" | "new":
            return event.only("session_start", suffix="#clear", source="clear")
        case "exit" | "quit":  # no hook tells of it
            return event.only("session_end", suffix="#end", at_us=event.at_us + 1, source="prompt_input_exit")
    return event.only("prompt", words=event.said("prompt", "prompt_text"))


_WRITTEN = ("cache_creation_tokens", "cache_creation_5m_tokens", "cache_creation_1h_tokens")
_SAME = {name: name for name in ("duration_ms", "input_tokens", "output_tokens", "cache_read_tokens")}


def _claude_request(event: SourceEvent) -> list[RecordDraft]:
    # The dollars are exact; the micro-dollars beside them are rounded for each request.
    attributes = event.attributes
    cost = usd_nano(attributes, "cost_usd")
    if cost is None and (micros := otlp.rounded(attributes, "cost_usd_micros")) is not None:
        cost = micros * _NANO_PER_MICRO
    told = _asked(event, **_SAME) | cache_writes(*[count(attributes, key) for key in _WRITTEN])
    return event.only("request", cost_usd_nano=cost, sidechain=event.sidechain, terms=terms(attributes), **told)


def _claude_error(event: SourceEvent) -> list[RecordDraft]:
    told = _asked(event, duration_ms="duration_ms") | {"sidechain": event.sidechain}
    return event.error(text(event.attributes, "error", "error.message"), event.status_code, **told)


def _claude_refusal(event: SourceEvent) -> list[RecordDraft]:
    """The model refused; unless another one was asked instead, that ends the request."""
    if flag(event.attributes, "server_fallback_hop"):
        return event.other(**_asked(event))
    return event.only("error", sidechain=event.sidechain, **_asked(event))


def _claude_tool(event: SourceEvent) -> list[RecordDraft]:
    """`tool_input` is the call's input; `tool_parameters` knows a shell's whole command, and whether it committed."""
    attributes, tool = event.attributes, name(event.attributes, "tool_name") or ""
    known, parameters = tool_input(tool, json_object(attributes.get("tool_input"))), attributes.get("tool_parameters")
    if tool_effect(tool) == "shell":
        told = json_object(parameters)
        whole = told.get("full_command") or told.get("command")
        command = bounded_command(whole) if isinstance(whole, str) and whole else known.command
        known = replace(known, command=command or ("git commit" if told.get("git_commit_id") else None))
    ended = {"error": attributes.get("error"), "interrupted": flag(attributes, "interrupted")}
    said = {key: value for key, value in ended.items() if value is not None}
    outcome = tool_outcome("claude-code", said, flag(attributes, "success"))
    told = event.told(call_id="tool_use_id", duration_ms="duration_ms")
    return event.tool(tool, outcome, known, sidechain=event.sidechain, **told)


def _claude_decision(event: SourceEvent) -> list[RecordDraft]:
    """Only a person's refusal is one; what settings or a hook forbid says nothing about the work."""
    source = text(event.attributes, "source")
    told = event.told(tool="tool_name", call_id="tool_use_id")
    if text(event.attributes, "decision") != "reject" or source not in (None, "user_reject", "user_abort"):
        return event.other(**told)
    return event.rejection(interrupts=source == "user_abort", **told)


def _claude_compaction(event: SourceEvent) -> list[RecordDraft]:
    ok = flag(event.attributes, "success")
    told = event.told(duration_ms="duration_ms", source="trigger")
    return event.only("other" if ok is False else "compaction", ok=ok, **told)


def _claude_response(event: SourceEvent) -> list[RecordDraft]:
    """The last one of a turn is the agent's answer; a sub-agent's is none."""
    if event.sidechain:
        return event.other(**_asked(event))
    return event.only("response", words=event.said("response"), **_asked(event))


# Codex: a turn is named by its trace; the stream's own events carry none and go by time. Tokens stand in the second
# `response.completed` event only; its input count includes what was cached, its output count the reasoning.

SPAWNS = ("spawn_agent", "agents__spawn_agent", "multi_agent_v1spawn_agent")
"""As telemetry names them, and as a rollout does, its name space before them."""


def _codex_attempt(event: SourceEvent) -> list[RecordDraft]:
    """One try of a request. A good one is counted when its stream is complete."""
    status = count(event.attributes, "http.response.status_code")
    message = text(event.attributes, "error.message")
    if (status is None and message is None) or (status is not None and status < FAILED_FROM):
        return event.other(status_code=status, **event.told(duration_ms="duration_ms"))
    return event.error(message, status, **event.told(model="model", duration_ms="duration_ms"))


def _codex_stream(event: SourceEvent) -> list[RecordDraft]:
    attributes, kind = event.attributes, text(event.attributes, "event.kind")
    if kind == "response.failed":
        told = event.told(model="model", duration_ms="duration_ms")
        return event.error(text(attributes, "error.message"), None, **told)
    counts = [count(attributes, f"{part}_token_count") for part in ("input", "cached", "cache_write", "output")]
    if kind != "response.completed" or counts[0] is counts[-1] is None:
        return event.other(**event.told(duration_ms="duration_ms"))
    return event.only("request", **event.told(model=("model", "slug")), **inside(*counts), terms=terms(attributes))


def _codex_decision(event: SourceEvent) -> list[RecordDraft]:
    decision = (text(event.attributes, "decision") or "").lower()
    by_settings = (text(event.attributes, "source") or "").lower() == "config"
    told = event.told(tool="tool_name", call_id="call_id")
    if decision not in ("denied", "abort") or by_settings:
        return event.other(**told)
    return event.rejection(interrupts=decision == "abort", **told)


def _codex_tool(event: SourceEvent) -> list[RecordDraft]:
    attributes = event.attributes
    tool, arguments = called(name(attributes, "tool_name") or "", call_arguments(attributes.get("arguments")))
    outcome = tool_outcome("codex", attributes.get("output"), flag(attributes, "success"))
    told = event.told(call_id="call_id", duration_ms="duration_ms")
    return event.tool(tool, outcome, tool_input(tool, arguments), sidechain=event.sidechain, **told)


def spawned(attributes: Attributes) -> str | None:
    """The conversation of the sub-agent that a call of Codex's started: what is asked there, an agent asks."""
    if text(attributes, "tool_name") not in SPAWNS:
        return None
    return identifier(json_object(attributes.get("output")), "agent_id")


def call_arguments(told: Plain) -> dict[str, Any]:
    """As JSON, but for a patch, which comes as it is."""
    if isinstance(told, str) and told.lstrip().startswith("*** "):
        return {"patch": told}
    return json_object(told)


_PATCHES = re.compile(
    r"\s*(?:cd\s+[^\s;&|]+\s*&&\s*)?(?:apply_patch|applypatch)\s+(?:<<-?\s*['\"]?\w+['\"]?\s*\n|['\"])?\s*\Z"
)
_AFTER_PATCH = re.compile(r"\s*(?:['\"]|\w+)?\s*\Z")
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_EDGE_CHARACTERS = 500


def called(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A shell that does nothing but apply a patch is the tool that does; Codex itself takes it for that."""
    told = next((arguments[key] for key in ("cmd", "command") if arguments.get(key)), None)
    words = told if isinstance(told, list) and all(isinstance(word, str) for word in told) else []
    text = told if isinstance(told, str) else " ".join(words[-2:])
    begin, end = text.find(_BEGIN), text.rfind(_END)
    if tool_effect(tool) != "shell" or not 0 <= begin < end or begin > _EDGE_CHARACTERS:
        return tool, arguments
    after = text[end + len(_END) :]
    head = text[:begin].removeprefix("-lc ").removeprefix("-c ")
    if len(after) > _EDGE_CHARACTERS or not (_PATCHES.match(head) and _AFTER_PATCH.match(after)):
        return tool, arguments
    return "apply_patch", {"patch": text[begin : end + len(_END)]}


# The Gemini CLI: its API counts a model's thoughts beside its answer and bills both as output, so output is their sum.
# Cached tokens are part of the prompt's; what built-in tools brought in is input, too, and stands beside it.
# `gen_ai.client.inference.operation.details` tells the same request again.

_ABORTED = re.compile(
    r"\A(?:exception )?(?:AbortError\b|(?:The|This) operation was aborted|The user aborted|signal is aborted)"
)


def _gemini_response(event: SourceEvent) -> list[RecordDraft]:
    attributes, status = event.attributes, event.status_code
    if status is not None and status >= FAILED_FROM:
        return _gemini_error(event)
    whole, cached = count(attributes, "input_token_count"), count(attributes, "cached_content_token_count")
    output, thoughts = count(attributes, "output_token_count"), count(attributes, "thoughts_token_count")
    brought = count(attributes, "tool_token_count") or 0
    whole = whole if whole is None else whole + brought
    told = inside(whole, cached, None, output if output is None else output + (thoughts or 0))
    told |= event.told(model="model", duration_ms="duration_ms")
    return event.only("request", status_code=status, sidechain=event.sidechain, **told)


def _gemini_error(event: SourceEvent) -> list[RecordDraft]:
    """Who presses Esc aborts the request: it failed for nobody. A helper's is given up with it."""
    attributes, message = event.attributes, text(event.attributes, "error.message", "error")
    if text(attributes, "error.type", "error_type") == "AbortError" or _ABORTED.search((message or "")[:200]):
        return event.other() if event.sidechain else event.only("interruption")
    told = event.told(model=("model", "model_name"), duration_ms=("duration_ms", "duration"))
    return event.error(message, event.status_code, sidechain=event.sidechain, **told)


def _gemini_tool(event: SourceEvent) -> list[RecordDraft]:
    attributes, tool = event.attributes, name(event.attributes, "function_name") or ""
    if text(attributes, "decision") == "reject":
        return event.only("rejection", tool=tool or None)
    metadata = json_object(attributes.get("metadata"))
    outcome = tool_outcome("gemini", {"error": text(attributes, "error"), **metadata}, flag(attributes, "success"))
    known = tool_input(tool, json_object(attributes.get("function_args")))
    return event.tool(tool, outcome, known, lines=counted_lines(metadata), **event.told(duration_ms="duration_ms"))


def counted_lines(stat: dict[str, Any]) -> Changed | None:
    """Gemini's own count of changed lines: what the model proposed and what the user made of it."""
    counts: list[int | None] = []
    for what in ("added", "removed"):
        told = [stat.get(f"{who}_{what}_lines") for who in ("model", "user")]
        known = [each for each in told if isinstance(each, int) and 0 <= each < 2**31]
        counts.append(sum(known) if known else None)
    return None if counts == [None, None] else (counts[0], counts[1])


def _gemini_command(event: SourceEvent) -> list[RecordDraft]:
    clears = text(event.attributes, "command") == "clear"
    return event.only("session_start", source="clear") if clears else event.other()


def _stop_failure(event: SourceEvent) -> list[RecordDraft]:
    status = STATUSES.get(text(event.attributes, "error") or "")
    return event.error(text(event.attributes, "error.message", "error"), status, source="hook")


class _Vocabulary(msgspec.Struct):
    """How one agent names things; `readers` are those of its log events, by their names without the prefix."""

    prefix: str
    sessions: list[str]
    service: str | None = None
    scope: str | None = None
    prompt: str | None = None
    asker: str | None = None
    main: re.Pattern[str] = re.compile("")
    events: dict[str, dict[str, Any]] = {}
    readers: dict[str, Reader] = {}


def _plain(kind: RecordKind, words: Sequence[str] = (), **fields: Any) -> Reader:
    """Reads an event that needs no more than its kind, and fields by their attributes."""
    return lambda event: event.only(kind, words=event.said(*words), **event.told(**fields))


_SPOKEN = msgspec.convert(VOCABULARY["agents"], dict[Agent, _Vocabulary], dec_hook=lambda _, text: re.compile(text))
_READERS: dict[Agent, dict[str, Reader]] = {
    "claude-code": {
        "user_prompt": _claude_prompt,
        "assistant_response": _claude_response,
        "api_request": _claude_request,
        "api_error": _claude_error,
        "api_refusal": _claude_refusal,
        "tool_result": _claude_tool,
        "tool_decision": _claude_decision,
        "compaction": _claude_compaction,
    },
    "codex": {
        "api_request": _codex_attempt,
        "sse_event": _codex_stream,
        "tool_decision": _codex_decision,
        "tool_result": _codex_tool,
    },
    "gemini": {
        "slash_command": _gemini_command,
        "api_response": _gemini_response,
        "api_error": _gemini_error,
        "tool_call": _gemini_tool,
    },
    "svc": {"tool_result": _claude_tool, "stop_failure": _stop_failure},
}
_PREFIXES = [(spoken.prefix, agent) for agent, spoken in _SPOKEN.items() if spoken.prefix]
_BEGINNINGS = tuple(prefix for prefix, _ in _PREFIXES)
for _agent, _spoken in _SPOKEN.items():
    _spoken.readers = {name: _plain(**told) for name, told in _spoken.events.items()} | _READERS.get(_agent, {})


def agent_of_sender(resource: Attributes, scope: str) -> Agent:
    """By the name of the service, else by that of the scope; an unknown one may still be known by its events."""
    service = (text(resource, "service.name") or "").lower()
    for agent, spoken in _SPOKEN.items():
        if spoken.service is not None and service.startswith(spoken.service):
            return agent
    known = (agent for agent, spoken in _SPOKEN.items() if spoken.scope is not None and scope.startswith(spoken.scope))
    if "copilot" in service or "copilot" in scope.lower():
        return next(known, "copilot")
    return next(known, "svc" if service == "svc" else "unknown")


def agent_of_log(sender: Agent, *names: str | None) -> Agent:
    """By the prefix of the event's name, wherever it stands, which is the agent's own; else by who sends."""
    for each in filter(None, names):
        for prefix, agent in _PREFIXES if each.startswith(_BEGINNINGS) else ():
            if each.startswith(prefix):
                return agent
    return sender


def log_drafts(agent: Agent, event: SourceEvent) -> list[RecordDraft]:
    spoken = _SPOKEN[agent]
    reader = spoken.readers.get((event.name or "").removeprefix(spoken.prefix))
    if spoken.readers:
        event.prompt_id = event.trace_id if spoken.prompt is None else identifier(event.attributes, spoken.prompt)
    asker = None if spoken.asker is None else text(event.attributes, spoken.asker)
    event.sidechain = asker is not None and spoken.main.match(asker) is None
    return event.other() if reader is None else reader(event)


def session_of(agent: Agent, attributes: Attributes, resource: Attributes) -> str | None:
    """The agent session that a record names, else its resource. Raises `Fault` where it cannot be one."""
    # VS Code's resource names a window, which is no session.
    for place in (attributes,) if agent == "copilot" else (attributes, resource):
        for key in _SPOKEN[agent].sessions:
            value = place.get(key)
            if not isinstance(value, str) or not value or value.isspace():
                continue
            if len(value) > LABEL_CHARACTERS_MAX:
                at_most = f"an agent session's id has at most {LABEL_CHARACTERS_MAX}"
                raise otlp.Fault(f"{key} has {len(value)} characters; {at_most}")
            if "\0" in value or otlp.CUT_CHARACTER in value:
                raise otlp.Fault(f"{key} holds a NUL or half a character; an agent session's id has neither")
            return value
    return None
