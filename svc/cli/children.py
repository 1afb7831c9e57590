"""What `svc replay --check` runs as a child, and the hook that agents call; nothing for a person to type.

They import no more than they need.
"""

import sys
from pathlib import Path

import click
import msgspec

from svc.cli import Command, kept
from svc.hook.captures import AGENTS
from svc.hook.main import call
from svc.limits import REPLAY_EVENTS_MAX
from svc.process import look_seldom, place_of_child

_folder = click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)


@click.command(cls=Command, hidden=True, example="svc build-views --var var --build var/views-1-r1-2.db")
@_folder
@click.option("--build", "path", type=click.Path(path_type=Path), required=True, help="The file to be made.")
@click.option("--batch-events", type=int, default=REPLAY_EVENTS_MAX)
@click.option("--up-to", type=int, help="The last event to read. [default: the newest]")
def build_views(var: Path, path: Path, batch_events: int, up_to: int | None) -> None:
    """Build a views file anew from the log, with a line of progress for each step. A check starts it."""
    with kept():
        from svc.observe.logs import set_up_logs
        from svc.views.replay import build_views as build
    set_up_logs("warning")
    look_seldom()
    build(place_of_child(var), path, _tell, batch_events=batch_events, up_to=up_to)


def _tell(done: int, of: int) -> None:
    from svc.views.replay import BuildStep

    sys.stdout.write(msgspec.json.encode(BuildStep(done, of)).decode() + "\n")
    sys.stdout.flush()


@click.command(
    cls=Command, example="""echo '{"hook_event_name": "SessionStart", "session_id": "s1"}' | svc hook claude-code"""
)
@click.argument("agent", type=click.Choice(AGENTS), default="claude-code")
@click.option("--connection", metavar="NAME", help="Which connection sends it. [default: that of the AGENT]")
def hook(agent: str, connection: str | None) -> None:
    """What an agent's hooks call; nothing to type by hand.

    Sends what the hook's JSON on standard input tells. It prints nothing, always exits with 0, and takes no longer
    than 2 seconds: what the server does not take in time waits in an outbox for the next call. `svc connect` writes
    it into the agent's settings.
    """
    # Agents go past this: see `svc.__main__`.
    call([agent] if connection is None else [agent, "--connection", connection])
