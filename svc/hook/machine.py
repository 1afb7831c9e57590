"""Where this machine keeps what connects its agents: one connection is one agent, one server, one key.

Nothing here or beside it imports `svc.process`, which imports more than a hook has time for.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES
FILE_MODE = 0o600


class Connection(NamedTuple):
    name: str
    url: str  # of the intake, without a slash at its end
    key: str
    prompts: bool = True
    responses: bool = True  # whether the server asks for prompts and responses
    max_bytes: int | None = None  # what the server asks a text to be cut to


def config_folder() -> Path:
    return _base("XDG_CONFIG_HOME", ".config") / "svc"


def state_folder() -> Path:
    return _base("XDG_STATE_HOME", ".local/state") / "svc"


def connection_file(name: str) -> Path:
    """The file that holds a connection, its key, and what was changed for it."""
    return config_folder() / "connections" / f"{name}.json"


def connection_folder(name: str) -> Path:
    return state_folder() / name


def load_connection(name: str) -> Connection | None:
    """The connection that `svc connect` made, else one of what a plugin asked its user for, else None."""
    try:
        known: dict[str, Any] = json.loads(connection_file(name).read_bytes())
        capture = known.get("capture") or {}
        prompts, responses = (capture.get(name) is not False for name in ("prompts", "responses"))
        return Connection(name, known["url"], known["key"], prompts, responses, capture.get("max_prompt_bytes"))
    except FileNotFoundError:
        url, key = os.environ.get("CLAUDE_PLUGIN_OPTION_URL"), os.environ.get("CLAUDE_PLUGIN_OPTION_KEY")
        return Connection(name, url.rstrip("/"), key) if url and key else None


def _base(variable: str, default: str) -> Path:
    """The XDG specification has relative paths ignored."""
    chosen = Path(os.environ.get(variable, ""))
    return chosen if chosen.is_absolute() else Path.home() / default


def private_folder(folder: Path) -> None:
    """Make it, and what is above it, where it is missing. Raises `OSError`."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)


@contextlib.contextmanager
def draft_file(folder: Path, data: bytes) -> Iterator[Path]:
    """A file that is on disk, for the block to give it its lasting name. Raises `OSError`; what fails leaves none."""
    draft = folder / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        yield draft
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Write the file at once. Raises `OSError`, and leaves the old one then."""
    with draft_file(path.parent, data) as draft:
        draft.replace(path)
