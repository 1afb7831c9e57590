"""What a transcript is cut into: a prompt, everything the agent did until the next one, and its answer.

Formats are internal to the agents and grow with every version: unknown fields are ignored, unknown kinds of line are
counted as passed over, a known field of a wrong type makes the line unreadable; a number that cannot be one is unknown.
"""

import os
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from aggregates import REVIEW_MARK
from aggregates.reading.readings import CONTEXT, PRINTED, is_for_shell, maker_of
from aggregates.records.record import TOKEN_KINDS, Record, RecordKind
from aggregates.records.tools import ToolInput, tool_input
from aggregates.telemetry.draft import Answer, Exchange, RecordDraft, TypedPrompt, tool_draft
from svc.importing.lines import decode_object, is_last, lines_of, pieces_of

HEAD_LINES_MAX = 100  # the first time of a file is looked for in so many lines
KINDS_MAX = 100  # of what is passed over so many kinds are told apart
_APART = 10_000_000  # further objects of one line are numbered beyond all lines
_PROMPT = re.compile(  # what cannot be read and may have been a prompt: nobody knows whose the next answer is
    r"""(?=.*["'])(?!.*["'](?:assistant|tool_result|token_count|(?:function|custom_tool)_call\w*|agent_\w+|turn_context"""
    r"""|gemini|assistant\.\w+|tool\.\w+)["'])(?!.*["']isSidechain["']:\s*[tT]rue)""",
    re.DOTALL,
)
_LEAVES, _CLEARS = ("/exit", "/quit"), ("/clear", "/reset", "/new")
HEAD_BYTES = 64 * 1024
_OF_REVIEW = re.compile(rf'"cwd":\s*"[^"]*/{REVIEW_MARK}["/]|"(?:text|content|message)":\s*"{REVIEW_MARK}'.encode())
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TornLine(msgspec.Struct, frozen=True):
    file: str
    line: int
    reason: str


@dataclass(slots=True, eq=False)
class Note:
    """Records that the agent's lines say completely; a later line may say them again."""

    at_us: int
    drafts: list[RecordDraft]

    @property
    def tokens(self) -> int:
        """How large the account of a request is, all of its kinds together."""
        return sum(getattr(self.drafts[0].record, kind) or 0 for kind in TOKEN_KINDS)


def note(kind: RecordKind, name: str, at_us: int, text: str | None = None, **fields: Any) -> Note:
    """One record, whose id is made of its kind and of what names it among those of its kind."""
    record = Record(record_id=f"{kind}:{name}", at_us=at_us, kind=kind, **fields)
    return Note(at_us, [RecordDraft(record, text=text)])


