"""What an agent has besides the settings that `svc connect` writes: plugins, its trust in hooks, what runs already."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from svc.connect.changes import DOCUMENTS, Append, Format, Refused, Unreadable
from svc.connect.connecting import StoredConnection, read_file

PLUGIN_FILES_MAX = 200
PLUGIN_FILE_BYTES_MAX = 256 * 1024
_INTAKE = (b"/v1/prompts", b"hook claude-code")
"""What stands in a plugin that captures prompts for an intake, be it svc's own or another's."""
PROCESSES_SECONDS_MAX = 5.0
_BACKGROUND = re.compile(r"\s*(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)\s+(?:\S*node\S*\s+)?\S*codex\S*\s(?:.*\s)?app-server\b")
"""How long a process has run as `ps` writes it, days and hours where there are any, and what it runs."""
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_HEADER = ("OTEL_EXPORTER_OTLP_HEADERS",)


def value_in(path: Path, kind: Format, key: Sequence[str]) -> Any:
    """What a file says of a key; `UNSET` where it cannot be read: the agent cannot read it either."""
    try:
        return DOCUMENTS[kind](read_file(path).text).get(key)
    except (Refused, Unreadable):
        return UNSET


def capturing_plugins(folder: Path) -> list[str]:
    """The plugins of Claude Code that are switched on and send prompts to an intake; `folder`: of its settings."""
    enabled = value_in(folder / "settings.json", "json", ("enabledPlugins",))
    installed = value_in(folder / "plugins" / "installed_plugins.json", "json", ("plugins",))
    if not isinstance(enabled, dict) or not isinstance(installed, dict):
        return []
    return sorted(name for name, on in enabled.items() if on is True and any(map(_captures, _places(installed, name))))


def _places(installed: dict[str, Any], name: str) -> Iterator[Path]:
    known = installed.get(name)
    for each in known if isinstance(known, list) else [known]:
        if isinstance(each, dict) and isinstance(place := each.get("installPath"), str):
            yield Path(place)


def _captures(plugin: Path) -> bool:
    looked = 0
    for folder, _, names in os.walk(plugin):
        for name in names:
            looked += 1
            if looked > PLUGIN_FILES_MAX:
                return False
            try:
                with (Path(folder) / name).open("rb") as file:
                    data = file.read(PLUGIN_FILE_BYTES_MAX)
            except OSError:
                continue
            if not name.endswith(".md") and any(each in data for each in _INTAKE):
                return True
    return False


def untrusted_hooks(connection: StoredConnection) -> list[str]:
    """The hooks of ours that Codex was not told to trust, and so does not run."""
    found = []
    for receipt in connection.files:
        if receipt.format != "json":
            continue
        path = Path(receipt.path)
        for change in (each.change for each in receipt.done):
            groups = value_in(path, "json", change.path)
            if not isinstance(change, Append) or not isinstance(groups, list) or change.value not in groups:
                continue
            event = change.path[-1]
            state = f"{path}:{_CAPITAL.sub('_', event).lower()}:{groups.index(change.value)}:0"
            trust = value_in(Path(connection.folder) / "config.toml", "toml", ("hooks", "state", state))
            if not isinstance(trust, dict) or not trust.get("trusted_hash") or trust.get("enabled") is False:
                found.append(event)
    return found


def background_codex_since(processes: str) -> int | None:
    """How many seconds the oldest Codex has run in the background, of what `ps` printed; None where there is none."""
    ages = [
        ((int(found[1] or 0) * 24 + int(found[2] or 0)) * 60 + int(found[3])) * 60 + int(found[4])
        for line in processes.splitlines()
        if (found := _BACKGROUND.match(line))
    ]
    return max(ages, default=None)


def processes() -> str:
    """The age and the command of each process; nothing where they cannot be listed."""
    try:
        done = subprocess.run(
            ["ps", "-axo", "etime=,args="], capture_output=True, text=True, timeout=PROCESSES_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def env_without_key(project: Path, connection: StoredConnection) -> Path | None:
    """The `.env` that Gemini CLI reads in this folder in place of ours, if it lacks the key; None where all is well."""
    wanted = next((r for r in connection.files if r.format == "env"), None)
    if wanted is None or os.environ.get(_HEADER[0]):
        return None
    for folder in (project, *project.parents):
        for path in (folder / ".gemini" / ".env", folder / ".env"):
            if path.is_file():
                same = value_in(path, "env", _HEADER) == value_in(Path(wanted.path), "env", _HEADER)
                return None if same else path
    return None


def plugin_finds_svc(config: Path) -> bool:
    """Whether the hooks of svc's own plugin find the program: as it was noted, or on the PATH."""
    try:
        noted = (config / "program").read_text().strip()
    except OSError:
        noted = ""
    places = [noted, *(os.path.join(folder, "svc") for folder in os.environ.get("PATH", "").split(os.pathsep))]
    return any(place and os.access(place, os.X_OK) for place in places)
