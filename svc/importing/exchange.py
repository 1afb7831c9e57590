"""What a transcript is cut into: a prompt, everything the agent did until the next one, and its answer."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from aggregates.telemetry.draft import Draft

# Lines of a transcript: read within a bound, decoded leniently, timed.

LINE_BYTES_MAX = 64 * 1024 * 1024
"""A longer line, or a longer document, is not read."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Decoded = TypeVar("Decoded")


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class UnreadableLine(Exception):
    """A line that is torn, no JSON object, or of wrong types; the message says which."""


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
    """The value of these bytes by `strictly`; by `convert` where only half a character stands in the way.

    Raises `UnreadableLine` with the reason.
    """
    if len(raw) > LINE_BYTES_MAX:
        raise UnreadableLine(f"longer than {LINE_BYTES_MAX} bytes")
    try:
        return strictly(raw)
    except msgspec.ValidationError as error:
        raise UnreadableLine(str(error)) from error
    except msgspec.DecodeError as error:
        return _leniently(raw, convert, error)
    except (ValueError, RecursionError) as error:
        raise UnreadableLine(str(error)) from error


def _leniently(raw: bytes, convert: Callable[[Any], Decoded], error: msgspec.DecodeError) -> Decoded:
    """Half an emoji, cut out of a tool's output, is fine for most JSON readers and refused by ours."""
    if b"\\ud" not in raw.lower():
        raise UnreadableLine(str(error)) from error
    try:
        value = without_surrogates(json.loads(raw))
    except (ValueError, RecursionError):
        raise UnreadableLine(str(error)) from None
    try:
        return convert(value)
    except (ValueError, RecursionError) as wrong:
        raise UnreadableLine(str(wrong)) from wrong


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


@dataclass(slots=True)
class Note:
    """Something that one line says completely."""

    draft: Draft

    def drafts(self) -> list[Draft]:
        """The one record."""
        return [self.draft]


class TypedPrompt(msgspec.Struct, frozen=True):
    """A prompt as a person typed it."""

    line_id: str
    """The id of the line it was first written on, whichever session's file repeats it."""
    text: str
    at_us: int
    host_prompt_id: str | None
    cwd: str | None


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
    drafts: tuple[Draft, ...]
    finished: bool
    """Whether the transcript says that nothing more comes; if not, later lines may still complete it."""
    last_us: int


class TornLine(msgspec.Struct, frozen=True):
    """A line that could not be read, and where it stands."""

    file: str
    line: int
    """From 1."""
    reason: str


class Reader(ABC):
    """Reads one file. What was seen in the files before it is the reader's own affair."""

    def __init__(self, file: str) -> None:
        """`file` names the file in reports."""
        self._file = file
        self.lines = 0
        """Lines read so far, blank ones left out; of a document, its messages."""
        self.torn: list[TornLine] = []

    def read(self, raw_lines: Iterable[bytes]) -> Iterator[Exchange]:
        """The exchanges of the file, one after the other."""
        for number, raw in enumerate(raw_lines, 1):
            if not raw.strip():
                continue
            self.lines += 1
            try:
                yield from self._line(raw, number)
            except UnreadableLine as error:
                self._tear(number, error)
        yield from self._rest()

    @abstractmethod
    def _line(self, raw: bytes, number: int) -> Iterator[Exchange]:
        """The exchanges that end with a line. Raises `UnreadableLine`."""

    @abstractmethod
    def _rest(self) -> Iterator[Exchange]:
        """What was still open when the file ended."""

    def _tear(self, number: int, error: UnreadableLine) -> None:
        """Name a line, or a document's message, that could not be read."""
        self.torn.append(TornLine(self._file, number, str(error)))


# Finding an agent's transcripts, and in which order they are read.

HEAD_LINES_MAX = 100
"""The first time of a file is looked for in so many lines."""


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
    readers: Callable[[], Callable[[Path, str], Reader]]
    """For one import: makes the reader of each file, by its path and the name it has in reports."""


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
        except UnreadableLine:
            continue
        if at_us is not None:
            return at_us
    return 0
