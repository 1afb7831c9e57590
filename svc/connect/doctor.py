"""What may be wrong with a connection, one finding each, and what to do about it."""

import contextlib
import os
import re
import secrets
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from pkgutil import get_data
from typing import Any, Literal, TextIO

import msgspec

from aggregates.times import iso
from svc.connect.agents import KNOWN_AGENTS, NEVER_FAILS, AgentName, Plans, Scope, Target, plans
from svc.connect.changes import Append, FileReceipt, Keys, Put, Refused, read_file
from svc.connect.connections import Config, KeyRefused, NotAnswered, Server, StoredConnection
from svc.connect.review import Spent
from svc.hook.captures import CHECK, LOGS, checking
from svc.hook.machine import Outbox, config_folder, connection_file, connection_folder

_MAC = sys.platform == "darwin"
MANAGED = Path("/Library/Application Support" if _MAC else "/etc")
PLUGIN_FILES_MAX = 200
PLUGIN_FILE_BYTES_MAX = 256 * 1024
_INTAKE = (b"/v1/prompts", b"hook claude-code")  # stands in a plugin that captures prompts, svc's own or another's
_BACKGROUND = re.compile(r"\s*(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)\s+(?:\S*node\S*\s+)?\S*codex\S*\s(?:.*\s)?app-server\b")
"""How long a process has run as `ps` writes it, days and hours where there are any, and what it runs."""
_HEADER = ("OTEL_EXPORTER_OTLP_HEADERS",)
CLOCK_SECONDS_MAX = 60.0  # a clock that is further off puts prompts into the wrong order
CLOCK_SECONDS_READ = 2.0  # the server tells its time in whole seconds: so much may be wrong about it
READ_BACK_TRIES, READ_BACK_SECONDS = 20, 0.1  # behind a balancer another node answers, and knows it a little later
MCP_SECONDS = 20.0  # a server of MCP has so long to start, and to answer
HOOK_SECONDS = 10.0  # five times what a hook may take
CHARACTERS_SHOWN = 100
Level = Literal["ok", "warning", "wrong"]


class Finding(msgspec.Struct, frozen=True):
    what: str
    level: Level
    text: str
    to_do: str | None = None


@cache
def _findings() -> dict[str, tuple[str, Level, str] | tuple[str, Level, str, str]]:
    return msgspec.toml.decode(get_data(__name__, "findings.toml") or b"", type=dict[str, Any])


def found(name: str, /, **differs: object) -> Finding:
    what, level, *words = _findings()[name]
    return Finding(what, level, *(each.format(**differs) for each in words))


def examine(connection: StoredConnection) -> Iterator[Finding]:
    again, url = f"svc connect {connection.agent} --url {connection.url} --key …", connection.url
    for receipt in connection.files:
        yield from _settings(connection, receipt, again)
    target = Target(connection.agent, connection.url, connection.key, ())
    files = plans(target, connection.scope, Path(connection.folder))
    whys = elsewhere(connection.agent, connection.scope, files)
    yield from [found("elsewhere", why=why, again=again) for why in whys] or [found("address", url=url)]
    yield from _hooks(connection, again)
    match connection.agent:
        case "claude-code":
            yield from _plugins(connection)
        case "codex":
            if untrusted := list(untrusted_hooks(connection)):
                yield found("untrusted", events=", ".join(untrusted))
            kept = connection_file(connection.name)
            connected = time.time() - kept.stat().st_mtime if kept.exists() else 0.0
            if (background_codex_since(processes()) or 0) > connected + 1:
                yield found("background")
        case "gemini" if (path := env_without_key(Path.cwd(), connection)) is not None:
            yield found("other_env", path=path)
    yield from _server(connection, again)
    for path, place in connection.tool_servers():
        if (written := value_in(path, place)) is not msgspec.UNSET:
            yield _mcp(again, written)
    yield from _outbox(connection)
    yield from _judge(connection)


def _settings(connection: StoredConnection, receipt: FileReceipt, again: str) -> Iterator[Finding]:
    path = Path(receipt.path)
    try:
        held = read_file(path)
        document = held.document(path)
        changed = {".".join(each.path): each for each in receipt.changes if not each.stands(document.get(each.path))}
    except Refused as error:
        yield found("unreadable", path=path, error=error, again=again)
        return
    name = "file_gone" if held.data is None else "changed" if changed else "written"
    yield found(name, path=path, names=", ".join(changed), again=again)
    if (held.mode or 0) & (stat.S_IRWXG | stat.S_IRWXO) and connection.key.encode() in (held.data or b""):
        yield found("open_to_others", path=path)


