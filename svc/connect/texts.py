"""A settings file as a text that is changed in single places. Pure; everything else in the text stays as it is."""

import copy
import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn, Protocol

import tomlkit
from tomlkit.exceptions import TOMLKitError

Path = Sequence[str]
"""Keys from the outermost in."""


class Missing:
    """Says that a key is not there; null may be."""


MISSING: Final = Missing()


class Unreadable(Exception):
    """The text cannot be changed safely; the message says why, and where."""


class Document(Protocol):
    """One format. Every change gives the new text. All raise `Unreadable`."""

    def get(self, text: str, path: Path) -> Any:
        """The value as plain Python, or `MISSING`."""

    def put(self, text: str, path: Path, value: Any) -> str:
        """Set a value; what is missing on the way to it is made."""

    def delete(self, text: str, path: Path) -> str:
        """Take a key out that is there."""

    def append(self, text: str, path: Path, value: Any) -> str:
        """Add an element to the list there, which is made where it is missing."""

    def drop(self, text: str, path: Path, value: Any) -> str:
        """Take the first element out that is equal to this value and is there."""


# JSON that is changed without being written anew: order, indentation, and every other byte stay.
#
# Only strict JSON is taken. Comments, a key that is there twice, a number that is none: an agent reads such a file
# its own way, and what was meant cannot be told.

_SPACE = re.compile(r"[ \t\r\n]*")


_FIRST_INDENT = re.compile(r"[{\[][ \t]*\r?\n([ \t]+)\S")


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')


_INDENT = "  "


_BYTE_ORDER_MARK = "\ufeff"


class _Member(NamedTuple):
    """A member of an object, or an element of a list: where it begins, its value's beginning, and its end."""

    key: str
    start: int
    value_start: int
    end: int


class _Span(NamedTuple):
    """An object or a list in the text."""

    start: int
    members: list[_Member]
    end: int
    depth: int


class JsonText:
    """See `Document`. A blank text counts as an empty object."""

    def get(self, text: str, path: Path) -> Any:
        found = _parsed(text)
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return MISSING
            found = found[key]
        return found

    def put(self, text: str, path: Path, value: Any) -> str:
        text = text if text.strip() else "{}\n"
        _parsed(text)
        span = _root(text)
        for depth, key in enumerate(path):
            member = _member(span, key)
            rest = path[depth + 1 :]
            if member is None:
                for outer in reversed(rest):
                    value = {outer: value}
                return _insert(text, span, key, value)
            if not rest:
                return text[: member.value_start] + _dumped(text, value, span.depth + 1) + text[member.end :]
            span = _object(text, member.value_start, depth + 1, path[: depth + 1])
        raise AssertionError("a path has at least one key")

    def delete(self, text: str, path: Path) -> str:
        span = self._span(text, path[:-1])
        return _without(text, span, [member.key for member in span.members].index(path[-1]))

    def append(self, text: str, path: Path, value: Any) -> str:
        found = self.get(text, path)
        if isinstance(found, type(MISSING)):
            return self.put(text, path, [value])
        if not isinstance(found, list):
            raise Unreadable(f"{'.'.join(path)} is no list")
        return _insert(text, self._span(text, path), None, value)

    def drop(self, text: str, path: Path, value: Any) -> str:
        return _without(text, self._span(text, path), self.get(text, path).index(value))

    def _span(self, text: str, path: Path) -> _Span:
        """The object or list there."""
        span = _root(text)
        for depth, key in enumerate(path):
            member = _member(span, key)
            assert member is not None, "it was looked for before"
            span = _scan(text, member.value_start, depth + 1)
        return span


# --- reading ----------------------------------------------------------------------------------------------


