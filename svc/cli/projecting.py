"""`svc project`: what the server runs beside itself; nothing for a person. It imports no more than it needs."""

from pathlib import Path

import click

from svc.logs import set_up_logs
from svc.worker import work


@click.command(hidden=True)
@click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--views", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True)
def project(var: Path, views: Path) -> None:
    """Keep a views file up to the log, one step for each line of standard input.

    The server starts it.

    Example: svc project --var var --views var/views-1-r1-1.db
    """
    set_up_logs("warning")
    work(var, views)