@dataclass(slots=True, eq=False)
class ToolCall:
    """One tool call; its result comes in later lines, or never."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    at_us: int
    sidechain: bool
    whole: bool = False  # whether no agent shortens its input here
    known: ToolInput | None = None  # what the input says, where more than the input tells of it
    prompt_id: str | None = None
    kind: RecordKind = "tool"
    ok: bool | None = None
    duration_ms: int | None = None
    spawned: tuple[RecordDraft, ...] = ()

    def spawn(self, at_us: int, kind: object) -> None:
        """Note the sub-agent that it started, and how that went as far as it is known."""
        told: dict[str, Any] = {"prompt_id": self.prompt_id, "call_id": self.call_id, "ok": self.ok}
        told |= {"source": kind if isinstance(kind, str) else None, "duration_ms": self.duration_ms}
        self.spawned = tuple(note("subagent", self.call_id, at_us, **told).drafts)

    def reject(self) -> None:
        self.kind, self.spawned = "rejection", ()

    def took_ms(self, until_us: int) -> int | None:
        """From call to result, which includes the wait for a permission; None where the result is earlier."""
        return (until_us - self.at_us + 500) // 1000 if until_us >= self.at_us else None

    @property
    def drafts(self) -> list[RecordDraft]:
        same = ("at_us", "kind", "prompt_id", "call_id", "duration_ms", "sidechain")
        told: dict[str, Any] = {name: getattr(self, name) for name in same}
        record = Record(record_id=f"tool:{self.call_id}", tool=self.name, **told)
        known = self.known or tool_input(self.name, self.arguments, whole=self.whole)
        return [tool_draft(record, None if self.kind == "rejection" else self.ok, known), *self.spawned]


class Told(NamedTuple):
    """The largest account of a request so far, and where it was told first."""

    tokens: int
    session: str
    at_us: int
    prompt_id: str | None


@dataclass(slots=True)
class Memory:
    """What one import has read so far, over all its files: forks repeat lines of other files."""

    keys: defaultdict[str, set[Hashable]] = field(default_factory=lambda: defaultdict(set))
    told: dict[Hashable, Told] = field(default_factory=dict)  # by what names a request
    marks: dict[str, Sequence[int]] = field(default_factory=dict)  # by file, what its lines are known again by
    open: dict[str, TypedPrompt | None] = field(default_factory=dict)  # by session, what a file left without its end

    def add(self, kind: str, key: Hashable) -> bool:
        """Whether it is new."""
        new = key not in self.keys[kind]
        self.keys[kind].add(key)
        return new


@dataclass(slots=True)
class _Open:
    prompt: TypedPrompt | None = None
    items: list[Note | ToolCall] = field(default_factory=list)
    answer_id: str | None = None
    answer: str = ""
    answered_us: int = 0
    used: Counter[str] = field(default_factory=Counter)  # its tokens, where no request is told by itself
    model: str | None = None
    last_us: int = 0
    stopped: bool = False  # whether the agent is done, as far as the lines say


class Reader(ABC):
    """Reads one file of an agent. A further agent is one more class that only says what its lines mean."""

    def __init__(self, file: Path, name: str, seen: Memory) -> None:
        """`name` is that of the file in reports; `seen` is shared by all files of one import."""
        self._name = name
        self._seen = seen
        self._session = file.stem  # until lines name one
        self._open = _Open()
        self._running: dict[str, ToolCall] = {}  # calls without a result so far
        self._timed = True
        self._done: deque[Exchange] = deque()
        self.lines = 0  # lines read so far, blank ones left out; of a document, its messages
        self.torn: list[TornLine] = []
        self.passed_over: Counter[str] = Counter()  # what was read and not used, by kind

    def read(self, raw_lines: Iterable[bytes]) -> Iterator[Exchange]:
        for number, raw in enumerate(raw_lines, 1):
            if not raw.isspace():
                self.lines += 1
                self._read_line(raw, number)
                while self._done:
                    yield self._done.popleft()
        self._cut(finished=self._open.stopped and not self._running)
        yield from self._done

    def pass_over(self, kind: str) -> None:
        """Count what is read and has no meaning here, or no use."""
        kind = kind[:64]
        self.passed_over[kind if kind in self.passed_over or len(self.passed_over) < KINDS_MAX else "others"] += 1

    def _read_line(self, raw: bytes, number: int) -> None:
        """Read a line: mostly it is one object; what else stands there is named."""
        if b"\0" in raw:
            self.pass_over("NUL bytes")
        fault = ""
        try:
            pieces: list[dict[str, Any] | str] = [decode_object(raw)]
        except (ValueError, RecursionError) as error:
            fault, pieces = str(error), pieces_of(raw)
            if isinstance(error, UnicodeDecodeError):
                self.pass_over("bytes that are no UTF-8")
        for index, piece in enumerate(pieces):
            try:
                if isinstance(piece, str):
                    raise ValueError(fault)
                self._line(piece, number + index * _APART)
            except (ValueError, RecursionError) as error:
                self._tear(number, error, None if is_last(raw) else piece)

    @abstractmethod
    def _line(self, value: dict[str, Any], number: int) -> None:
        """Take one line in. Raises `ValueError` for one that cannot be read."""

    def _tear(self, number: int, error: Exception, told: object) -> None:
        """Name a line, or a document's message, that cannot be read; it may have been a prompt."""
        self.torn.append(TornLine(self._name, number, str(error)))
        if told is not None and _PROMPT.match(str(told)):
            self._cut()

    def _ask(self, prompt: TypedPrompt) -> None:
        """Begin an exchange; what an agent wrote in a person's place is noted, and goes on with the one before."""
        maker = maker_of(prompt.text)
        if is_for_shell(prompt.text):
            self.pass_over("shell mode")
        elif maker is None:
            self._cut()
            self._open.prompt, self._open.last_us = prompt, prompt.at_us
        elif maker not in (CONTEXT, PRINTED):
            former_id = prompt.former_id and f"prompt:{prompt.former_id}"
            self._begin(note("prompt", prompt.line_id, prompt.at_us, prompt.text, former_id=former_id))

    def _grown(self, name: Hashable, request: Note) -> None:
        """A larger account of a request that was told before counts in the place of the first."""
        told = self._seen.told.get(name)
        if told is not None and request.tokens > told.tokens:
            place = {"at_us": told.at_us, "prompt_id": told.prompt_id}
            drafts = tuple(replace(each, record=replace(each.record, **place)) for each in request.drafts)
            self._done.append(Exchange(told.session, drafts=drafts, last_us=request.at_us))
            self._seen.told[name] = told._replace(tokens=request.tokens)

    def _commanded(self, text: str, name: str, at_us: int) -> bool:
        """Whether it is the program's own command: no model is asked, and no hook tells of it."""
        if text in _LEAVES:
            self._begin(note("session_end", name, at_us + 1, source="prompt_input_exit"))
        elif text in _CLEARS or text.startswith("/clear "):
            self._session_start("clear", name, at_us)
        else:
            return False
        self._open.stopped = True
        return True

    def _session_start(self, source: str, name: str, at_us: int) -> None:
        self._begin(note("session_start", name, at_us, source=source or None))

    def _session_seen(self, at_us: int) -> None:
        if self._seen.add("session", self._session):
            self._add(note("session_start", self._session, at_us))

    def _said(self, text: str, at_us: int) -> None:
        """The last words of an exchange are its answer."""
        if text.strip():
            self._open.answer, self._open.answered_us = text, at_us
        self._at(at_us)

    def _begin(self, item: Note | ToolCall) -> None:
        """Add what a finished exchange cannot hold any more to one of its own, so that it stays as it was taken."""
        if self._open.stopped:
            self._cut()
        self._add(item)

    def _add(self, item: Note | ToolCall) -> None:
        self._open.items.append(item)
        self._at(item.at_us)

    def _at(self, at_us: int) -> None:
        self._open.last_us = max(self._open.last_us, at_us)

    def _cut(self, *, finished: bool = True) -> None:
        """End the exchange: calls that still run get no result any more."""
        done, self._open, self._running = self._open, _Open(), {}
        drafts = tuple(draft for item in done.items for draft in item.drafts)
        answer = None
        if done.prompt is not None and done.answer:
            elapsed_ms = max(0, done.answered_us - done.prompt.at_us) // 1000 if self._timed else None
            answer = Answer(done.answer.strip(), done.answered_us, elapsed_ms, done.model, dict(done.used))
        if done.prompt is not None or drafts:
            self._done.append(Exchange(self._session, done.prompt, answer, drafts, finished, done.last_us))


