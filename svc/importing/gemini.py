"""The Gemini CLI's sessions: `<project>/chats/` under its folder, sub-agents' in a folder named like their parent's.

Until early 2026 a session was one JSON document; since then it is a file of lines: a head, messages, again where they
change, updates of the head (`$set`) and rewinds (`$rewindTo`). What a rewind takes out was done all the same, and is
kept. A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from aggregates.reading.readings import own_words
from aggregates.records.record import Count, Id, Record
from aggregates.records.tools import tool_effect, tool_input
from aggregates.telemetry.agents import counted_lines
from aggregates.telemetry.draft import CWD_CHARACTERS_MAX, RecordDraft, TypedPrompt, inside, status_in, tool_draft
from aggregates.telemetry.otlp import json_object
from aggregates.telemetry.outcomes import tool_outcome
from svc.importing.exchange import Format, Memory, Note, Reader, Timed, Told, microseconds, note, text_in
from svc.importing.lines import fitted

_TOLD_ITSELF = "System: "
_CONTINUED = "Please continue."
_CONTINUED_WITHIN_US = 2_000_000  # the agent tells itself to go on, at once; a person needs longer
_CANCELLED = "Request cancelled."
_OK = {"success": True, "error": False}


class Tokens(msgspec.Struct, frozen=True):
    """Of one response; what was cached is part of the input, thoughts and what tools brought in stand beside."""

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    tool: Count | None = None


class Call(Timed, rename="camel"):
    name: str
    id: Id | None = None
    args: Any = None
    result: Any = None
    status: str | None = None
    result_display: Any = None


class Message(Timed, rename="camel"):
    type: str
    timestamp: str
    id: Id = ""  # one that is blank is named by its place
    content: Any = None
    display_content: Any = None  # what the user saw, where more was sent: files that a prompt names
    tool_calls: list[Call] | None = None
    tokens: Tokens | None = None
    model: str | None = None

    @property
    def at_us(self) -> int:
        return microseconds(self.timestamp)

    @property
    def text(self) -> str:
        """What was said, thoughts and tools left out."""
        return text_in(self.content, "")


class Head(msgspec.Struct, frozen=True, rename="camel"):
    session_id: Id | None = None
    start_time: str | None = None
    kind: str | None = None


class SessionReader(Reader):
    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        super().__init__(file, name, seen)
        self._nested = self._of_sub_agent = _is_nested(file)
        if self._nested:
            self._session = file.parent.name
        self._cwd: str | None = None  # before 2026 the agent noted nothing but a digest of it
        with suppress(OSError), (file.parent.parent / ".project_root").open(errors="replace") as noted:
            self._cwd = noted.read(CWD_CHARACTERS_MAX).strip() or None
        self._messages: dict[str, tuple[Message, Note]] = {}
        """The model's, of the open exchange; any of them may come again."""

    def _line(self, value: dict[str, Any], number: int) -> None:
        match value:
            case {"$set": dict(changed)}:
                self._head(fitted(changed, Head, self.pass_over))
            case {"id": _}:
                self._message(fitted(value, Message, self.pass_over), number)
            case {"sessionId": _}:
                head, messages = fitted(value, Head, self.pass_over), value.get("messages")
                if isinstance(messages, list):
                    self.lines += len(messages) - 1
                self._head(head)
                for place, each in enumerate(messages if isinstance(messages, list) else (), 1):
                    try:
                        self._message(fitted(each, Message, self.pass_over), place)
                    except (ValueError, RecursionError) as error:
                        self._tear(place, error, each)
            case _:
                self.pass_over(" ".join(value) or "no type")

    def _head(self, head: Head) -> None:
        self._of_sub_agent = self._of_sub_agent or head.kind == "subagent"
        if head.session_id is not None and not self._nested and head.session_id != self._session:
            self._cut()
            self._session = head.session_id
        if head.start_time is not None and not self._of_sub_agent:
            self._session_seen(microseconds(head.start_time))

    def _message(self, message: Message, place: int) -> None:
        message.id, at_us = message.id or f"{self._session}:{place}", message.at_us
        if message.id in self._messages:
            known, item = self._messages[message.id]
            message.tool_calls = message.tool_calls or known.tool_calls
            accounts = [each for each in (message.tokens, known.tokens) if each is not None]
            message.tokens = max(accounts, key=lambda each: sum(filter(None, astuple(each))), default=None)
            self._messages[message.id] = message, item
            self._at(at_us)
        if not self._seen.add("message", message.id):
            if (asked := self._request(message)) is not None:
                self._grown(message.id, asked)
            return
        match message.type:
            case "user" if not self._of_sub_agent:
                # A command of one's own is told live by the text in its place alone.
                typed = text_in(message.display_content, "")
                text = message.text if not typed or typed.startswith("/") else typed
                told_itself = text == _CONTINUED and at_us - self._open.last_us < _CONTINUED_WITHIN_US
                if text.strip() and not text.startswith(_TOLD_ITSELF) and not told_itself:
                    self._ask(TypedPrompt(f"gemini:{message.id}", own_words(text) or text, at_us, cwd=self._cwd))
            case "gemini":
                item = Note(at_us, [])
                self._begin(item)
                self._messages[message.id] = message, item
            case "info" if message.text.strip() == _CANCELLED and not self._of_sub_agent:
                self._begin(note("interruption", message.id, at_us))
                self._open.stopped = True
            case "error" if "API Error" in message.text:
                told = {"status_code": status_in(message.text), "sidechain": self._of_sub_agent}
                self._begin(note("error", message.id, at_us, message.text, **told))
            case kind:
                self.pass_over(kind)

    def _cut(self, *, finished: bool = True) -> None:
        """What the model said and did is known only now: its messages change."""
        for message, item in self._messages.values():
            item.drafts = [self._call(call, index, message) for index, call in enumerate(message.tool_calls or ())]
            if (asked := self._request(message)) is not None:
                item.drafts = asked.drafts + item.drafts
                self._seen.told[message.id] = Told(asked.tokens, self._session, asked.at_us, None)
            if message.text.strip():
                self._open.answer, self._open.answered_us = message.text, message.at_us
        super()._cut(finished=finished)
        self._messages.clear()

    def _request(self, message: Message) -> Note | None:
        """Counted as in telemetry."""
        tokens = message.tokens
        if tokens is None:
            return None
        output = None if tokens.output is None else tokens.output + (tokens.thoughts or 0)
        whole = None if tokens.input is None else tokens.input + (tokens.tool or 0)
        told: dict[str, Any] = {"model": message.model, "sidechain": self._of_sub_agent}
        return note("request", message.id, message.at_us, **told, **inside(whole, tokens.cached, None, output))

    def _call(self, call: Call, index: int, message: Message) -> RecordDraft:
        """The agent's telemetry names no calls, so the id of one is no name to know it again by."""
        known = tool_input(call.name, json_object(call.args))
        # What another tool than a shell brought is not looked at, unless it was cancelled: it may be a file.
        looked_at = tool_effect(call.name) == "shell" or call.status == "cancelled"
        outcome = tool_outcome("gemini", call.result if looked_at else None, _OK.get(call.status or ""))
        rejected = call.status == "cancelled" and not outcome.stopped
        ok = None if rejected else outcome.ok
        stat = call.result_display.get("diffStat") if isinstance(call.result_display, dict) else None
        counted = counted_lines(stat) if isinstance(stat, dict) else None
        record = Record(
            record_id=f"tool:{call.id or f'{message.id}:{index}'}",
            # A request comes before the calls it asks for, and these in their order.
            at_us=max(message.at_us + 1 + index, call.at_us or 0),
            kind="rejection" if rejected else "tool",
            tool=call.name,
            sidechain=self._of_sub_agent,
        )
        return tool_draft(record, ok, replace(known, key=None) if rejected else known, counted)


def _is_nested(file: Path) -> bool:
    """A sub-agent's file lies in a folder named like its parent."""
    return file.parent.parent.name == "chats"


GEMINI = Format(
    *("gemini", "Gemini CLI session files", ("~/.gemini",), None, ("tmp",)),
    is_transcript=lambda file: file.suffix in (".json", ".jsonl") and (file.parent.name == "chats" or _is_nested(file)),
    # By the time in the name; where a document was carried on as lines, the lines, which hold all of it, first.
    order=lambda file: (_is_nested(file), file.stem, file.suffix == ".json"),
    reader=SessionReader,
    document=".json",
)
