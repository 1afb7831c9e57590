"""An agent's settings files: a change is worked out first, then shown, then written, with a receipt to undo it by."""

import contextlib
import json
import os
import re
import stat
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import tomlkit
from msgspec import UNSET

from aggregates.event import Mendable
from svc.hook import machine

T = TypeVar("T")
Keys = Sequence[str]  # from the outermost in


class Refused(Mendable):
    """This cannot be set up, or a file not be written as it is; the message says why and what to do instead."""


class Document(ABC):
    """One text of one format. All of it may raise `Refused`."""

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
                raise Refused(f"{'.'.join(keys[:depth])} is no table or object")
        if value is UNSET:
            del inside[keys[-1]]
        else:
            inside[keys[-1]] = value

    def render(self) -> str:
        """The text with these values; the very same one where nothing changed."""
        return self._rendered() if self._changed else self._text

    @abstractmethod
    def _rendered(self) -> str: ...


_UNESCAPED = re.compile(r"[^ -~\t\r\n]")
_INDENT = re.compile(r"\s*{[ \t]*\r?\n([ \t]+)")


class JsonText(Document):
    """Only strict JSON is taken: with comments, or a key that is there twice, what was meant cannot be told."""

    def __init__(self, text: str) -> None:
        if text.startswith("\ufeff"):
            raise Refused("it is not plain JSON: it begins with a byte order mark; save it as UTF-8 without one")
        try:
            found = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
        except json.JSONDecodeError as error:
            why = f"(line {error.lineno}: {error.msg}); comments and trailing commas are not JSON either"
            raise Refused(f"it is not plain JSON {why}") from error
        except RecursionError as error:
            raise Refused("it is nested too deeply") from error
        if not isinstance(found, dict):
            raise Refused("it holds no JSON object")
        super().__init__(text, found)

    def _rendered(self) -> str:
        indent = _INDENT.match(self._text)
        end = self._text.rpartition("}")[2] if self._text.strip() else "\n"
        escaped = "\\u" in self._text and not _UNESCAPED.search(self._text)
        try:
            new = json.dumps(self._values, indent=indent[1] if indent else 2, ensure_ascii=escaped, allow_nan=False)
            new.encode()
        except ValueError as error:
            raise Refused("a number, or half of a character, in it cannot be written again") from error
        return (new + end).replace("\r\n", "\n").replace("\n", "\r\n" if "\r\n" in self._text else "\n")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Refused(f'the key "{key}" is there twice in one object')
        found[key] = value
    return found


class TomlText(Document):
    """Changed by tomlkit, so that comments stay; what comes out otherwise than meant is not taken."""

    def __init__(self, text: str) -> None:
        try:
            super().__init__(text, tomllib.loads(text))
            self._document: Any = tomlkit.parse(text)
        except (tomllib.TOMLDecodeError, tomlkit.exceptions.TOMLKitError, RecursionError) as error:
            raise Refused(f"it is not TOML: {error}") from error

    def put(self, keys: Keys, value: Any) -> None:
        super().put(keys, value)
        inside = self._document
        try:
            for key in keys[:-1]:
                inside = inside.setdefault(key, tomlkit.table())
            if value is UNSET or isinstance(inside.get(keys[-1]), dict):
                del inside[keys[-1]]
            if isinstance(value, dict):
                inside[keys[-1]] = table = tomlkit.inline_table()
                table.update(value)
            elif value is not UNSET:
                inside[keys[-1]] = value
        except tomlkit.exceptions.TOMLKitError as error:
            raise Refused(f"{'.'.join(keys)} cannot be set: {error}") from error

    def _rendered(self) -> str:
        text: str = tomlkit.dumps(self._document)
        with contextlib.suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(text) == self._values:
                return text
        raise Refused("it is laid out in a way that cannot be changed safely")


_NAMED = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_BEGIN, _END = "# svc connect: begin", "# svc connect: end"


