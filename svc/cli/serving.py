"""`svc init` and `svc serve`."""

from datetime import timedelta
from functools import partial

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from svc.app import open_service
from svc.cli.access import Access
from svc.cli.common import (
    counted,
    json_option,
    print_json,
    reaching,
    run,
    settings_from,
    show_fields,
    show_table,
    var_option,
)
from svc.log.folder import held
from svc.observe.logs import set_up_logs
from svc.process import typed
from svc.serving import Initialized, Listening, initialize
from svc.serving import serve as serve_until_stopped
from svc.settings import Settings
from svc_http.ports import DeveloperStatus, Status


@click.command()
@var_option
@json_option
@click.option("--organization", default="My team", show_default=True, help="Name of the organization.")
@click.option("--owner", default="Owner", show_default=True, help="Display name of its first developer.")
def init(var: str | None, as_json: bool, organization: str, owner: str) -> None:
    """Set up a folder without serving it. `svc serve` does so by itself.

    Makes an organization, its owner, one key and the internal secret. The key is shown this once.

    Example: svc init --var var --owner Ana
    """
    settings = settings_from(var=var)
    made = run(_init, settings, organization, owner)
    if made is None:
        raise click.ClickException(f"{settings.var} is set up already; `svc key issue` makes another key")
    if as_json:
        print_json(made)
    else:
        _welcome(settings, made)


async def _init(settings: Settings, organization: str, owner: str) -> Initialized | None:
    with held(settings.var_path):
        async with open_service(settings) as service:
            return await initialize(service, settings.var_path, organization, owner)


@click.command()
@var_option
@click.option("--intake", metavar="HOST:PORT", help="Public listener. [default: 127.0.0.1:4318]")
@click.option("--api", metavar="HOST:PORT", help="Private listener. [default: 127.0.0.1:8318]")
@click.option("--tls-certificate", metavar="FILE", help="PEM certificate for both listeners.")
@click.option("--tls-key", metavar="FILE", help="PEM key for both listeners.")
@click.option("--catalog", metavar="SOURCE", help="List prices: genai-prices, a FILE or a URL. [default: genai-prices]")
@click.option("--log-level", help="debug, info, warning or error. [default: info]")
@click.option("--access-log", is_flag=True, default=None, help="Log every request; those that break always are.")
def serve(**flags: str | bool | None) -> None:
    """Run the server; an empty folder is set up first.

    Prints one line when it is ready: ready intake=URL api=URL. SIGTERM or Ctrl-C stops it.

    Example: svc serve --var var --intake 127.0.0.1:4318 --api 127.0.0.1:8318
    """
    settings = settings_from(**flags)
    set_up_logs(settings.log_level)
    run(serve_until_stopped, settings, _ready, partial(_welcome, settings))


def _ready(addresses: Listening) -> None:
    click.echo(f"ready intake={addresses.intake_url} api={addresses.api_url}")


def _welcome(settings: Settings, made: Initialized) -> None:
    """To standard error, so that standard output keeps its one line for scripts."""
    folder = [] if settings.var == Settings().var else ["--var", settings.var]
    following = escape(typed("import", "claude-code", *folder))
    text = (
        f"Your key, shown this once:\n\n  [bold]{made.key}[/bold]\n\n"
        f"Organization {made.organization_id}\nDeveloper    {made.developer_id}"
    )
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Panel.fit(text, title="svc is set up"))
    # Not in the box, which would cut a long path off.
    console.print(f"Internal secret in {escape(made.internal_secret_file)}")
    console.print(f"Next: [bold]{following}[/bold] reads what you have done so far.")


# `svc status`: a picture of the running server, or of the folder where none runs.

