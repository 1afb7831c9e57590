"""`svc init`, `svc serve` and `svc status`."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.filesize import decimal
from rich.markup import escape
from rich.panel import Panel

from svc.cli import Command
from svc.cli.common import (
    VAR_HELP,
    Reaching,
    Shown,
    counted,
    hear_warnings,
    json_option,
    minute,
    run,
    say,
    sentences,
    settings_from,
    show_fields,
    show_table,
    tell,
)
from svc.log.folder import held
from svc.process import FIRST_LINK_SECONDS, typed
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.cli.access import Access
    from svc.serving import Initialized, Listening
    from svc_http.ports import BackupsShown, Status

_STATES = {"waiting": "waiting for a set-up", "key_configured": "set up, no prompt yet", "first_prompt": "active"}
KEYS_NAMED = 5  # so many of those whose key is missing stand on one line
STORE_HELP = "postgresql://… for a log that several nodes share. [default: the folder]"


@click.command(cls=Command, example="svc init --var var --owner Ana")
@click.option("--var", metavar="DIR", help=VAR_HELP)
@click.option("--store", metavar="URL", help=STORE_HELP)
@json_option
@click.option("--organization", default="My team", show_default=True, help="Name of the organization.")
@click.option("--owner", default="Owner", show_default=True, help="Display name of its first developer.")
def init(var: str | None, store: str | None, as_json: bool, organization: str, owner: str) -> None:
    """`svc serve` does so by itself.

    Makes an organization, its owner, one key and the internal secret. The key is shown this once. For a store that
    nodes share it makes the master key file as well, where that is missing: each node needs a copy of it.
    """
    settings = settings_from(var=var, store=store)
    if settings.master_key_file is not None and settings.store is not None:
        from svc.log.opening import make_missing_master_key

        with sentences():
            hear_warnings()
            if make_missing_master_key(Path(settings.master_key_file).expanduser(), settings.store):
                say(f"the master key is in {settings.master_key_file}: without it no text can be read again", err=True)

    async def found() -> "Initialized | None":
        from svc.service import open_service
        from svc.serving import initialize

        with held(settings.var_path):
            async with open_service(settings) as service:
                return await initialize(service, settings.var_path, organization, owner)

    made = run(found)
    if made is None:
        raise click.ClickException(f"{settings.var} is set up already; `svc key issue` makes another key")
    tell(made, as_json, partial(_welcome, settings))


@click.command(cls=Command, example="svc serve --var var --intake 127.0.0.1:4318 --api 127.0.0.1:8318")
@click.option("--var", metavar="DIR", help=VAR_HELP)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--intake", metavar="HOST:PORT", help="Public listener. [default: 127.0.0.1:4318]")
@click.option("--api", metavar="HOST:PORT", help="Private listener. [default: 127.0.0.1:8318]")
@click.option("--tls-certificate", metavar="FILE", help="PEM certificate for both listeners.")
@click.option("--tls-key", metavar="FILE", help="PEM key for both listeners.")
@click.option("--catalog", metavar="SOURCE", help="List prices: genai-prices, a FILE or a URL. [default: genai-prices]")
@click.option("--log-level", help="debug, info, warning or error. [default: info]")
@click.option("--mcp", is_flag=True, default=None, help="Let agents ask at /mcp of the API (extra `mcp`).")
@click.option("--access-log", is_flag=True, default=None, help="Log every request; those that break always are.")
def serve(**flags: str | bool | None) -> None:
    """Prints one line when it is ready: ready intake=URL api=URL. SIGTERM or Ctrl-C stops it."""
    settings = settings_from(**flags)
    from svc.observe.logs import set_up_logs
    from svc.serving import serve as serve_until_stopped

    set_up_logs(settings.log_level)

    def ready(addresses: "Listening") -> None:
        if addresses.link is not None:
            say(f"Open this once within {FIRST_LINK_SECONDS // 60} minutes: {addresses.link}", err=True)
        say(f"ready intake={addresses.intake_url} api={addresses.api_url}")

    run(serve_until_stopped, settings, ready, partial(_welcome, settings))


def _welcome(settings: Settings, made: "Initialized") -> None:
    """To standard error, so that standard output keeps its one line for scripts."""
    folder = [] if settings.var == Settings().var else ["--var", settings.var]
    text = (
        f"Your key, shown this once:\n\n  [bold]{made.key}[/bold]\n\n"
        f"Organization {made.organization_id}\nDeveloper    {made.developer_id}"
    )
    console = Shown(stderr=True, highlight=False, soft_wrap=True)
    console.print(Panel.fit(text, title="svc is set up"))
    # Not in the box, which would cut a long path off.
    console.print(f"Internal secret in {escape(made.internal_secret_file)}")
    following = escape(typed("import", "claude-code", *folder))
    console.print(f"Next: [bold]{following}[/bold] reads what you have done so far.")


def _show(found: "Status") -> None:
    waiting, archive, replay = found.waiting, found.archive, found.replay
    unwritable = "" if found.log.writable else "[bold red], cannot be written[/bold red]"
    state = "[yellow]not running[/yellow]; this is the folder"
    if found.uptime_seconds is not None:
        since = timedelta(seconds=found.uptime_seconds)
        state = f"[green]serving[/green] for {since} as process {found.process_id}"
    names = {each.developer_id: each.display_name for each in found.developers}
    lost = ", ".join(escape(f"{names.get(each, '')} ({each})".lstrip()) for each in found.missing_keys[:KEYS_NAMED])
    more = f" and {len(found.missing_keys) - KEYS_NAMED} more" if len(found.missing_keys) > KEYS_NAMED else ""
    busy = "nothing"
    if waiting.commands or waiting.bytes:
        commands, people = counted(waiting.commands, "command"), counted(waiting.developers, "developer")
        busy = f"{commands}, {decimal(waiting.bytes)} for {people}"
    archived = "nothing yet"
    if archive is not None:
        size = decimal(archive.bytes)
        archived = f"{archive.rows:,} requests in {archive.files} files, {size}, up to {archive.position:,}"
    replayed = escape(f"{replay.state}{'' if replay.message is None else ': ' + replay.message}")
    if replay.state == "none":
        replayed = "none since the start"
    elif replay.state == "running":
        replayed = f"running, {replay.done:,} of {replay.of:,} events"
    shown = {
        "svc": f"{found.version}, {state}",
        "intake": found.intake or "",
        "API": found.api or "",
        "log": f"{found.log.head:,} positions{unwritable}",
        "keys": lost and f"[bold red]missing: {lost}{more}[/bold red]; `svc verify` says what to do",
        "scores": _scores(found),
        "on the way": busy,
        "prices": _prices(found),
        "archive": archived,
        "last replay": replayed,
        "backups": _backups(found.backups),
        "disk": ", ".join(f"{name} {decimal(size)}" for name, size in found.disk_bytes.items()),
        "disk free": "" if found.disk_free_bytes is None else decimal(found.disk_free_bytes),
    }
    show_fields(shown.items())
    rows = [
        (each.display_name, each.developer_id, _STATES[each.activation], "yes" if each.active else "no")
        for each in found.developers
    ]
    show_table(("developer", "id", "activation", "member"), rows)
    if unread := [(each.display_name, agent) for each in found.developers for agent in each.unknown_agents]:
        show_table(("developer", "svc cannot read"), unread)
    if unusable := [(each.display_name, each.unusable_email) for each in found.developers if each.unusable_email]:
        show_table(("developer", "address that is not ASCII, and lets nobody in"), unusable)
    if used := [each for each in found.budgets if each.used or each.refused]:
        rows = [
            (each.name, f"{each.most:,}", f"{each.used:.0%} by {escape(each.used_by or '')}", f"{each.refused:,}")
            for each in used
        ]
        show_table(("budget", "of each", "used most", "refused"), rows)
    if found.log.events:
        show_table(("events", "how many"), ((kind, f"{count:,}") for kind, count in found.log.events.items()))


def _scores(found: "Status") -> str:
    views = found.views
    lag = "level with the log" if not views.lag_events else f"[yellow]{views.lag_events:,} events behind[/yellow]"
    building = "" if views.level or found.state == "stopped" else ", [yellow]being built: reads answer 503[/yellow]"
    failed = f", [red]{views.failed_events} events passed over[/red]" if views.failed_events else ""
    return f"at {views.position:,}, {lag}{building}{failed}; rules {views.rules_version}, {views.file}"


def _backups(made: "BackupsShown | None") -> str:
    if made is None:
        return ""
    newest = "none yet" if made.newest_at is None else f"{made.kept} kept, the newest of {minute(made.newest_at)}"
    late = ", [red]overdue: see the log[/red]" if made.overdue else ""
    return f"{newest} in {escape(made.folder)}{late}"


def _prices(found: "Status") -> str:
    prices = found.catalog
    if prices is None:
        return "[red]none; the server is not ready[/red]"
    stale = ", [yellow]the last refresh failed[/yellow]" if prices.stale else ""
    return f"revision {prices.revision} of {prices.published_at[:10]}, {prices.models:,} models{stale}"


@click.command(cls=Reaching, show=_show, example="svc status --var var")
async def status(access: "Access") -> "Status":
    """Where no server runs, the folder itself is looked at."""
    from svc_http.ports import Status

    return msgspec.convert(await access.ask("GET", "/v1/admin/control/status"), Status)
