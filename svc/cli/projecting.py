"""`svc project`: what the server runs beside itself; nothing for a person."""

from pathlib import Path

import click

from svc.cli.common import settings_from, var_option
from svc.logs import set_up_logs
from svc.worker import work


@click.command(hidden=True)
@var_option
@click.option("--views", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True)
def project(var: str | None, views: Path) -> None:
    """Keep a views file up to the log, one step for each line of standard input.

    The server starts it. Example: svc project --var var --views var/views-1-r1-1.db
    """
    set_up_logs("warning")
    work(settings_from(var=var).var_path, views)
