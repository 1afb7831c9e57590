"""Where this machine keeps what connects its agents: one connection is one agent, one server, one key."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

PLUGIN_URL = "CLAUDE_PLUGIN_OPTION_URL"
PLUGIN_KEY = "CLAUDE_PLUGIN_OPTION_KEY"
"""What an agent's plugin asked its user for; a connection that `svc connect` made wins over it."""


class Connection(NamedTuple):
    """What a hook must know to send."""

    name: str
    url: str
    """Of the intake, without a slash at its end."""
    key: str
    prompts: bool = True
    responses: bool = True
    """Whether the server asks for prompts and responses."""
    max_bytes: int | None = None
    """What the server asks a text to be cut to."""


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/svc`."""
    return _base("XDG_CONFIG_HOME", ".config") / "svc"


def state_folder() -> Path:
    """`$XDG_STATE_HOME/svc`."""
    return _base("XDG_STATE_HOME", ".local/state") / "svc"


def connection_file(name: str) -> Path:
    """The file that holds a connection, its key, and what was changed for it."""
    return config_folder() / "connections" / f"{name}.json"


def connection_folder(name: str) -> Path:
    """The folder of a connection's outbox and sessions."""
    return state_folder() / name


def load_connection(name: str) -> Connection | None:
    """The connection of this name, else one that a plugin's options make; None where there is neither."""
    try:
        known: dict[str, Any] = json.loads(connection_file(name).read_bytes())
        capture = known.get("capture") or {}
        return Connection(
            name,
            known["url"],
            known["key"],
            capture.get("prompts") is not False,
            capture.get("responses") is not False,
            capture.get("max_prompt_bytes"),
        )
    except FileNotFoundError:
        url, key = os.environ.get(PLUGIN_URL), os.environ.get(PLUGIN_KEY)
        return Connection(name, url.rstrip("/"), key) if url and key else None


def _base(variable: str, default: str) -> Path:
    """The XDG specification has relative paths ignored."""
    chosen = Path(os.environ.get(variable, ""))
    return chosen if chosen.is_absolute() else Path.home() / default


# Every bound of a hook call. Not in `svc.limits`, which imports more than a hook has time for.

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES
EXIT_SECONDS = 1.7
"""When the process ends whatever it is doing, so that all of it, the interpreter's start included, stays below 2 s."""
DELIVER_SECONDS = 1.2
"""Until when something is sent. What is left stays in the outbox."""
DELIVER_AT_END_SECONDS = 0.7
"""The same for a session's end: Claude Code gives all hooks 1.5 s together then."""
UNPACK_SECONDS = 0.3
"""What the one-file program takes of all this before it begins: it unpacks itself."""
LATE_SECONDS = 0.1
"""For a note that the server did not answer in time."""
PAUSE_SECONDS = 30.0
"""How long nothing is sent after a server did not answer in time: only one prompt in a while waits for a hung one."""
assert DELIVER_AT_END_SECONDS < DELIVER_SECONDS < EXIT_SECONDS < EXIT_SECONDS + LATE_SECONDS < 2.0
INPUT_BYTES_MAX = 16 * MIB_BYTES
"""A hook's input; a tool's output in it is the largest part."""
TRANSCRIPT_TAIL_BYTES_MAX = MIB_BYTES
"""How much of a transcript's end is read for the agent's last message."""
TEXT_BYTES_MAX = 512 * KIB_BYTES
"""What a prompt and an answer are cut to, unless the server asks for less: it fits one frame however it is escaped."""
TOOL_INPUT_BYTES_MAX = 256 * KIB_BYTES
"""A tool call's input as JSON; of a larger one the long texts are cut."""
TOOL_TEXT_CHARACTERS_MAX = 1_000
"""What a long text of such an input is cut to: a path or the beginning of a command still stands in it."""
MILLISECONDS_MAX = 2**53
"""A longer duration is none: no number of JSON is exact beyond."""
ID_CHARACTERS_MAX = 1_024
CWD_CHARACTERS_MAX = 32_767
ANSWER_BYTES_MAX = 64 * KIB_BYTES
"""How much of a server's answer is read."""
OUTBOX_FILES_MAX = 2_000
OUTBOX_BYTES_MAX = 64 * MIB_BYTES
OUTBOX_SECONDS_MAX = 14 * 86_400.0
"""Beyond any of these the oldest captures are given up and counted: some days of work without a server."""
DEAD_LETTERS_MAX = 100
"""How many captures that a server refused for good are remembered, without their texts."""
SESSION_SECONDS_MAX = 14 * 86_400.0
"""How long it is remembered which prompt of a session is without an answer."""
FOLDER_MODE = 0o700
FILE_MODE = 0o600


def private_folder(folder: Path) -> None:
    """Make it, and what is above it, where it is missing. Raises `OSError`."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=FOLDER_MODE)


def draft_file(folder: Path, data: bytes) -> Path:
    """A file in the folder that is on disk and has no lasting name yet. Raises `OSError`, and leaves none then."""
    draft = folder / f".draft-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def replace_file(path: Path, data: bytes) -> None:
    """Write the file at once. Raises `OSError`, and leaves the old one then."""
    draft = draft_file(path.parent, data)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """So that names in it outlive a power cut, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
