"""What several commands share: options, reaching the data, errors as sentences, and how results look.

A command must start fast: what takes long to import is imported by the function that needs it.
"""

import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from aggregates.ids import escaped, plain
from svc.cli import Command, Found, sentences
from svc.cli.access import reach
from svc.settings import Settings, load_settings, unknown_variables

if TYPE_CHECKING:
    import jinja2

T = TypeVar("T")
WIDE_COLUMNS = 10_000  # as wide as any table wants to be
MINUTE_CHARACTERS = len("2026-01-05T09:30")


def settings_from(**flags: Any) -> Settings:
    """Settings with these flags on top; None is a flag that was not given."""
    if ignored := unknown_variables():  # by name only: a value may be a secret
        say(f"warning: {', '.join(ignored)} in the environment: no settings of svc, and ignored", err=True)
    return load_settings(flags, warn=lambda warning: say(f"warning: {warning}", err=True))


VAR_HELP = "The folder that holds the data. [default: var]"
settings_option = click.option(
    "--var", "settings", metavar="DIR", help=VAR_HELP, callback=lambda _context, _option, var: settings_from(var=var)
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
ORGANIZATION = click.Option(
    ["--organization"], metavar="ORG", help="Its name or id; may be left out while there is only one."
)


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    return settings_option(json_option(command))


def hear_warnings() -> None:
    """On standard error, unless the command has set up its logs otherwise: before its JSON there is nothing."""
    import structlog

    if not structlog.is_configured():
        from svc.logs import set_up_logs

        set_up_logs("warning")


def run(main: Callable[..., Awaitable[T]], *args: Any) -> T:
    import trio

    hear_warnings()
    return trio.run(main, *args, strict_exception_groups=True)


@contextlib.contextmanager
def working(doing: str, what_holds: str | None = None) -> Iterator[Callable[[int, int], None]]:
    """`sentences`, with a bar on standard error until the work is done; none where nobody watches."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    hear_warnings()
    console = Shown(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with sentences(what_holds), bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


DEVELOPER = "developer"  # as a column: the name of whoever has the record's `developer_id`
FOREVER = "forever"


class Reaching(Command):
    """A command that works with an `Access`. `show`: a function, or the fields of a table; else it says a sentence."""

    def __init__(
        self,
        *,
        callback: Callable[..., Any],
        params: list[click.Parameter],
        show: str | Callable[[Any], None] | None = None,
        **more: Any,
    ) -> None:
        fields = show.split() if isinstance(show, str) else []

        def carry_out(settings: Settings, as_json: bool = False, **arguments: Any) -> None:
            hear_warnings()
            with reach(settings) as access:
                found = callback(access, **arguments)
                names = access.names() if DEVELOPER in fields and not as_json else {}
            if fields and not as_json:
                show_records(fields, found if isinstance(found, list) else [found], names)
            else:
                tell(found, as_json, show if callable(show) else found)

        super().__init__(callback=carry_out, **more)
        settings_option(self)
        if show is not None:
            json_option(self)
        self.params += params


def show_records(fields: Sequence[str], records: Iterable[Found], names: Mapping[str, str] = {}) -> None:
    """A table of these fields; `names`: of developers, by id."""
    rows = [[cell(each, field, names) for field in fields] for each in records]
    show_table([field.replace("_", " ") for field in fields], rows)


def cell(record: Found, field: str, names: Mapping[str, str]) -> str:
    if field == DEVELOPER:
        return names.get(record["developer_id"], "")
    value = record.get(field)
    if value is None:
        return FOREVER if field.startswith("retention_") else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return minute(value) if field.endswith("_at") else str(value)


class Family(click.Group):
    command_class = Reaching


class Shown(Console):
    """A console on which no text from outside steers the terminal: every string passes here, in tables too."""

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        return super().render_str(plain(text), *args, **options)


@cache
def _templates() -> "jinja2.Environment":
    import jinja2

    from svc_http.pages.words import FILTERS

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("svc.cli"),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: escape(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= FILTERS
    return made


def show_text(name: str, /, **values: Any) -> None:
    """What a template makes of these values; markup is its own."""
    Shown(highlight=False, soft_wrap=True).print(_templates().get_template(f"{name}.txt").render(values), end="")


def say(sentence: str, *, err: bool = False) -> None:
    click.echo(plain(sentence), err=err)


def print_json(value: object) -> None:
    sys.stdout.write(escaped(msgspec.json.encode(value).decode()) + "\n")
    sys.stdout.flush()


def tell(result: T, as_json: bool, told: str | Callable[[T], None]) -> None:
    """What came of a command: as JSON, as a sentence on standard error, or by this function."""
    if as_json:
        print_json(result)
    elif isinstance(told, str):
        say(told, err=True)
    else:
        told(result)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table of plain text, never cut: one that is wider than the terminal becomes a list, one line a field."""
    lines = [tuple(map(escape, row)) for row in rows]
    table = Table(*head, title=title, title_justify="left")
    for line in lines:
        table.add_row(*line)
    console = Shown(highlight=False)
    wanted = Shown(width=WIDE_COLUMNS, highlight=False).measure(table).maximum
    if not console.is_terminal:
        Shown(width=wanted, highlight=False).print(table)
    elif wanted <= console.width:
        console.print(table)
    else:
        console.print(f"[italic]{title or ''}[/italic]", soft_wrap=True)
        for line in lines:
            show_fields(zip(head, line, strict=False), console)
            console.print()


def show_fields(fields: Iterable[tuple[str, str]], console: Console | None = None) -> None:
    """One line a field, however long; what is empty is left out. Values may hold markup."""
    wanted = [(name.replace("_", " "), value) for name, value in fields if value]
    width = max((len(name) for name, _ in wanted), default=0)
    for name, value in wanted:
        (console or Shown(highlight=False)).print(f"[bold]{name:<{width}}[/bold]  {value}", soft_wrap=True)


def minute(time: str | None) -> str:
    return "" if time is None else f"{time[:MINUTE_CHARACTERS].replace('T', ' ')}Z"
