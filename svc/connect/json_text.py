"""JSON that is changed without being written anew: order, indentation, and every other byte stay.

Only strict JSON is taken. Comments, a key that is there twice, a number that is none: an agent reads such a file its
own way, and what was meant cannot be told.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from svc.connect.documents import MISSING, Path, Unreadable

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
