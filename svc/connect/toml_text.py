"""TOML that is changed without losing a comment, by tomlkit; what came out otherwise than meant is not taken."""

import copy
import tomllib
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from svc.connect.documents import MISSING, Path, Unreadable


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
