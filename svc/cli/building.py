"""`svc build-views`, which a replay runs beside itself, and `svc read-batches`, which that runs; nothing for a person.

They import no more than they need.
"""

from pathlib import Path

import click

from svc.building import build_views as build
from svc.garbage import look_seldom
from svc.limits import PROJECT_EVENTS_MAX
from svc.logs import set_up_logs
from svc.reading_ahead import read_batches as read


@click.command(hidden=True)
@click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--build", "path", type=click.Path(path_type=Path), required=True, help="The file to be made.")
@click.option("--batch-events", type=int, default=PROJECT_EVENTS_MAX)
@click.option("--up-to", type=int, help="The last event to read. [default: the newest]")
def build_views(var: Path, path: Path, batch_events: int, up_to: int | None) -> None:
    """Build a views file anew from the log. A replay starts it.

    Example: svc build-views --var var --build var/views-1-r1-2.db
    """
    set_up_logs("warning")
    look_seldom()
    build(var, path, batch_events, up_to)


@click.command(hidden=True)
@click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--batch-events", type=int, required=True)
@click.option("--up-to", type=int, required=True, help="The last event to read.")
def read_batches(var: Path, batch_events: int, up_to: int) -> None:
    """Write the rows of a log's facts to standard output, for a process. A replay of many events starts it.

    Example: svc read-batches --var var --batch-events 1000 --up-to 90000
    """
    set_up_logs("warning")
    look_seldom()
    read(var, batch_events, up_to)
