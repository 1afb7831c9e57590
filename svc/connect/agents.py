"""What is switched on in which agent, and in which of its files. Pure but for where a home folder lies."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from svc.connect.changes import Append, Change, Put

AgentName = Literal["claude-code", "codex", "gemini"]
Scope = Literal["user", "project"]
Format = Literal["json", "toml", "env"]
HOOK_SECONDS = 5
"""What an agent gives a hook before it ends it; it ends by itself within two."""
CLAUDE_TOOLS = "Bash|Edit|MultiEdit|NotebookEdit|Write"
"""The tools whose calls a hook tells: those that change files or run commands."""


class Refused(Exception):
    """This cannot be set up; the message says why and what to do instead."""


class FilePlan(msgspec.Struct, frozen=True):
    """What changes in one file."""

    path: Path
    format: Format
    changes: tuple[Change, ...]
    secret: bool
    """Whether a key stands in it."""


class Target(msgspec.Struct, frozen=True):
    """An agent's settings at one place, and the server they are to point to."""

    agent: AgentName
    url: str
    key: str
    command: tuple[str, ...]
    """What a hook runs."""
    hooks: bool = True
    """False where the agent's plugin brings them."""


def folder_of(agent: AgentName, scope: Scope, project: Path, environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the agent's settings. Raises `Refused` where the agent takes none from there."""
    environ = os.environ if environment is None else environment
    if scope == "project":
        if agent == "codex":
            raise Refused("Codex takes [otel] from the user's own config.toml only; connect it with --scope user")
        return project / {"claude-code": ".claude", "gemini": ".gemini"}[agent]
    chosen = environ.get({"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(agent, ""))
    if chosen:
        return Path(chosen).expanduser()
    return Path.home() / {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini"}[agent]


def plans(target: Target, scope: Scope, folder: Path) -> list[FilePlan]:
    """Every file that changes, in the order in which it is written."""
    match target.agent:
        case "claude-code":
            return _claude_code(target, scope, folder)
        case "codex":
            return _codex(target, folder)
        case "gemini":
            return _gemini(target, folder)


def told(target: Target) -> list[str]:
    """What is switched on, in plain words."""
    common = [
        "The text of your prompts and of the agent's answers, when they are given, how long they took, and the folder "
        "they were given in.",
        "Tool calls with their details: commands, file paths, and what was written into files.",
        "Models, tokens, costs, errors, and when sessions begin and end.",
        "What its telemetry says of its user and version: account ids, and the e-mail address where it knows one.",
    ]
    return [*common, *_OWN_WORDS[target.agent], f"All of it goes to {target.url} and nowhere else."]


_OWN_WORDS: dict[AgentName, list[str]] = {
    "claude-code": [],
    "codex": [
        "Codex also sends what its tools printed; it has no switch for that.",
        "Codex asks you to trust the new hooks at its next start; until then only its telemetry is sent.",
    ],
    "gemini": [
        "Gemini CLI takes the key from a .env file, and reads one only: in a project that has a .env of its own its "
        "telemetry is sent without the key and refused, while the hooks go on.",
    ],
}


# --- Claude Code ------------------------------------------------------------------------------------------


def _claude_code(target: Target, scope: Scope, folder: Path) -> list[FilePlan]:
    """A project's own settings are shared by everybody who has it: the key goes into those that are not."""
    name = "settings.json" if scope == "user" else "settings.local.json"
    values = {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
        "OTEL_EXPORTER_OTLP_ENDPOINT": target.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {target.key}",
        "OTEL_LOG_USER_PROMPTS": "1",
        "OTEL_LOG_TOOL_DETAILS": "1",
    }
    changes: list[Change] = [Put(("env", each), value) for each, value in values.items()]
    if target.hooks:
        beside = {"async": True}
        changes += [_hook(target, event, HOOK_SECONDS) for event in ("SessionStart", "UserPromptSubmit", "Stop")]
        for event in ("PostToolUse", "PostToolUseFailure"):
            changes.append(_hook(target, event, HOOK_SECONDS, beside, matcher=CLAUDE_TOOLS))
        changes.append(_hook(target, "SessionEnd", HOOK_SECONDS))
    return [FilePlan(folder / name, "json", tuple(changes), secret=True)]


# --- Codex ------------------------------------------------------------------------------------------------


def _codex(target: Target, folder: Path) -> list[FilePlan]:
    """Its metrics carry no session and stay where they go; hooks stand in a file of their own."""
    headers = {"authorization": f"Bearer {target.key}"}
    exporter = {"otlp-http": {"endpoint": f"{target.url}/v1/logs", "protocol": "json", "headers": headers}}
    changes = (Put(("otel", "log_user_prompt"), True), Put(("otel", "exporter"), exporter))
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    hooks = tuple(_hook(target, event, HOOK_SECONDS) for event in events)
    settings = FilePlan(folder / "config.toml", "toml", changes, secret=True)
    return [settings, FilePlan(folder / "hooks.json", "json", hooks, secret=False)] if target.hooks else [settings]


# --- Gemini -----------------------------------------------------------------------------------------------


def _gemini(target: Target, folder: Path) -> list[FilePlan]:
    """It has no setting for a header; its exporters take the key from the environment, a blank in it as %20."""
    values = {
        "enabled": True,
        "target": "local",
        "otlpProtocol": "http",
        "otlpEndpoint": target.url,
        "logPrompts": True,
    }
    changes: list[Change] = [Put(("telemetry", name), value) for name, value in values.items()]
    if target.hooks:
        events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
        changes += [_hook(target, event, HOOK_SECONDS * 1000) for event in events]
    header = Put(("OTEL_EXPORTER_OTLP_HEADERS",), f"Authorization={quote(f'Bearer {target.key}')}")
    settings = FilePlan(folder / "settings.json", "json", tuple(changes), secret=False)
    return [settings, FilePlan(folder / ".env", "env", (header,), secret=True)]


def _hook(
    target: Target, event: str, timeout: int, more: dict[str, Any] | None = None, matcher: str | None = None
) -> Append:
    """One command of one event, in the shape of all three agents. Should svc be gone one day, it still ends well."""
    line = f"{shlex.join(target.command)} || true"
    command = {"type": "command", "command": line, "timeout": timeout, **(more or {})}
    group: dict[str, Any] = {"hooks": [command]}
    return Append(("hooks", event), group if matcher is None else {"matcher": matcher, **group})
