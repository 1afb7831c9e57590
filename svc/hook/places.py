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
