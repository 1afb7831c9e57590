"""Keep the results of benchmarks in a file, print them as a table, and draw them for docs/performance.md.

python -m tests.bench --keep docs/performance.json
python -m tests.bench.reads --folder DIR --keep docs/performance.json
python -m tests.bench.results docs/performance.json --svg docs/performance.svg
"""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.support.picture import drawn

BAR_CELLS = 30
"""Of which the first half is the way to the target."""
MOST_SHOWN = 2.0
"""Times the target; what is better than that fills the bar as well."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure, and its target where it has one."""

    what: str
    measured: float
    unit: str
    target: float | None = None
    at_most: bool = False
    """Whether less is better."""
    baseline: str = ""
    """What it was measured beside, in the same run."""

    @property
    def reach(self) -> float | None:
        """How far towards the target: 1 reaches it. None without a target."""
        if self.target is None:
            return None
        if self.at_most:
            return self.target / self.measured if self.measured else MOST_SHOWN
        return self.measured / self.target


def keep(path: Path, found: Sequence[Result]) -> None:
    """Write results into a file of such, each in the place of the one of the same name."""
    kept = {result.what: result for result in read(path)} if path.exists() else {}
    kept |= {result.what: result for result in found}
    text = msgspec.json.format(msgspec.json.encode(list(kept.values())), indent=2)
    path.write_bytes(text + b"\n")


def read(path: Path) -> list[Result]:
    """The results of a file. Raises msgspec.ValidationError or DecodeError where it holds something else."""
    return msgspec.json.decode(path.read_bytes(), type=list[Result])


def table_of(results: Sequence[Result]) -> Table:
    """The results, each with a bar whose middle is the target."""
    table = Table("", "measured", "target")
    table.add_column("misses it     │ reaches it", no_wrap=True)
    table.add_column("beside")
    for result in results:
        table.add_row(result.what, _number(result.measured, result), _target(result), _bar(result), result.baseline)
    return table


def markdown(results: Sequence[Result]) -> str:
    """The results as a table of a page."""
    rows = ["| | measured | target | | beside |", "|---|---|---|---|---|"]
    for result in results:
        met = "" if result.reach is None else "met" if result.reach >= 1 else "**missed**"
        measured = _number(result.measured, result)
        rows.append(f"| {result.what} | {measured} | {_target(result)} | {met} | {result.baseline} |")
    return "\n".join(rows)


def save_picture(results: Sequence[Result], path: Path) -> None:
    """Draw the table into an SVG file."""
    console = Console(record=True, width=150, file=StringIO())
    console.print(table_of(results))
    path.write_text(drawn(console, "svc, measured beside its targets"), encoding="utf-8")


def _number(value: float, result: Result) -> str:
    shown = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{shown} {result.unit}".strip()


def _target(result: Result) -> str:
    if result.target is None:
        return ""
    return f"{'≤' if result.at_most else '≥'} {_number(result.target, result)}"


def _bar(result: Result) -> Text:
    if result.reach is None:
        return Text()
    filled = round(min(result.reach, MOST_SHOWN) / MOST_SHOWN * BAR_CELLS)
    cells = "█" * filled + " " * (BAR_CELLS - filled)
    half = BAR_CELLS // 2
    return Text(f"{cells[:half]}│{cells[half:]}", style="green" if result.reach >= 1 else "red")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw them here.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print them as a table of a page.")
def main(file: Path, svg: Path | None, as_markdown: bool) -> None:
    """Show what was kept of benchmarks.

    Example: python -m tests.bench.results docs/performance.json --svg docs/performance.svg
    """
    results = read(file)
    if svg:
        save_picture(results, svg)
    if as_markdown:
        click.echo(markdown(results))
    else:
        Console(width=150).print(table_of(results))


if __name__ == "__main__":
    main()