_STATES = {"waiting": "waiting for a set-up", "key_configured": "set up, no prompt yet", "first_prompt": "active"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_UNIT = 1024

KEYS_NAMED = 5
"""So many of those whose key is missing stand on one line."""


def _show(found: Status) -> None:
    show_fields(_lines(found))
    show_table(("developer", "id", "activation", "member"), map(_person, found.developers))
    if found.log.events:
        show_table(("events", "how many"), ((kind, f"{count:,}") for kind, count in found.log.events.items()))


@click.command()
@reaching(_show)
async def status(access: Access) -> Status:
    """Show how the server is: log, scores, people, disk.

    Where no server runs, the folder itself is looked at.

    Example: svc status --var var
    """
    return await access.ask(Status, "GET", "/v1/admin/control/status")


def _lines(found: Status) -> list[tuple[str, str]]:
    """What there is to say, one line each."""
    log = "" if found.log.writable else "[bold red], cannot be written[/bold red]"
    waiting = found.waiting
    commands, people = counted(waiting.commands, "command"), counted(waiting.developers, "developer")
    busy = f"{commands}, {_size(waiting.bytes)} for {people}" if waiting.commands or waiting.bytes else "nothing"
    return [
        ("svc", f"{found.version}, {_state(found)}"),
        *((name, url) for name, url in (("intake", found.intake), ("API", found.api)) if url is not None),
        ("log", f"{found.log.head:,} positions{log}"),
        *_keys(found),
        ("scores", _views(found)),
        ("on the way", busy),
        ("prices", _catalog(found)),
        ("archive", _archive(found)),
        ("last replay", _replay(found)),
        ("disk", ", ".join(f"{name} {_size(size)}" for name, size in found.disk_bytes.items())),
    ]


def _state(found: Status) -> str:
    if found.uptime_seconds is None:
        return "[yellow]not running[/yellow]; this is the folder"
    since = timedelta(seconds=found.uptime_seconds)
    return f"[green]serving[/green] for {since} as process {found.process_id}"


def _keys(found: Status) -> list[tuple[str, str]]:
    """Only where some are missing."""
    if not found.missing_keys:
        return []
    names = {each.developer_id: each.display_name for each in found.developers}
    who = ", ".join(escape(f"{names.get(each, '')} ({each})".lstrip()) for each in found.missing_keys[:KEYS_NAMED])
    more = "" if len(found.missing_keys) <= KEYS_NAMED else f" and {len(found.missing_keys) - KEYS_NAMED} more"
    return [("keys", f"[bold red]missing: {who}{more}[/bold red]; `svc verify` says what to do")]


def _views(found: Status) -> str:
    views = found.views
    lag = "level with the log" if not views.lag_events else f"[yellow]{views.lag_events:,} events behind[/yellow]"
    building = "" if views.level or found.state == "stopped" else ", [yellow]being built: reads answer 503[/yellow]"
    failed = f", [red]{views.failed_events} events passed over[/red]" if views.failed_events else ""
    return f"at {views.position:,}, {lag}{building}{failed}; rules {views.rules_version}, {views.file}"


def _catalog(found: Status) -> str:
    prices = found.catalog
    if prices is None:
        return "[red]none; the server is not ready[/red]"
    stale = ", [yellow]the last refresh failed[/yellow]" if prices.stale else ""
    return f"revision {prices.revision} of {prices.published_at[:10]}, {prices.models:,} models{stale}"


def _archive(found: Status) -> str:
    archive = found.archive
    if archive is None:
        return "nothing yet"
    return f"{archive.rows:,} requests in {archive.files} files, {_size(archive.bytes)}, up to {archive.position:,}"


def _replay(found: Status) -> str:
    replay = found.replay
    match replay.state:
        case "none":
            return "none since the start"
        case "running":
            return f"running, {replay.done:,} of {replay.of:,} events"
        case state:
            return escape(f"{state}{'' if replay.message is None else ': ' + replay.message}")


def _person(each: DeveloperStatus) -> tuple[str, ...]:
    return each.display_name, each.developer_id, _STATES[each.activation], "yes" if each.active else "no"


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < _UNIT:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _UNIT
    return f"{size:.1f} {_UNITS[-1]}"
