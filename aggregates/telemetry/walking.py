"""Cutting an export into single records, one after the other: for bodies so large that reading one whole would hold
everybody up, and would take many times its size in memory.

The body is looked at through a window of text that moves on; the standard library's scanner finds the end of each
record in it and no two records are held at once. What comes out is the same as from `splitting`.
"""

import codecs
import re
from array import array
from collections.abc import Iterator, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import overload

from aggregates.telemetry.envelope import CONTAINERS, LEVELS, Head, Levels, NoOtlp, Section, Signal

WINDOW_BYTES = 256 * 1024
"""Scanned without letting anybody else have a turn: about a millisecond."""
VALUE_BYTES_MAX = 4 * 1024 * 1024
"""A value larger than this is not scanned but passed over; no record of this size is taken."""
RECORDS_MAX = 1_000_000
SECTIONS_MAX = 50_000
"""Records and branches of one body: beyond, their bookkeeping alone would take too much memory."""

_BLANK = re.compile(r"[ \t\n\r]+")
_MARK = re.compile(rb'["{}\[\]]')


class TooMany(Exception):
    """The body is cut into more pieces than can be kept; the message says so."""


class _Ended(Exception):
    """The window ends in the middle of a value."""


def _no_number(constant: str) -> object:
    raise NoOtlp(f"the request body is not JSON: {constant} is no number")


_SCAN = JSONDecoder(parse_constant=_no_number, parse_int=str, parse_float=str).raw_decode


class _Slices(Sequence[bytes]):
    """Records of the body, cut out when they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bounds = array("Q")

    def add(self, start: int, end: int) -> None:
        """One more record."""
        self._bounds.extend((start, end))

    def __len__(self) -> int:
        return len(self._bounds) // 2

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._data[self._bounds[2 * index] : self._bounds[2 * index + 1]]


class _Cursor:
    """A place in the body. `at` is in bytes, and always where a character begins."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self._text = ""
        self._next = 0

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            blank = _BLANK.match(self._text, self._next)
            passed = blank.end() - self._next if blank is not None else 0
            self._next += passed
            self.at += passed
            if self._next < len(self._text) or self.at >= len(self.data):
                return self._text[self._next : self._next + 1]
            self._load(WINDOW_BYTES)

    def take(self, expected: str) -> bool:
        """Pass this character over, if it is the next one."""
        if self.peek() != expected:
            return False
        self._next += 1
        self.at += 1
        return True

    def value(self) -> tuple[int, int]:
        """Pass a value over; where it stands."""
        _, start, end = self._scanned()
        return start, end

    def name(self) -> str:
        """Pass an object's member's name and colon over."""
        if self.peek() != '"':
            raise self.broken("a member's name is missing")
        value, _, _ = self._scanned()
        if not isinstance(value, str):
            raise self.broken("a member's name is too long")
        if not self.take(":"):
            raise self.broken("a colon is missing")
        return value

    def broken(self, why: str) -> NoOtlp:
        """What stands here cannot be."""
        return NoOtlp(f"the request body is not JSON: {why} at byte {self.at}")

    def _scanned(self) -> tuple[object, int, int]:
        if not self.peek():
            raise self.broken("it ends too early")
        size = WINDOW_BYTES
        while True:
            try:
                return self._scan_window()
            except (_Ended, RecursionError) as error:
                if isinstance(error, RecursionError):
                    raise NoOtlp("the request body is nested too deeply") from error
            if size >= VALUE_BYTES_MAX:
                return (None, *self._passed_over())
            size *= 4
            self._load(size)

    def _scan_window(self) -> tuple[object, int, int]:
        """Raises `_Ended` where the window may hold but a part of the value."""
        covered = self.at + self._bytes(len(self._text)) >= len(self.data)
        try:
            value, end = _SCAN(self._text, self._next)
        except JSONDecodeError as error:
            if covered:
                raise self.broken("there is no value") from error
            raise _Ended from error
        if end == len(self._text) and not covered:
            raise _Ended
        start = self.at
        self.at += self._bytes(end)
        self._next = end
        return value, start, self.at

    def _bytes(self, end: int) -> int:
        """Bytes of the window's text from here to a character."""
        if self._text.isascii():
            return end - self._next
        return len(self._text[self._next : end].encode())

    def _load(self, size: int) -> None:
        """Move the window so that it begins here."""
        chunk = self.data[self.at : self.at + size]
        last = self.at + len(chunk) >= len(self.data)
        try:
            self._text = codecs.getincrementaldecoder("utf-8")().decode(chunk, last)
        except UnicodeDecodeError as error:
            raise NoOtlp(f"the request body is not UTF-8 after byte {self.at}") from error
        self._next = 0

    def _passed_over(self) -> tuple[int, int]:
        """The end of a value too large to be scanned: its brackets are counted, its strings are skipped."""
        start = self.at
        end = _end_of_large(self.data, start)
        if end is None or end - start < VALUE_BYTES_MAX:
            raise self.broken("there is no value, or one that does not end")
        self.at = end
        self._load(WINDOW_BYTES)
        return start, end


