"""What `svc replay --check` runs as a child, and the hook that agents call; nothing for a person to type.

They import no more than they need.
"""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from svc.cli import Command, kept
from svc.hook.captures import AGENTS
from svc.hook.main import call
from svc.process import look_seldom, place_of_child


@click.command(cls=Command, hidden=True, example="svc build-views --var var --batch-events 500 --up-to 1000")
@click.option("--var", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--batch-events", type=int, required=True)
@click.option("--up-to", type=int, required=True, help="The last event to read.")
def build_views(var: Path, batch_events: int, up_to: int) -> None:
    """Build the views anew from the log, and print digests of their tables; before, how far it is."""
    with kept():
        from svc.observe.logs import set_up_logs
        from svc.views.replay import BuildStep, built_digests
    set_up_logs("warning")
    look_seldom()

    def tell(*told: Any) -> None:
        sys.stdout.write(msgspec.json.encode(BuildStep(*told)).decode() + "\n")
        sys.stdout.flush()

    tell(up_to, up_to, built_digests(place_of_child(var), tell, batch_events=batch_events, up_to=up_to))


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