class Timed(msgspec.Struct, kw_only=True):
    """What may have a time, and is unreadable where that is none."""

    timestamp: str | None = None

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            microseconds(self.timestamp)

    @property
    def at_us(self) -> int | None:
        return None if self.timestamp is None else microseconds(self.timestamp)


@lru_cache(maxsize=64)  # a line's time is asked for several times
def microseconds(timestamp: str) -> int:
    """Microseconds since 1970, UTC. Raises `ValueError` for what is no time."""
    moment = datetime.fromisoformat(timestamp)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def text_in(content: object, between: str = "\n") -> str:
    """The words of a text, of a part that is no thought, or of several parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) and not part.get("thought") else part for part in parts]
    return between.join(text for text in texts if isinstance(text, str))


def of_review(file: Path) -> bool:
    """Whether it is a session of `svc review`: by its folder's name, by where it ran, or by its first prompt."""
    try:
        with file.open("rb") as stream:
            return REVIEW_MARK in str(file.parent) or _OF_REVIEW.search(stream.read(HEAD_BYTES)) is not None
    except OSError:
        return False  # the import will name it


class Found(NamedTuple):
    """One session that lies somewhere. To open it gives None where it is one of `svc review`."""

    name: str  # in reports
    open: Callable[[Memory], tuple[Reader, Iterator[Exchange]] | None]
    file: Path | None = None  # of its own


