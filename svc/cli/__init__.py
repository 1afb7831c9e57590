"""`svc` itself: the commands there are. A module is imported when its command is called: all take seconds."""

import contextlib
import gc
import inspect
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click

from aggregates.ids import plain
from svc import __version__
from svc.process import single

Found = dict[str, Any]  # a record, as the API has it


class Entry(NamedTuple):
    """Where a command is made, and the first sentence of its help: the list of commands imports none."""

    module: str
    summary: str
    heading: str
    hidden: bool = False


COMMANDS: dict[str, Entry] = {}  # in the order of the help
for _part in Path(__file__).with_name("commands.txt").read_text(encoding="utf-8").split("# ")[1:]:
    _heading, *_lines = _part.splitlines()
    for _name, _module, _summary in (_line.split(maxsplit=2) for _line in _lines):
        COMMANDS[_name] = Entry(_module, _summary, _heading, hidden=_name == "build-views")


@contextlib.contextmanager
def sentences(what_holds: str | None = None) -> Iterator[None]:
    """What a person can mend is shown as a sentence; after Ctrl-C, what holds now."""
    try:
        yield
    except BaseException as error:
        cause = single(error)
        if isinstance(cause, KeyboardInterrupt | click.Abort):
            raise click.Abort if what_holds is None else click.ClickException(f"interrupted: {what_holds}") from None
        # What says itself what it is, and what is shown to nobody any more, as behind `| head`.
        if isinstance(cause, SystemExit | BrokenPipeError | click.ClickException):
            raise cause from None
        from aggregates.event import Mendable  # late: the list of commands needs no msgspec

        if isinstance(cause, Mendable | OSError):
            raise click.ClickException(_sentence(cause)) from error
        raise


def _sentence(error: BaseException) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    sentence = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    if isinstance(error, PermissionError) and isinstance(error.filename, str):
        for path in (Path(error.filename), *Path(error.filename).parents):
            with contextlib.suppress(OSError, KeyError):
                return f"{sentence}; {path} belongs to {path.owner()}: run this as that user, or name another place"
    return sentence


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """For imports: they make a hundred thousand objects, of which none is garbage, and none is looked at again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Command(click.Command):
    """A command whose help ends with one way to type it."""

    def __init__(self, *, example: str, help: str | None = None, **kwargs: Any) -> None:
        super().__init__(help=f"{inspect.cleandoc(help or '')}\n\nExample: {example}".lstrip(), **kwargs)


class _Program(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """With what the list says of it, before whatever else its help tells."""
        if (entry := COMMANDS.get(cmd_name)) is None:
            return None
        with no_collection():
            made = vars(import_module(f"svc.cli.{entry.module}")).values()
        found = next(each for each in made if isinstance(each, click.Command) and each.name == cmd_name)
        if not (found.help or "").startswith(entry.summary):
            found.help = f"{entry.summary}\n\n{found.help or ''}".rstrip()
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in groupby(COMMANDS.items(), lambda each: each[1].heading):
            with formatter.section(heading):
                formatter.write_dl([(name, entry.summary) for name, entry in commands if not entry.hidden])

    def invoke(self, ctx: click.Context) -> Any:
        """What is wrong may quote a file's name, an argument or an answer."""
        try:
            with sentences():
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
