"""What several commands share: options, reaching the data, errors as sentences, and how results look."""

import contextlib
import functools
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import click
import msgspec
import structlog
import trio
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn
from rich.table import Table

from svc.cli.access import NotFound, NotReached, reach
from svc.jobs.catalog import CatalogUnusable
from svc.log.codec import CorruptEvent
from svc.log.folder import FolderInUse, FolderUnusable
from svc.log.store import StoreUnavailable
from svc.observe.logs import set_up_logs
from svc.process import single
from svc.settings import Settings, SettingsError, load_settings, unknown_variables
from svc_http.ports import Unavailable

T = TypeVar("T")

EXPECTED = (
    NotReached,
    NotFound,
    CatalogUnusable,
    FolderInUse,
    FolderUnusable,
    SettingsError,
    CorruptEvent,
    StoreUnavailable,
    Unavailable,
    OSError,
)
"""Errors that a person can do something about: shown as one sentence, without a traceback."""

var_option = click.option("--var", "var", metavar="DIR", help="The folder that holds the data. [default: var]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def settings_from(**flags: Any) -> Settings:
    """Settings with these flags on top; None is a flag that was not given."""
    if ignored := unknown_variables():  # by name only: a value may be a secret
        click.echo(f"warning: {', '.join(ignored)} in the environment: no settings of svc, and ignored", err=True)
    try:
        return load_settings(flags)
    except SettingsError as error:
        raise click.ClickException(str(error)) from error


def run(main: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run a command's async part; what a person can mend is shown as a sentence.

    Warnings go to standard error, unless the command has set up its logs otherwise: before its JSON there is nothing.
    """
    if not structlog.is_configured():
        set_up_logs("warning")
    try:
        return trio.run(functools.partial(main, *args), strict_exception_groups=True)
    except BaseException as error:
        cause = single(error)
        if isinstance(cause, KeyboardInterrupt):
            raise click.Abort from None
        if isinstance(cause, SystemExit | BrokenPipeError):  # what is shown has no reader any more, as behind `| head`
            raise cause from None
        sentence = _sentence(cause)
        if sentence is None:
            raise
        raise click.ClickException(sentence) from error


Names = Mapping[UUID, str]
Work = Callable[..., Awaitable[Any]]


class Columns(NamedTuple):
    """How records of a kind are shown as a table."""

    head: tuple[str, ...]
    row: Callable[[Any, Names], tuple[str, ...]]
    """Of a record and the names of developers by id."""
    named: bool = False
    """Whether the names are asked for."""


def reaching(show: Columns | Callable[[Any], None] | None = None) -> Callable[[Work], Callable[..., None]]:
    """Make a command's function of what is done with an `Access`.

    What comes of it is shown as JSON, or in these columns, or by this function. Without either it is a sentence
    about what was done.
    """

    def decorate(work: Work) -> Callable[..., None]:
        @functools.wraps(work)
        def typed(var: str | None, as_json: bool = False, **arguments: Any) -> None:
            async def main(settings: Settings) -> tuple[Any, Names]:
                async with reach(settings) as access:
                    found = await work(access, **arguments)
                    named = isinstance(show, Columns) and show.named and not as_json
                    return found, await access.names() if named else {}

            found, names = run(main, settings_from(var=var))
            if as_json:
                print_json(found)
            elif show is None:
                click.echo(found, err=True)
            elif isinstance(show, Columns):
                show_table(
                    show.head, (show.row(each, names) for each in (found if isinstance(found, list) else [found]))
                )
            else:
                show(found)

        return var_option(typed if show is None else json_option(typed))

    return decorate


@contextlib.contextmanager
def interruptible(what_holds: str) -> Iterator[None]:
    """Whoever presses Ctrl-C within the block is told what holds now, and what to do."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        raise click.ClickException(f"interrupted: {what_holds}") from None


def print_json(value: object) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def _owned(error: OSError) -> str:
    """As whom to do it, where this user may not."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return ""
    for path in (Path(error.filename), *Path(error.filename).parents):
        with contextlib.suppress(OSError, KeyError):
            return f"; {path} belongs to {path.owner()}: run this as that user, or name another place"
    return "; run this as the user that owns it, or name another place"


def _sentence(error: BaseException) -> str | None:
    """What a person is told of an expected error; None for any other."""
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}{_owned(error)}"
    return str(error) if isinstance(error, EXPECTED) else None


# --- how results look -----------------------------------------------------------------------------------------

WIDE_COLUMNS = 10_000
"""As wide as any table wants to be."""

MINUTE_CHARACTERS = len("2026-01-05T09:30")
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table of plain text, never cut: one that is wider than the terminal becomes a list, one line a field.

    Where nobody watches (a pipe, a file) it is as wide as it wants to be.
    """
    lines = [tuple(map(escape, row)) for row in rows]
    table = Table(*head, title=title, title_justify="left")
    for line in lines:
        table.add_row(*line)
    console, wide = Console(highlight=False), Console(width=WIDE_COLUMNS, highlight=False)
    wanted = wide.measure(table).maximum
    if not console.is_terminal:
        Console(width=wanted, highlight=False).print(table)
    elif wanted <= console.width:
        console.print(table)
    else:
        _list(console, head, lines, title)


def show_fields(fields: Iterable[tuple[str, str]], console: Console | None = None) -> None:
    """One line a field, however long; what is empty is left out. Values may hold markup."""
    wanted = [(name, value) for name, value in fields if value]
    width = max((len(name) for name, _ in wanted), default=0)
    for name, value in wanted:
        (console or Console(highlight=False)).print(f"[bold]{name:<{width}}[/bold]  {value}", soft_wrap=True)


def minute(time: str | None) -> str:
    """A time as a table shows it: to the minute, in UTC."""
    return "" if time is None else f"{time[:MINUTE_CHARACTERS].replace('T', ' ')}Z"


def counted(count: int, thing: str) -> str:
    """As in `1 file` and `2 files`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def drawn(console: Console, title: str) -> str:
    """What a recording console showed as SVG, in whatever font its reader has: a picture fetches nothing."""
    return _FONTS.sub("", console.export_svg(title=title))


def progress(*columns: str | ProgressColumn) -> Progress:
    """A bar on standard error, gone when the work is done; none where nobody watches."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _list(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]], title: str | None) -> None:
    if title is not None:
        console.print(f"[italic]{title}[/italic]", soft_wrap=True)
    for place, row in enumerate(rows):
        if place:
            console.print()
        show_fields(zip(head, row, strict=False), console)
