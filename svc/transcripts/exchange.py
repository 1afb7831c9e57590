"""What a transcript is cut into: a prompt, everything the agent did until the next one, and its answer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from aggregates.telemetry.happening import Draft


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


class Reader(Protocol):
    """Reads one file. What was seen in the files before it is the reader's own affair."""

    lines: int
    """Lines read so far, blank ones left out."""
    torn: list[TornLine]

    def read(self, raw_lines: Iterable[bytes]) -> Iterator[Exchange]:
        """The exchanges of the file, one after the other."""
        ...
