"""`svc connect`, `disconnect`, `doctor` and `review`: an agent's own settings, and what it judges itself."""

import difflib
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import click
import msgspec

from aggregates.ids import KEY_START_CHARACTERS
from aggregates.times import iso
from svc import __version__
from svc.cli import Command
from svc.cli.asking import Asking
from svc.cli.common import Shown, json_option, print_json, say, settings_option, working
from svc.connect import connections, review as reviewing
from svc.connect.agents import KNOWN_AGENTS, AgentName, Scope, Target, folder_of, plans, told
from svc.connect.changes import Refused, Rewrite, connected, disconnected, give_back, write
from svc.connect.connections import Server
from svc.connect.doctor import Finding, Level, capturing_plugins, elsewhere, examine, found
from svc.connect.review import DAILY_TOKENS, RULES, Judge
from svc.hook import machine
from svc.hook.captures import AGENTS
from svc.hook.main import call
from svc.importing.agentsview import agents_only_in, default_file
from svc.log.folder import running
from svc.process import program
from svc.settings import Settings

DEFAULT_URL = "http://127.0.0.1:4318"
HOOK_PROGRAM = "svc-hook"
_MARKS: dict[Level, str] = {"ok": "[green]✓[/green]", "warning": "[yellow]![/yellow]", "wrong": "[red]✗[/red]"}
agent_argument = click.argument("agent", type=click.Choice(get_args(AgentName)))
scope_option = click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="user",
    show_default=True,
    help="Whose settings: yours everywhere, or yours in the project of the working directory.",
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask. Without a terminal nothing is asked either.")


@click.command(cls=Command, example="svc connect claude-code --url http://127.0.0.1:4318 --key svc_…")
@agent_argument
@click.option("--url", envvar="SVC_URL", help=f"The intake. [env: SVC_URL; default: served here, or {DEFAULT_URL}]")
@click.option("--key", envvar="SVC_KEY", help="Your key; asked for where it is missing. [env: SVC_KEY]")
@scope_option
@click.option("--no-hooks", is_flag=True, help="Telemetry only: the agent's plugin brings the hooks.")
@click.option("--mcp", is_flag=True, help="Let the agent ask svc about your own work (extra `mcp`).")
@click.option(
    "--api", metavar="URL", envvar="SVC_API_URL", help="With --mcp and --judge: the API; else that served here."
)
@settings_option
@click.option("--coach", is_flag=True, help="Claude Code only: a line for you where a prompt surely misses a habit.")
@click.option("--judge", is_flag=True, help="Let the agent judge your work when a session ends (svc review).")
@click.option("--judge-model", metavar="MODEL", help="With --judge: which of its models; a small one else.")
@click.option("--judge-budget", type=click.IntRange(0), default=DAILY_TOKENS, show_default=True, help="Tokens a day.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--offline", is_flag=True, help="Set it up although the server cannot be asked now.")
@yes_option
def connect(
    agent: AgentName,
    url: str | None,
    key: str | None,
    scope: Scope,
    no_hooks: bool,
    mcp: bool,
    api: str | None,
    settings: Settings,
    coach: bool,
    judge: bool,
    judge_model: str | None,
    judge_budget: int,
    dry_run: bool,
    offline: bool,
    yes: bool,
) -> None:
    """Writes the agent's own telemetry settings and hooks, after showing them. Prompt texts and tool details are
    switched on. A copy of each file is kept; running it again changes nothing.
    """
    key, name = _checked_key(key), connections.connection_name(agent, scope, Path.cwd())
    folder = folder_of(agent, scope, Path.cwd())
    plugins = capturing_plugins(folder_of(agent, "user", Path.cwd())) if agent == "claude-code" and not no_hooks else []
    command = (*_hook_program(), "hook", agent, *(() if name == agent else ("--connection", name)))
    url, api, where = _reached(settings, url, api)
    where = ("--connection", name, *where)
    target = Target(
        agent,
        url,
        key,
        command,
        hooks=not no_hooks and not plugins,
        asks=_mcp_program(where) if mcp else None,
        coach=_coach_program(agent) if coach else None,
    )
    judges = _judge_program(agent, judge_model, judge_budget, where) if judge else ()
    if ".cache" in Path(sys.prefix).parts and target.hooks:
        raise Refused("uvx and `pipx run` keep svc in a cache, where no hook finds it for long: uv tool install it")
    files, old = plans(target, scope, folder), connections.stored(name)
    for why in elsewhere(agent, scope, files):
        raise Refused(f"nothing was changed, for your key would not only go to {target.url}: {why}")
    receipts = {} if old is None else {Path(receipt.path): receipt for receipt in old.files}
    rewrites = [disconnected(receipt) for path, receipt in receipts.items() if path not in files]
    rewrites += [connected(path, changes, receipts.get(path), key) for path, changes in files.items()]
    _tell(target, judges, plugins)
    say("")
    _show(rewrites, key)
    if dry_run:
        say("nothing was changed")
        return
    server = Server(target.url, key)
    capture = connections.Capture() if offline else _answering(server, api if mcp or judge else None)
    if old is not None and old.url != target.url:
        _tell_waiting(name, f"will be sent to {target.url}")
    _confirm(yes or not (any(each.changed for each in rewrites) or judges), must=bool(judges))
    known = tuple(receipts.values())
    stored = connections.StoredConnection(name, agent, scope, str(folder), target.url, key, capture, known, judges)
    _write(stored, rewrites)
    if not offline:
        said = {"plugin_version": __version__, "key_prefix": key[:KEY_START_CHARACTERS]}
        server.answer("POST", "/v1/setup-complete", said)
    undo = f"svc disconnect {agent}" + (" --scope project" if scope == "project" else "")
    say(f"{agent} is connected; start it anew. `svc doctor` tests it, `{undo}` undoes it.")
    if others := ", ".join(agents_only_in(default_file())):
        say(f"AgentsView has sessions of {others}, too: svc import agentsview --url {target.url} --watch")
    if (restart := KNOWN_AGENTS[agent].restart) is not None:
        say(restart)


