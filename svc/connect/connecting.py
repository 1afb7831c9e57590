"""Connecting and disconnecting: what would change is worked out first, then shown, then written and remembered."""

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from svc.connect.agents import AgentName, FilePlan, Scope
from svc.connect.changes import DOCUMENTS, ChangeReceipt, Document, Format, Refused, Unreadable, apply, undo
from svc.connect.server import Capture
from svc.hook.machine import (
    config_folder,
    connection_file,
    draft_file,
    private_folder,
    replace_file,
    state_folder,
)

T = TypeVar("T")


class FileReceipt(msgspec.Struct, frozen=True):
    path: str
    format: Format
    done: tuple[ChangeReceipt, ...]
    written_sha256: str
    mode_before: int | None
    """None: the file was not there."""
    backup: str | None
    """A copy of it as it was; None where it was not there."""
    backup_sha256: str | None


class StoredConnection(msgspec.Struct, frozen=True):
    name: str
    agent: AgentName
    scope: Scope
    folder: str
    """Of the agent's settings."""
    url: str
    key: str
    capture: Capture
    files: tuple[FileReceipt, ...] = ()


def connection_name(agent: AgentName, scope: Scope, project: Path) -> str:
    """The agent's name; with a project, that and what tells the project from others."""
    if scope == "user":
        return agent
    return f"{agent}-{sha256(str(project.resolve()).encode()).hexdigest()[:8]}"


def stored(name: str) -> StoredConnection | None:
    """The connection of this name; None where there is none, or it is not `svc connect` that wrote it."""
    try:
        return msgspec.json.decode(connection_file(name).read_bytes(), type=StoredConnection)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def store(connection: StoredConnection) -> None:
    """Keep it, readable by its owner only. Raises `OSError`."""
    path = connection_file(connection.name)
    private_folder(path.parent)
    replace_file(path, msgspec.json.format(msgspec.json.encode(connection), indent=2))


def note_program(program: Sequence[str]) -> None:
    """Where this program lies, for the hooks of an agent's plugin. Raises `OSError`."""
    if len(program) == 1:
        replace_file(config_folder() / "program", f"{program[0]}\n".encode())


def forget(name: str) -> None:
    """Hooks that are still there send nothing any more. Raises `OSError`."""
    connection_file(name).unlink(missing_ok=True)


def all_stored() -> list[StoredConnection]:
    """Every connection of this machine, by name."""
    names = sorted(path.stem for path in (config_folder() / "connections").glob("*.json"))
    return [found for name in names if (found := stored(name)) is not None]


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


class Rewrite(msgspec.Struct, frozen=True):
    """One file: as it is, as it was without us, and as it will be."""

    path: Path
    format: Format
    now: FileState
    base: FileState
    """What a disconnect gives back."""
    new: bytes | None
    """None: the file goes away."""
    mode: int
    done: tuple[ChangeReceipt, ...] = ()
    left: tuple[str, ...] = ()
    """Keys that were changed since, and stay."""

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.new != self.now.data or (self.new is not None and self.mode != self.now.mode)


def connected(plan: FilePlan, receipt: FileReceipt | None) -> Rewrite:
    """The file with what is switched on, whatever of it was there from before. Raises `Refused`."""
    now = read_file(plan.path)
    base = now if receipt is None else _base(plan.path, now, receipt)[0]
    text, done = _edited(plan.path, plan.format, base, lambda document: apply(document, plan.changes))
    held = base.mode if now.mode is None else now.mode
    mode = 0o644 if held is None else held
    if plan.secret:
        mode &= stat.S_IRWXU
    return Rewrite(plan.path, plan.format, now, base, text.encode(), mode, done)


def disconnected(receipt: FileReceipt) -> Rewrite:
    """The file as it was; where it was edited since, without what is ours. Raises `Refused`."""
    path = Path(receipt.path)
    now = read_file(path)
    base, left = _base(path, now, receipt)
    return Rewrite(path, receipt.format, now, base, base.data, base.mode or 0o600, left=tuple(left))


def _base(path: Path, now: FileState, receipt: FileReceipt) -> tuple[FileState, list[str]]:
    """The file without us, and the keys that stay: its copy where nothing changed since, else by keys."""
    if now.data is None:
        return now, []
    if _digest(now.data) == receipt.written_sha256:
        if receipt.mode_before is None:
            return FileState(None, None), []
        with contextlib.suppress(OSError):
            copy = Path(receipt.backup or "").read_bytes()
            if _digest(copy) == receipt.backup_sha256:
                return FileState(copy, receipt.mode_before), []
    text, left = _edited(path, receipt.format, now, lambda document: undo(document, receipt.done))
    if receipt.mode_before is None and text.strip() in ("", "{}"):
        return FileState(None, None), left
    return FileState(text.encode(), now.mode if receipt.mode_before is None else receipt.mode_before), left


def _edited(path: Path, kind: Format, held: FileState, edit: Callable[[Document], T]) -> tuple[str, T]:
    """The text after an edit, and what the edit gives. Raises `Refused`."""
    try:
        document = DOCUMENTS[kind](held.text)
        given = edit(document)
        return document.render(), given
    except Unreadable as error:
        raise Refused(f"{path} was left as it is: {error}. Mend it, then try again") from error


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def write(name: str, rewrite: Rewrite) -> FileReceipt:
    """Write one file, a copy of what it was first, one for each state. Raises `Refused`, `OSError`."""
    base, path, backup = rewrite.base, rewrite.path, None
    if base.data is not None:
        folder = state_folder() / name / "backups"
        private_folder(folder)
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path.name).lstrip(".")
        backup = folder / f"{_digest(os.fsencode(path) + base.data)[:12]}-{plain}"
        if not backup.exists():
            replace_file(backup, base.data)
    give_back(rewrite)
    return FileReceipt(
        path=str(path),
        format=rewrite.format,
        done=rewrite.done,
        written_sha256=_digest(rewrite.new or b""),
        mode_before=base.mode,
        backup=None if backup is None else str(backup),
        backup_sha256=None if base.data is None else _digest(base.data),
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
        private_folder(real.parent)
        try:
            with draft_file(real.parent, data) as draft:
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
    except RuntimeError as error:
        raise Refused(f"{path} is a link that leads to itself") from error


def shown(rewrite: Rewrite, key: str) -> str:
    """What changes, as a diff without the key."""
    old = (rewrite.now.data or b"").decode().splitlines()
    new = (rewrite.new or b"").decode().splitlines()
    lines = difflib.unified_diff(old, new, str(rewrite.path), str(rewrite.path), lineterm="", n=1)
    return "\n".join(lines).replace(key, key[:8] + "…")
