"""What is switched on in which agent, and in which of its files. Pure but for where a home folder lies."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from svc.connect.changes import DOCUMENTS, Append, Change, Format, Put, Refused, apply

AgentName = Literal["claude-code", "codex", "gemini", "copilot", "opencode"]
Scope = Literal["user", "project"]
ENV_FILE = "svc.env"
"""Of an agent that takes its telemetry from its environment alone: for a shell to read."""
HOOK_SECONDS = 5
"""What an agent gives a hook before it ends it; it ends by itself within two."""
CODEX_END_SECONDS = 3
"""The most that Codex gives a hook of a session's end."""
RESTART: dict[AgentName, str] = {
    "codex": "A Codex that runs in the background keeps its old settings: codex app-server daemon restart",
    "copilot": "A shell keeps the variables that it has read: open a new one.",
    "opencode": "A shell keeps the variables that it has read: open a new one.",
}
"""What must be started anew besides the agent's windows."""
OPENCODE_WAIT_MS = "100"
NEVER_FAILS = " || true"
"""How a hook's command ends: should svc be gone one day, the agent hears of no fault."""
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
_KEY_HEADER = "X-API-Key"
"""For agents that take headers from their environment: some decode what stands there, some do not, and here both
read the same. Agents that share a shell also share this variable."""
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
    "copilot": [
        "Copilot CLI takes this from its environment alone. Have your shell read the file before it starts Copilot, "
        f"for example in its profile: set -a; . ~/.copilot/{ENV_FILE}; set +a",
        "Copilot is connected by its telemetry alone: svc sets up no hooks for it.",
    ],
    "opencode": [
        "opencode takes the address and the key from its environment alone. Have your shell read the file before it "
        f"starts opencode, for example in its profile: set -a; . ~/.config/opencode/{ENV_FILE}; set +a",
        "With each request opencode also sends the whole conversation that it asked the model, and its own log; it has "
        "no switch for that.",
        "opencode is connected by its telemetry alone: svc sets up no hooks for it.",
    ],
}


class FilePlan(msgspec.Struct, frozen=True):
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
    asks: tuple[str, ...] | None = None
    """What the agent runs as a server of MCP; None where it asks nothing."""
    coach: tuple[str, ...] | None = None
    """What grades a prompt as it is sent; None where nobody asked for it."""


def folder_of(agent: AgentName, scope: Scope, project: Path) -> Path:
    """The folder of the agent's settings. Raises `Refused` where the agent takes none from there."""
    folder, variable = _FOLDERS[agent]
    if scope == "project":
        if agent == "codex":
            raise Refused("Codex takes [otel] from the user's own config.toml only; connect it with --scope user")
        if agent in ("copilot", "opencode"):
            raise Refused(f"{agent} takes its telemetry from the environment only; connect it with --scope user")
        return project / folder
    if agent == "opencode" and (base := os.environ.get("XDG_CONFIG_HOME")):
        return Path(base) / "opencode"
    chosen = os.environ.get(variable) if variable else None
    return Path(chosen).expanduser() if chosen else Path.home() / folder


def told(target: Target) -> list[str]:
    """What is switched on, in plain words."""
    return [
        "The text of your prompts and of the agent's answers, when they are given, how long they took, and the folder "
        "they were given in.",
        "Tool calls with their details: commands, file paths, and what was written into files.",
        "Models, tokens, costs, errors, and when sessions begin and end.",
        "What its telemetry says of its user and version: account ids, and the e-mail address where it knows one.",
        *_OWN_WORDS[target.agent],
        f"All of it goes to {target.url} and nowhere else.",
        *(
            ["On this machine each prompt is graded as it is sent: one line names a habit that is missed."]
            if target.coach
            else []
        ),
        *(["The agent may ask svc about your own work, by MCP; it changes nothing there."] if target.asks else []),
    ]


def to_paste(url: str) -> Iterator[tuple[AgentName, str, str]]:
    """Agent, file and text: the telemetry settings of every agent, for a person to put there."""
    for agent, (folder, _) in _FOLDERS.items():
        for plan in plans(Target(agent, url, "YOUR_KEY", (), hooks=False), "user", Path("~") / folder):
            document = DOCUMENTS[plan.format]("")
            apply(document, plan.changes)
            yield agent, str(plan.path), document.render()


def plans(target: Target, scope: Scope, folder: Path) -> list[FilePlan]:
    """Every file that changes, in the order in which it is written; each once."""
    files = {plan.path: plan for plan in _telemetry(target, scope, folder)}
    for plan in _asking(target, scope, folder):
        known = files.get(plan.path)
        changes = plan.changes if known is None else (*known.changes, *plan.changes)
        files[plan.path] = msgspec.structs.replace(known or plan, changes=changes)
    return list(files.values())


def _asking(target: Target, scope: Scope, folder: Path) -> list[FilePlan]:
    """Where an agent looks for servers of MCP; no key stands there, `svc mcp` finds it by itself."""
    if target.asks is None:
        return []
    program, *arguments = target.asks
    server: dict[str, Any] = {"command": program, "args": arguments}
    match target.agent:
        case "claude-code":
            path = folder.parent / ".mcp.json" if scope == "project" else _claude_file(folder)
            return [FilePlan(path, "json", (Put(("mcpServers", "svc"), {"type": "stdio", **server}),), secret=False)]
        case "codex":
            return [FilePlan(folder / "config.toml", "toml", _puts("mcp_servers", {"svc": server}), secret=False)]
        case "gemini":
            return [FilePlan(folder / "settings.json", "json", _puts("mcpServers", {"svc": server}), secret=False)]
        case "copilot":
            wanted = {"svc": {"type": "local", **server, "tools": ["*"]}}
            return [FilePlan(folder / "mcp-config.json", "json", _puts("mcpServers", wanted), secret=False)]
        case "opencode":
            own = {"svc": {"type": "local", "command": list(target.asks), "enabled": True}}
            return [FilePlan(folder / "opencode.json", "json", _puts("mcp", own), secret=False)]


