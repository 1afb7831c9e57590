"""`svc init`, `svc serve` and `svc status`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.filesize import decimal
from rich.markup import escape
from rich.panel import Panel

from svc.cli import Command, Found
from svc.cli.common import (
    VAR_HELP,
    Reaching,
    Shown,
    cell,
    hear_warnings,
    json_option,
    run,
    say,
    sentences,
    settings_from,
    show_fields,
    show_records,
    tell,
)
from svc.log.folder import held
from svc.process import FIRST_LINK_SECONDS, typed
from svc.settings import Settings

if TYPE_CHECKING:
    from svc.cli.access import Access
    from svc.serving import Initialized, Listening

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
    from svc.logs import set_up_logs
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


def _show(found: Found) -> None:
    """Every field as the JSON has it; below what somebody has to see to."""
    log, views, people = found["log"], found["views"], found["developers"]
    found["events"] = log.pop("events")
    rows = {name: value for name, value in found.items() if not isinstance(value, list)}
    show_fields((name.replace("_", " "), escape(_told(value, name))) for name, value in rows.items())
    show_records(["display_name", "developer_id", "activation", "active", "unusable_email", "unknown_agents"], people)
    if used := [each for each in found["budgets"] if each["used"] or each["refused"]]:
        show_records(list(used[0]), used)
    names = {each["developer_id"]: f"{each['display_name']} ({each['developer_id']})" for each in people}
    missing = [names.get(each, each) for each in found["missing_keys"]]
    more = f" and {len(missing) - KEYS_NAMED} more" if len(missing) > KEYS_NAMED else ""
    keys = f"missing keys: {', '.join(missing[:KEYS_NAMED])}{more}; `svc verify` says what to do"
    prices, serving = found["catalog"], found["state"] == "serving"
    for sentence, holds in (
        ("not running: this is the folder", not serving),
        ("the log cannot be written", not log["writable"]),
        (keys, missing),
        ("the scores are being built: reads answer 503", serving and not views["level"]),
        ("events were passed over, for they could not be derived from", views["failed_events"]),
        ("no prices: the server is not ready", prices is None),
        ("the last refresh of the prices failed", prices and prices["stale"]),
        ("no backup was made in time: see the log", found["backups"] and found["backups"]["overdue"]),
    ):
        if holds:
            Shown(highlight=False).print(sentence, style="red", markup=False, soft_wrap=True)


def _told(value: object, name: str) -> str:
    if isinstance(value, dict):
        known = ((key, _told(each, f"{name} {key}")) for key, each in value.items())
        return ", ".join(f"{key.replace('_', ' ')} {told}" for key, told in known if told)
    if isinstance(value, int) and not isinstance(value, bool):
        return decimal(value) if "bytes" in name else f"{value:,}"
    return cell({name: value}, name, {})


@click.command(cls=Reaching, show=_show, example="svc status --var var")
async def status(access: "Access") -> Any:
    """Where no server runs, the folder itself is looked at."""
    return await access.ask("GET", "/v1/admin/control/status")
