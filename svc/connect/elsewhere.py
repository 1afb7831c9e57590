"""What else decides where an agent's telemetry goes, besides the files that `svc connect` writes.

An agent sends its key with its telemetry. So whatever outranks our settings must name our server, or nothing at all.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import UNSET

from svc.connect.agents import AgentName, Plans, Scope
from svc.connect.changes import Put
from svc.connect.connecting import value_in

MANAGED = Path("/Library/Application Support" if sys.platform == "darwin" else "/etc")
"""Where whoever looks after the machine keeps settings that outrank a person's own."""
_MANAGED_CLAUDE, _MANAGED_GEMINI = (
    ("ClaudeCode", "GeminiCli") if sys.platform == "darwin" else ("claude-code", "gemini-cli")
)


def elsewhere(agent: AgentName, scope: Scope, files: Plans) -> Iterator[str]:
    """A sentence for each setting, in this folder and shell, that may send the key to somebody else."""
    ours = {change.path: change.value for changes in files.values() for change in changes if isinstance(change, Put)}
    project = Path.cwd()
    at_home = next(iter(files)).parent.parent == project  # there a project's settings are one's own
    above = _above(agent, project if scope == "user" and not at_home else None)
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


def _above(agent: AgentName, project: Path | None) -> list[Path]:
    """The files that outrank those that are written: the machine's, and those of a project."""
    names: tuple[str, ...] = ()
    managed: list[Path] = []
    match agent:
        case "claude-code":
            folder = MANAGED / _MANAGED_CLAUDE
            managed = [folder / "managed-settings.json", *sorted(folder.glob("managed-settings.d/*.json"))]
            names = (".claude/settings.local.json", ".claude/settings.json")
        case "codex":
            managed = [MANAGED / "codex" / "managed_config.toml"]
        case "gemini":
            managed = [MANAGED / _MANAGED_GEMINI / "settings.json"]
            names = (".gemini/settings.json", ".gemini/.env", ".env")
        case "opencode":
            names = ("opencode.json", ".opencode/opencode.json")
    return [*managed, *(project / name for name in names if project is not None)]
