"""What is switched on in which agent, and in which of its files. Pure but for where a home folder lies."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from svc.connect.changes import Append, Change, Put, Refused, apply, document_of

AgentName = Literal["claude-code", "codex", "gemini", "copilot", "opencode"]
Scope = Literal["user", "project"]
Plans = dict[Path, list[Change]]
ENV_FILE = "svc.env"  # of an agent that takes its telemetry from its environment alone: for a shell to read
HOOK_SECONDS = 5  # what an agent gives a hook before it ends it; it ends by itself within two
CODEX_END_SECONDS = 3  # the most that Codex gives a hook of a session's end
_NEW_SHELL = "A shell keeps the variables that it has read: open a new one."
RESTART: dict[AgentName, str] = {
    "codex": "A Codex that runs in the background keeps its old settings: codex app-server daemon restart",
    "copilot": _NEW_SHELL,
    "opencode": _NEW_SHELL,
}
"""What must be started anew besides the agent's windows."""
OPENCODE_WAIT_MS = "100"
NEVER_FAILS = " || true"  # should svc be gone one day, the agent hears of no fault
CLAUDE_TOOLS = "Bash|Edit|MultiEdit|NotebookEdit|Write"
"""The tools whose calls a hook tells: those that change files or run commands."""
_FOLDERS: dict[AgentName, tuple[str, str | None]] = {
    "claude-code": (".claude", "CLAUDE_CONFIG_DIR"),
    "codex": (".codex", "CODEX_HOME"),
    "gemini": (".gemini", None),
    "copilot": (".copilot", "COPILOT_HOME"),
    "opencode": (".config/opencode", None),
}
"""Where an agent's settings lie at home, and the variable that says otherwise."""
_SERVERS: dict[AgentName, tuple[str, str, dict[str, Any]]] = {
    "claude-code": (".claude.json", "mcpServers", {"type": "stdio"}),
    "codex": ("config.toml", "mcp_servers", {}),
    "gemini": ("settings.json", "mcpServers", {}),
    "copilot": ("mcp-config.json", "mcpServers", {"type": "local", "tools": ["*"]}),
    "opencode": ("opencode.json", "mcp", {"type": "local", "enabled": True}),
}
"""Where an agent looks for servers of MCP: file, table, and what it wants of each. No key: `svc mcp` finds it."""
_KEY_HEADER = "X-API-Key"
"""For agents that take headers from their environment: some decode what stands there, some do not, and here both
read the same. Agents that share a shell also share this variable."""
_BY_SHELL = (
    "{0} takes this from its environment alone. Have your shell read the file before it starts {0}, for example in its "
    "profile: set -a; . ~/{1}/svc.env; set +a",
    "{0} is connected by its telemetry alone: svc sets up no hooks for it.",
)
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
    "copilot": [each.format("Copilot CLI", ".copilot") for each in _BY_SHELL],
    "opencode": [
        *(each.format("opencode", ".config/opencode") for each in _BY_SHELL),
        "With each request opencode also sends the whole conversation that it asked the model, and its own log; it has "
        "no switch for that.",
    ],
}


class Target(msgspec.Struct, frozen=True):
    """An agent's settings at one place, and the server they are to point to."""

    agent: AgentName
    url: str
    key: str
    command: tuple[str, ...]  # what a hook runs
    hooks: bool = True  # False where the agent's plugin brings them
    asks: tuple[str, ...] | None = None  # what the agent runs as a server of MCP
    coach: tuple[str, ...] | None = None  # what grades a prompt as it is sent


def folder_of(agent: AgentName, scope: Scope, project: Path) -> Path:
    """The folder of the agent's settings. Raises `Refused` where the agent takes none from there."""
    folder, variable = _FOLDERS[agent]
    if scope == "project":
        if agent in ("codex", "copilot", "opencode"):
            raise Refused(f"{agent} takes no telemetry settings from a project; connect it with --scope user")
        return project / folder
    if agent == "opencode" and (base := os.environ.get("XDG_CONFIG_HOME")):
        return Path(base) / "opencode"
    chosen = os.environ.get(variable) if variable else None
    return Path(chosen).expanduser() if chosen else Path.home() / folder


def told(target: Target) -> list[str]:
    """What is switched on, in plain words."""
    said = [
        "The text of your prompts and of the agent's answers, when they are given, how long they took, and the folder "
        "they were given in.",
        "Tool calls with their details: commands, file paths, and what was written into files.",
        "Models, tokens, costs, errors, and when sessions begin and end.",
        "What its telemetry says of its user and version: account ids, and the e-mail address where it knows one.",
        *_OWN_WORDS[target.agent],
        f"All of it goes to {target.url} and nowhere else.",
    ]
    if target.coach:
        said.append("On this machine each prompt is graded as it is sent: one line names a habit that is missed.")
    if target.asks:
        said.append("The agent may ask svc about your own work, by MCP; it changes nothing there.")
    return said


def to_paste(url: str) -> Iterator[tuple[AgentName, str, str]]:
    """Agent, file and text: the telemetry settings of every agent, for a person to put there."""
    for agent, (folder, _) in _FOLDERS.items():
        target = Target(agent, url, "YOUR_KEY", (), hooks=False)
        for path, changes in plans(target, "user", Path("~") / folder).items():
            document = document_of(path.name, "")
            apply(document, changes)
            yield agent, str(path), document.render()


