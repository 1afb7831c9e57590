"""Finding an agent's transcripts, and in which order they are read."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from svc.transcripts.exchange import Reader
from svc.transcripts.lines import UnreadableLine

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