def _reached(settings: Settings, url: str | None, api: str | None) -> tuple[str, str, tuple[str, ...]]:
    """The intake, the API, and by what a command finds the API from any folder, also on another port later."""
    served = running(settings.var_path)
    named = () if api else ("--var", str(settings.var_path.resolve()))
    api = connections.checked_url(api or (f"http://{settings.api}" if served is None else served.api))
    intake = url or (DEFAULT_URL if served is None else served.intake)
    return connections.checked_url(intake), api, (*named, "--api", api)


def _tell(target: Target, judges: Sequence[str], plugins: Sequence[str]) -> None:
    say(f"{target.agent} will send to {target.url}:")
    consent = RULES.consent.format(agent=target.agent, budget=f"{int(judges[-1]):,}") if judges else ""
    for sentence in filter(None, [*told(target), consent, RULES.programs[target.agent].words if judges else ""]):
        say(click.wrap_text(sentence, 100, "  - ", "    "))
    for plugin in plugins:
        say(f"  - No hooks are written, for the plugin {plugin} captures prompts: both would tell of each one.")


def _answering(server: Server, api: str | None) -> connections.Capture:
    """What the intake wants, after the API was heard as well. Raises `NotAnswered`."""
    hint = "Is `svc serve` running there? --offline sets it up without asking"
    try:
        wanted = server.config().capture
        if api is not None:
            hint = "That should be the API: --var names the folder that is served here, --api another machine's address"
            Server(api, server.key).answer("GET", "/v1/score_v3/skill")
    except connections.NotAnswered as error:
        raise connections.NotAnswered(f"{error}. {hint}") from error
    return wanted


