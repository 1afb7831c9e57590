"""A settings file as values, and as the text that they came from; what is switched on in it, done and undone. Pure."""

import contextlib
import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec
import tomlkit
from msgspec import UNSET
from tomlkit.exceptions import TOMLKitError

from aggregates.event import Mendable

Keys = Sequence[str]  # from the outermost in


class Refused(Mendable):
    """This cannot be set up, or a file not be written as it is; the message says why and what to do instead."""


class Unreadable(Exception):
    """The text cannot be changed safely; the message says why, and where."""


class Document(ABC):
    """One text of one format. All of it may raise `Unreadable`."""

    def __init__(self, text: str, values: dict[str, Any]) -> None:
        self._text = text
        self._values = values
        self._changed = False

    def get(self, keys: Keys) -> Any:
        """The value as plain Python; `UNSET` where it is not there, which null may be."""
        found: Any = self._values
        for key in keys:
            if not isinstance(found, dict) or key not in found:
                return UNSET
            found = found[key]
        return found

    def put(self, keys: Keys, value: Any) -> None:
        """Set a value, or take a key out that is there where it is `UNSET`; what is missing on the way is made."""
        inside, self._changed = self._values, True
        for depth, key in enumerate(keys[:-1], 1):
            inside = inside.setdefault(key, {})
            if not isinstance(inside, dict):
                raise Unreadable(f"{'.'.join(keys[:depth])} is no table or object")
        if value is UNSET:
            del inside[keys[-1]]
        else:
            inside[keys[-1]] = value

    def give_back(self, keys: Keys, _ours: Any, old: Any) -> None:
        self.put(keys, old)

    def render(self) -> str:
        """The text with these values; the very same one where nothing changed."""
        return self._rendered() if self._changed else self._text

    @abstractmethod
    def _rendered(self) -> str: ...


# --- JSON -------------------------------------------------------------------------------------------------

_UNESCAPED = re.compile(r"[^ -~\t\r\n]")
_INDENT = re.compile(r"\s*{[ \t]*\r?\n([ \t]+)")