class EnvText(Document):
    """A path is one name. What is put in stands in a marked block at the end: the last line of a name holds."""

    def __init__(self, text: str) -> None:
        before, _, rest = text.partition(_BEGIN)
        inside, end, after = rest.partition(_END)
        others = before + after.removeprefix("\r").removeprefix("\n") if end else text
        self._others = others.splitlines(keepends=True)
        self._before = _named(self._others)
        super().__init__(text, self._before | _named(inside.splitlines() if end else ()))

    def _rendered(self) -> str:
        end, lines = "\r\n" if "\r\n" in self._text else "\n", [*self._others]
        ours = [f"{name}={value}" for name, value in self._values.items() if self._before.get(name) != value]
        if ours and lines and not lines[-1].endswith("\n"):
            lines.append(end)
        return "".join([*lines, *(f"{line}{end}" for line in ([_BEGIN, *ours, _END] if ours else ()))])


def _named(lines: Sequence[str]) -> dict[str, str]:
    found = (_NAMED.fullmatch(line.rstrip("\r\n")) for line in lines)
    return {each[1]: each[2].strip() for each in found if each is not None}


def document_of(name: str, text: str) -> Document:
    return {"json": JsonText, "toml": TomlText}.get(name.rpartition(".")[2], EnvText)(text)


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
    """Make all changes; what is there already is not touched. Raises `Refused`."""
    for change in changes:
        now = document.get(change.path)
        if change.stands(now):
            continue
        if isinstance(change, Put):
            document.put(change.path, change.value)
        elif now is UNSET or isinstance(now, list):
            document.put(change.path, [*(now or ()), change.value])
        else:
            raise Refused(f"{'.'.join(change.path)} is no list")


def undo(document: Document, changes: Sequence[Change], before: Document) -> list[str]:
    """Give back what was there before where ours still stands; else its key is among those that stay."""
    left: list[str] = []
    for change in reversed(changes):
        now, old = document.get(change.path), before.get(change.path)
        if change.stands(now) and not change.stands(old):
            if isinstance(change, Append):
                index = now.index(change.value)
                old = now[:index] + now[index + 1 :] or (UNSET if old is UNSET else [])
            document.put(change.path, old)
        elif isinstance(change, Put) and now is not UNSET and now != old:
            left.append(".".join(change.path))
        for depth in range(len(change.path) - 1, 0, -1):
            keys = change.path[:depth]
            if document.get(keys) == {} and before.get(keys) is UNSET:
                document.put(keys, UNSET)
    return left


class Done(msgspec.Struct, frozen=True):
    change: Change


class FileReceipt(msgspec.Struct, frozen=True):
    path: str
    done: tuple[Done, ...]
    written_sha256: str
    mode_before: int | None  # None: the file was not there
    backup: str | None  # a copy of it as it was; None where it was not there
    backup_sha256: str | None

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(each.change for each in self.done)


class FileState(NamedTuple):
    data: bytes | None  # None: it is not there
    mode: int | None

    def document(self, path: Path) -> Document:
        try:
            return document_of(path.name, (self.data or b"").decode())
        except UnicodeDecodeError as error:
            raise Refused("it is not UTF-8") from error


NO_FILE = FileState(None, None)


