"""`svc project`: what the server runs beside itself; nothing for a person. It imports no more than it needs."""

import sqlite3
from pathlib import Path

import click

from projections.damage import is_damage, is_passing
from svc.child import DAMAGED, NOT_OPENED, work
from svc.garbage import look_seldom
from svc.logs import set_up_logs
from svc.store import StoreUnavailable


@click.command(hidden=True)
@click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--views", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=True)
def project(var: Path, views: Path) -> None:
    """Keep a views file up to the log, one step for each line of standard input.

    The server starts it.

    Example: svc project --var var --views var/views-1-r1-1.db
    """
    set_up_logs("warning")
    look_seldom()
    try:
        work(var, views)
    except StoreUnavailable as error:
        raise _ended(f"the log cannot be opened: {error}", NOT_OPENED) from error
    except sqlite3.Error as error:
        if is_damage(error):
            raise _ended(f"{views.name} is damaged: {error}", DAMAGED) from error
        if is_passing(error):
            raise _ended(f"{views.name} cannot be opened: {error}", NOT_OPENED) from error
        raise


def _ended(sentence: str, code: int) -> SystemExit:
    """One sentence on standard error, and a code that the server understands."""
    click.echo(f"Error: {sentence}", err=True)
    return SystemExit(code)
