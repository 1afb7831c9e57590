"""What a transcript is cut into: a prompt, everything the agent did until the next one, and its answer."""

import json
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from aggregates.records.record import Record, RecordKind
from aggregates.records.tools import ToolInput
from aggregates.telemetry.draft import RecordDraft

LINE_BYTES_MAX = 64 * 1024 * 1024
"""A longer line, or a longer document, is not read."""
HEAD_LINES_MAX = 100
"""The first time of a file is looked for in so many lines."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Decoded = TypeVar("Decoded")
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class TypedPrompt(msgspec.Struct, frozen=True):
    """A prompt as a person typed it."""

    line_id: str
    """The id of the line it was first written on, whichever session's file repeats it."""
    text: str
    at_us: int
    host_prompt_id: str | None = None
    cwd: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """The agent's last words of an exchange."""

    text: str
    at_us: int
    elapsed_ms: int | None
    """From the prompt to the agent's last line; None where the lines have no times."""


class Exchange(msgspec.Struct, frozen=True):
    """A prompt, what was done about it, and the answer.

    Without a prompt: what stands before a session's first one, or a sub-agent's file.
    """

    agent_session_id: str
    prompt: TypedPrompt | None
    answer: Answer | None
    drafts: tuple[RecordDraft, ...]
    finished: bool
    """Whether the transcript says that nothing more comes; if not, later lines may still complete it."""
    last_us: int


class TornLine(msgspec.Struct, frozen=True):
    """A line that could not be read, and where it stands."""

    file: str
    line: int
    """From 1."""
    reason: str


# --- assembling -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Note:
    """Records that the agent's lines say completely; a later line may say them again."""

    at_us: int
    told: list[RecordDraft]

    def drafts(self) -> list[RecordDraft]:
        return self.told


@dataclass(slots=True, eq=False)
class ToolCall:
    """One tool call; its result comes in later lines, or never."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    at_us: int
    known: ToolInput
    sidechain: bool
    prompt_id: str | None = None
    kind: RecordKind = "tool"
    ok: bool | None = None
    duration_ms: int | None = None
    spawned: RecordDraft | None = None

    def spawn(self, at_us: int, kind: object) -> None:
        """Note the sub-agent that it started, and how that went as far as it is known."""
        record = Record(
            record_id=f"subagent:{self.call_id}",
            at_us=at_us,
            kind="subagent",
            prompt_id=self.prompt_id,
            source=kind if isinstance(kind, str) else None,
            call_id=self.call_id,
            ok=self.ok,
            duration_ms=self.duration_ms,
        )
        self.spawned = RecordDraft(record)

    def drafts(self) -> list[RecordDraft]:
        added, removed = self.known.lines if self.ok else (None, None)
        record = Record(
            record_id=f"tool:{self.call_id}",
            at_us=self.at_us,
            kind=self.kind,
            prompt_id=self.prompt_id,
            tool=self.name,
            call_id=self.call_id,
            ok=None if self.kind == "rejection" else self.ok,
            duration_ms=self.duration_ms,
            lines_added=added,
            lines_removed=removed,
            sidechain=self.sidechain,
        )
        draft = RecordDraft(record, path=self.known.path, command=self.known.command, input_key=self.known.key)
        return [draft] if self.spawned is None else [draft, self.spawned]


Item = Note | ToolCall


def note(record: Record, text: str | None = None) -> Note:
    """What one line says completely."""
    return Note(record.at_us, [RecordDraft(record, text=text)])


class Memory:
    """What one import has read so far, over all its files: forks repeat lines of other files."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, set[Hashable]] = defaultdict(set)
        self.marks: dict[str, array[int]] = {}
        """By session, what its lines are known again by."""

    def __contains__(self, key: tuple[str, Hashable]) -> bool:
        return key[1] in self._keys[key[0]]

    def add(self, kind: str, key: Hashable) -> bool:
        """Whether it is new."""
        new = key not in self._keys[kind]
        self._keys[kind].add(key)
        return new


@dataclass(slots=True)
class _Open:
    """The exchange that is being read."""

    prompt: TypedPrompt | None = None
    items: list[Item] = field(default_factory=list)
    answer_id: str | None = None
    answer: str = ""
    answered_us: int = 0
    last_us: int = 0
    stopped: bool = False
    """Whether the agent is done, as far as the lines say."""


