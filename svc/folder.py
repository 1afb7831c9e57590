"""The var folder: made where it is missing, held by one process at a time, and where its server can be reached."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

RUNNING = "running.json"
LOCK = "lock"


class InUse(Exception):
    """Another process holds the folder."""


class Unusable(Exception):
    """The folder cannot be made or written."""


class Running(msgspec.Struct, frozen=True):
    """Where the server that holds the folder can be reached."""

    pid: int
    intake: str
    api: str


@contextmanager
def held(var: Path) -> Iterator[None]:
    """Hold the folder until the end of the block. Raises `InUse` where another process does, or `Unusable`."""
    try:
        var.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock_file = (var / LOCK).open("a")
    except OSError as error:
        raise Unusable(f"{var} cannot be the data folder: {error.strerror}; choose another with --var") from error
    with lock_file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(_holder(var)) from None
        yield


def _holder(var: Path) -> str:
    """Who holds the folder, as far as it says, and what to do."""
    server = running(var)
    if server is None or not _runs(server.pid):
        return f"{var} is in use by another svc process: wait until it is done, or name another folder with --var"
    where = f"intake={server.intake} api={server.api}"
    return f"{var} is in use by the server with process id {server.pid} ({where}): stop it first"


def _runs(pid: int) -> bool:
    """A server that was killed has not taken back what it said."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def note_running(var: Path, intake: str, api: str) -> None:
    """Say where the server can be reached, for commands that need it."""
    draft = var / (RUNNING + ".draft")
    draft.write_bytes(msgspec.json.encode(Running(os.getpid(), intake, api)))
    draft.replace(var / RUNNING)


def forget_running(var: Path) -> None:
    """The server stops."""
    (var / RUNNING).unlink(missing_ok=True)


def running(var: Path) -> Running | None:
    """The server that said it holds the folder; None where none did."""
    try:
        return msgspec.json.decode((var / RUNNING).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
