"""Connecting and disconnecting: what would change is worked out first, then shown, then written."""

import difflib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from svc.connect.agents import FilePlan, Format, Refused
from svc.connect.changes import Done, apply, undo
from svc.connect.connections import FileReceipt, keep_backup
from svc.connect.documents import Document, Unreadable
from svc.connect.env_text import EnvText
from svc.connect.files import FileRefused, Held, mode_with_key, read_held, remove_held, write_held
from svc.connect.json_text import JsonText
from svc.connect.toml_text import TomlText

DOCUMENTS: dict[Format, Document] = {"json": JsonText(), "toml": TomlText(), "env": EnvText()}


class Rewrite(msgspec.Struct, frozen=True):
    """One file: as it is, as it was without us, and as it will be."""

    path: Path
    format: Format
    now: Held
    base: Held
    """What a disconnect gives back."""
    new: bytes | None
    """None: the file goes away."""
    mode: int
    done: tuple[Done, ...] = ()
    left: tuple[str, ...] = ()
    """Keys that were changed since, and stay."""

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.new != self.now.data or (self.new is not None and self.mode != self.now.mode)


def connected(plan: FilePlan, receipt: FileReceipt | None) -> Rewrite:
    """The file with what is switched on, whatever of it was there from before. Raises `Refused`."""
    now = _read(plan.path)
    base = now if receipt is None else _base(plan.path, now, receipt)[0]
    try:
        text, done = apply(DOCUMENTS[plan.format], base.text, plan.changes)
    except Unreadable as error:
        raise Refused(_unusable(plan.path, str(error))) from error
    held = base.mode if now.mode is None else now.mode
    mode = mode_with_key(held) if plan.secret else (0o644 if held is None else held)
    return Rewrite(plan.path, plan.format, now, base, text.encode(), mode, done)


def disconnected(receipt: FileReceipt) -> Rewrite:
    """The file as it was; where it was edited since, without what is ours. Raises `Refused`."""
    path = Path(receipt.path)
    now = _read(path)
    base, left = _base(path, now, receipt)
    return Rewrite(path, receipt.format, now, base, base.data, base.mode or 0o600, left=tuple(left))


def _base(path: Path, now: Held, receipt: FileReceipt) -> tuple[Held, list[str]]:
    """The file without us, and the keys that stay."""
    if now.data is None:
        return now, []
    if sha256(now.data).hexdigest() == receipt.written_sha256:
        if receipt.mode_before is None:
            return Held(None, None), []
        backup = _backup(receipt)
        if backup is not None:
            return Held(backup, receipt.mode_before), []
    try:
        text, left = undo(DOCUMENTS[receipt.format], now.text, receipt.done)
    except Unreadable as error:
        raise Refused(_unusable(path, str(error))) from error
    if receipt.mode_before is None and text.strip() in ("", "{}"):
        return Held(None, None), left
    return Held(text.encode(), now.mode if receipt.mode_before is None else receipt.mode_before), left


def _backup(receipt: FileReceipt) -> bytes | None:
    """The copy, where it is still what it was."""
    if receipt.backup is None:
        return None
    try:
        data = Path(receipt.backup).read_bytes()
    except OSError:
        return None
    return data if sha256(data).hexdigest() == receipt.backup_sha256 else None


def _read(path: Path) -> Held:
    try:
        held = read_held(path)
        held.text.encode()
    except FileRefused as error:
        raise Refused(str(error)) from error
    except UnicodeDecodeError as error:
        raise Refused(_unusable(path, "it is not UTF-8")) from error
    return held


def _unusable(path: Path, why: str) -> str:
    return f"{path} was left as it is: {why}. Mend it, then try again"


# --- writing ----------------------------------------------------------------------------------------------


def write(name: str, rewrite: Rewrite) -> FileReceipt:
    """Write one file, its backup first. Raises `FileRefused`, `OSError`."""
    base = rewrite.base
    backup = None if base.data is None else keep_backup(name, rewrite.path, base.data)
    _write(rewrite)
    return FileReceipt(
        path=str(rewrite.path),
        format=rewrite.format,
        done=rewrite.done,
        written_sha256=sha256(rewrite.new or b"").hexdigest(),
        mode_before=base.mode,
        backup=None if backup is None else str(backup),
        backup_sha256=None if base.data is None else sha256(base.data).hexdigest(),
    )


def give_back(rewrites: Sequence[Rewrite]) -> None:
    """Write what a disconnect gives back. Raises `FileRefused`."""
    for rewrite in rewrites:
        _write(rewrite)


def _write(rewrite: Rewrite) -> None:
    if not rewrite.changed:
        return
    if read_held(rewrite.path).data != rewrite.now.data:
        raise FileRefused(f"{rewrite.path} was changed by another program just now; try again")
    if rewrite.new is None:
        remove_held(rewrite.path)
    else:
        write_held(rewrite.path, rewrite.new, rewrite.mode)


def shown(rewrite: Rewrite, key: str) -> str:
    """What changes, as a diff without the key."""
    old = (rewrite.now.data or b"").decode().splitlines()
    new = (rewrite.new or b"").decode().splitlines()
    lines = difflib.unified_diff(old, new, str(rewrite.path), str(rewrite.path), lineterm="", n=1)
    return "\n".join(lines).replace(key, key[:8] + "…")
