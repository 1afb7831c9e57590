"""Which vocabulary an event or span is in, and whose session it belongs to."""

from aggregates.telemetry import claude_code, codex, gemini
from aggregates.telemetry import copilot as gen_ai
from aggregates.telemetry.claude_code import tool_result
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent
from aggregates.telemetry.envelope import Agent, Context
from aggregates.telemetry.otlp import CUT_CHARACTER, ID_CHARACTERS_MAX, Attributes, Fault, Plain, identifier, name

PREFIX = "svc."

READERS: dict[str, Reader] = {
    "session_start": lambda event, attributes: event.only(
        "session_start", source=name(attributes, "source"), model=name(attributes, "model")
    ),
    "session_end": lambda event, attributes: event.only("session_end", source=name(attributes, "reason")),
    "tool_result": tool_result,
}
"""What `svc hook` reports: how a session began and ended, and tool details that an agent's own telemetry lacks."""
_LOGS: dict[Agent, tuple[str, dict[str, Reader]]] = {
    "claude-code": (claude_code.PREFIX, claude_code.READERS),
    "codex": (codex.PREFIX, codex.READERS),
    "gemini": (gemini.PREFIX, gemini.READERS),
    "svc": (PREFIX, READERS),
}
"""What an agent's log events mean, by their names without the prefix."""
_PROMPTS = {"claude-code": "prompt.id", "gemini": "prompt_id", "svc": "prompt.id"}
"""The attribute that names the prompt; Codex and Copilot name it by the trace."""
_PREFIXES: tuple[tuple[str, Agent], ...] = (
    (claude_code.PREFIX, "claude-code"),
    (codex.PREFIX, "codex"),
    (gemini.PREFIX, "gemini"),
    (PREFIX, "svc"),
    ("copilot_chat.", "copilot"),
)
_SESSIONS: dict[Agent, tuple[str, ...]] = {
    "claude-code": ("session.id",),
    "codex": ("conversation.id",),
    "gemini": ("session.id", "gen_ai.conversation.id"),
    "copilot": ("gen_ai.conversation.id", "session.id"),
    "svc": ("session.id",),
    "unknown": ("session.id", "gen_ai.conversation.id", "conversation.id"),
}
"""What names the agent session, the first that is there."""


def agent_of_log(context: Context, *names: str | None) -> Agent:
    """By the prefix of the event's name, wherever it stands, which is the agent's own; else by who sends."""
    for each in filter(None, names):
        for prefix, agent in _PREFIXES:
            if each.startswith(prefix):
                return agent
    return context.agent


def agent_of_span(context: Context, attributes: Attributes) -> Agent:
    """By who sends; a service of another name is Copilot where it says so in its attributes."""
    if context.agent == "unknown" and any(key.startswith(("github.copilot.", "copilot_chat.")) for key in attributes):
        return "copilot"
    return context.agent


def session_of(agent: Agent, attributes: Attributes, resource: dict[str, Plain]) -> str | None:
    """The agent session that a record names, else its resource; None where neither does.

    Raises `Fault` where what is named cannot be one. VS Code's resource names a window, which is no session.
    """
    keys = _SESSIONS[agent]
    found = _named(attributes, keys)
    if found is None and agent != "copilot":
        found = _named(resource, keys)
    return found


def _named(attributes: dict[str, Plain], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value and not value.isspace():
            return _checked(key, value)
    return None


def _checked(key: str, value: str) -> str:
    if len(value) > ID_CHARACTERS_MAX:
        raise Fault(f"{key} has {len(value)} characters; an agent session's id has at most {ID_CHARACTERS_MAX}")
    if "\0" in value or CUT_CHARACTER in value:
        raise Fault(f"{key} holds a NUL or half a character; an agent session's id has neither")
    return value


def log_drafts(agent: Agent, event: SourceEvent) -> list[RecordDraft]:
    """What a log event means; of an unknown agent, nothing."""
    if agent not in _LOGS:
        return event.other()
    prefix, readers = _LOGS[agent]
    key = _PROMPTS.get(agent)
    event.prompt_id = event.trace_id if key is None else identifier(event.attributes, key)
    reader = readers.get((event.name or "").removeprefix(prefix))
    return event.other() if reader is None else reader(event, event.attributes)


def span_drafts(agent: Agent, event: SourceEvent) -> list[RecordDraft]:
    """What a span means. Those of agents that send logs are kept only: their logs are the truth."""
    if agent == "copilot":
        return gen_ai.gen_ai(event)
    return event.other(duration_ms=event.span_ms)
