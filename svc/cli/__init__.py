"""`svc` itself: the commands there are. A module is imported when its command is called: all take a second."""

import inspect
from importlib import import_module
from typing import Any

import click

from aggregates.characters import plain
from svc import __version__

_ORDER = (
    ("serving", ("init", "serve")),
    ("connecting", ("connect", "disconnect", "doctor")),
    ("children", ("hook",)),
    ("serving", ("status",)),
    ("people", ("org", "developer", "member", "team", "key")),
    ("catalog", ("catalog",)),
    ("replaying", ("replay", "backfill")),
    ("importing", ("import",)),
    ("judging", ("grade", "judge")),
    ("maintenance", ("backup", "restore", "verify", "export", "forget", "retention")),
    ("demo", ("demo",)),
    ("children", ("project", "build-views")),
)
COMMANDS = {name: f"svc.cli.{module}" for module, names in _ORDER for name in names}
"""Name → the module that makes a command of this name, in the order of the help."""


class Command(click.Command):
    """A command whose help ends with one way to type it."""

    def __init__(self, *, example: str, help: str, **kwargs: Any) -> None:
        super().__init__(help=f"{inspect.cleandoc(help)}\n\nExample: {example}", **kwargs)


class _Program(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        made = vars(import_module(COMMANDS[cmd_name])).values() if cmd_name in COMMANDS else ()
        return next((each for each in made if isinstance(each, click.Command) and each.name == cmd_name), None)

    def invoke(self, ctx: click.Context) -> Any:
        """What is wrong may quote a file's name, an argument or an answer."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            said = error.format_message()
            if plain(said) == said:
                raise
            kind = click.UsageError if isinstance(error, click.UsageError) else click.ClickException
            raise kind(plain(said)) from error


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