def plans(target: Target, scope: Scope, folder: Path) -> Plans:
    """What changes in which file, in the order in which these are written."""
    files: Plans = {}
    for path, changes in (*_telemetry(target, scope, folder), *_asking(target, scope, folder)):
        files.setdefault(path, []).extend(changes)
    return {path: changes for path, changes in files.items() if changes}


def _asking(target: Target, scope: Scope, folder: Path) -> Iterator[tuple[Path, list[Change]]]:
    if target.asks is None:
        return
    (name, table, more), (program, *arguments) = _SERVERS[target.agent], target.asks
    if target.agent == "claude-code" and scope == "project":
        folder, name = folder.parent, ".mcp.json"
    elif target.agent == "claude-code" and not os.environ.get("CLAUDE_CONFIG_DIR"):
        folder = folder.parent  # beside its own folder
    opencode = target.agent == "opencode"
    how = {"command": list(target.asks)} if opencode else {"command": program, "args": arguments}
    yield folder / name, [Put((table, "svc"), more | how)]


def _telemetry(target: Target, scope: Scope, folder: Path) -> Iterator[tuple[Path, list[Change]]]:
    bearer, header = f"Bearer {target.key}", f"{_KEY_HEADER}={target.key}"
    match target.agent:
        case "claude-code":
            variables = {
                "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
                "OTEL_LOGS_EXPORTER": "otlp",
                "OTEL_METRICS_EXPORTER": "otlp",
                "OTEL_LOG_USER_PROMPTS": "1",
                "OTEL_LOG_TOOL_DETAILS": "1",
            }
            variables |= _exporter(target.url, f"Authorization={bearer}", "logs", "metrics", "traces")
            # A project's own settings are shared by everybody who has it: the key goes into those that are not.
            path = folder / ("settings.json" if scope == "user" else "settings.local.json")
            yield path, _puts(variables, "env")
            yield path, _hooks(target, "SessionStart", "UserPromptSubmit", "Stop", "StopFailure")
            yield path, _hooks(target, "PostToolUse", "PostToolUseFailure", matcher=CLAUDE_TOOLS)
            yield path, _hooks(target, "SessionEnd")
            if target.coach is not None:
                yield path, [_hook("UserPromptSubmit", target.coach)]
        case "codex":
            # Its metrics carry no session, and its traces the same words at a hundred times the size.
            otlp = {"endpoint": f"{target.url}/v1/logs", "protocol": "json", "headers": {"authorization": bearer}}
            none = {"trace_exporter": "none", "metrics_exporter": "none"}
            settings = {"log_user_prompt": True, "exporter": {"otlp-http": otlp}, **none}
            yield folder / "config.toml", _puts(settings, "otel")
            yield folder / "hooks.json", _hooks(target, "SessionStart", "UserPromptSubmit", "Stop", "Interrupt")
            yield folder / "hooks.json", _hooks(target, "SessionEnd", timeout=CODEX_END_SECONDS)
        case "copilot":
            variables = {"COPILOT_OTEL_ENABLED": "true", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
            yield folder / ENV_FILE, _puts(variables | _exporter(target.url, header, "traces", "metrics"))
        case "opencode":
            yield folder / "opencode.json", [Put(("experimental", "openTelemetry"), True)]
            # It leaves without sending what waits: by default that is what its last five seconds were.
            variables = _exporter(target.url, header, "traces", "metrics", "logs")
            yield folder / ENV_FILE, _puts(variables | {"OTEL_BSP_SCHEDULE_DELAY": OPENCODE_WAIT_MS})
        case "gemini":
            http = {"target": "local", "otlpProtocol": "http", "otlpEndpoint": target.url}
            events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
            yield folder / "settings.json", _puts({"enabled": True, **http, "logPrompts": True}, "telemetry")
            yield folder / "settings.json", _hooks(target, *events, timeout=HOOK_SECONDS * 1000)
            # It has no setting for a header; its exporters take the key from the environment. Of all names of an
            # address this one outranks the others.
            address = {"GEMINI_TELEMETRY_OTLP_ENDPOINT": target.url, "OTEL_EXPORTER_OTLP_HEADERS": header}
            yield folder / ".env", _puts(address)


def _exporter(url: str, header: str, *signals: str) -> dict[str, str]:
    """A signal's own variable, here or in the shell, would outrank the others: the key would go to its address."""
    found = {"PROTOCOL": "http/json", "ENDPOINT": url, "HEADERS": header}
    for signal in signals:
        own = {"ENDPOINT": f"{url}/v1/{signal}", "PROTOCOL": "http/json", "HEADERS": header}
        found |= {f"{signal.upper()}_{name}": value for name, value in own.items()}
    return {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in found.items()}


def _puts(values: Mapping[str, Any], *table: str) -> list[Change]:
    return [Put((*table, name), value) for name, value in values.items()]


def _hooks(target: Target, *events: str, timeout: int = HOOK_SECONDS, matcher: str | None = None) -> list[Change]:
    return [_hook(event, target.command, timeout, matcher) for event in events] if target.hooks else []


def _hook(event: str, program: Sequence[str], timeout: int = HOOK_SECONDS, matcher: str | None = None) -> Append:
    """In the shape of all three agents. One with a matcher tells tool calls: it runs beside the agent."""
    command: dict[str, Any] = {"type": "command", "command": shlex.join(program) + NEVER_FAILS, "timeout": timeout}
    group: dict[str, Any] = {"hooks": [command]}
    if matcher is not None:
        group = {"matcher": matcher, "hooks": [{**command, "async": True}]}
    return Append(("hooks", event), group)
