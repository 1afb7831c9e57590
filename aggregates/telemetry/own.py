"""What `svc hook` reports: how a session began and ended, and tool details that an agent's own telemetry lacks."""

from collections.abc import Callable

from aggregates.telemetry.attributes import identifier, name
from aggregates.telemetry.claude_code import tool_result
from aggregates.telemetry.happening import Draft, Happening

PREFIX = "svc."


def own(happening: Happening) -> list[Draft]:
    """The records of one log event. Tool calls come with Claude Code's attributes."""
    happening.prompt_id = identifier(happening.attributes, "prompt.id")
    reader = _READERS.get((happening.name or "").removeprefix(PREFIX))
    return happening.other() if reader is None else reader(happening)


def _start(happening: Happening) -> list[Draft]:
    attributes = happening.attributes
    return [
        Draft(happening.record("session_start", source=name(attributes, "source"), model=name(attributes, "model")))
    ]


def _end(happening: Happening) -> list[Draft]:
    return [Draft(happening.record("session_end", source=name(happening.attributes, "reason")))]


_READERS: dict[str, Callable[[Happening], list[Draft]]] = {
    "session_start": _start,
    "session_end": _end,
    "tool_result": tool_result,
}
