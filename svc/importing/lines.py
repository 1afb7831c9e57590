"""The lines of session files: read within bounds, and what is whole of a damaged one."""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from errno import EINVAL
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from aggregates.records.record import COUNT_MAX
from aggregates.telemetry.otlp import real, repaired, whole

LINE_BYTES_MAX = 64 * 1024 * 1024  # a longer line, or a longer document, is not read
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_LENIENT = json.JSONDecoder(strict=False, parse_constant=str)
_BLANK = b" \t\r\n\0\xef\xbb\xbf"  # around an object: white space, NUL bytes after a power cut, byte order marks
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")  # within a text, where no server takes it
_ODD = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)")  # may be half a character, or NUL; most lines have neither
_GAP = re.compile(r"[\s\0\ufeff]*")
_START = re.compile(r'\{"')
_STARTS_MAX = 100  # behind what is torn, an object is looked for at so many places
_HEAD_BYTES = 64 * 1024
_UNUSABLE = re.compile(r"Expected `(?:int|float|object \| null|str` (?:of|matching)).* - at `\$\.([^`]+)`$")
_STEPS = re.compile(r"[^.\[\]]+")
T = TypeVar("T")


def lines_of(file: Path, *, whole: bool = False) -> Iterator[bytes]:
    """The lines of a file, or `whole` as its only one; of one that is too long just enough to be seen as such."""
    if file.suffix == ".zst":
        raise OSError(EINVAL, "packed: unpack it with `zstd -d`")
    with file.open("rb") as stream:
        if stream.peek(2)[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
            raise OSError(EINVAL, "UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`")
        if whole:
            yield stream.read(LINE_BYTES_MAX + 1)
            return
        while raw := stream.readline(LINE_BYTES_MAX + 1):
            yield raw
            while len(raw) > LINE_BYTES_MAX and not raw.endswith(b"\n"):
                raw = stream.readline(LINE_BYTES_MAX + 1)


def is_last(raw: bytes) -> bool:
    """Whether more of it may still be written."""
    return not raw.endswith(b"\n") and len(raw) <= LINE_BYTES_MAX


def fitted(value: Any, kind: type[T], pass_over: Callable[[str], None]) -> T:
    """The value as one of this kind, without numbers, ids and accounts that cannot be such. Raises `ValueError`."""
    while True:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            told = _UNUSABLE.search(str(error))
            if told is None:
                raise
            *above, last = _STEPS.findall(told[1])
            holder = value
            for step in above:
                holder = holder[int(step) if isinstance(holder, list) else step]
            if not isinstance(holder, dict) or last not in holder:
                raise
            given, wants, number = holder[last], told[0].removeprefix("Expected `"), None
            if wants.startswith(("int", "float")):
                number = whole(given, 0, COUNT_MAX) if wants.startswith("int") else real(given)
            if number is None or type(number) is type(given):  # no number, account or id, or none that may stand here
                pass_over(f"unusable {last}")
                del holder[last]
            else:
                holder[last] = number


def decode_object(raw: bytes) -> dict[str, Any]:
    """Any JSON object, half characters in it (an emoji that a tool cut) replaced. Raises `ValueError`."""
    if len(raw) > LINE_BYTES_MAX:
        raise ValueError(f"longer than {LINE_BYTES_MAX} bytes")
    return _OBJECT.decode(_texts(raw if raw.startswith(b"{") else raw.strip(_BLANK)))


def _texts(raw: bytes) -> bytes:
    return _NUL.sub(rb"\1", repaired(raw)) if _ODD.search(raw) else raw


def pieces_of(raw: bytes) -> list[dict[str, Any] | str]:
    """The objects of a damaged line, and the texts between that are none; what is no UTF-8 is replaced."""
    if len(raw) > LINE_BYTES_MAX:
        return [raw[:_HEAD_BYTES].decode("utf-8", "replace")]
    text = _texts(raw).decode("utf-8", "replace")
    found, end = _whole(text, 0)
    pieces: list[dict[str, Any] | str] = [*found]
    for start in islice(_START.finditer(text, end), _STARTS_MAX):
        if start.start() >= end:
            found, after = _whole(text, start.start())
            # What stands within a torn object has more of that behind it, or it is still to be written.
            if found and text[after : after + 1] in ("{", "{" if is_last(raw) else ""):
                pieces += [text[end : start.start()], *found]
                end = after
    return pieces if end == len(text) else [*pieces, text[end:]]


def _whole(text: str, start: int) -> tuple[list[dict[str, Any]], int]:
    """Objects that stand one after another, and where something else begins."""
    found: list[dict[str, Any]] = []
    while True:
        gap = _GAP.match(text, start)
        start = start if gap is None else gap.end()
        try:
            value, end = _LENIENT.raw_decode(text, start)
        except (ValueError, RecursionError):
            return found, start
        if not isinstance(value, dict):
            return found, start
        found.append(decode_object(json.dumps(value).encode()) if "\0" in text else value)
        start = end
