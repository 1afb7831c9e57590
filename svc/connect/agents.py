"""What is switched on in which agent, and in which of its files: as `agents.toml` says."""

import os
import shlex
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from svc.connect.changes import Append, Change, Put, Refused, apply, document_of
from svc.templates import filled

if TYPE_CHECKING:
    from svc_http.ports import ClientSetup, Pasted, Wheel

AgentName = Literal["claude-code", "codex", "gemini", "copilot", "opencode"]
Scope = Literal["user", "project"]
Plans = dict[Path, list[Change]]
NEVER_FAILS = " || true"  # should svc be gone one day, the agent hears of no fault


class SettingsFile(msgspec.Struct, frozen=True):
    name: str
    values: dict[str, Any]
    table: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    header: str = ""

    def changes(self, url: str, key: str) -> list[Change]:
        values = dict(self.values)
        for signal in ("", *self.signals) if self.signals else ():
            prefix = f"OTEL_EXPORTER_OTLP_{signal.upper()}{'_' if signal else ''}"
            values[f"{prefix}ENDPOINT"] = f"{{url}}/v1/{signal}" if signal else "{url}"
            values |= {f"{prefix}PROTOCOL": "http/json", f"{prefix}HEADERS": self.header}
        return [Put((*self.table, name), value) for name, value in filled(values, {"url": url, "key": key}).items()]


class Hooks(msgspec.Struct, frozen=True):
    file: str
    events: tuple[str, ...] = ()
    timeout: int = 5
    matcher: str | None = None

    def calling(self, program: Sequence[str]) -> list[Change]:
        """In the shape of all three agents that have any."""
        command = {"type": "command", "command": shlex.join(program) + NEVER_FAILS, "timeout": self.timeout}
        group: dict[str, Any] = {"hooks": [command]}
        if self.matcher is not None:
            group = {"matcher": self.matcher, "hooks": [{**command, "async": True}]}
        return [Append(("hooks", event), group) for event in self.events]


class ToolServers(msgspec.Struct, frozen=True):
    file: str
    table: str
    more: dict[str, Any] = {}


class Agent(msgspec.Struct, frozen=True):
    folder: str
    files: list[SettingsFile]
    server: ToolServers
    hooks: list[Hooks] = []
    variable: str | None = None
    user_only: bool = False
    managed: tuple[str, ...] = ()
    managed_mac: tuple[str, ...] = ()
    in_projects: tuple[str, ...] = ()
    words: list[str] = []
    restart: str | None = None


KNOWN_AGENTS = msgspec.toml.decode(get_data(__name__, "agents.toml") or b"", type=dict[AgentName, Agent])


class Target(msgspec.Struct, frozen=True):
    agent: AgentName
    url: str
    key: str
    command: tuple[str, ...]  # what a hook runs
    hooks: bool = True  # False where the agent's plugin brings them
    asks: tuple[str, ...] | None = None  # what the agent runs as a server of MCP
    coach: tuple[str, ...] | None = None  # what grades a prompt as it is sent


def folder_of(agent: AgentName, scope: Scope, project: Path) -> Path:
    """The folder of the agent's settings. Raises `Refused` where the agent takes none from there."""
    known = KNOWN_AGENTS[agent]
    if scope == "project":
        if known.user_only:
            raise Refused(f"{agent} takes no telemetry settings from a project; connect it with --scope user")
        return project / known.folder
    if agent == "opencode" and (base := os.environ.get("XDG_CONFIG_HOME")):
        return Path(base) / "opencode"
    chosen = os.environ.get(known.variable) if known.variable else None
    return Path(chosen).expanduser() if chosen else Path.home() / known.folder


def told(target: Target) -> list[str]:
    said = [
        "The text of your prompts and of the agent's answers, when they are given, how long they took, and the folder "
        "they were given in.",
        "Tool calls with their details: commands, file paths, and what was written into files.",
        "Models, tokens, costs, errors, and when sessions begin and end.",
        "What its telemetry says of its user and version: account ids, and the e-mail address where it knows one.",
        *KNOWN_AGENTS[target.agent].words,
        f"All of it goes to {target.url} and nowhere else.",
    ]
    if target.coach:
        said.append("On this machine each prompt is graded as it is sent: one line names a habit that is missed.")
    if target.asks:
        said.append("The agent may ask svc about your own work, by MCP; it changes nothing there.")
    return said