def _claude_file(folder: Path) -> Path:
    """Claude Code keeps its servers beside its folder, or in the folder that CLAUDE_CONFIG_DIR names."""
    return folder / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else folder.parent / ".claude.json"


def _telemetry(target: Target, scope: Scope, folder: Path) -> list[FilePlan]:
    bearer = f"Bearer {target.key}"
    match target.agent:
        case "claude-code":
            # A project's own settings are shared by everybody who has it: the key goes into those that are not.
            name = "settings.json" if scope == "user" else "settings.local.json"
            variables = {
                "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
                "OTEL_LOGS_EXPORTER": "otlp",
                "OTEL_METRICS_EXPORTER": "otlp",
                "OTEL_LOG_USER_PROMPTS": "1",
                "OTEL_LOG_TOOL_DETAILS": "1",
            }
            variables |= _exporter(target.url, f"Authorization={bearer}", "logs", "metrics", "traces")
            hooks = (
                *_hooks(target, "SessionStart", "UserPromptSubmit", "Stop", "StopFailure"),
                *_hooks(target, "PostToolUse", "PostToolUseFailure", matcher=CLAUDE_TOOLS),
                *_hooks(target, "SessionEnd"),
                *([] if target.coach is None else [_hook("UserPromptSubmit", target.coach)]),
            )
            return [FilePlan(folder / name, "json", (*_puts("env", variables), *hooks), secret=True)]
        case "codex":
            # Its metrics carry no session, and its traces the same words at a hundred times the size.
            otlp = {"endpoint": f"{target.url}/v1/logs", "protocol": "json", "headers": {"authorization": bearer}}
            none = {"trace_exporter": "none", "metrics_exporter": "none"}
            changes = _puts("otel", {"log_user_prompt": True, "exporter": {"otlp-http": otlp}, **none})
            settings = FilePlan(folder / "config.toml", "toml", changes, secret=True)
            hooks = (
                *_hooks(target, "SessionStart", "UserPromptSubmit", "Stop", "Interrupt"),
                *_hooks(target, "SessionEnd", timeout=CODEX_END_SECONDS),
            )
            return [settings, *([FilePlan(folder / "hooks.json", "json", hooks, secret=False)] if hooks else [])]
        case "copilot":
            variables = {"COPILOT_OTEL_ENABLED": "true", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
            variables |= _exporter(target.url, f"{_KEY_HEADER}={target.key}", "traces", "metrics")
            changes = tuple(Put((name,), value) for name, value in variables.items())
            return [FilePlan(folder / ENV_FILE, "env", changes, secret=True)]
        case "opencode":
            variables = _exporter(target.url, f"{_KEY_HEADER}={target.key}", "traces", "metrics", "logs")
            # It leaves without sending what waits: by default that is what its last five seconds were.
            variables |= {"OTEL_BSP_SCHEDULE_DELAY": OPENCODE_WAIT_MS}
            changes = tuple(Put((name,), value) for name, value in variables.items())
            spans = Put(("experimental", "openTelemetry"), True)
            return [
                FilePlan(folder / "opencode.json", "json", (spans,), secret=False),
                FilePlan(folder / ENV_FILE, "env", changes, secret=True),
            ]
        case "gemini":
            # It has no setting for a header; its exporters take the key from the environment.
            values = {
                "enabled": True,
                "target": "local",
                "otlpProtocol": "http",
                "otlpEndpoint": target.url,
                "logPrompts": True,
            }
            events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
            hooks = _hooks(target, *events, timeout=HOOK_SECONDS * 1000)
            # Of all names of an address this one outranks the others.
            address = Put(("GEMINI_TELEMETRY_OTLP_ENDPOINT",), target.url)
            header = Put(("OTEL_EXPORTER_OTLP_HEADERS",), f"{_KEY_HEADER}={target.key}")
            return [
                FilePlan(folder / "settings.json", "json", (*_puts("telemetry", values), *hooks), secret=False),
                FilePlan(folder / ".env", "env", (address, header), secret=True),
            ]


def _exporter(url: str, header: str, *signals: str) -> dict[str, str]:
    """A signal's own variable, here or in the shell, would outrank the others: the key would go to its address."""
    found = {"PROTOCOL": "http/json", "ENDPOINT": url, "HEADERS": header}
    for signal in signals:
        own = {"ENDPOINT": f"{url}/v1/{signal}", "PROTOCOL": "http/json", "HEADERS": header}
        found |= {f"{signal.upper()}_{name}": value for name, value in own.items()}
    return {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in found.items()}


def _puts(table: str, values: dict[str, Any]) -> tuple[Change, ...]:
    return tuple(Put((table, name), value) for name, value in values.items())


def _hooks(target: Target, *events: str, timeout: int = HOOK_SECONDS, matcher: str | None = None) -> tuple[Change, ...]:
    """One command of each event, in the shape of all three agents.

    One with a matcher tells tool calls: it runs beside the agent.
    """
    if not target.hooks:
        return ()
    return tuple(_hook(event, target.command, timeout, matcher) for event in events)


def _hook(event: str, program: Sequence[str], timeout: int = HOOK_SECONDS, matcher: str | None = None) -> Append:
    command: dict[str, Any] = {"type": "command", "command": shlex.join(program) + NEVER_FAILS, "timeout": timeout}
    group: dict[str, Any] = {"hooks": [command]}
    if matcher is not None:
        group = {"matcher": matcher, "hooks": [{**command, "async": True}]}
    return Append(("hooks", event), group)
