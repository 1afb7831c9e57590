"""What this machine remembers of a connection: where to, by which key, and what was changed in which file."""

import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from svc.connect.agents import AgentName, Format, Scope
from svc.connect.changes import ChangeReceipt
from svc.hook.machine import config_folder, connection_file, private_folder, replace_file, state_folder


class Capture(msgspec.Struct, frozen=True):
    """What the server asks its clients to capture."""

    prompts: bool = True
    responses: bool = True
    max_prompt_bytes: int | None = None


class FileReceipt(msgspec.Struct, frozen=True):
    """What was done to one file."""

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
    """One agent's connection to one server."""

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
    folder = config_folder() / "connections"
    names = sorted(path.stem for path in folder.glob("*.json"))
    return [found for name in names if (found := stored(name)) is not None]


def keep_backup(name: str, path: Path, data: bytes) -> Path:
    """A copy of a file as it was before; one for each state it was in. Raises `OSError`."""
    folder = state_folder() / name / "backups"
    private_folder(folder)
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", path.name).lstrip(".")
    copy = folder / f"{sha256(os.fsencode(path) + data).hexdigest()[:12]}-{plain}"
    if not copy.exists():
        replace_file(copy, data)
    return copy