class Format(NamedTuple):
    source: str  # as svc calls the agent
    what: str  # as a person calls the files
    homes: tuple[str, ...]  # of the agent, if the variable says nothing else
    variable: str | None
    below: tuple[str, ...]  # where the sessions lie in a home
    is_transcript: Callable[[Path], bool]
    order: Callable[[Path], tuple[object, ...]]  # what must be read earlier sorts first
    reader: type[Reader]
    document: str | None = None  # the ending of files that are one JSON document each

    @property
    def folders(self) -> list[Path]:
        """Where the sessions lie; where there are none, each place where they could. The variable may name several."""
        named = os.environ.get(self.variable, "") if self.variable else ""
        homes = [named] if Path(named).expanduser().is_dir() else named.split(",")
        places = [[Path(home.strip()).expanduser() / each for each in self.below] for home in homes if home.strip()]
        places = places or [[Path(home).expanduser() / each for each in self.below] for home in self.homes]
        there = [[place for place in some if place.exists()] or some[: bool(named)] for some in places]
        return [place for some in there for place in some] or [place for some in places for place in some]

    @property
    def place(self) -> str:
        named = f", or ${self.variable}/{self.below[0]}" if self.variable else ""
        return " and ".join(f"{home}/{each}" for home in self.homes for each in self.below) + named

    def found(self, paths: Sequence[Path]) -> list[Found]:
        found = list[Found]()
        for file in self.files_under(paths):
            root = next((path for path in paths if path in file.parents), file.parent)
            name = str(file.relative_to(root) if len(paths) == 1 else file)
            found.append(Found(name, partial(self._open, file, name), file))
        return found

    def _open(self, file: Path, name: str, seen: Memory) -> tuple[Reader, Iterator[Exchange]] | None:
        if of_review(file):
            return None
        reader = self.reader(file, name, seen)
        return reader, reader.read(lines_of(file, whole=file.suffix == self.document))

    def files_under(self, paths: Sequence[Path]) -> list[Path]:
        """The transcripts under some folders, links followed, or those that were named."""
        found, seen = list[Path](), set[tuple[int, int]]()
        for path in paths:
            found += self._below(path, seen) if path.is_dir() else [path]
        return sorted(found, key=lambda file: (*self.order(file), str(file)))

    def _below(self, path: Path, seen: set[tuple[int, int]]) -> list[Path]:
        """What cannot be read is among them: opening it says why."""
        denied: list[OSError] = []
        found: list[Path] = []
        for place, folders, names in os.walk(path, onerror=denied.append, followlinks=True):
            status = os.stat(place)
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()  # linked from elsewhere, or from within itself
                continue
            seen.add((status.st_dev, status.st_ino))
            files = [file for name in names if self.is_transcript(file := Path(place, name))]
            # A pipe would be waited for; what may not be read says so when it is opened.
            found += [file for file in files if os.path.isfile(file) or not os.access(file, os.R_OK)]
        return found + [Path(error.filename) for error in denied]


def by_beginning(file: Path) -> tuple[int, bool, int]:
    """The time of the first line that has one, whether it is copied, and the size: a fork is often the longer one."""
    try:
        size_bytes = file.stat().st_size
        for raw in islice(lines_of(file), HEAD_LINES_MAX):
            with suppress(ValueError, RecursionError):
                value = decode_object(raw)
                at_us = msgspec.convert(value, Timed).at_us
                if at_us is not None:
                    return at_us, "forkedFrom" in value, size_bytes
        return 0, False, size_bytes
    except OSError:
        return 0, False, 0  # the import will name it
