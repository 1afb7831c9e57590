"""`svc review`: a developer's own agent answers what is open about their work."""

import signal
import sys
from typing import get_args

import click

from svc.cli.asking import Asking
from svc.cli.common import print_json, say, working
from svc.connect import review as reviewing
from svc.connect.agents import AgentName
from svc.connect.changes import Refused
from svc.connect.connections import Server, all_stored


@click.command(cls=Asking, example="svc review --with claude-code --limit 5")
@click.option("--with", "agent", type=click.Choice(get_args(AgentName)), help="Which. [default: the one connected]")
@click.option("--model", help="Which of its models. [default: a small one, or the agent's own]")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many questions.")
@click.option("--budget", default=reviewing.DAILY_TOKENS, show_default=True, help="Tokens a day.")
@click.option("--dry-run", is_flag=True, help="Count what would be asked, and ask nobody.")
def review(
    server: Server, agent: AgentName | None, model: str | None, limit: int, budget: int, dry_run: bool, as_json: bool
) -> None:
    """The agent is run without a screen in an empty folder, with its tools, hooks and memory off, one question at a
    time. Your prompts and the ends of its answers go to its model, by your account there. What is answered is kept.
    """
    ours = sorted(all_stored(), key=lambda each: (each.agent != agent, not each.judge))
    if not ours:
        raise Refused("no agent is connected on this machine: svc connect claude-code")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the agent is ended with it
    judge = reviewing.Judge(agent or ours[0].agent, model)
    if dry_run:
        found = reviewing.questions(server)[:limit]
        tokens = sum(map(reviewing.tokens_at_most, found))
        return say(f"{len(found)} questions are open for {judge.agent} ({judge.model}), at most {tokens:,} tokens")
    with working(f"asking {judge.agent}", "what was answered is kept") as progress:
        report = reviewing.review(server, ours[0].name, judge, limit, budget, progress)
    if as_json:
        print_json(report)
    else:
        spent = reviewing.Spent.today()
        refused = f", {report.refused} refused: {spent.failure}" if report.refused else ""
        cost = f"{report.tokens:,} tokens, {spent.tokens:,} of {budget:,} today"
        say(f"{judge.agent} ({judge.model}) answered {report.answered} questions{refused}; {cost}")
    if report.stopped is not None:
        raise click.ClickException(report.stopped)
