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
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec
from msgspec import UNSET

from aggregates.times import iso
from svc.connect.agents import KNOWN_AGENTS, NEVER_FAILS, AgentName, Plans, Scope, Target, plans
from svc.connect.changes import FileReceipt, Keys, Put, Refused, read_file
from svc.connect.connections import Config, KeyRefused, NotAnswered, Server, StoredConnection
from svc.connect.review import Spent
from svc.hook.captures import log_export
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
MCP_CHARACTERS_SHOWN = 100
Level = Literal["ok", "warning", "wrong"]


class Finding(msgspec.Struct, frozen=True):
    what: str
    level: Level
    text: str
    to_do: str | None = None


def examine(connection: StoredConnection) -> Iterator[Finding]:
    again = f"svc connect {connection.agent} --url {connection.url} --key …"
    for receipt in connection.files:
        yield from _settings(connection, receipt, again)
    target = Target(connection.agent, connection.url, connection.key, ())
    files = plans(target, connection.scope, Path(connection.folder))
    outranking = list(elsewhere(connection.agent, connection.scope, files))
    for why in outranking:
        yield Finding("address", "wrong", f"the key may go to another address: {why}", f"then: {again}")
    if not outranking:
        yield Finding("address", "ok", f"nothing here outranks these settings: all goes to {connection.url}")
    yield from _hooks(connection, again)
    match connection.agent:
        case "claude-code":
            yield from _plugins(connection)
        case "codex":
            if untrusted := list(untrusted_hooks(connection)):
                text = f"Codex was not told to trust these hooks, and does not run them: {', '.join(untrusted)}"
                yield Finding("hooks", "warning", text, "start codex and trust them, or look at /hooks in it")
            kept = connection_file(connection.name)
            connected = time.time() - kept.stat().st_mtime if kept.exists() else 0.0
            if (background_codex_since(processes()) or 0) > connected + 1:
                text = "a Codex in the background has run since before it was connected, with the settings of that time"
                yield Finding("restart", "warning", text, "codex app-server daemon restart")
        case "gemini" if (path := env_without_key(Path.cwd(), connection)) is not None:
            text = f"in this folder Gemini CLI reads {path} in place of its own .env, and finds no key there"
            to_do = "put the line with OTEL_EXPORTER_OTLP_HEADERS from ~/.gemini/.env into that file, or into the shell"
            yield Finding("key", "warning", text, to_do)
    yield from _server(connection, again)
    yield from map(partial(_mcp, again), connection.tool_servers())
    yield from _outbox(connection)
    yield from _judge(connection)


def _settings(connection: StoredConnection, receipt: FileReceipt, again: str) -> Iterator[Finding]:
    path = Path(receipt.path)
    try:
        held = read_file(path)
        document = held.document(path)
        changed = {".".join(each.path): each for each in receipt.changes if not each.stands(document.get(each.path))}
    except Refused as error:
        yield Finding("settings", "wrong", f"{path} cannot be read: {error}", f"mend the file, then: {again}")
        return
    if held.data is None:
        yield Finding("settings", "wrong", f"{path} is gone", f"write it again: {again}")
    elif changed:
        lost = f"{path} has lost or changed: {', '.join(changed)}"
        yield Finding("settings", "wrong", lost, f"write them again: {again}")
    else:
        yield Finding("settings", "ok", f"{path} is as it was written")
    if (held.mode or 0) & (stat.S_IRWXG | stat.S_IRWXO) and connection.key.encode() in (held.data or b""):
        yield Finding("settings", "warning", f"others may read {path}, and your key stands in it", f"chmod 600 {path}")


def _hooks(connection: StoredConnection, again: str) -> Iterator[Finding]:
    """Whether the command that the hooks run is still there, and whether the agent runs hooks at all."""
    first = next(connection.hooks(), None)
    if first is None:
        alone = "no hooks are set up; prompts come from the agent's telemetry alone, or from its plugin"
        yield Finding("hooks", "ok", alone)
        return
    command = shlex.split(first[1].value["hooks"][0]["command"].removesuffix(NEVER_FAILS))
    gone = [each for each in command if os.path.isabs(each) and not os.path.exists(each)]
    if gone or shutil.which(command[0]) is None:
        text = f"{[*gone, command[0]][0]}, which the hooks run, is gone"
        yield Finding("hooks", "wrong", text, f"write them again: {again}")
    else:
        yield Finding("hooks", "ok", f"the hooks run {shlex.join(command)}")
    for path in dict.fromkeys(path for path, _ in connection.hooks()):
        if value_in(path, ("disableAllHooks",)) is True or value_in(path, ("hooksConfig", "enabled")) is False:
            to_do = "take disableAllHooks, or hooksConfig.enabled = false, out of it"
            yield Finding("hooks", "warning", f"hooks are switched off in {path}", to_do)