def read_file(path: Path) -> FileState:
    """The file behind the path, links followed. Raises `Refused`."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Refused(f"{path} is no file")
        return FileState(path.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return NO_FILE
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error


class Rewrite(msgspec.Struct, frozen=True):
    """One file: as it is, as it was without us, and as it will be."""

    path: Path
    now: FileState
    base: FileState  # what a disconnect gives back
    new: bytes | None  # None: the file goes away
    mode: int
    changes: tuple[Change, ...] = ()
    left: tuple[str, ...] = ()  # keys that were changed since, and stay

    @property
    def changed(self) -> bool:
        return self.new != self.now.data or (self.new is not None and self.mode != self.now.mode)


def connected(path: Path, changes: Sequence[Change], receipt: FileReceipt | None, key: str) -> Rewrite:
    """The file with what is switched on, whatever of it was there from before. Raises `Refused`."""
    now = read_file(path)
    base = now if receipt is None else _base(path, now, receipt)[0]
    text, _ = _edited(path, base, lambda document: apply(document, changes))
    mode = next((each for each in (now.mode, base.mode) if each is not None), 0o644)
    return Rewrite(path, now, base, text.encode(), mode & stat.S_IRWXU if key in text else mode, tuple(changes))


def disconnected(receipt: FileReceipt) -> Rewrite:
    """The file as it was; where it was edited since, without what is ours. Raises `Refused`."""
    path = Path(receipt.path)
    now = read_file(path)
    base, left = _base(path, now, receipt)
    return Rewrite(path, now, base, base.data, base.mode or 0o600, left=tuple(left))


def _base(path: Path, now: FileState, receipt: FileReceipt) -> tuple[FileState, list[str]]:
    """The file without us, and the keys that stay: its copy where nothing changed since, else by keys."""
    if now.data is None:
        return now, []
    before = NO_FILE
    with contextlib.suppress(OSError):
        copy = Path(receipt.backup or "").read_bytes()
        before = FileState(copy, receipt.mode_before) if sha256(copy).hexdigest() == receipt.backup_sha256 else before
    known = before.data is not None or receipt.mode_before is None
    if known and sha256(now.data).hexdigest() == receipt.written_sha256:
        return before, []
    text, left = _edited(path, now, lambda document: undo(document, receipt.changes, before.document(path)))
    if receipt.mode_before is None and text.strip() in ("", "{}"):
        return NO_FILE, left
    return FileState(text.encode(), now.mode if receipt.mode_before is None else receipt.mode_before), left


def _edited(path: Path, held: FileState, edit: Callable[[Document], T]) -> tuple[str, T]:
    """The text after an edit, and what the edit gives. Raises `Refused`."""
    try:
        document = held.document(path)
        given = edit(document)
        return document.render(), given
    except Refused as error:
        raise Refused(f"{path} was left as it is: {error}. Mend it, then try again") from error


def write(name: str, rewrite: Rewrite) -> FileReceipt:
    """Write one file, a copy of what it was first, one for each state. Raises `Refused`, `OSError`."""
    base, path, backup = rewrite.base, rewrite.path, None
    if base.data is not None:
        folder = machine.state_folder() / name / "backups"
        machine.private_folder(folder)
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path.name).lstrip(".")
        backup = folder / f"{sha256(os.fsencode(path) + base.data).hexdigest()[:12]}-{plain}"
        if not backup.exists():
            machine.replace_file(backup, base.data)
    give_back(rewrite)
    return FileReceipt(
        path=str(path),
        done=tuple(map(Done, rewrite.changes)),
        written_sha256=sha256(rewrite.new or b"").hexdigest(),
        mode_before=base.mode,
        backup=None if backup is None else str(backup),
        backup_sha256=None if base.data is None else sha256(base.data).hexdigest(),
    )


def give_back(rewrite: Rewrite) -> None:
    """Replace the file behind the path, at once where its folder allows it, or take it away. Raises `Refused`."""
    path, data = rewrite.path, rewrite.new
    if not rewrite.changed:
        return
    if read_file(path).data != rewrite.now.data:
        raise Refused(f"{path} was changed by another program just now; try again")
    try:
        real = path.resolve()
        if data is None:
            real.unlink(missing_ok=True)
            return
        machine.private_folder(real.parent)
        try:
            with machine.draft_file(real.parent, data) as draft:
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    owner = real.stat()
                    os.chown(draft, owner.st_uid, owner.st_gid)
                draft.chmod(rewrite.mode)
                draft.replace(real)
        except OSError:
            # A single file that was mounted, or a folder that only its files may be written in.
            with real.open("r+b") as file:
                file.write(data)
                file.truncate()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), rewrite.mode)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; nothing in it was changed") from error
