"""Putting a session together: a prompt and everything the agent did until the next one is an exchange.

Ids are those of the messages, so a session that was carried into another file is the same session. What a rewind takes
out of the conversation was done all the same, and is kept; what a compression writes in its place is no message.
A sub-agent's file has no prompts: what it was told, an agent wrote.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aggregates.records.record import Record
from aggregates.telemetry.draft import Draft
from svc.importing.exchange import (
    Answer,
    Exchange,
    Format,
    Reader,
    TypedPrompt,
    UnreadableLine,
    document_of,
    lines_of,
    microseconds,
)
from svc.importing.gemini_lines import Document, Head, Message, decode_entry, decode_message, drafts_of, failure

_NOT_TYPED = (
    *("<state_snapshot>", "<session_context>", "<hook_context>", "System: "),
    "This is the Gemini CLI. We are setting up the context for our chat.",
)


_CONTINUED = "Please continue."


_CONTINUED_WITHIN_US = 2_000_000
"""The agent tells itself to go on, at once; a person needs longer."""


_CANCELLED = "Request cancelled."


@dataclass(slots=True)
class Seen:
    """What an import has taken so far, over all its files."""

    messages: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Open:
    """The exchange that is being read."""

    prompt: TypedPrompt | None = None
    items: dict[str, Message | Draft] = field(default_factory=dict)
    """By the id of the message: a message of the model may come again, a draft is complete."""
    last_us: int = 0
    stopped: bool = False


class SessionReader(Reader):
    """Reads one file. `seen` is shared by all files of one import."""

    def __init__(self, file: str, session: str, seen: Seen, *, of_sub_agent: bool = False) -> None:
        """`file` names the file in reports; `session` stands in until the file names one.

        `of_sub_agent`: the file lies in the folder of its parent, whose name is `session`.
        """
        super().__init__(file)
        self._session = session
        self._seen = seen
        self._nested = of_sub_agent
        self._of_sub_agent = of_sub_agent
        self._open = _Open()

    def _line(self, raw: bytes, number: int) -> Iterator[Exchange]:
        entry = decode_entry(raw)
        yield from self._document(entry) if isinstance(entry, Document) else self._take(entry)

    def _rest(self) -> Iterator[Exchange]:
        yield from self._cut(finished=self._open.stopped)

    def _document(self, document: Document) -> Iterator[Exchange]:
        """A whole session; its messages count as lines."""
        self.lines += len(document.messages) - 1
        yield from self._take(document.head)
        for number, value in enumerate(document.messages, 1):
            try:
                yield from self._take(decode_message(value))
            except UnreadableLine as error:
                self._tear(number, error)

    def _take(self, entry: Document | Head | Message | None) -> Iterator[Exchange]:
        if isinstance(entry, Head):
            yield from self._head(entry)
        elif isinstance(entry, Message):
            yield from self._message(entry)

    def _head(self, head: Head) -> Iterator[Exchange]:
        self._of_sub_agent = self._of_sub_agent or head.kind == "subagent"
        if head.session_id is not None and not self._nested and head.session_id != self._session:
            yield from self._cut()
            self._session = head.session_id
        if head.start_time is not None and self._session not in self._seen.sessions and not self._of_sub_agent:
            self._seen.sessions.add(self._session)
            record_id = f"session_start:{self._session}"
            self._add(record_id, Draft(Record(record_id=record_id, at_us=_time(head.start_time), kind="session_start")))

    # --- messages -------------------------------------------------------------------------------------------

    def _message(self, message: Message) -> Iterator[Exchange]:
        known = self._open.items.get(message.id)
        if isinstance(known, Message):
            self._add(message.id, known.updated(message))
        if message.id in self._seen.messages:
            return
        self._seen.messages.add(message.id)
        match message.type:
            case "user":
                yield from self._prompt(message)
            case "gemini":
                yield from self._begin(message.id, message)
            case "info" if message.text.strip() == _CANCELLED and not self._of_sub_agent:
                yield from self._cancelled(message)
            case "error" if "API Error" in message.text:
                yield from self._begin(message.id, failure(message, sidechain=self._of_sub_agent))

    def _prompt(self, message: Message) -> Iterator[Exchange]:
        text, at_us = message.typed, message.at_us
        if self._of_sub_agent or not text.strip() or text.startswith(_NOT_TYPED):
            return
        if text == _CONTINUED and at_us - self._open.last_us < _CONTINUED_WITHIN_US:
            return
        yield from self._cut()
        self._open.prompt = TypedPrompt(f"gemini:{message.id}", text, at_us, None, None)
        self._open.last_us = at_us

    def _cancelled(self, message: Message) -> Iterator[Exchange]:
        record = Record(record_id=f"interruption:{message.id}", at_us=message.at_us, kind="interruption")
        yield from self._begin(message.id, Draft(record))
        self._open.stopped = True

    # --- exchanges ------------------------------------------------------------------------------------------

    def _begin(self, message_id: str, item: Message | Draft) -> Iterator[Exchange]:
        """Add what a finished exchange cannot hold any more to one of its own, so that it stays as it was taken."""
        if self._open.stopped:
            yield from self._cut()
        self._add(message_id, item)

    def _add(self, item_id: str, item: Message | Draft) -> None:
        at_us = item.at_us if isinstance(item, Message) else item.record.at_us
        self._open.items[item_id] = item
        self._open.last_us = max(self._open.last_us, at_us)

    def _cut(self, *, finished: bool = True) -> Iterator[Exchange]:
        """End the open exchange."""
        done, self._open = self._open, _Open()
        drafts = tuple(draft for item in done.items.values() for draft in self._drafts(item))
        if done.prompt is not None or drafts:
            yield Exchange(self._session, done.prompt, _answer(done), drafts, finished, done.last_us)

    def _drafts(self, item: Message | Draft) -> list[Draft]:
        return [item] if isinstance(item, Draft) else drafts_of(item, sidechain=self._of_sub_agent)


def _answer(done: _Open) -> Answer | None:
    """The model's last words."""
    said = [item for item in done.items.values() if isinstance(item, Message) and item.text.strip()]
    if done.prompt is None or not said:
        return None
    at_us = said[-1].at_us
    return Answer(said[-1].text.strip(), at_us, max(0, at_us - done.prompt.at_us) // 1000)


def _time(timestamp: str) -> int:
    try:
        return microseconds(timestamp)
    except ValueError as error:
        raise UnreadableLine(str(error)) from error


# Where the Gemini CLI keeps its sessions: `<project>/chats/` under its folder for what it does not need for ever.
#
# Sub-agents' sessions lie in a folder there that is named like their parent's session.

_CHATS = "chats"


def _is_transcript(file: Path) -> bool:
    return file.suffix in (".json", ".jsonl") and (file.parent.name == _CHATS or _is_nested(file))


def _is_nested(file: Path) -> bool:
    return file.parent.parent.name == _CHATS


def _order(file: Path) -> tuple[bool, str, bool]:
    """By the time in the name; where a document was carried on as lines, the lines, which hold all of it, first."""
    return _is_nested(file), file.stem, file.suffix == ".json"


def _lines(file: Path) -> Iterator[bytes]:
    return document_of(file) if file.suffix == ".json" else lines_of(file)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()

    def reader(file: Path, name: str) -> Reader:
        nested = _is_nested(file)
        return SessionReader(name, file.parent.name if nested else file.stem, seen, of_sub_agent=nested)

    return reader


GEMINI = Format("gemini", lambda: "~/.gemini/tmp", _is_transcript, _order, _lines, _readers)
