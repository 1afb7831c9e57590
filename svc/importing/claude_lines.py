"""One line of a transcript of Claude Code."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from aggregates.reading.readings import CONTEXT, PRINTED, maker_of, own_words
from aggregates.records.record import Id
from aggregates.telemetry.otlp import count
from svc.importing.exchange import Timed, text_in
from svc.importing.lines import fitted

# What the agent put into the conversation, told apart from what a person typed.
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_CONTINUED = "This session is being continued from a previous conversation"
_LOCAL_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
SPOKEN, _NOTED = ("user", "assistant"), ("system", "attachment", "progress")
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
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


class Message(msgspec.Struct, frozen=True):
    content: str | list[Block]
    id: Id | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None  # as `beside` reads it

    @property
    def blocks(self) -> list[Block]:
        return [Block(type="text", text=self.content)] if isinstance(self.content, str) else self.content

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.blocks if block.type == "text" and block.text]


class Fork(msgspec.Struct, frozen=True, rename="camel"):
    """Where a copied line stood first."""

    session_id: Id | None = None
    message_uuid: Id | None = None


class Line(Timed, rename="camel", kw_only=True):
    type: str
    uuid: Id | None = None
    session_id: Id | None = None
    is_sidechain: bool | None = None  # a sub-agent's line
    is_meta: bool | None = None
    prompt_id: Id | None = None
    cwd: str | None = None
    forked_from: Fork | None = None

    message: Message = Message("")  # a prompt, tool results, what the agent put in; or one block of the model's
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    origin: Any = None  # who put a user line there; of the kind `human` for a person
    prompt_source: str | None = None
    tool_use_result: Any = None

    request_id: Id | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    error: Any = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")

    subtype: str | None = None  # what the agent notes: the end of a turn, a compaction, a local command
    content: Any = None
    compact_metadata: Any = None
    attachment: dict[str, Any] = msgspec.field(default_factory=dict)  # a hook's result, a prompt typed amid work
    data: dict[str, Any] = msgspec.field(default_factory=dict)  # the progress of a hook

    @property
    def request_key(self) -> tuple[str, str | None]:
        return self.message.id or self.uuid or "", self.request_id

    @property
    def text(self) -> str:
        """What was said, but for blocks that the agent put beside it."""
        own = [words for text in self.message.texts if (words := own_words(text)).strip()]
        pictured = not own and any(block.type == "image" for block in self.message.blocks)
        return "[Image]" if pictured else "\n".join(own)

    @property
    def kind(self) -> str:
        """What it is among the agent's notes, as reports name it."""
        return f"{self.type} {self.subtype or (self.attachment or self.data).get('type')}"

    @property
    def means(self) -> Literal["interruption", "compaction", "local output", "shell mode"] | None:
        """What else a user's line may say: stopped, compacted, printed by a command, or a command for the shell."""
        text = self.text
        if any(each.strip() in _INTERRUPTED for each in self.message.texts):
            return "interruption"
        if self.is_compact_summary or text.startswith(_CONTINUED):
            return "compaction"
        if text.lstrip().startswith("<bash-input>"):
            return "shell mode"
        return "local output" if text.lstrip().startswith(_LOCAL_OUTPUT) else None

    @property
    def typed(self) -> str | None:
        """The prompt as it was typed, a command as `/name arguments`, or what the agent wrote in a person's place."""
        match self.type:
            case "user" if not (self.is_meta or self.is_visible_in_transcript_only):
                if any(block.type == "tool_result" for block in self.message.blocks) or self.means:
                    return None
                origin = self.origin.get("kind") if isinstance(self.origin, dict) else None
                return as_typed(self.text, by_person=origin in (None, "human") and self.prompt_source != "system")
            case "system" if self.subtype == "local_command" and isinstance(self.content, str):
                return _command(self.content)
            case "attachment" if self.attachment.get("type") == "queued_command" and not self.is_meta:
                told, origin = self.attachment, self.attachment.get("origin")
                if not told.get("isMeta"):
                    by_person = not isinstance(origin, dict) or origin.get("kind") == "human"
                    by_person &= told.get("commandMode", "prompt") == "prompt"
                    return as_typed(text_in(told.get("prompt")), by_person=by_person)
        return None


def line_of(value: dict[str, Any], pass_over: Callable[[str], None]) -> Line | None:
    """The line of this JSON object; None for one of a kind without meaning here. Raises `ValueError`."""
    kind = value.get("type", "")
    if isinstance(kind, str) and kind not in (*SPOKEN, *_NOTED):
        pass_over(kind or "no type")
        return None
    if kind in _NOTED:
        value.pop("message", None)  # of a form of its own, if it is there
    line = fitted(value, Line, pass_over)
    usage = line.message.usage or {}
    unusable = [key for key in _COUNTS if usage.get(key) is not None and count(usage, key) is None]
    if not isinstance(usage.get("cache_creation"), dict | None):
        unusable.append("cache_creation")
    for key in unusable:
        pass_over(f"unusable {key}")
    if kind in SPOKEN and (line.at_us is None or "message" not in value):
        raise ValueError("no timestamp, or no message")
    return line


def as_typed(text: str, *, by_person: bool = True) -> str | None:
    """Without the agent's tags. None for what says nothing."""
    words, maker = own_words(text), maker_of(text)
    if not words.strip() or maker in (CONTEXT, PRINTED) or (maker is None and not by_person):
        return None
    return _command(words) if words.lstrip().startswith("<command-") else words


def _command(text: str) -> str | None:
    name, arguments = _tagged(text, "command-name"), _tagged(text, "command-args")
    if not name:
        return None
    typed = "/" + name.removeprefix("/")
    return f"{typed} {arguments}" if arguments else typed


def _tagged(text: str, tag: str) -> str | None:
    """What stands in the first such tag; None where it is not closed."""
    _, _, rest = text[:_TAGS_MAX].partition(f"<{tag}>")
    inside, closing, _ = rest.partition(f"</{tag}>")
    return inside.strip() if closing else None