def _hooks(connection: StoredConnection, again: str) -> Iterator[Finding]:
    """Whether the command that the hooks run is still there, and whether the agent runs hooks at all."""
    first = next(connection.hooks(), None)
    if first is None:
        yield found("no_hooks")
        return
    command = shlex.split(_command(first[1]).removesuffix(NEVER_FAILS))
    gone = [each for each in command if os.path.isabs(each) and not os.path.exists(each)]
    if gone or shutil.which(command[0]) is None:
        yield found("hook_gone", gone=[*gone, command[0]][0], again=again)
    else:
        yield found("hooks", command=shlex.join(command))
    for path in dict.fromkeys(path for path, _ in connection.hooks()):
        if value_in(path, ("disableAllHooks",)) is True or value_in(path, ("hooksConfig", "enabled")) is False:
            yield found("hooks_off", path=path)


def _command(hooks: Append) -> str:
    return str(hooks.value["hooks"][0]["command"])


def _plugins(connection: StoredConnection) -> Iterator[Finding]:
    hooks = any(connection.hooks())
    for name in capturing_plugins(Path(connection.folder)):
        alone = name.startswith("svc@") and not plugin_finds_svc(config_folder())
        yield found("plugin_twice" if hooks else "plugin_alone" if alone else "plugin", name=name, url=connection.url)


def _server(connection: StoredConnection, again: str) -> Iterator[Finding]:
    silent, server = "no_server", Server(connection.url, connection.key)
    try:
        ahead = server.health()
        yield found("server", url=connection.url)
        side = "ahead of" if ahead > 0 else "behind"
        yield found("clock" if abs(ahead) <= CLOCK_SECONDS_MAX else "clock_off", seconds=abs(ahead), side=side)
        silent = "no_intake"
        told = server.config()
        yield found("key", start=connection.key[:8])
        yield round_trip(server, ahead)
        if (first := next(connection.hooks(), None)) is not None:
            yield run_hook(server, ahead, _command(first[1]), again)
        if told.arrivals_since is None:
            raise NotAnswered(f"{connection.url} is an older svc, which does not tell what arrived")
        yield from _arrivals(told, connection.agent)
    except KeyRefused as error:
        yield found("key_refused", error=error, again=again)
    except NotAnswered as error:
        yield found(silent, error=error)


def _arrivals(told: Config, agent: str) -> Iterator[Finding]:
    """What came from this agent, by signal; what came from others that svc does not know; what was refused."""
    since = f"since the server started at {told.arrivals_since}"
    for each in told.arrivals:
        if each.source == agent or each.source.startswith("unknown agent"):  # whose telemetry the server cannot read
            name = "arrived" if each.source == agent else "unknown_agent"
            yield found(name, since=since, **msgspec.structs.asdict(each))
    if all(each.source != agent for each in told.arrivals):
        yield found("silent", agent=agent, since=since)
    for refusal in told.refusals:
        taken = "in part" if refusal.status < 300 else f"with {refusal.status}"
        yield found("refused", taken=taken, **msgspec.structs.asdict(refusal))


def round_trip(server: Server, ahead: float) -> Finding:
    """A log record sent and read back; its time is the server's."""
    mark, at = secrets.token_hex(8), time.time() - ahead
    server.answer("POST", LOGS, checking(mark, at))
    took_ms = _read_back(server, mark, at)
    return found("not_captured") if took_ms is None else found("captured", took_ms=took_ms)


def run_hook(server: Server, ahead: float, command: str, again: str) -> Finding:
    """The same by the hook's own command, run as the agent runs it; it tells this machine's time."""
    mark, at = secrets.token_hex(8), time.time() - max(0.0, ahead)
    event = msgspec.json.encode({"hook_event_name": CHECK, "session_id": mark})
    try:
        done = subprocess.run(
            command, shell=True, input=event, capture_output=True, timeout=HOOK_SECONDS, cwd=os.sep, env=_agents_own()
        )
        why = done.stderr.decode(errors="replace").strip()[-CHARACTERS_SHOWN:]
    except subprocess.TimeoutExpired:
        why = f"it did not end within {HOOK_SECONDS:.0f} s"
    took_ms = _read_back(server, mark, at)
    if took_ms is None:
        return found("hook_lost", why=f": {why}" if why else "", again=again)
    return found("hook_arrived", took_ms=took_ms)


