"""Reading and writing other programs' settings: through links, at once, with the rights they have."""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from svc.hook.files import FILE_MODE, private_folder


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