def _plugins(connection: StoredConnection) -> Iterator[Finding]:
    hooks = any(connection.hooks())
    for name in capturing_plugins(Path(connection.folder)):
        if hooks:
            text = f"the plugin {name} captures prompts as well as the hooks that svc wrote"
            to_do = f"svc connect claude-code --no-hooks --url {connection.url} --key …"
            yield Finding("plugin", "warning", text, to_do)
        elif name.startswith("svc@") and not plugin_finds_svc(config_folder()):
            text = f"the plugin {name} finds no svc, so it captures nothing"
            yield Finding("plugin", "wrong", text, "put svc on the PATH, or connect again: its place is noted then")
        else:
            yield Finding("plugin", "ok", f"the plugin {name} captures prompts and answers")


def _server(connection: StoredConnection, again: str) -> Iterator[Finding]:
    to_do = "start svc serve there, or connect to the intake that its first line names"
    server = Server(connection.url, connection.key)
    try:
        ahead = server.health()
        yield Finding("server", "ok", f"{connection.url} answers")
        if abs(ahead) <= CLOCK_SECONDS_MAX:
            yield Finding("clock", "ok", "this machine's clock and the server's agree")
        else:
            off = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'}"
            text = f"this machine's clock is {off} the server's"
            yield Finding("clock", "warning", text, "let both take their time from the network (NTP)")
        to_do = "check that the address is an intake's, not the API's"
        told = server.config()
        yield Finding("key", "ok", f"the key {connection.key[:8]}… is taken")
        yield round_trip(server, ahead)
        if told.arrivals_since is None:
            raise NotAnswered(f"{connection.url} is an older svc, which does not tell what arrived")
        yield from _arrivals(told, connection.agent)
    except KeyRefused as error:
        yield Finding("key", "wrong", str(error), f"svc key issue makes another; then: {again}")
    except NotAnswered as error:
        yield Finding("server", "wrong", str(error), to_do)


def _arrivals(told: Config, agent: str) -> Iterator[Finding]:
    """What came from this agent, by signal; what came from others that svc does not know; what was refused."""
    since, silent = f"since the server started at {told.arrivals_since}", True
    for each in told.arrivals:
        if each.source == agent:
            silent = False
            text = f"{each.signal} of {agent} last arrived at {each.last_at}, {each.requests} in all {since}"
            yield Finding("arrived", "ok", text)
        elif each.source.startswith("unknown agent"):  # what the server calls one whose telemetry it cannot read
            text = f"{each.source} sends {each.signal}, last at {each.last_at}: svc cannot read it, and scores nothing"
            yield Finding("unknown agent", "warning", text, "`svc connect --help` lists the agents that svc knows")
    if silent:
        to_do = f"start {agent} anew, so that it reads its settings, and ask it something"
        yield Finding("arrived", "warning", f"nothing of {agent} has arrived {since}", to_do)
    for refusal in told.refusals:
        taken = "in part" if refusal.status < 300 else f"with {refusal.status}"
        text = f"{refusal.path} was refused {taken} at {refusal.at}: {refusal.message}"
        yield Finding("refused", "warning", text, "nothing, if it does not repeat; else mend what the sender sends")


def round_trip(server: Server, ahead: float) -> Finding:
    """A log record that belongs to no session, sent and read back; its time is the server's."""
    mark, begun = secrets.token_hex(8), time.monotonic()
    at = time.time() - ahead
    server.answer("POST", "/v1/logs", log_export("doctor", "svc.doctor", {"svc.doctor.mark": mark}, at))
    begin = iso(int((at - CLOCK_SECONDS_READ) * 1_000_000))
    for _ in range(READ_BACK_TRIES):
        if server.has_record(mark, begin):
            took = (time.monotonic() - begun) * 1000
            return Finding("capture", "ok", f"a test record was captured and read back in {took:.0f} ms")
        time.sleep(READ_BACK_SECONDS)
    text = "a test record was taken, but is not there when it is read back"
    return Finding("capture", "wrong", text, "look into the server's log: its tables may be building anew")