def _end_of_large(data: bytes, at: int) -> int | None:
    depth = 0
    while True:
        mark = _MARK.search(data, at)
        if mark is None:
            return None
        at = mark.end()
        if mark[0] == b'"':
            end = _end_of_string(data, mark.start())
            if end is None:
                return None
            at = end
        else:
            depth += 1 if mark[0] in b"{[" else -1
        if depth <= 0:
            return at


def _end_of_string(data: bytes, at: int) -> int | None:
    """Where the string that begins here ends: at the first quote with an even number of backslashes before it."""
    quote = data.find(b'"', at + 1)
    while quote >= 0:
        before = quote
        while data[before - 1 : before] == b"\\":
            before -= 1
        if (quote - before) % 2 == 0:
            return quote + 1
        quote = data.find(b'"', quote + 1)
    return None


def walk(data: bytes, signal: Signal) -> list[Section]:
    """The sections of an export in their order; the whole body was seen to be JSON. Raises `NoOtlp`, `TooMany`."""
    cursor = _Cursor(data)
    if cursor.peek() != "{":
        raise NoOtlp("the request body must be a JSON object")
    walker = _Walker(cursor)
    sections = walker.members(LEVELS[signal], "")
    if cursor.peek():
        raise cursor.broken("something follows the object")
    return sections


class _Walker:
    """Goes into the objects and lists of an export's envelope, and cuts out what lies within."""

    def __init__(self, cursor: _Cursor) -> None:
        self._cursor = cursor
        self._records = 0
        self._sections = 0

    def members(self, levels: Levels, at: str) -> list[Section]:
        """One object. Its heads may come after what is gone into, so sections get them at its end."""
        names, deeper = levels[0], levels[1:]
        head: Head = {}
        found: dict[str, list[Section]] = {}
        for name in self._names():
            if name in names:
                found[name] = self._into(name, deeper, f"{at}.{name}" if at else name, names is CONTAINERS)
            else:
                start, end = self._cursor.value()
                if at:
                    head[name] = self._cursor.data[start:end]
        sections = [section for name in names for section in found.get(name, ())]
        return [section._replace(heads=(head, *section.heads)) for section in sections] if at else sections

    def _names(self) -> Iterator[str]:
        cursor = self._cursor
        cursor.take("{")
        if cursor.take("}"):
            return
        while True:
            yield cursor.name()
            if cursor.take("}"):
                return
            if not cursor.take(","):
                raise cursor.broken("a comma is missing")

    def _into(self, name: str, levels: Levels, place: str, is_object: bool) -> list[Section]:
        if self._is_null():
            return []
        if is_object:
            self._expect("{", place, "an object")
            return [section._replace(branch=name) for section in self.members(levels, place)]
        self._expect("[", place, "a list")
        if levels:
            return [section for index in self._elements() for section in self._element(levels, f"{place}[{index}]")]
        return self._cut(place)

    def _element(self, levels: Levels, place: str) -> list[Section]:
        if self._is_null():
            return []
        self._expect("{", place, "an object")
        return self.members(levels, place)

    def _cut(self, place: str) -> list[Section]:
        items = _Slices(self._cursor.data)
        for _ in self._elements():
            items.add(*self._cursor.value())
            self._records += 1
            if self._records > RECORDS_MAX:
                raise TooMany(f"the request body holds more than {RECORDS_MAX} records; send smaller batches")
        if not len(items):
            return []
        self._sections += 1
        if self._sections > SECTIONS_MAX:
            raise TooMany(f"the request body holds more than {SECTIONS_MAX} scopes; send smaller batches")
        return [Section(place, (), "", items)]

    def _elements(self) -> Iterator[int]:
        cursor = self._cursor
        cursor.take("[")
        if cursor.take("]"):
            return
        index = 0
        while True:
            yield index
            index += 1
            if cursor.take("]"):
                return
            if not cursor.take(","):
                raise cursor.broken("a comma is missing")

    def _is_null(self) -> bool:
        if self._cursor.peek() != "n":
            return False
        self._cursor.value()
        return True

    def _expect(self, opening: str, place: str, expected: str) -> None:
        if self._cursor.peek() != opening:
            raise NoOtlp(f"{place} must be {expected}")
