"""`svc build-views`, which a replay runs beside itself, and `svc read-batches`, which that runs; nothing for a person.

They import no more than they need.
"""

import sqlite3
from pathlib import Path

import click

from projections.reader import is_damage, is_passing
from svc.hook.inputs import AGENTS
from svc.hook.main import call
from svc.limits import PROJECT_EVENTS_MAX
from svc.log.store import StoreUnavailable
from svc.observe.logs import set_up_logs
from svc.process import look_seldom
from svc.views.replay import build_views as build
from svc.views.replay import read_batches as read
from svc.views.worker import DAMAGED, NOT_OPENED, work


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


# `svc project`: what the server runs beside itself; nothing for a person. It imports no more than it needs.


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


# `svc hook`, as the help shows it. What an agent calls goes past this: see `svc.__main__`.


@click.command()
@click.argument("agent", type=click.Choice(AGENTS), default="claude-code")
@click.option("--connection", metavar="NAME", help="Which connection sends it. [default: that of the AGENT]")
def hook(agent: str, connection: str | None) -> None:
    """What an agent's hooks call; nothing to type by hand.

    Sends what the hook's JSON on standard input tells. It prints nothing, always exits with 0, and takes no longer
    than 2 seconds: what the server does not take in time waits in an outbox for the next call. `svc connect` writes
    it into the agent's settings.

    Example: echo '{"hook_event_name": "SessionStart", "session_id": "s1"}' | svc hook claude-code
    """
    call([agent] if connection is None else [agent, "--connection", connection])