def _parsed(text: str) -> Any:
    """The whole text; raises `Unreadable` where it is no strict JSON object."""
    if not text.strip():
        return {}
    if text.startswith(_BYTE_ORDER_MARK):
        raise Unreadable("it is not plain JSON: it begins with a byte order mark; save it as UTF-8 without one")
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"it is not plain JSON (line {error.lineno}: {error.msg}); comments and trailing commas are not JSON either"
        ) from error
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise Unreadable("it holds no JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise Unreadable(f'the key "{twice}" is there twice in one object')
    return found


def _no_constant(text: str) -> NoReturn:
    raise Unreadable(f"{text} is not JSON")


_DECODER = json.JSONDecoder()


def _root(text: str) -> _Span:
    return _scan(text, _after_space(text, 0), 0)


def _object(text: str, start: int, depth: int, path: Path) -> _Span:
    if text[start] != "{":
        raise Unreadable(f"{'.'.join(path)} is no object")
    return _scan(text, start, depth)


def _scan(text: str, start: int, depth: int) -> _Span:
    """The members of the object or list that begins there; the text is known to be JSON."""
    keyed = text[start] == "{"
    members: list[_Member] = []
    at = _after_space(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, ""
        if keyed:
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        members.append(_Member(key, begin, at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return _Span(start, members, at, depth)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "no white space is white space, too"
    return found.end()


def _member(span: _Span, key: str) -> _Member | None:
    return next((member for member in span.members if member.key == key), None)


# --- changing ---------------------------------------------------------------------------------------------


def _insert(text: str, span: _Span, key: str | None, value: Any) -> str:
    """As the last member, laid out as the others are."""
    unit, newline = _layout(text)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not span.members:
        inner, outer = newline + unit * (span.depth + 1), newline + unit * span.depth
        added = f"{inner}{name}{_dumped(text, value, span.depth + 1)}{outer}"
        return text[: span.start + 1] + added + text[span.end :]
    last = span.members[-1]
    before = text[span.start + 1 : span.members[0].start]
    if "\n" in before:
        return f"{text[: last.end]},{before}{name}{_dumped(text, value, span.depth + 1)}{text[last.end :]}"
    return f"{text[: last.end]}, {name}{json.dumps(value, ensure_ascii=False)}{text[last.end :]}"


def _without(text: str, span: _Span, index: int) -> str:
    members = span.members
    if len(members) == 1:
        return text[: span.start + 1] + text[span.end :]
    if index == 0:
        return text[: members[0].start] + text[members[1].start :]
    return text[: members[index - 1].end] + text[members[index].end :]


def _dumped(text: str, value: Any, depth: int) -> str:
    unit, newline = _layout(text)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + unit * depth).join(lines)


def _layout(text: str) -> tuple[str, str]:
    """One level of indentation, and the end of a line, as the text has them."""
    found = _FIRST_INDENT.search(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if found is None:
        return _INDENT, newline
    # The first line that is indented may stand deeper than one level: what is before it is on one line.
    brackets = [each[0] for each in _BRACKET.finditer(text, 0, found.start() + 1)]
    depth = sum((each in "{[") - (each in "}]") for each in brackets)
    whole = depth > 0 and len(found[1]) % depth == 0
    return found[1][: len(found[1]) // depth] if whole else found[1], newline


# TOML that is changed without losing a comment, by tomlkit; what came out otherwise than meant is not taken.


class TomlText:
    """See `Document`. Objects become inline tables."""

    def get(self, text: str, path: Path) -> Any:
        found: Any = _plain(text)
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return MISSING
            found = found[key]
        return found

    def put(self, text: str, path: Path, value: Any) -> str:
        wanted = _plain(text)
        _into(wanted, path)[path[-1]] = copy.deepcopy(value)
        document = _document(text)
        try:
            inside = document
            for key in path[:-1]:
                if key not in inside:
                    inside[key] = tomlkit.table()
                inside = inside[key]
            if path[-1] in inside and isinstance(inside[path[-1]], dict):
                del inside[path[-1]]
            inside[path[-1]] = _item(value)
        except TOMLKitError as error:
            raise Unreadable(f"{'.'.join(path)} cannot be set: {error}") from error
        return _checked(document, wanted)

    def delete(self, text: str, path: Path) -> str:
        wanted = _plain(text)
        del _into(wanted, path)[path[-1]]
        document = _document(text)
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]
        return _checked(document, wanted)

    def append(self, text: str, path: Path, value: Any) -> str:
        raise NotImplementedError("hooks are kept in a JSON file")

    def drop(self, text: str, path: Path, value: Any) -> str:
        raise NotImplementedError("hooks are kept in a JSON file")


def _plain(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unreadable(f"it is not TOML: {error}") from error


def _document(text: str) -> Any:
    """Raises `Unreadable` where the library would not give the same text back."""
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise Unreadable(f"it is not TOML: {error}") from error
    if tomlkit.dumps(document) != text:
        raise Unreadable("it cannot be changed without touching the rest of it")
    return document


def _into(plain: dict[str, Any], path: Path) -> dict[str, Any]:
    """The table that holds the path's last key; made where it is missing."""
    for depth, key in enumerate(path[:-1], 1):
        plain = plain.setdefault(key, {})
        if not isinstance(plain, dict):
            raise Unreadable(f"{'.'.join(path[:depth])} is no table")
    return plain


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    for key, member in value.items():
        table.append(key, _item(member))
    return table


def _checked(document: Any, wanted: dict[str, Any]) -> str:
    text: str = tomlkit.dumps(document)
    if _plain(text) != wanted:
        raise Unreadable("it is laid out in a way that cannot be changed safely")
    return text


# A `.env` file: a name and a value a line.

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")


class EnvText:
    """See `Document`; a path is one name. Values are kept as they stand, quotes included."""

    def get(self, text: str, path: Path) -> Any:
        found = [value for line in text.splitlines() for name, value in _named(line) if name == path[0]]
        if len(found) > 1:
            raise Unreadable(f"{path[0]} is there {len(found)} times")
        return found[0] if found else MISSING

    def put(self, text: str, path: Path, value: Any) -> str:
        if not isinstance(self.get(text, path), type(MISSING)):
            return "".join(_changed(line, path[0], f"{path[0]}={value}") for line in text.splitlines(keepends=True))
        newline = "\r\n" if "\r\n" in text else "\n"
        between = "" if not text or text.endswith("\n") else newline
        return f"{text}{between}{path[0]}={value}{newline}"

    def delete(self, text: str, path: Path) -> str:
        return "".join(_changed(line, path[0], None) for line in text.splitlines(keepends=True))

    def append(self, text: str, path: Path, value: Any) -> str:
        raise NotImplementedError("there are no lists in it")

    def drop(self, text: str, path: Path, value: Any) -> str:
        raise NotImplementedError("there are no lists in it")


def _named(line: str) -> list[tuple[str, str]]:
    found = _LINE.fullmatch(line)
    return [] if found is None else [(found[1], found[2].strip())]


def _changed(line: str, name: str, new: str | None) -> str:
    bare = line.rstrip("\r\n")
    if [each for each, _ in _named(bare)] != [name]:
        return line
    return "" if new is None else new + line[len(bare) :]