def _checked_key(key: str | None) -> str:
    """The key; asked for where there is somebody to ask. Raises `Refused`."""
    if key is None and _somebody_there():
        key = click.prompt("Your key (svc key issue makes one)", hide_input=True)
    key = (key or "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise Refused("a key is needed: give it with --key or SVC_KEY; the server showed one at its first start")
    return key


def _carried() -> Path | None:
    """The hook's own program, where the one-file binary carries one."""
    path = Path(getattr(sys, "_MEIPASS", "")) / HOOK_PROGRAM
    return path if getattr(sys, "frozen", False) and path.exists() else None


def _program() -> list[str]:
    """What starts fast, and needs none of this process's environment: an agent that runs it has another one."""
    return _whole_program() if _carried() is None else [str(machine.state_folder() / "bin" / HOOK_PROGRAM)]


def _whole_program() -> list[str]:
    """With every command, which the hook's own program has not."""
    script = Path(sys.executable).with_name("svc")
    return [str(script)] if script.exists() and not getattr(sys, "frozen", False) else program()


def _hook_program() -> list[str]:
    start = Path(machine.__file__).with_name("start.py")
    return _program() if getattr(sys, "frozen", False) else [sys.executable, "-I", "-S", str(start)]


def _mcp_program(where: tuple[str, ...]) -> tuple[str, ...]:
    """Raises `Refused`."""
    if find_spec("mcp") is None:
        raise Refused("--mcp has the agent start svc mcp, which needs an extra: pip install 'coding-agent-mirror[mcp]'")
    return (*_whole_program(), "mcp", *where)


def _judge_program(agent: AgentName, model: str | None, budget: int, where: tuple[str, ...]) -> tuple[str, ...]:
    """Raises `Refused`."""
    Judge(agent, model).check()
    chosen = () if model is None else ("--model", model)
    return (*_whole_program(), "review", "--with", agent, *chosen, *where, "--budget", str(budget))


def _coach_program(agent: AgentName) -> tuple[str, ...]:
    """Raises `Refused`."""
    if agent != "claude-code":
        raise Refused(f"--coach is for claude-code: {agent} shows a person nothing of what its hooks say")
    if getattr(sys, "frozen", False):
        raise Refused("--coach needs svc as a package (uv, pipx, pip): the one file takes seconds to unpack itself")
    # Beside svc, as in a package, its libraries are found without `site`; beside a source tree they are not.
    together = Path(str(msgspec.__file__)).parents[1] == Path(machine.__file__).parents[2]
    return (*(each for each in _hook_program() if together or each != "-S"), "coach", agent)


def _write(connection: connections.StoredConnection, rewrites: Sequence[Rewrite]) -> None:
    """One file after the other, each remembered at once: broken off anywhere, what was done can be undone."""
    receipts = {receipt.path: receipt for receipt in connection.files}
    connections.store(connection)
    if (carried := _carried()) is not None:
        folder = machine.state_folder() / "bin"
        machine.private_folder(folder)
        with machine.draft_file(folder, carried.read_bytes()) as draft:
            draft.chmod(0o700)
            draft.replace(folder / HOOK_PROGRAM)
    if len(own := _program()) == 1:  # for the hooks of an agent's plugin
        machine.replace_file(machine.config_folder() / "program", f"{own[0]}\n".encode())
    for each in rewrites:
        if each.changes:
            receipt = receipts[str(each.path)] = write(connection.name, each)
        else:
            give_back(each)
            del receipts[str(each.path)]
        connections.store(msgspec.structs.replace(connection, files=tuple(receipts.values())))
        if each.changed and each.changes:
            before = "it was not there before" if receipt.backup is None else f"as it was before: {receipt.backup}"
            say(f"{each.path}: written; {before}")


def _show(rewrites: Sequence[Rewrite], key: str) -> None:
    """What changes, as diffs without the key."""
    changed = [each for each in rewrites if each.changed]
    for each in changed:
        old, new = ((data or b"").decode().splitlines() for data in (each.now.data, each.new))
        lines = difflib.unified_diff(old, new, str(each.path), str(each.path), lineterm="", n=1)
        say("\n".join(lines).replace(key, key[:8] + "…"))
        if each.changes and each.now.mode not in (None, each.mode):
            say(f"{each.path}: only you may read it from now on, for a key stands in it")
    if not changed:
        say("the settings say so already; nothing changes in them")


def _tell_waiting(name: str, fate: str) -> None:
    """What has not arrived yet is somebody's text: they may not want it to go elsewhere, or to lie around."""
    outbox = machine.Outbox(machine.connection_folder(name))
    if waiting := len(outbox.waiting()):
        say(f"{waiting} captures wait in {outbox.folder} and {fate}; delete that folder if they should not be")


def _somebody_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _confirm(yes: bool, *, must: bool = False) -> None:
    """`must`: where nobody is there to ask, `yes` has to be given. Raises `Refused`."""
    if not yes and _somebody_there():
        click.confirm("Write this?", default=not must, abort=True)
    elif not yes and must:
        raise Refused("nothing was changed: --judge needs your yes to what is said above, add --yes")


@click.command(cls=Command, example="svc disconnect claude-code")
@agent_argument
@scope_option
@yes_option
def disconnect(agent: AgentName, scope: Scope, yes: bool) -> None:
    """A file that was edited since loses only what is svc's. What waits in the outbox stays there; the next connect has
    it sent.
    """
    connection = connections.stored(connections.connection_name(agent, scope, Path.cwd()))
    if connection is None:
        raise Refused(f"{agent} is not connected here; nothing was changed")
    rewrites = [disconnected(receipt) for receipt in connection.files]
    _show(rewrites, connection.key)
    _confirm(yes)
    for rewrite in rewrites:
        give_back(rewrite)
    machine.connection_file(connection.name).unlink(missing_ok=True)  # hooks that are still there send nothing any more
    for rewrite in rewrites:
        for key in rewrite.left:
            say(f"{rewrite.path}: {key} was changed since and stays as it is")
    _tell_waiting(connection.name, "are sent after the next svc connect")
    kept = next((receipt.backup for receipt in connection.files if receipt.backup is not None), None)
    copies = "there was no file before" if kept is None else f"copies of the files lie in {Path(kept).parent}"
    say(f"{agent} is disconnected; {copies}")
    if (restart := KNOWN_AGENTS[agent].restart) is not None:
        say(restart)


@click.command(cls=Command, example="svc doctor")
@json_option
def doctor(as_json: bool) -> None:
    """Looks at its settings, the server, the key, the clock, a test record there and back, and what waits.

    The exit code is 1 where something is wrong.
    """
    known = connections.all_stored()
    if not known:
        plugins = capturing_plugins(folder_of("claude-code", "user", Path.cwd()))
        alone = "".join(f"; the plugin {each} captures prompts, but neither tokens nor costs" for each in plugins)
        raise Refused(f"no agent is connected on this machine: svc connect claude-code{alone}")
    console = Shown(highlight=False, quiet=as_json)
    looks = [(each.name, each.url, examine(each)) for each in known]
    if (archive := default_file()).exists():
        looks.append(("agentsview", str(archive), iter([_last_read(archive, known[0].url)])))
    examined: list[tuple[str, str, list[Finding]]] = []
    for name, place, findings in looks:
        console.print(f"[bold]{name}[/bold], {place}", soft_wrap=True)
        examined.append((name, place, []))
        for finding in findings:
            examined[-1][2].append(finding)
            console.print(f"  {_MARKS[finding.level]} ", end="")
            console.print(finding.text, markup=False, soft_wrap=True)
            if finding.to_do is not None:
                console.print(f"    → {finding.to_do}", markup=False, soft_wrap=True)
    if as_json:
        print_json([{"connection": name, "url": place, "findings": each} for name, place, each in examined])
    if any(finding.level == "wrong" for *_, findings in examined for finding in findings):
        raise SystemExit(1)


def _last_read(archive: Path, url: str) -> Finding:
    try:
        return found("archive_read", at=iso(int(connections.archive_read().stat().st_mtime * 1_000_000)))
    except OSError:
        others = ", ".join(agents_only_in(archive)) or "no agent that svc does not hear itself"
        return found("archive_unread", agents=others, url=url)


@click.command(
    cls=Command, example="""echo '{"hook_event_name": "SessionStart", "session_id": "s1"}' | svc hook claude-code"""
)
@click.argument("agent", type=click.Choice(AGENTS), default="claude-code")
@click.option("--connection", metavar="NAME", help="Which connection sends it. [default: that of the AGENT]")
def hook(agent: str, connection: str | None) -> None:
    """Sends what the hook's JSON on standard input tells. It prints nothing, always exits with 0, and takes no longer
    than 2 seconds: what the server does not take in time waits in an outbox for the next call. `svc connect` writes
    it into the agent's settings.
    """
    # Agents go past this: see `svc.__main__`.
    call([agent] if connection is None else [agent, "--connection", connection])


@click.command(cls=Asking, example="svc review --with claude-code --limit 5")
@click.option("--with", "agent", type=click.Choice(get_args(AgentName)), help="Which. [default: the one connected]")
@click.option("--model", help="Which of its models. [default: a small one, or the agent's own]")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many questions.")
@click.option("--budget", default=DAILY_TOKENS, show_default=True, help="Tokens a day.")
@click.option("--dry-run", is_flag=True, help="Count what would be asked, and ask nobody.")
def review(
    server: Server, agent: AgentName | None, model: str | None, limit: int, budget: int, dry_run: bool, as_json: bool
) -> None:
    """The agent is run without a screen in an empty folder, with its tools, hooks and memory off, one question at a
    time. Your prompts and the ends of its answers go to its model, by your account there. What is answered is kept.
    """
    ours = sorted(connections.all_stored(), key=lambda each: (each.agent != agent, not each.judge))
    if not ours:
        raise Refused("no agent is connected on this machine: svc connect claude-code")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the agent is ended with it
    judge = Judge(agent or ours[0].agent, model)
    if dry_run:
        asked = reviewing.questions(server)[:limit]
        tokens = sum(map(reviewing.tokens_at_most, asked))
        return say(f"{len(asked)} questions are open for {judge.agent} ({judge.model}), at most {tokens:,} tokens")
    with working(f"asking {judge.agent}", "what was answered is kept") as progress:
        report = reviewing.review(server, ours[0].name, judge, limit, budget, progress)
    if as_json:
        print_json(report)
    else:
        spent = reviewing.Spent.today()
        refused = f", {report.refused} refused: {spent.failure}" if report.refused else ""
        cost = f"{report.tokens:,} tokens, {spent.tokens:,} of {budget:,} today"
        say(f"{judge.agent} ({judge.model}) answered {report.answered} questions{refused}; {cost}")
    if report.stopped is not None:
        raise click.ClickException(report.stopped)