def _asked_by_mcp(command: list[str]) -> tuple[bool, str]:
    """Whether a tool went well, and its words."""
    import trio  # late, as what follows: it takes a second, and is an extra
    from mcp import Client, StdioServerParameters, stdio_client

    async def asked(nowhere: TextIO) -> tuple[bool, str]:
        started = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        with trio.fail_after(MCP_SECONDS):
            async with Client(stdio_client(started, nowhere), mode="legacy") as client:
                answer = await client.call_tool("my_day")
                told = (each.text for each in answer.content if each.type == "text")
                return not answer.is_error, " ".join(" ".join(told).split())

    with open(os.devnull, "w") as nowhere:
        return trio.run(asked, nowhere)


def _mcp(again: str, server: dict[str, Any]) -> Finding:
    """What the agent's server of MCP answers, started as the agent starts it, when one tool is called."""
    command = server["command"] if isinstance(server["command"], list) else [server["command"], *server["args"]]
    shown, to_do = shlex.join(command), f"start it yourself to see why; it needs the extra `mcp`. Then: {again} --mcp"

    try:
        is_good, text = _asked_by_mcp(command)
    except Exception as error:  # whatever the library raises: what is wrong is with the server
        why: BaseException = error
        while isinstance(why, BaseExceptionGroup):
            why = why.exceptions[0]
        is_good, text = False, str(why) or "nothing came in time"
    level: Level = "ok" if is_good else "wrong"
    return Finding("mcp", level, f"{shown} answers: {text[:MCP_CHARACTERS_SHOWN]}", None if is_good else to_do)


def _judge(connection: StoredConnection) -> Iterator[Finding]:
    if connection.judge:
        spent, at_most = Spent.today(), int(connection.judge[-1])
        text = f"{connection.agent} judges your work when a session ends: {spent.tokens:,} of {at_most:,} tokens today"
        yield Finding("judge", "ok", text)
        with contextlib.suppress(NotAnswered, KeyRefused, msgspec.DecodeError):  # what is wrong there is said above
            server = Server(connection.url, connection.key)
            judged = msgspec.json.decode(server.answer("GET", "/v1/review/verdicts"), type=dict[str, int])
            text = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in judged.items())
            yield Finding("judge", "ok", f"verdicts on your work came from: {text}")
        if spent.failure is not None:
            yield Finding("judge", "warning", f"it judged last with trouble: {spent.failure}", "svc review tries again")


def _outbox(connection: StoredConnection) -> Iterator[Finding]:
    outbox = Outbox(connection_folder(connection.name))
    waiting, notes = outbox.waiting(), outbox.notes()
    if waiting:
        failure = notes.get("failure") or {}
        why = f"; the last try failed: {failure['what']}" if failure.get("what") else ""
        text = f"{len(waiting)} captures wait in {outbox.folder}{why}"
        yield Finding("outbox", "warning", text, "the next hook sends them once the above is right; nothing is lost")
    else:
        yield Finding("outbox", "ok", "nothing waits to be sent")
    if given_up := outbox.given_up():
        text = f"{given_up} captures were given up: too many waited, or for too long"
        yield Finding("outbox", "warning", text, "svc import brings in what the agent's own transcripts hold")
    for letter in notes.get("dead", ()):
        at = iso(int(letter["at"]) * 1_000_000)
        text = f"the server refused a capture for good: {letter['path']} {letter['id'] or ''} {letter['status']}, {at}"
        yield Finding("refused", "warning", text, "nothing, unless it repeats: then report it, with these words")


def value_in(path: Path, keys: Keys) -> Any:
    """What a file says of a key; `UNSET` where it cannot be read: the agent cannot read it either."""
    try:
        return read_file(path).document(path).get(keys)
    except Refused:
        return UNSET


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
    command = ["ps", "-axo", "etime=,args="]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=5.0).stdout
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
