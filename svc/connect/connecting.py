"""Connecting and disconnecting: what would change is worked out first, then shown, then written and remembered."""

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from svc.connect.agents import AgentName, Scope
from svc.connect.changes import Append, Change, Document, Keys, Refused, Unreadable, apply, document_of, undo
from svc.connect.server import Capture
from svc.hook import machine

T = TypeVar("T")


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


class StoredConnection(msgspec.Struct, frozen=True):
    name: str
    agent: AgentName
    scope: Scope
    folder: str  # of the agent's settings
    url: str
    key: str
    capture: Capture
    files: tuple[FileReceipt, ...] = ()

    def hooks(self) -> Iterator[tuple[Path, Append]]:
        for receipt in self.files:
            yield from ((Path(receipt.path), each) for each in receipt.changes if isinstance(each, Append))


def connection_name(agent: AgentName, scope: Scope, project: Path) -> str:
    """The agent's name; with a project, that and what tells the project from others."""
    if scope == "user":
        return agent
    return f"{agent}-{sha256(str(project.resolve()).encode()).hexdigest()[:8]}"


def stored(name: str) -> StoredConnection | None:
    """The connection of this name; None where there is none, or it is not `svc connect` that wrote it."""
    try:
        return msgspec.json.decode(machine.connection_file(name).read_bytes(), type=StoredConnection)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def store(connection: StoredConnection) -> None:
    """Keep it, readable by its owner only. Raises `OSError`."""
    path = machine.connection_file(connection.name)
    machine.private_folder(path.parent)
    machine.replace_file(path, msgspec.json.format(msgspec.json.encode(connection), indent=2))


def all_stored() -> list[StoredConnection]:
    names = sorted(path.stem for path in (machine.config_folder() / "connections").glob("*.json"))
    return [found for name in names if (found := stored(name)) is not None]


def known_key(url: str | None = None) -> str:
    """The one with which this machine's agents are connected, to this intake where it is named. Raises `Refused`."""
    known = {each.key for each in all_stored() if url is None or each.url == url.rstrip("/")}
    if len(known) == 1:
        return known.pop()
    which = "your agents are connected with different keys: say which" if known else "a key is needed: give it"
    raise Refused(
        f"{which} with SVC_KEY or --key; the server showed one at its first start, `svc key issue` makes more"
    )


class FileState(NamedTuple):
    data: bytes | None  # None: it is not there
    mode: int | None

    def document(self, path: Path) -> Document:
        try:
            return document_of(path.name, (self.data or b"").decode())
        except UnicodeDecodeError as error:
            raise Unreadable("it is not UTF-8") from error


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


def value_in(path: Path, keys: Keys) -> Any:
    """What a file says of a key; `UNSET` where it cannot be read: the agent cannot read it either."""
    try:
        return read_file(path).document(path).get(keys)
    except (Refused, Unreadable):
        return UNSET


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
        before = FileState(copy, receipt.mode_before) if _digest(copy) == receipt.backup_sha256 else before
    known = before.data is not None or receipt.mode_before is None
    if known and _digest(now.data) == receipt.written_sha256:
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
    except Unreadable as error:
        raise Refused(f"{path} was left as it is: {error}. Mend it, then try again") from error


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def write(name: str, rewrite: Rewrite) -> FileReceipt:
    """Write one file, a copy of what it was first, one for each state. Raises `Refused`, `OSError`."""
    base, path, backup = rewrite.base, rewrite.path, None
    if base.data is not None:
        folder = machine.state_folder() / name / "backups"
        machine.private_folder(folder)
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", path.name).lstrip(".")
        backup = folder / f"{_digest(os.fsencode(path) + base.data)[:12]}-{plain}"
        if not backup.exists():
            machine.replace_file(backup, base.data)
    give_back(rewrite)
    return FileReceipt(
        path=str(path),
        done=tuple(map(Done, rewrite.changes)),
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
    except RuntimeError as error:
        raise Refused(f"{path} is a link that leads to itself") from error


def shown(rewrite: Rewrite, key: str) -> str:
    """What changes, as a diff without the key."""
    old, new = ((data or b"").decode().splitlines() for data in (rewrite.now.data, rewrite.new))
    lines = difflib.unified_diff(old, new, str(rewrite.path), str(rewrite.path), lineterm="", n=1)
    return "\n".join(lines).replace(key, key[:8] + "…")
