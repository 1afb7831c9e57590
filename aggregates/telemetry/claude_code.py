"""Claude Code's log events. Their names come with and without `claude_code.` before them.

Every request, its tokens and its cost stand in `api_request`; metrics and spans repeat them.
"""

from typing import Any

from msgspec.structs import replace

from aggregates.records.tools import ToolInput, bounded_command, tool_effect, tool_input
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent, said
from aggregates.telemetry.otlp import Attributes, count, flag, json_object, name, text, usd_nano
from aggregates.telemetry.outcomes import tool_outcome

PREFIX = "claude_code."
SYNTHETIC_MODEL = "<synthetic>"  # the agent's own messages carry this model: they were never asked of one
STATUSES = {"rate_limit": 429, "overloaded": 529, "authentication_failed": 401, "invalid_request": 400}
"""Of the failures that it tells its hooks, and its transcripts."""
_NANO_PER_MICRO = 1_000
_MAIN = ("repl_main_thread", "sdk", "main")
_USERS_DECISIONS = (None, "user_reject", "user_abort")


def _is_sidechain(attributes: Attributes) -> bool:
    """Whether a request was a sub-agent's, or one of the agent's own chores: a title, a summary."""
    source = text(attributes, "query_source")
    return source is not None and not source.startswith(_MAIN)


def _asked(event: SourceEvent, **more: str) -> dict[str, Any]:
    """Which request an event is about."""
    told = event.told(model="model", request_id="request_id", **more)
    return told | {"model": None if told["model"] == SYNTHETIC_MODEL else told["model"]}


def _prompt(event: SourceEvent) -> list[RecordDraft]:
    """A command is a prompt too; leaving and clearing also say so in their own right, for the text may be redacted."""
    drafts = event.prompt("prompt", "prompt_text")
    match (name(event.attributes, "command_name") or "").removeprefix("/"):
        case "clear" | "reset" | "new":
            drafts += event.only("session_start", suffix="#clear", source="clear")
        case "exit" | "quit":
            # A command of the program's own, which no model is asked for, and no hook tells.
            drafts = event.only("session_end", suffix="#end", at_us=event.at_us + 1, source="prompt_input_exit")
    return drafts


def _request(event: SourceEvent) -> list[RecordDraft]:
    # The dollars are exact; the micro-dollars beside them are rounded for each request.
    cost, micros = usd_nano(event.attributes, "cost_usd"), count(event.attributes, "cost_usd_micros")
    told = _asked(
        event,
        duration_ms="duration_ms",
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        cache_read_tokens="cache_read_tokens",
        cache_write_tokens="cache_creation_tokens",
    )
    cost = micros * _NANO_PER_MICRO if cost is None and micros is not None else cost
    return event.only("request", cost_usd_nano=cost, sidechain=_is_sidechain(event.attributes), **told)


def _error(event: SourceEvent) -> list[RecordDraft]:
    told = _asked(event, duration_ms="duration_ms") | {"sidechain": _is_sidechain(event.attributes)}
    return event.error(text(event.attributes, "error", "error.message"), event.status_code, **told)


def _refusal(event: SourceEvent) -> list[RecordDraft]:
    """The model refused; unless another one was asked instead, that ends the request."""
    if flag(event.attributes, "server_fallback_hop"):
        return event.other(**_asked(event))
    return event.only("error", sidechain=_is_sidechain(event.attributes), **_asked(event))


def tool_result(event: SourceEvent) -> list[RecordDraft]:
    """One finished tool call, with what it was called with where that is switched on."""
    attributes = event.attributes
    tool = name(attributes, "tool_name") or ""
    said = {"error": attributes.get("error"), "interrupted": flag(attributes, "interrupted")}
    outcome = tool_outcome("claude-code", said, flag(attributes, "success"))
    told = event.told(call_id="tool_use_id", duration_ms="duration_ms")
    return event.tool(tool, outcome, _tool_input(tool, attributes), sidechain=_is_sidechain(attributes), **told)


def _tool_input(tool: str, attributes: Attributes) -> ToolInput:
    """`tool_input` is the call's input; `tool_parameters` knows a shell's whole command, and whether it committed."""
    parameters = json_object(attributes.get("tool_parameters"))
    known = tool_input(tool, json_object(attributes.get("tool_input")))
    if tool_effect(tool) != "shell":
        return known
    whole = parameters.get("full_command") or parameters.get("command")
    command = bounded_command(whole) if isinstance(whole, str) and whole else known.command
    if command is None and parameters.get("git_commit_id"):
        command = "git commit"
    return replace(known, command=command)


def _decision(event: SourceEvent) -> list[RecordDraft]:
    """Only a person's refusal is one; what settings or a hook forbid says nothing about the work."""
    source = text(event.attributes, "source")
    told = event.told(tool="tool_name", call_id="tool_use_id")
    if text(event.attributes, "decision") != "reject" or source not in _USERS_DECISIONS:
        return event.other(**told)
    return event.rejection(interrupts=source == "user_abort", **told)


def _compaction(event: SourceEvent) -> list[RecordDraft]:
    ok = flag(event.attributes, "success")
    told = event.told(duration_ms="duration_ms", source="trigger")
    return event.only("other" if ok is False else "compaction", ok=ok, **told)


def _response(event: SourceEvent) -> list[RecordDraft]:
    """The last one of a turn is the agent's answer; a sub-agent's is none."""
    if _is_sidechain(event.attributes):
        return event.other(**_asked(event))
    return event.only("response", words=said(event.attributes, "response"), **_asked(event))


READERS: dict[str, Reader] = {
    "user_prompt": _prompt,
    "assistant_response": _response,
    "api_request": _request,
    "api_error": _error,
    "api_refusal": _refusal,
    "tool_result": tool_result,
    "tool_decision": _decision,
    "compaction": _compaction,
    "subagent_completed": lambda event: event.only(
        "subagent",
        **event.told(source=("agent_type", "agent.name"), model=("final_model", "model"), duration_ms="duration_ms"),
    ),
}
