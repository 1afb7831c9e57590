"""The var folder: made where it is missing, held by one process at a time, and where its server can be reached."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

RUNNING = "running.json"
LOCK = "lock"


class FolderInUse(Exception):
    pass


class FolderUnusable(Exception):
    pass


class Running(msgspec.Struct, frozen=True):
    pid: int
    intake: str
    api: str


@contextmanager
def held(var: Path) -> Iterator[None]:
    """Hold the folder during the block. Raises `FolderInUse` or `FolderUnusable`."""
    try:
        var.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock_file = (var / LOCK).open("a")
    except OSError as error:
        raise FolderUnusable(f"{var} cannot be the data folder: {error.strerror}; choose another with --var") from error
    with lock_file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(_holder(var)) from None
        yield


def _holder(var: Path) -> str:
    server = running(var)
    if server is None or not _runs(server.pid):
        return f"{var} is in use by another svc process: wait until it is done, or name another folder with --var"
    where = f"intake={server.intake} api={server.api}"
    return f"{var} is in use by the server with process id {server.pid} ({where}): stop it first"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def note_running(var: Path, intake: str, api: str) -> None:
    """Write where commands can reach the server."""
    draft = var / (RUNNING + ".draft")
    draft.write_bytes(msgspec.json.encode(Running(os.getpid(), intake, api)))
    draft.replace(var / RUNNING)


def forget_running(var: Path) -> None:
    (var / RUNNING).unlink(missing_ok=True)


def running(var: Path) -> Running | None:
    """The server that noted itself, if any; it may have been killed since."""
    try:
        return msgspec.json.decode((var / RUNNING).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


NAME = "internal-secret"
KEY_BYTES = 32


def new_key(prefix: str) -> str:
    """The prefix and 43 URL-safe characters from 32 random bytes."""
    return f"{prefix}_{secrets.token_urlsafe(KEY_BYTES)}"


def internal_secret(var: Path) -> str:
    """The installation's secret; made with mode 600 where there is none."""
    path = var / NAME
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return _make(path)


def _make(path: Path) -> str:
    secret = secrets.token_urlsafe(KEY_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(secret + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    return secret
