"""A settings file as values, as the text that they came from, and what is switched on in it, done and undone. Pure.

Done, a change says what was there before. Undone, it gives that back, but only where what stands there now is still
what was written: whatever a person has changed since is theirs.
"""

import contextlib
import copy
import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn

import msgspec
import tomlkit
from msgspec import UNSET
from tomlkit.exceptions import TOMLKitError

Format = Literal["json", "toml", "env"]
Path = Sequence[str]
"""Keys from the outermost in."""


class Refused(Exception):
    """This cannot be set up, or a file not be written as it is; the message says why and what to do instead."""


class Unreadable(Exception):
    """The text cannot be changed safely; the message says why, and where."""


class Document(ABC):
    """One text of one format. All of it may raise `Unreadable`."""

    OBJECT = "object"

    def __init__(self, text: str, values: dict[str, Any]) -> None:
        self._text = text
        self._before = copy.deepcopy(values)
        self._values = values

    def get(self, path: Path) -> Any:
        """The value as plain Python; `UNSET` where it is not there, which null may be."""
        found: Any = self._values
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return UNSET
            found = found[key]
        return found

    def put(self, path: Path, value: Any) -> None:
        """Set a value, or take a key out that is there where it is `UNSET`; what is missing on the way is made."""
        inside = self._values
        for depth, key in enumerate(path[:-1], 1):
            inside = inside.setdefault(key, {})
            if not isinstance(inside, dict):
                raise Unreadable(f"{'.'.join(path[:depth])} is no {self.OBJECT}")
        if value is UNSET:
            del inside[path[-1]]
        else:
            inside[path[-1]] = copy.deepcopy(value)

    def render(self) -> str:
        """The text with these values; the very same one where nothing changed."""
        return self._text if self._values == self._before else self._rendered()

    @abstractmethod
    def _rendered(self) -> str: ...


# --- JSON -------------------------------------------------------------------------------------------------

_INDENT = re.compile(r"\s*{[ \t]*\r?\n([ \t]+)")


