"""What is switched on in one file, done and undone.

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
from msgspec import UNSET

from svc.connect.texts import Document, Unreadable
from svc.hook.machine import draft_file, private_folder


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


# --- other programs' files: through links, at once, with the rights they have -----------------------------


class Refused(Exception):
    """This cannot be set up, or a file not be written as it is; the message says why and what to do instead."""


class FileState(NamedTuple):
    """A file as it was found."""

    data: bytes | None
    """None: it is not there."""
    mode: int | None

    @property
    def text(self) -> str:
        """What stands in it; nothing where it is not there. Raises `Unreadable`."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise Unreadable("it is not UTF-8") from error


def read_file(path: Path) -> FileState:
    """The file behind the path, links followed. Raises `Refused`."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Refused(f"{path} is no file")
        return FileState(path.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return FileState(None, None)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error


def write_file(path: Path, data: bytes | None, mode: int) -> None:
    """Replace the file behind the path, at once where its folder allows it; None removes it. Raises `Refused`."""
    try:
        real = path.resolve()
        if data is None:
            real.unlink(missing_ok=True)
            return
        private_folder(real.parent)
        try:
            with draft_file(real.parent, data) as draft:
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    owner = real.stat()
                    os.chown(draft, owner.st_uid, owner.st_gid)
                draft.chmod(mode)
                draft.replace(real)
        except OSError:
            # A single file that was mounted, or a folder that only its files may be written in.
            with real.open("r+b") as file:
                file.write(data)
                file.truncate()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), mode)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; nothing in it was changed") from error
    except RuntimeError as error:
        raise Refused(f"{path} is a link that leads to itself") from error