class Reader(ABC):
    """Reads one file of an agent. A further agent is one more class that only says what its lines mean."""

    def __init__(self, file: str, session: str, seen: Memory) -> None:
        """`file` names the file in reports; `session` stands in until lines name one."""
        self._file = file
        self._session = session
        self._seen = seen
        self._open = _Open()
        self._running: dict[str, ToolCall] = {}
        """Calls without a result so far."""
        self._timed = True
        self._done: list[Exchange] = []
        self.lines = 0
        """Lines read so far, blank ones left out; of a document, its messages."""
        self.torn: list[TornLine] = []

    def read(self, raw_lines: Iterable[bytes]) -> Iterator[Exchange]:
        """The exchanges of the file, one after the other."""
        for number, raw in enumerate(raw_lines, 1):
            if raw.strip():
                self.lines += 1
                try:
                    self._line(raw, number)
                except (ValueError, RecursionError) as error:
                    self._tear(number, error)
                yield from self._taken()
        self._end()
        yield from self._taken()

    @abstractmethod
    def _line(self, raw: bytes, number: int) -> None:
        """Take one line in. Raises `ValueError` for one that cannot be read."""

    def _end(self) -> None:
        """The file is over."""
        self._cut(finished=self._open.stopped and not self._running)

    def _tear(self, number: int, error: Exception) -> None:
        """Name a line, or a document's message, that could not be read."""
        self.torn.append(TornLine(self._file, number, str(error)))

    def _taken(self) -> list[Exchange]:
        done, self._done = self._done, []
        return done

    def _start(self, at_us: int) -> None:
        self._add(note(Record(record_id=f"session_start:{self._session}", at_us=at_us, kind="session_start")))

    def _ask(self, prompt: TypedPrompt) -> None:
        """A prompt ends the exchange before it."""
        self._cut()
        self._open.prompt, self._open.last_us = prompt, prompt.at_us

    def _begin(self, item: Item) -> None:
        """Add what a finished exchange cannot hold any more to one of its own, so that it stays as it was taken."""
        if self._open.stopped:
            self._cut()
        self._add(item)

    def _add(self, item: Item) -> None:
        self._open.items.append(item)
        self._at(item.at_us)

    def _at(self, at_us: int) -> None:
        self._open.last_us = max(self._open.last_us, at_us)

    def _cut(self, *, finished: bool = True) -> None:
        """End the open exchange."""
        done, self._open = self._open, _Open()
        drafts = tuple(draft for item in done.items for draft in item.drafts())
        if done.prompt is not None or drafts:
            answer = self._answer(done)
            self._done.append(Exchange(self._session, done.prompt, answer, drafts, finished, done.last_us))

    def _answer(self, done: _Open) -> Answer | None:
        if done.prompt is None or not done.answer:
            return None
        elapsed_us = max(0, done.answered_us - done.prompt.at_us)
        return Answer(done.answer.strip(), done.answered_us, elapsed_us // 1000 if self._timed else None)


# --- finding files ----------------------------------------------------------------------------------------


class Format(NamedTuple):
    """How one agent's transcripts are found and read."""

    source: str
    """The agent's name."""
    folder: Callable[[], str]
    """Where the agent keeps them on this machine."""
    is_transcript: Callable[[Path], bool]
    order: Callable[[Path], tuple[object, ...]]
    """What must be read earlier sorts first."""
    lines: Callable[[Path], Iterator[bytes]]
    reader: Callable[[Path, str, Memory], Reader]
    """The reader of a file, by its path and the name it has in reports."""


def files_under(path: Path, transcripts: Format) -> list[Path]:
    """The transcripts under a path, or the one file that was named. Raises `FileNotFoundError`."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"no transcripts: {path} does not exist")
    found = (each for each in path.rglob("*") if transcripts.is_transcript(each) and each.is_file())
    return sorted(found, key=lambda file: (*transcripts.order(file), str(file)))


def by_beginning(file: Path, lines: Iterator[bytes], time_of: Callable[[bytes], int | None]) -> tuple[int, int]:
    """The time of the first line that has one and the size, so that an original comes before its forks.

    A fork begins with the lines of its original and is longer, unless that went on. 0 for what cannot be read.
    """
    try:
        return _first_us(lines, time_of), file.stat().st_size
    except OSError:
        return 0, 0


def _first_us(lines: Iterator[bytes], time_of: Callable[[bytes], int | None]) -> int:
    for _, raw in zip(range(HEAD_LINES_MAX), lines, strict=False):
        try:
            at_us = time_of(raw)
        except (ValueError, RecursionError):
            continue
        if at_us is not None:
            return at_us
    return 0


# --- lines: read within a bound, decoded leniently, timed -------------------------------------------------


def lines_of(file: Path) -> Iterator[bytes]:
    """The lines of a file; of one that is too long just enough to be seen as such."""
    with file.open("rb") as stream:
        while raw := stream.readline(LINE_BYTES_MAX + 1):
            yield raw
            while len(raw) > LINE_BYTES_MAX and not raw.endswith(b"\n"):
                raw = stream.readline(LINE_BYTES_MAX + 1)


def document_of(file: Path) -> Iterator[bytes]:
    """A file that is one JSON document, as its only line; of one that is too long just enough to be seen as such."""
    with file.open("rb") as stream:
        yield stream.read(LINE_BYTES_MAX + 1)


def decode(raw: bytes, strictly: Callable[[bytes], Decoded], convert: Callable[[Any], Decoded]) -> Decoded:
    """The value by `strictly`; by `convert` where only half a character stands in the way. Raises `ValueError`.

    Half an emoji, cut out of a tool's output, is fine for most JSON readers and refused by ours.
    """
    if len(raw) > LINE_BYTES_MAX:
        raise ValueError(f"longer than {LINE_BYTES_MAX} bytes")
    try:
        return strictly(raw)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError) or b"\\ud" not in raw.lower():
            raise
        try:
            value = without_surrogates(json.loads(raw))
        except (ValueError, RecursionError):
            raise error from None
        return convert(value)


_OBJECT = msgspec.json.Decoder(dict[str, Any])


def decode_object(raw: bytes) -> dict[str, Any]:
    """Any JSON object. Raises `ValueError`."""
    return decode(raw, _OBJECT.decode, lambda value: msgspec.convert(value, dict[str, Any]))


def without_surrogates(value: Any) -> Any:
    """The value with every half of a character replaced."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [without_surrogates(each) for each in value]
        case dict():
            return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
        case _:
            return value


def microseconds(timestamp: str) -> int:
    """Microseconds since 1970, UTC. Raises `ValueError` for what is no time."""
    moment = datetime.fromisoformat(timestamp)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def text_in(content: object) -> str:
    """The text of a string, or of a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