def plans(target: Target, scope: Scope, folder: Path) -> Plans:
    known, files = KNOWN_AGENTS[target.agent], Plans()
    claude_project = target.agent == "claude-code" and scope == "project"

    def change(name: str, changes: list[Change], place: Path = folder) -> None:
        # A project's own settings are shared by everybody who has it: the key goes into those that are not.
        path = place / ("settings.local.json" if claude_project and name == "settings.json" else name)
        files.setdefault(path, []).extend(changes)

    for each in known.files:
        change(each.name, each.changes(target.url, target.key))
    for hooks in known.hooks if target.hooks else ():
        change(hooks.file, hooks.calling(target.command))
    if target.coach is not None:
        change("settings.json", Hooks("", ("UserPromptSubmit",)).calling(target.coach))
    if target.asks is not None:
        name, place, (program, *arguments) = known.server.file, folder, target.asks
        if claude_project:
            name, place = ".mcp.json", folder.parent
        elif target.agent == "claude-code" and not os.environ.get("CLAUDE_CONFIG_DIR"):
            place = folder.parent  # beside its own folder
        opencode = target.agent == "opencode"
        how = {"command": list(target.asks)} if opencode else {"command": program, "args": arguments}
        change(name, [Put((known.server.table, "svc"), known.server.more | how)], place)
    return files


# What a server hands out: a wheel of itself, for other machines to install, and texts to paste.

DISTRIBUTION = "coding-agent-mirror"
_PACKAGES = ("aggregates", "projections", "svc", "svc_http")
_ALL_READ = 0o644 << 16


@cache
def client_setup(url: str) -> "ClientSetup":
    """With what another machine sends to this intake. Takes a second."""
    from svc_http.ports import ClientSetup

    return ClientSetup(made_here(), list(to_paste(url)))


def to_paste(url: str) -> "Iterator[Pasted]":
    """The telemetry settings of every agent, for a person to put there."""
    from svc_http.ports import Pasted

    for agent, known in KNOWN_AGENTS.items():
        target = Target(agent, url, "YOUR_KEY", (), hooks=False)
        for path, changes in plans(target, "user", Path("~") / known.folder).items():
            document = document_of(path.name, "")
            apply(document, changes)
            yield Pasted(agent, str(path), document.render())


def made_here() -> "Wheel | None":
    """The same bytes whenever it is made of the same files; None in the one-file program."""
    import zipfile  # late, as what follows: commands that read the names of agents make no wheel
    from importlib.metadata import PackageNotFoundError, distribution

    from svc_http.ports import Wheel

    try:
        known = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    name, members = f"{DISTRIBUTION.replace('-', '_')}-{known.version}", dict[str, bytes]()
    for package in _PACKAGES:
        found = find_spec(package)
        assert found is not None
        assert found.origin is not None, "it runs here"
        folder = Path(found.origin).parent
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                members[f"{package}/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
    licences = [each.as_posix().partition(".dist-info/")[2] for each in known.files or () if "licenses" in each.parts]
    for each in ("METADATA", "WHEEL", "entry_points.txt", *licences):
        members[f"{name}.dist-info/{each}"] = (known.read_text(each) or "").encode()
    members = dict(sorted(members.items()))
    record = f"{name}.dist-info/RECORD"
    digests = {path: urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=") for path, data in members.items()}
    lines = [f"{path},sha256={digests[path]},{len(data)}\n" for path, data in members.items()]
    members[record] = "".join([*lines, f"{record},,\n"]).encode()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path, data in members.items():
            member = zipfile.ZipInfo(path)  # of 1980, whenever it is made
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, _ALL_READ
            packed.writestr(member, data)
    return Wheel(f"{name}-py3-none-any.whl", buffer.getvalue(), sha256(buffer.getvalue()).hexdigest())
