"""`svc` itself: the commands there are."""

import click

from svc import __version__
from svc.cli.catalog import catalog
from svc.cli.demo import demo
from svc.cli.importing import import_
from svc.cli.judging import grade, judge
from svc.cli.keys import key
from svc.cli.projecting import project
from svc.cli.replaying import replay
from svc.cli.serving import init, serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="svc")
def main() -> None:
    """An honest mirror of how well you work with AI coding agents.

    \b
    First steps:
      svc serve                      # starts, and shows your key once
      svc import claude-code         # reads what you have done so far
    """


for command in (init, serve, key, catalog, replay, import_, grade, judge, demo, project):
    main.add_command(command)
