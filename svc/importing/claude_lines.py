"""One line of a transcript, decoded as far as it is needed.

The format is internal to the agent and grows with every version: unknown fields and unknown kinds of line are
ignored, a known field of a wrong type makes the line unreadable.
"""

import re
from typing import Any

import msgspec

from svc.importing.exchange import Count, decode, microseconds, text_in


class Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None
    id: str | None = None
    """tool_use: the id that its result names."""
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class CacheWrites(msgspec.Struct, frozen=True):
    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class Usage(msgspec.Struct, frozen=True):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: CacheWrites | None = None


class Message(msgspec.Struct, frozen=True):
    content: str | list[Block]
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None

    @property
    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content


class Fork(msgspec.Struct, frozen=True, rename="camel"):
    """Where a copied line stood first."""

    session_id: str | None = None
    message_uuid: str | None = None


class Line(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What every line may carry; a line of a kind without meaning here stays at this."""

    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = None
    """A sub-agent's line."""
    is_meta: bool | None = None
    prompt_id: str | None = None
    cwd: str | None = None
    forked_from: Fork | None = None

    @property
    def at_us(self) -> int | None:
        """Microseconds since 1970, UTC; None where the line has no time."""
        return None if self.timestamp is None else microseconds(self.timestamp)


class Origin(msgspec.Struct, frozen=True):
    """Who put a user line there; `human` for a person."""

    kind: str | None = None


class UserLine(Line, frozen=True, rename="camel", kw_only=True):
    """What was said to the model: a prompt, tool results, or something the agent put in."""

    message: Message
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    origin: Origin | None = None
    prompt_source: str | None = None
    tool_use_result: Any = None


class AssistantLine(Line, frozen=True, rename="camel", kw_only=True):
    """One block of a model's message; the message's usage is repeated on each of its lines."""

    message: Message
    request_id: str | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    error: Any = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")


class SystemLine(Line, frozen=True, rename="camel", kw_only=True):
    """Something the agent notes: the end of a turn, a compaction, a local command."""

    subtype: str | None = None
    content: Any = None
    compact_metadata: Any = None


class AttachmentLine(Line, frozen=True, rename="camel", kw_only=True):
    """Something put beside the conversation: a hook's result, a prompt typed while the agent worked."""

    attachment: dict[str, Any]


class ProgressLine(Line, frozen=True, rename="camel", kw_only=True):
    """Progress of a hook or a tool."""

    data: dict[str, Any]


_KINDS: dict[str, type[Line]] = {
    "user": UserLine,
    "assistant": AssistantLine,
    "system": SystemLine,
    "attachment": AttachmentLine,
    "progress": ProgressLine,
}
_KIND = msgspec.json.Decoder(Line)
_DECODERS = {kind: msgspec.json.Decoder(line) for kind, line in _KINDS.items()}


def decode_line(raw: bytes) -> Line:
    """The line that these bytes hold. Raises `ValueError`, also for a time that is no time."""
    line = decode(raw, _decode, _convert)
    line.at_us  # noqa: B018
    return line


def _decode(raw: bytes) -> Line:
    kind = _KIND.decode(raw).type
    return _DECODERS[kind].decode(raw) if kind in _DECODERS else _KIND.decode(raw)


def _convert(value: Any) -> Line:
    return msgspec.convert(value, _KINDS.get(msgspec.convert(value, Line).type, Line))


# What a person typed, told apart from what the agent put into the conversation.

_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
)
_CONTINUED = "This session is being continued from a previous conversation"
_NOT_TYPED = (
    *("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>"),
    *("<bash-stderr>", "<task-notification>", "<teammate-message", "<cross-session-message"),
    *("<user-memory-input>", "<user-prompt-submit-hook>", "<session-start-hook>", "<system-reminder>"),
    *("Caveat: The messages below were generated by the user", "Operation stopped by hook:", _CONTINUED),
)
_LOCAL_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
_INJECTED_BLOCK = re.compile(r"\s*<(system-reminder|ide_\w+|session-start-hook)\b.*</\1>\s*", re.DOTALL)
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_SHELL = re.compile(r"<bash-input>\s*(.*?)\s*</bash-input>", re.DOTALL)
_TAGS_MAX = 64 * 1024
"""A command's tags stand at the start; what a long text quotes is not searched."""


def typed_in(line: UserLine) -> str | None:
    """The prompt that a user line holds, as it was typed; None where no person typed it.

    A command is given as `/name arguments`, shell pass-through as `! command`.
    """
    if not _is_persons(line) or any(block.type == "tool_result" for block in line.message.blocks):
        return None
    return _as_typed(_text_of(line))


def queued_in(line: AttachmentLine) -> str | None:
    """The prompt that was typed while the agent worked and was given to it in the middle of its turn."""
    attachment = line.attachment
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return None
    origin = attachment.get("origin")
    if line.is_meta or attachment.get("isMeta") or (isinstance(origin, dict) and origin.get("kind") != "human"):
        return None
    prompt = attachment.get("prompt")
    if isinstance(prompt, list):
        prompt = "\n".join(str(part["text"]) for part in prompt if isinstance(part, dict) and "text" in part)
    return _as_typed(prompt) if isinstance(prompt, str) else None


def command_in(line: SystemLine) -> str | None:
    """The local command that newer versions note in a system line."""
    if line.subtype != "local_command" or not isinstance(line.content, str):
        return None
    return _command(line.content)


def is_interruption(line: UserLine) -> bool:
    """Whether this line says that the user stopped the agent."""
    texts = (block.text or "" for block in line.message.blocks if block.type == "text")
    return any(text.strip() in _INTERRUPTED for text in texts)


def is_compaction(line: UserLine) -> bool:
    """Whether this line is the summary that a compacted conversation goes on from."""
    return bool(line.is_compact_summary) or _text_of(line).startswith(_CONTINUED)


def is_local_output(line: UserLine) -> bool:
    """Whether this line is what a local command or a shell pass-through printed: nothing else follows it."""
    return _text_of(line).lstrip().startswith(_LOCAL_OUTPUT)


def is_rejection(content: object) -> bool:
    """Whether a tool's result says that the user refused the call."""
    return text_in(content).lstrip().startswith(_REJECTED)


def _is_persons(line: UserLine) -> bool:
    if line.is_meta or line.is_sidechain or line.is_visible_in_transcript_only or is_compaction(line):
        return False
    other = line.origin is not None and line.origin.kind not in (None, "human")
    return not other and line.prompt_source != "system" and not is_interruption(line)


def _text_of(line: UserLine) -> str:
    blocks = line.message.blocks
    texts = [block.text for block in blocks if block.type == "text" and block.text]
    own = [text for text in texts if not _INJECTED_BLOCK.fullmatch(text)]
    if not own and any(block.type == "image" for block in blocks):
        return "[Image]"
    return "\n".join(own)


def _as_typed(text: str) -> str | None:
    start = text.lstrip()[:64]
    if not start or start.startswith(_NOT_TYPED):
        return None
    if start.startswith("<command-"):
        return _command(text)
    shell = _SHELL.match(text[:_TAGS_MAX].lstrip()) if start.startswith("<bash-input>") else None
    return text if shell is None else f"! {shell.group(1)}"


def _command(text: str) -> str | None:
    head = text[:_TAGS_MAX]
    name = _COMMAND.search(head)
    if name is None or not name.group(1):
        return None
    arguments = _ARGUMENTS.search(head)
    typed = "/" + name.group(1).removeprefix("/")
    return f"{typed} {arguments.group(1)}" if arguments and arguments.group(1) else typed
