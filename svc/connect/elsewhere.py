"""What else decides where an agent's telemetry goes, besides the files that `svc connect` writes.

An agent sends its key with its telemetry. So whatever outranks our settings must name our server, or nothing at all.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from svc.connect.agents import FilePlan, Scope, Target
from svc.connect.changes import Format, Put
from svc.connect.surroundings import value_in

MANAGED = Path("/Library/Application Support" if sys.platform == "darwin" else "/etc")
"""Where whoever looks after the machine keeps settings that outrank a person's own."""
_MANAGED_CLAUDE = "ClaudeCode" if sys.platform == "darwin" else "claude-code"
_MANAGED_GEMINI = "GeminiCli" if sys.platform == "darwin" else "gemini-cli"
_GEMINI_SHELL = ("GEMINI_TELEMETRY_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS")
"""Gemini CLI takes these from the shell before it looks into any `.env`."""
_FORMATS: dict[str, Format] = {".json": "json", ".toml": "toml", "": "env"}
_HELPER = ("otelHeadersHelper",)


def elsewhere(
    target: Target, scope: Scope, files: list[FilePlan], project: Path, environment: Mapping[str, str]
) -> Iterator[str]:
    """A sentence for each setting that may send the key, or what it opens, to somebody else."""
    ours = {change.path: change.value for plan in files for change in plan.changes if isinstance(change, Put)}
    at_home = files[0].path.parent.parent == project  # there a project's settings are one's own
    above = _above(target, project if scope == "user" and not at_home else None)
    for path in above:
        yield from _against(path, ours)
    if target.agent == "claude-code":
        for path in [*above, *(plan.path for plan in files)]:
            if value_in(path, "json", _HELPER) is not UNSET:
                yield f"{path} sets otelHeadersHelper, a program that may send other headers; take it out"
    shell: tuple[str, ...] = _GEMINI_SHELL if target.agent == "gemini" else ()
    if target.agent in ("copilot", "opencode"):
        shell = tuple(path[0] for path in ours if len(path) == 1)
    for name in shell:
        if environment.get(name, ours[name,]) != ours[name,]:
            yield f"{name} is set in the shell, and outranks every file; unset it there"


def _above(target: Target, project: Path | None) -> list[Path]:
    """The files that outrank those that are written: the machine's, and those of a project."""
    names: tuple[str, ...] = ()
    managed: list[Path] = []
    match target.agent:
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


def _against(path: Path, ours: Mapping[tuple[str, ...], Any]) -> Iterator[str]:
    kind = _FORMATS[path.suffix]
    for key, value in ours.items():
        found = value_in(path, kind, key)
        if found is not UNSET and found != value:
            yield f"{path} sets {'.'.join(key)} to something else, and outranks your own settings; take it out there"
