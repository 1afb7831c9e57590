"""What is switched on in one file, done and undone. Pure.

Done, a change says what was there before. Undone, it gives that back, but only where what stands there now is still
what was written: whatever a person has changed since is theirs.
"""

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from svc.connect.texts import Document, Missing
from svc.hook.machine import FILE_MODE, private_folder


class Put(msgspec.Struct, frozen=True, tag="put"):
    """A key gets a value."""

    path: tuple[str, ...]
    value: Any


class Append(msgspec.Struct, frozen=True, tag="append"):
    """A list gets an element."""

    path: tuple[str, ...]
    value: Any


Change = Put | Append


class Done(msgspec.Struct, frozen=True):
    """A change that was made."""

    change: Change
    had: bool
    """Whether the key was there before."""
    before: Any = None
    made: int = 0
    """How many of the outermost-in containers on the way to it are ours: they go when they are empty again."""


def apply(document: Document, text: str, changes: Sequence[Change]) -> tuple[str, tuple[Done, ...]]:
    """The text with all changes, and what to undo. What is there already is not done. Raises `Unreadable`."""
    done: list[Done] = []
    for change in changes:
        before = document.get(text, change.path)
        had = not isinstance(before, Missing)
        made = _missing(document, text, change.path)
        if isinstance(change, Append):
            if had and isinstance(before, list) and change.value in before:
                continue
            text = document.append(text, change.path, change.value)
            done.append(Done(change, had, made=made))
        elif not had or before != change.value:
            text = document.put(text, change.path, change.value)
            done.append(Done(change, had, before if had else None, made))
    return text, tuple(done)


def undo(document: Document, text: str, done: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without the changes, and the keys that somebody has changed since, which stay. Raises `Unreadable`."""
    left: list[str] = []
    for each in reversed(done):
        change, now = each.change, document.get(text, each.change.path)
        if isinstance(change, Append):
            if isinstance(now, list) and change.value in now:
                text = document.drop(text, change.path, change.value)
                text = text if each.had else _without_empty(document, text, change.path, 1 + each.made)
            elif isinstance(now, Missing):
                text = _without_empty(document, text, change.path[:-1], each.made)
        elif isinstance(now, Missing):
            text = _without_empty(document, text, change.path[:-1], each.made)
        elif now != change.value:
            left.append(".".join(change.path))
        elif each.had:
            text = document.put(text, change.path, each.before)
        else:
            text = document.delete(text, change.path)
            text = _without_empty(document, text, change.path[:-1], each.made)
    return text, left


def _missing(document: Document, text: str, path: tuple[str, ...]) -> int:
    """How many containers on the way to a key are not there."""
    return sum(isinstance(document.get(text, path[:depth]), Missing) for depth in range(1, len(path)))


def _without_empty(document: Document, text: str, path: tuple[str, ...], levels: int) -> str:
    """Without the empty containers at the end of the path, so many levels up at most."""
    for _ in range(levels):
        if not path or document.get(text, path) not in ({}, []):
            break
        text = document.delete(text, path)
        path = path[:-1]
    return text


# Reading and writing other programs' settings: through links, at once, with the rights they have.


class FileRefused(Exception):
    """A file cannot be read or written as it is; the message says which, why, and what to do."""


class Held(NamedTuple):
    """A file as it was found."""

    data: bytes | None
    """None: it is not there."""
    mode: int | None

    @property
    def text(self) -> str:
        """What stands in it; nothing where it is not there. Raises `UnicodeDecodeError`."""
        return (self.data or b"").decode()


def read_held(path: Path) -> Held:
    """The file behind the path, links followed. Raises `FileRefused`."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise FileRefused(f"{path} is no file")
        return Held(path.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return Held(None, None)
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from error


def write_held(path: Path, data: bytes, mode: int) -> None:
    """Replace the file that the path leads to, at once where the folder allows it. Raises `FileRefused`."""
    try:
        real = path.resolve()
        private_folder(real.parent)
        try:
            _replace(real, data, mode)
        except OSError:
            # A single file that was mounted, or a folder that only its files may be written in.
            _overwrite(real, data, mode)
    except OSError as error:
        raise FileRefused(f"{path} cannot be written: {error.strerror}; nothing in it was changed") from error
    except RuntimeError as error:
        raise FileRefused(f"{path} is a link that leads to itself") from error


def remove_held(path: Path) -> None:
    """Take away a file that was not there before. Raises `FileRefused`."""
    try:
        path.resolve().unlink(missing_ok=True)
    except OSError as error:
        raise FileRefused(f"{path} cannot be removed: {error.strerror}") from error


def mode_with_key(mode: int | None) -> int:
    """The rights of a file that holds a key: its owner's."""
    return FILE_MODE if mode is None else mode & stat.S_IRWXU


def _replace(real: Path, data: bytes, mode: int) -> None:
    draft = real.with_name(f".{real.name}.{os.getpid()}.draft")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            with contextlib.suppress(FileNotFoundError, PermissionError):
                owner = real.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            os.fchmod(descriptor, mode)
        draft.replace(real)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _overwrite(real: Path, data: bytes, mode: int) -> None:
    with real.open("r+b") as file:
        file.write(data)
        file.truncate()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), mode)
