"""What an agent has besides the settings that `svc connect` writes: what outranks them, plugins, what runs already."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import UNSET

from svc.connect.agents import KNOWN_AGENTS, AgentName, Plans, Scope
from svc.connect.changes import Put
from svc.connect.connecting import StoredConnection, value_in

_MAC = sys.platform == "darwin"
MANAGED = Path("/Library/Application Support" if _MAC else "/etc")
PLUGIN_FILES_MAX = 200
PLUGIN_FILE_BYTES_MAX = 256 * 1024
_INTAKE = (b"/v1/prompts", b"hook claude-code")
"""What stands in a plugin that captures prompts for an intake, be it svc's own or another's."""
PROCESSES_SECONDS_MAX = 5.0
_BACKGROUND = re.compile(r"\s*(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)\s+(?:\S*node\S*\s+)?\S*codex\S*\s(?:.*\s)?app-server\b")
"""How long a process has run as `ps` writes it, days and hours where there are any, and what it runs."""
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_HEADER = ("OTEL_EXPORTER_OTLP_HEADERS",)


def capturing_plugins(folder: Path) -> list[str]:
    """The plugins of Claude Code that are switched on and send prompts to an intake; `folder`: of its settings."""
    enabled = value_in(folder / "settings.json", ("enabledPlugins",))
    installed = value_in(folder / "plugins" / "installed_plugins.json", ("plugins",))
    if not isinstance(enabled, dict) or not isinstance(installed, dict):
        return []
    found = []
    for name in sorted(name for name, on in enabled.items() if on is True):
        known = installed.get(name)
        places = [each for each in (known if isinstance(known, list) else [known]) if isinstance(each, dict)]
        if any(_captures(Path(str(each.get("installPath")))) for each in places):
            found.append(name)
    return found


def _captures(plugin: Path) -> bool:
    files = (Path(folder) / name for folder, _, names in os.walk(plugin) for name in names)
    for path in islice(files, PLUGIN_FILES_MAX):
        with contextlib.suppress(OSError), path.open("rb") as file:
            data = file.read(PLUGIN_FILE_BYTES_MAX)
            if path.suffix != ".md" and any(each in data for each in _INTAKE):
                return True
    return False


def untrusted_hooks(connection: StoredConnection) -> Iterator[str]:
    """The hooks of ours that Codex was not told to trust, and so does not run."""
    for path, change in connection.hooks():
        groups, event = value_in(path, change.path), change.path[-1]
        if change.stands(groups):
            state = f"{path}:{_CAPITAL.sub('_', event).lower()}:{groups.index(change.value)}:0"
            trust = value_in(Path(connection.folder) / "config.toml", ("hooks", "state", state))
            if not isinstance(trust, dict) or not trust.get("trusted_hash") or trust.get("enabled") is False:
                yield event


def background_codex_since(processes: str) -> int | None:
    """How many seconds the oldest Codex has run in the background, of what `ps` printed; None where there is none."""
    ages = [
        ((int(found[1] or 0) * 24 + int(found[2] or 0)) * 60 + int(found[3])) * 60 + int(found[4])
        for line in processes.splitlines()
        if (found := _BACKGROUND.match(line))
    ]
    return max(ages, default=None)


def processes() -> str:
    command = ["ps", "-axo", "etime=,args="]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=PROCESSES_SECONDS_MAX).stdout
    return ""


def env_without_key(project: Path, connection: StoredConnection) -> Path | None:
    """The `.env` that Gemini CLI reads in this folder in place of ours, if it lacks the key; None where all is well."""
    wanted = next((path for each in connection.files if (path := Path(each.path)).name == ".env"), None)
    if wanted is None or os.environ.get(_HEADER[0]):
        return None
    places = (path for at in (project, *project.parents) for path in (at / ".gemini" / ".env", at / ".env"))
    read = next((path for path in places if path.is_file()), wanted)
    return None if value_in(read, _HEADER) == value_in(wanted, _HEADER) else read


def plugin_finds_svc(config: Path) -> bool:
    """Whether the hooks of svc's own plugin find the program: as it was noted, or on the PATH."""
    places = [os.path.join(folder, "svc") for folder in os.environ.get("PATH", "").split(os.pathsep)]
    with contextlib.suppress(OSError):
        places.append((config / "program").read_text().strip())
    return any(place and os.access(place, os.X_OK) for place in places)


def elsewhere(agent: AgentName, scope: Scope, files: Plans) -> Iterator[str]:
    """A sentence for each setting, in this folder and shell, that may send the key to somebody else.

    An agent sends its key with its telemetry: whatever outranks our settings must name our server, or nothing at all.
    """
    ours = {change.path: change.value for changes in files.values() for change in changes if isinstance(change, Put)}
    project = Path.cwd()
    at_home = next(iter(files)).parent.parent == project  # there a project's settings are one's own
    known = KNOWN_AGENTS[agent]
    managed = known.managed_mac if _MAC else known.managed
    above = [path for name in managed for path in sorted(MANAGED.glob(name))]
    if scope == "user" and not at_home:
        above += [project / name for name in known.in_projects]
    for path in above:
        for key, value in ours.items():
            if value_in(path, key) not in (UNSET, value):
                name = ".".join(key)
                yield f"{path} sets {name} to something else, and outranks your own settings; take it out there"
    if agent == "claude-code":
        for path in (*above, *files):
            if value_in(path, ("otelHeadersHelper",)) is not UNSET:
                yield f"{path} sets otelHeadersHelper, a program that may send other headers; take it out"
    for name in (path[0] for path in ours if len(path) == 1):  # what is put into a file of variables
        if os.environ.get(name, ours[name,]) != ours[name,]:
            yield f"{name} is set in the shell, and outranks every file; unset it there"
