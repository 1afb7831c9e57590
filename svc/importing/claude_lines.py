"""One line of a transcript of Claude Code."""

from typing import Any, Literal

import msgspec

from aggregates.reading.authors import CONTEXT, PRINTED, maker_of, own_words
from aggregates.records.record import Count
from svc.importing.exchange import Timed, text_in

# What the agent put into the conversation, told apart from what a person typed.
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
)
_CONTINUED = "This session is being continued from a previous conversation"
_LOCAL_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
_TAGS_MAX = 64 * 1024  # a command's tags stand at the start; what a long text quotes is not searched


class Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None
    id: str | None = None  # tool_use: the id that its result names
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None

    @property
    def is_rejection(self) -> bool:
        return bool(self.is_error) and text_in(self.content).lstrip().startswith(_REJECTED)


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
        return [Block(type="text", text=self.content)] if isinstance(self.content, str) else self.content

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.blocks if block.type == "text" and block.text]


class Fork(msgspec.Struct, frozen=True, rename="camel"):
    """Where a copied line stood first."""

    session_id: str | None = None
    message_uuid: str | None = None


class Line(Timed, rename="camel", kw_only=True):
    """What every line may carry; a line of a kind without meaning here stays at this."""

    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool | None = None  # a sub-agent's line
    is_meta: bool | None = None
    prompt_id: str | None = None
    cwd: str | None = None
    forked_from: Fork | None = None

    @property
    def typed(self) -> str | None:
        """The prompt as it was typed, a command as `/name arguments`, or what the agent wrote in a person's place.

        None where the line is neither.
        """
        return None


class Origin(msgspec.Struct, frozen=True):
    kind: str | None = None  # who put a user line there; `human` for a person


class UserLine(Line, rename="camel", kw_only=True):
    """What was said to the model: a prompt, tool results, or something the agent put in."""

    message: Message
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    origin: Origin | None = None
    prompt_source: str | None = None
    tool_use_result: Any = None

    @property
    def typed(self) -> str | None:
        if self.is_meta or self.is_sidechain or self.is_visible_in_transcript_only or self.means is not None:
            return None
        if any(block.type == "tool_result" for block in self.message.blocks):
            return None
        by_person = self.prompt_source != "system" and (self.origin is None or self.origin.kind in (None, "human"))
        return _as_typed(self.text, by_person=by_person)

    @property
    def text(self) -> str:
        """What was said, but for blocks that the agent put beside it."""
        own = [words for text in self.message.texts if (words := own_words(text)).strip()]
        pictured = not own and any(block.type == "image" for block in self.message.blocks)
        return "[Image]" if pictured else "\n".join(own)

    @property
    def means(self) -> Literal["interruption", "compaction", "local output"] | None:
        """What else it may say: the user stopped the agent, the agent compacted, or a command printed this."""
        text = self.text
        if any(each.strip() in _INTERRUPTED for each in self.message.texts):
            return "interruption"
        if self.is_compact_summary or text.startswith(_CONTINUED):
            return "compaction"
        return "local output" if text.lstrip().startswith(_LOCAL_OUTPUT) else None


class AssistantLine(Line, rename="camel", kw_only=True):
    """One block of a model's message; the message's usage is repeated on each of its lines."""

    message: Message
    request_id: str | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    error: Any = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")

    @property
    def request_key(self) -> tuple[str, str | None]:
        return self.message.id or self.uuid or "", self.request_id

    @property
    def is_unended(self) -> bool:
        """Words, or thoughts, of which no end is told. Older versions tell none of any message."""
        said = all(block.type in ("text", "thinking", "redacted_thinking") for block in self.message.blocks)
        return said and self.message.stop_reason is None and not self.is_sidechain


class SystemLine(Line, rename="camel", kw_only=True):
    """Something the agent notes: the end of a turn, a compaction, in newer versions a local command."""

    subtype: str | None = None
    content: Any = None
    compact_metadata: Any = None

    @property
    def typed(self) -> str | None:
        local = self.subtype == "local_command" and isinstance(self.content, str)
        return _command(self.content) if local else None


class AttachmentLine(Line, rename="camel", kw_only=True):
    """Something put beside the conversation: a hook's result, a prompt typed while the agent worked."""

    data: dict[str, Any] = msgspec.field(name="attachment")

    @property
    def typed(self) -> str | None:
        if self.data.get("type") != "queued_command" or self.is_meta or self.data.get("isMeta"):
            return None
        origin = self.data.get("origin")
        by_person = self.data.get("commandMode", "prompt") == "prompt"
        by_person = by_person and not (isinstance(origin, dict) and origin.get("kind") != "human")
        prompt = self.data.get("prompt")
        if isinstance(prompt, list):
            prompt = "\n".join(str(part["text"]) for part in prompt if isinstance(part, dict) and "text" in part)
        return _as_typed(prompt, by_person=by_person) if isinstance(prompt, str) else None


class ProgressLine(Line, rename="camel", kw_only=True):
    data: dict[str, Any]


_KINDS: dict[object, type[Line]] = {
    "user": UserLine,
    "assistant": AssistantLine,
    "system": SystemLine,
    "attachment": AttachmentLine,
    "progress": ProgressLine,
}


def line_of(value: dict[str, Any]) -> Line:
    """The line of this JSON object. Raises `ValueError`."""
    kind = value.get("type")
    return msgspec.convert(value, _KINDS.get(kind, Line) if isinstance(kind, str) else Line)


def _as_typed(text: str, *, by_person: bool = True) -> str | None:
    """Without the agent's tags: shell pass-through is `! command`. None for what says nothing."""
    words, maker = own_words(text), maker_of(text)
    if not words.strip() or maker in (CONTEXT, PRINTED) or (maker is None and not by_person):
        return None
    start = words.lstrip()[:64]
    if start.startswith("<command-"):
        return _command(words)
    shell = _tagged(words[:_TAGS_MAX], "bash-input") if start.startswith("<bash-input>") else None
    return words if shell is None else f"! {shell}"


def _command(text: str) -> str | None:
    head = text[:_TAGS_MAX]
    name, arguments = _tagged(head, "command-name"), _tagged(head, "command-args")
    if not name:
        return None
    typed = "/" + name.removeprefix("/")
    return f"{typed} {arguments}" if arguments else typed


def _tagged(text: str, tag: str) -> str | None:
    """What stands in the first such tag; None where it is not closed."""
    _, _, rest = text.partition(f"<{tag}>")
    inside, closing, _ = rest.partition(f"</{tag}>")
    return inside.strip() if closing else None
