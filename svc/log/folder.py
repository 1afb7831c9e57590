"""The var folder: its owner's alone, held by one process at a time, with the socket by which its server is reached."""

import fcntl
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from aggregates.event import Mendable

RUNNING = "running.json"
LOCK = "lock"
SOCKET = "admin.sock"
SOCKET_PATH_BYTES_MAX = 100  # of a socket's address: Linux has 107, macOS 103
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class FolderInUse(Mendable):
    pass


class Running(msgspec.Struct, frozen=True):
    pid: int
    intake: str
    api: str


@contextmanager
def held(var: Path) -> Iterator[None]:
    """Hold the folder during the block. Raises `FolderInUse` or `Mendable`."""
    try:
        var.mkdir(parents=True, exist_ok=True, mode=0o700)
        _keep_private(var.resolve())
        (var / LOCK).touch(0o600)
        lock_file = (var / LOCK).open("a")
    except OSError as error:
        what = f"{error.filename}: {error.strerror}"
        raise Mendable(f"{var} cannot be the data folder: {what}; choose another with --var") from error
    with lock_file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            by, do = "another svc process", "wait until it is done, or name another folder with --var"
            if (server := running(var)) is not None:
                by = f"the server with process id {server.pid} (intake={server.intake} api={server.api})"
                do = "stop it first"
            raise FolderInUse(f"{var} is in use by {by}: {do}") from None
        try:
            is_named = os.path.samefile(var / LOCK, lock.fileno())
        except FileNotFoundError:
            is_named = False
        if not is_named:  # such a lock keeps nobody out
            raise FolderInUse(f"{var} was given up by another svc process just now; try again")
        forget_running(var)  # of a server that was killed
        yield


def _keep_private(var: Path) -> None:
    """Close a folder of ours to others, with all that is in it. Raises `Mendable`, `OSError`."""
    found = var.stat()
    if found.st_uid != os.geteuid():
        raise Mendable(
            f"{var} belongs to another user (id {found.st_uid}), who can read and change all of it: "
            "run svc as that user, or name a folder of your own with --var"
        )
    within = list(var.iterdir())
    if not any(map(_open_to_others, (var, *within))):
        return
    if within and not {LOCK, NAME} & {path.name for path in within}:
        raise Mendable(
            f"others can read {var}, and what is in it is not from svc: "
            f"`chmod 700 {var}` if it is meant for svc, or name a new folder with --var"
        )
    var.chmod(found.st_mode & stat.S_IRWXU)
    for path in var.rglob("*"):
        if _open_to_others(path):
            with suppress(FileNotFoundError):  # a server has just removed it
                path.chmod(path.stat().st_mode & stat.S_IRWXU)
    if _open_to_others(var):
        raise Mendable(
            f"others can read {var}, and its file system keeps no modes: name a folder on another one with --var"
        )
    import structlog  # late: it takes longer to import than most commands run

    mode = oct(stat.S_IMODE(found.st_mode))
    closed = "others could read the data folder or its files; now only their owner can"
    structlog.get_logger().warning(closed, folder=str(var), mode=mode)


def _open_to_others(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)


def note_running(var: Path, intake: str, api: str) -> None:
    """Write where commands can reach the server."""
    draft = var / (RUNNING + ".draft")
    draft.write_bytes(msgspec.json.encode(Running(os.getpid(), intake, api)))
    draft.replace(var / RUNNING)


def forget_running(var: Path) -> None:
    for name in (RUNNING, SOCKET):
        (var / name).unlink(missing_ok=True)


@contextmanager
def socket_path(var: Path) -> Iterator[str]:
    """Where the server's socket is, by a link in a private folder if its path is too long for an address."""
    path = var / SOCKET
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        yield str(path)
        return
    with TemporaryDirectory(prefix="svc-") as folder:
        link = Path(folder, "var")
        link.symlink_to(var.absolute())
        yield str(link / SOCKET)


def listening_socket(var: Path) -> socket.socket:
    """The socket of administration in a held folder, for the owner alone."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket_path(var) as path:
            made.bind(path)
        (var / SOCKET).chmod(0o600)
        made.listen()
    except OSError:
        made.close()
        raise
    return made


def running(var: Path) -> Running | None:
    """The server that noted itself, if any; it may have been killed since."""
    try:
        return msgspec.json.decode((var / RUNNING).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


NAME = "internal-secret"
KEY_BYTES = 32


def internal_secret(var: Path) -> str:
    """The installation's secret; made where there is none."""
    path = var / NAME
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return write_secret(path, secrets.token_urlsafe(KEY_BYTES))


def keep_internal_secret(var: Path, secret: str) -> None:
    """Have the installation's secret be this one, which all its nodes have."""
    path = var / NAME
    if not path.exists() or path.read_text(encoding="ascii").strip() != secret:
        path.unlink(missing_ok=True)
        write_secret(path, secret)


def write_secret(path: Path, secret: str) -> str:
    """Make a file of mode 600 that lasts. Raises `FileExistsError`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(secret + "\n")
        handle.flush()
        os.fsync(handle.fileno())
    return secret
