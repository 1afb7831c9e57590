"""Lines of a transcript: read within a bound, decoded leniently, timed."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

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
