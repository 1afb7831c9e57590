"""`svc` itself: the commands there are. A module is imported when its command is called: all take a second."""

import inspect
from importlib import import_module
from typing import Any

import click

from svc import __version__

COMMANDS = {
    "init": "svc.cli.serving:init",
    "serve": "svc.cli.serving:serve",
    "connect": "svc.cli.connecting:connect",
    "disconnect": "svc.cli.connecting:disconnect",
    "doctor": "svc.cli.connecting:doctor",
    "hook": "svc.cli.children:hook",
    "status": "svc.cli.serving:status",
    "org": "svc.cli.people:org",
    "developer": "svc.cli.people:developer",
    "member": "svc.cli.people:member",
    "team": "svc.cli.people:team",
    "key": "svc.cli.people:key",
    "catalog": "svc.cli.catalog:catalog",
    "replay": "svc.cli.replaying:replay",
    "backfill": "svc.cli.replaying:backfill",
    "import": "svc.cli.importing:import_",
    "grade": "svc.cli.judging:grade",
    "judge": "svc.cli.judging:judge",
    "backup": "svc.cli.maintenance:backup_",
    "restore": "svc.cli.maintenance:restore_",
    "verify": "svc.cli.maintenance:verify_",
    "export": "svc.cli.maintenance:export_",
    "forget": "svc.cli.maintenance:forget_",
    "retention": "svc.cli.maintenance:retention_",
    "demo": "svc.cli.demo:demo",
    "project": "svc.cli.children:project",
    "build-views": "svc.cli.children:build_views",
}
"""Name → the module and the command in it, in the order of the help."""


class Command(click.Command):
    """A command whose help ends with one way to type it."""

    def __init__(self, *, example: str, help: str, **kwargs: Any) -> None:
        super().__init__(help=f"{inspect.cleandoc(help)}\n\nExample: {example}", **kwargs)


class Group(click.Group):
    """A family of commands."""

    command_class = Command


class _Program(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, _, attribute = COMMANDS.get(cmd_name, "").partition(":")
        command: click.Command | None = getattr(import_module(module), attribute) if module else None
        return command


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="svc")
def main() -> None:
    """An honest mirror of how well you work with AI coding agents.

    \b
    First steps:
      svc serve                      # starts, and shows your key once
      svc import claude-code         # reads what you have done so far
      svc connect claude-code        # sends what you do from now on
    """
