"""`svc init` and `svc serve`."""

from functools import partial

import click
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from svc.app import open_service
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.folder import held
from svc.logs import set_up_logs
from svc.program import typed
from svc.serving import Listening
from svc.serving import serve as serve_until_stopped
from svc.settings import Settings
from svc.setup import Initialized, initialize


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
