"""A `.env` file: a name and a value a line."""

import re
from typing import Any

from svc.connect.documents import MISSING, Path, Unreadable

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
