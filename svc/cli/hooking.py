"""`svc hook`, as the help shows it. What an agent calls goes past this: see `svc.entry`."""

import click

from svc.hook.calling import call
from svc.hook.inputs import AGENTS


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