class JsonText(Document):
    """Written anew by `json.dumps`, with the text's own order, indentation, line ends and escapes.

    Only strict JSON is taken. With comments, or a key that is there twice, an agent reads a file its own way, and what
    was meant cannot be told. A blank text counts as an empty object.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, _json(text))

    def _rendered(self) -> str:
        indent = _INDENT.match(self._text)
        end = self._text.rpartition("}")[2] if self._text.strip() else "\n"
        escaped = "\\u" in self._text and not _UNESCAPED.search(self._text)
        try:
            new = json.dumps(self._values, indent=indent[1] if indent else 2, ensure_ascii=escaped, allow_nan=False)
            new.encode()
        except ValueError as error:
            raise Unreadable("a number, or half of a character, in it cannot be written again") from error
        return (new + end).replace("\r\n", "\n").replace("\n", "\r\n" if "\r\n" in self._text else "\n")


def _json(text: str) -> dict[str, Any]:
    if text.startswith("\ufeff"):
        raise Unreadable("it is not plain JSON: it begins with a byte order mark; save it as UTF-8 without one")
    try:
        found = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
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
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Unreadable(f'the key "{key}" is there twice in one object')
        found[key] = value
    return found


# --- TOML -------------------------------------------------------------------------------------------------


class TomlText(Document):
    """Changed by tomlkit, so that comments stay; what comes out otherwise than meant is not taken."""

    def __init__(self, text: str) -> None:
        try:
            super().__init__(text, tomllib.loads(text))
            self._document: Any = tomlkit.parse(text)
        except (tomllib.TOMLDecodeError, TOMLKitError, RecursionError) as error:
            raise Unreadable(f"it is not TOML: {error}") from error

    def put(self, keys: Keys, value: Any) -> None:
        super().put(keys, value)
        inside = self._document
        try:
            for key in keys[:-1]:
                inside = inside.setdefault(key, tomlkit.table())
            if value is UNSET or isinstance(inside.get(keys[-1]), dict):
                del inside[keys[-1]]
            if value is not UNSET:
                inside[keys[-1]] = _item(value)
        except TOMLKitError as error:
            raise Unreadable(f"{'.'.join(keys)} cannot be set: {error}") from error

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
_BEGIN, _END = "# svc connect: begin", "# svc connect: end"


class EnvText(Document):
    """A path is one name. What is put in stands in a marked block at the end: the last line of a name holds."""

    def __init__(self, text: str) -> None:
        before, _, rest = text.partition(_BEGIN)
        inside, end, after = rest.partition(_END)
        others = before + after.removeprefix("\r").removeprefix("\n") if end else text
        self._others = others.splitlines(keepends=True)
        ours = map(_named, inside.splitlines() if end else ())
        super().__init__(text, self._before | dict(filter(None, ours)))

    @property
    def _before(self) -> dict[str, str]:
        return dict(filter(None, map(_named, self._others)))

    def give_back(self, keys: Keys, ours: Any, old: Any) -> None:
        """A line of ours that stands outside the block, as an older svc wrote it, goes as well."""
        self._others = [line for line in self._others if _named(line) != (keys[0], ours)]
        self.put(keys, old)

    def _rendered(self) -> str:
        end, lines, before = "\r\n" if "\r\n" in self._text else "\n", [*self._others], self._before
        ours = [f"{name}={value}" for name, value in self._values.items() if before.get(name) != value]
        if ours and lines and not lines[-1].endswith("\n"):
            lines.append(end)
        return "".join([*lines, *(f"{line}{end}" for line in ([_BEGIN, *ours, _END] if ours else ()))])


def _named(line: str) -> tuple[str, str] | None:
    found = _NAMED.fullmatch(line.rstrip("\r\n"))
    return None if found is None else (found[1], found[2].strip())


def document_of(name: str, text: str) -> Document:
    kinds = {"json": JsonText, "toml": TomlText}
    return kinds.get(name.rpartition(".")[2], EnvText)(text)


# --- changes ----------------------------------------------------------------------------------------------


class Put(msgspec.Struct, frozen=True, tag="put"):
    path: tuple[str, ...]
    value: Any

    def stands(self, now: Any) -> bool:
        return bool(now == self.value)


class Append(msgspec.Struct, frozen=True, tag="append"):
    path: tuple[str, ...]
    value: Any

    def stands(self, now: Any) -> bool:
        return isinstance(now, list) and self.value in now


Change = Put | Append


def apply(document: Document, changes: Sequence[Change]) -> None:
    """Make all changes; what is there already is not touched. Raises `Unreadable`."""
    for change in changes:
        now = document.get(change.path)
        if change.stands(now):
            continue
        if isinstance(change, Put):
            document.put(change.path, change.value)
        elif now is UNSET or isinstance(now, list):
            document.put(change.path, [*(now or ()), change.value])
        else:
            raise Unreadable(f"{'.'.join(change.path)} is no list")


def undo(document: Document, changes: Sequence[Change], before: Document) -> list[str]:
    """Give back what was there before, where ours still stands; else its key is among those that stay.

    Raises `Unreadable`.
    """
    left: list[str] = []
    for change in reversed(changes):
        now, old = document.get(change.path), before.get(change.path)
        if change.stands(now) and not change.stands(old):
            if isinstance(change, Append):
                index = now.index(change.value)
                old = now[:index] + now[index + 1 :] or (UNSET if old is UNSET else [])
            document.give_back(change.path, change.value, old)
        elif isinstance(change, Put) and now is not UNSET and now != old:
            left.append(".".join(change.path))
        for depth in range(len(change.path) - 1, 0, -1):
            keys = change.path[:depth]
            if document.get(keys) == {} and before.get(keys) is UNSET:
                document.put(keys, UNSET)
    return left
