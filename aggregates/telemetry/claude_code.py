"""Claude Code's log events. Their names come with and without `claude_code.` before them.

Every request, its tokens and its cost stand in `api_request`; metrics and spans repeat them.
"""

from collections.abc import Callable
from typing import Any

from aggregates.records.tools import ToolInput, bounded_command, tool_effect, tool_input
from aggregates.telemetry.draft import Draft, Happening, said
from aggregates.telemetry.otlp import Attributes, count, flag, identifier, json_object, name, text, usd_nano

PREFIX = "claude_code."
SYNTHETIC_MODEL = "<synthetic>"
"""The agent's own messages carry this model: they were never asked of one."""
_NANO_PER_MICRO = 1_000
_MAIN = ("repl_main_thread", "sdk", "main")
_USERS_DECISIONS = (None, "user_reject", "user_abort")


def _prompt(happening: Happening) -> list[Draft]:
    """A command is a prompt too; leaving and clearing also say so in their own right, for the text may be redacted."""
    attributes = happening.attributes
    drafts = happening.prompt("prompt", "prompt_text")
    match (name(attributes, "command_name") or "").removeprefix("/"):
        case "clear" | "reset" | "new":
            drafts += happening.only("session_start", suffix="#clear", source="clear")
        case "exit" | "quit":
            # An end follows the command that asked for it.
            drafts += happening.only(
                "session_end", suffix="#end", at_us=happening.at_us + 1, source="prompt_input_exit"
            )
    return drafts


def _is_sidechain(attributes: Attributes) -> bool:
    """Whether a request was a sub-agent's, or one of the agent's own chores: a title, a summary."""
    source = text(attributes, "query_source")
    return source is not None and not source.startswith(_MAIN)


def _model(attributes: Attributes) -> str | None:
    model = name(attributes, "model")
    return None if model == SYNTHETIC_MODEL else model


def _request(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    # The dollars are exact; the micro-dollars beside them are rounded for each request.
    cost, micros = usd_nano(attributes, "cost_usd"), count(attributes, "cost_usd_micros")
    return happening.only(
        "request",
        model=_model(attributes),
        input_tokens=count(attributes, "input_tokens"),
        output_tokens=count(attributes, "output_tokens"),
        cache_read_tokens=count(attributes, "cache_read_tokens"),
        cache_write_tokens=count(attributes, "cache_creation_tokens"),
        cost_usd_nano=micros * _NANO_PER_MICRO if cost is None and micros is not None else cost,
        request_id=identifier(attributes, "request_id"),
        duration_ms=count(attributes, "duration_ms"),
        sidechain=_is_sidechain(attributes),
    )


def _error(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    return happening.error(
        text(attributes, "error", "error.message"),
        count(attributes, "status_code", "http.status_code"),
        model=_model(attributes),
        request_id=identifier(attributes, "request_id"),
        duration_ms=count(attributes, "duration_ms"),
        sidechain=_is_sidechain(attributes),
    )


def _refusal(happening: Happening) -> list[Draft]:
    """The model refused; unless another one was asked instead, that ends the request."""
    attributes = happening.attributes
    fields: dict[str, Any] = {"model": _model(attributes), "request_id": identifier(attributes, "request_id")}
    if flag(attributes, "server_fallback_hop"):
        return happening.other(**fields)
    return happening.only("error", sidechain=_is_sidechain(attributes), **fields)


def tool_result(happening: Happening) -> list[Draft]:
    """One finished tool call, with what it was called with where that is switched on."""
    attributes = happening.attributes
    tool = name(attributes, "tool_name") or ""
    return happening.tool(
        tool,
        flag(attributes, "success"),
        _tool_input(tool, attributes),
        call_id=identifier(attributes, "tool_use_id"),
        duration_ms=count(attributes, "duration_ms"),
        sidechain=_is_sidechain(attributes),
    )


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
    if command == known.command:
        return known
    return ToolInput(path=known.path, command=command, key=known.key, background=known.background)


def _decision(happening: Happening) -> list[Draft]:
    """Only a person's refusal is one; what settings or a hook forbid says nothing about the work."""
    attributes = happening.attributes
    source = text(attributes, "source")
    fields: dict[str, Any] = {"tool": name(attributes, "tool_name"), "call_id": identifier(attributes, "tool_use_id")}
    if text(attributes, "decision") != "reject" or source not in _USERS_DECISIONS:
        return happening.other(**fields)
    return happening.rejection(interrupts=source == "user_abort", **fields)


def _compaction(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    ok = flag(attributes, "success")
    return happening.only(
        "other" if ok is False else "compaction",
        ok=ok,
        duration_ms=count(attributes, "duration_ms"),
        source=name(attributes, "trigger"),
    )


def _sub_agent(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    return happening.only(
        "subagent",
        source=name(attributes, "agent_type", "agent.name"),
        model=name(attributes, "final_model", "model"),
        duration_ms=count(attributes, "duration_ms"),
    )


def _response(happening: Happening) -> list[Draft]:
    """The last one of a turn is the agent's answer; a sub-agent's is none."""
    attributes = happening.attributes
    fields: dict[str, Any] = {"model": _model(attributes), "request_id": identifier(attributes, "request_id")}
    if _is_sidechain(attributes):
        return happening.other(**fields)
    return [Draft(happening.record("response", **fields), text=said(attributes, "response"))]


READERS: dict[str, Callable[[Happening], list[Draft]]] = {
    "user_prompt": _prompt,
    "assistant_response": _response,
    "api_request": _request,
    "api_error": _error,
    "api_refusal": _refusal,
    "tool_result": tool_result,
    "tool_decision": _decision,
    "compaction": _compaction,
    "subagent_completed": _sub_agent,
}