def _read_back(server: Server, mark: str, at: float) -> float | None:
    """After how many milliseconds a record of that time is there; None where it does not come."""
    begun, begin = time.monotonic(), iso(int((at - CLOCK_SECONDS_READ) * 1_000_000))
    for _ in range(READ_BACK_TRIES):
        if server.has_record(mark, begin):
            return (time.monotonic() - begun) * 1000
        time.sleep(READ_BACK_SECONDS)
    return None


def _agents_own() -> dict[str, str]:
    """The variables of this shell without those of svc: an agent is started elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}


def _asked_by_mcp(command: list[str]) -> tuple[bool, str]:
    """Whether a tool went well, and its words."""
    import trio  # late, as what follows: it takes a second, and is an extra
    from mcp import Client, StdioServerParameters, stdio_client

    async def asked(nowhere: TextIO) -> tuple[bool, str]:
        started = StdioServerParameters(command=command[0], args=command[1:], env=_agents_own(), cwd=os.sep)
        with trio.fail_after(MCP_SECONDS):
            async with Client(stdio_client(started, nowhere), mode="legacy") as client:
                answer = await client.call_tool("my_day")
                told = (each.text for each in answer.content if each.type == "text")
                return not answer.is_error, " ".join(" ".join(told).split())

    with open(os.devnull, "w") as nowhere:
        return trio.run(asked, nowhere)


def _mcp(again: str, server: dict[str, Any]) -> Finding:
    """What the agent's server of MCP answers, started as its settings say, when one tool is called."""
    command: list[str] = []
    try:
        first = server["command"]
        command = first if isinstance(first, list) else [first, *server.get("args", ())]
        is_good, text = _asked_by_mcp(command)
    except Exception as error:  # whatever the library raises: what is wrong is with the server
        why: BaseException = error
        while isinstance(why, BaseExceptionGroup):
            why = why.exceptions[0]
        is_good, text = False, str(why) or "nothing came in time"
    told = {"command": shlex.join(command), "text": text[:CHARACTERS_SHOWN], "again": again}
    return found("tools" if is_good else "no_tools", **told)


def _judge(connection: StoredConnection) -> Iterator[Finding]:
    if connection.judge:
        spent, at_most = Spent.today(), int(connection.judge[-1])
        yield found("judge", agent=connection.agent, spent=spent.tokens, at_most=at_most)
        if spent.failure is not None:
            yield found("judge_trouble", failure=spent.failure)


def _outbox(connection: StoredConnection) -> Iterator[Finding]:
    outbox = Outbox(connection_folder(connection.name))
    waiting, notes = outbox.waiting(), outbox.notes()
    failure = (notes.get("failure") or {}).get("what")
    why = f"; the last try failed: {failure}" if failure else ""
    yield found("waiting" if waiting else "nothing_waits", count=len(waiting), folder=outbox.folder, why=why)
    if given_up := outbox.given_up():
        yield found("given_up", count=given_up)
    for letter in notes.get("dead", ()):
        about = {"path": letter["path"], "id": letter["id"] or "", "status": letter["status"]}
        yield found("refused_for_good", at=iso(int(letter["at"]) * 1_000_000), **about)


def value_in(path: Path, keys: Keys) -> Any:
    """What a file says of a key; `UNSET` where it cannot be read: the agent cannot read it either."""
    try:
        return read_file(path).document(path).get(keys)
    except Refused:
        return msgspec.UNSET


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
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
            state = f"{path}:{snake}:{groups.index(change.value)}:0"
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
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(["ps", "-axo", "etime=,args="], capture_output=True, text=True, timeout=5.0).stdout
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
    with contextlib.suppress(OSError):
        if os.access((config / "program").read_text().strip(), os.X_OK):
            return True
    return shutil.which("svc") is not None


def elsewhere(agent: AgentName, scope: Scope, files: Plans) -> Iterator[str]:
    """A sentence for each setting, in this folder and shell, that may send the key to somebody else."""
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
            if value_in(path, key) not in (msgspec.UNSET, value):
                name = ".".join(key)
                yield f"{path} sets {name} to something else, and outranks your own settings; take it out there"
    if agent == "claude-code":
        for path in (*above, *files):
            if value_in(path, ("otelHeadersHelper",)) is not msgspec.UNSET:
                yield f"{path} sets otelHeadersHelper, a program that may send other headers; take it out"
    for name in (path[0] for path in ours if len(path) == 1):  # what is put into a file of variables
        if os.environ.get(name, ours[name,]) != ours[name,]:
            yield f"{name} is set in the shell, and outranks every file; unset it there"