class JsonText(Document):
    """Written anew by `json.dumps`, with the text's own order, indentation, line ends and escapes.

    Only strict JSON is taken. Comments, a key that is there twice, a number that is none: an agent reads such a file
    its own way, and what was meant cannot be told. A blank text counts as an empty object.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, _json(text))

    def _rendered(self) -> str:
        ascii_only = "\\u" in self._text and (self._text.isascii() or "\\ud" in self._text.lower())
        if self._dumped(self._before, not ascii_only) == self._text:  # control characters are escaped either way
            ascii_only = not ascii_only
        return self._dumped(self._values, ascii_only)

    def _dumped(self, values: dict[str, Any], ascii_only: bool) -> str:
        indent = _INDENT.match(self._text)
        end = self._text.rpartition("}")[2] if self._text.strip() else "\n"
        try:
            new = json.dumps(values, indent=indent[1] if indent else 2, ensure_ascii=ascii_only, allow_nan=False) + end
        except ValueError as error:
            raise Unreadable("a number in it is too large to be written again") from error
        return new.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in self._text else new


def _json(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    if text.startswith("\ufeff"):
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


# --- TOML -------------------------------------------------------------------------------------------------


class TomlText(Document):
    """Changed by tomlkit, so that comments stay; what comes out otherwise than meant is not taken."""

    OBJECT = "table"

    def __init__(self, text: str) -> None:
        try:
            super().__init__(text, tomllib.loads(text))
            self._document: Any = tomlkit.parse(text)
        except (tomllib.TOMLDecodeError, TOMLKitError, RecursionError) as error:
            raise Unreadable(f"it is not TOML: {error}") from error
        if tomlkit.dumps(self._document) != text:
            raise Unreadable("it cannot be changed without touching the rest of it")

    def put(self, path: Path, value: Any) -> None:
        super().put(path, value)
        inside = self._document
        try:
            for key in path[:-1]:
                inside = inside.setdefault(key, tomlkit.table())
            if value is UNSET or isinstance(inside.get(path[-1]), dict):
                del inside[path[-1]]
            if value is not UNSET:
                inside[path[-1]] = _item(value)
        except TOMLKitError as error:
            raise Unreadable(f"{'.'.join(path)} cannot be set: {error}") from error

    def _rendered(self) -> str:
        text: str = tomlkit.dumps(self._document)
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(text) == self._values:
                return text
        raise Unreadable("it is laid out in a way that cannot be changed safely")


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    for key, member in value.items():
        table.append(key, _item(member))
    return table


# --- .env: a name and a value a line ----------------------------------------------------------------------

_NAMED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")


class EnvText(Document):
    """A path is one name. Values are kept as they stand, quotes included."""

    def __init__(self, text: str) -> None:
        named = [found for line in text.splitlines() if (found := _NAMED.fullmatch(line))]
        super().__init__(text, {found[1]: found[2].strip() for found in named})
        self._names = [found[1] for found in named]

    def get(self, path: Path) -> Any:
        if path and self._names.count(path[0]) > 1:
            raise Unreadable(f"{path[0]} is there {self._names.count(path[0])} times")
        return super().get(path)

    def _rendered(self) -> str:
        newline = "\r\n" if "\r\n" in self._text else "\n"
        lines = []
        for line in self._text.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            found = _NAMED.fullmatch(bare)
            if found is None or self._values.get(found[1]) == self._before[found[1]]:
                lines.append(line)
            elif found[1] in self._values:
                lines.append(f"{found[1]}={self._values[found[1]]}{line[len(bare) :]}")
        added = [f"{name}={value}{newline}" for name, value in self._values.items() if name not in self._before]
        if added and lines and not lines[-1].endswith(("\n", "\r")):
            lines.append(newline)
        return "".join([*lines, *added])


DOCUMENTS: dict[Format, Callable[[str], Document]] = {"json": JsonText, "toml": TomlText, "env": EnvText}

# --- changes ----------------------------------------------------------------------------------------------


class Put(msgspec.Struct, frozen=True, tag="put"):
    """A key gets a value."""

    path: tuple[str, ...]
    value: Any

    def stands(self, now: Any) -> bool:
        return bool(now == self.value)


class Append(msgspec.Struct, frozen=True, tag="append"):
    """A list gets an element."""

    path: tuple[str, ...]
    value: Any

    def stands(self, now: Any) -> bool:
        return isinstance(now, list) and self.value in now


Change = Put | Append


class ChangeReceipt(msgspec.Struct, frozen=True):
    change: Change
    had: bool
    """Whether the key was there before."""
    before: Any = None
    made: int = 0
    """How many of the outermost-in containers on the way to it are ours: they go when they are empty again."""


def apply(document: Document, changes: Sequence[Change]) -> tuple[ChangeReceipt, ...]:
    """Make all changes, and say what to undo. What is there already is not done. Raises `Unreadable`."""
    done: list[ChangeReceipt] = []
    for change in changes:
        path, before = change.path, document.get(change.path)
        if change.stands(before):
            continue
        had = before is not UNSET
        made = sum(document.get(path[:depth]) is UNSET for depth in range(1, len(path)))
        if isinstance(change, Put):
            document.put(path, change.value)
            done.append(ChangeReceipt(change, had, before if had else None, made))
        elif had and not isinstance(before, list):
            raise Unreadable(f"{'.'.join(path)} is no list")
        else:
            document.put(path, [*(before if had else ()), change.value])
            done.append(ChangeReceipt(change, had, made=made))
    return tuple(done)


def undo(document: Document, done: Sequence[ChangeReceipt]) -> list[str]:
    """Undo the changes. Gives the keys that somebody has changed since, which stay. Raises `Unreadable`."""
    left: list[str] = []
    for each in reversed(done):
        change, path, now = each.change, each.change.path, document.get(each.change.path)
        if now is UNSET:
            _drop_empty(document, path[:-1], each.made)
        elif not change.stands(now):
            left += [".".join(path)] if isinstance(change, Put) else []
        elif isinstance(change, Append):
            index = now.index(change.value)
            document.put(path, now[:index] + now[index + 1 :])
            _drop_empty(document, path, 0 if each.had else 1 + each.made)
        else:
            document.put(path, each.before if each.had else UNSET)
            _drop_empty(document, path[:-1], 0 if each.had else each.made)
    return left


def _drop_empty(document: Document, path: tuple[str, ...], levels: int) -> None:
    """Take out the empty containers at the end of the path, so many levels up at most."""
    for _ in range(levels):
        if not path or document.get(path) not in ({}, []):
            break
        document.put(path, UNSET)
        path = path[:-1]
