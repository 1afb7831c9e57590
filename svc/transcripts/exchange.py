"""What a transcript is cut into: a prompt, everything the agent did until the next one, and its answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from aggregates.telemetry.happening import Draft
from svc.transcripts.lines import UnreadableLine


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
