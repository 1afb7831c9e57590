"""How results look: tables whose ids can be copied, and progress where somebody watches."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn
from rich.table import Table

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
