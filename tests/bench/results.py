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

from tests.support.picture import drawn
from tests.support.results import Result, table_of


def keep(path: Path, found: Sequence[Result]) -> None:
    """Write results into a file of such, each in the place of the one of the same name."""
    kept = {result.what: result for result in read(path)} if path.exists() else {}
    kept |= {result.what: result for result in found}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(list(kept.values())), indent=2) + b"\n")


def read(path: Path) -> list[Result]:
    """The results of a file. Raises msgspec.ValidationError or DecodeError where it holds something else."""
    return msgspec.json.decode(path.read_bytes(), type=list[Result])


def markdown(results: Sequence[Result]) -> str:
    """The results as a table of a page."""
    rows = ["| | measured | target | | beside |", "|---|---|---|---|---|"]
    for each in results:
        met = "" if each.reach is None else "**missed**" if each.missed else "met"
        rows.append(f"| {each.what} | {each.number(each.measured)} | {each.wanted} | {met} | {each.baseline} |")
    return "\n".join(rows)


def save_picture(results: Sequence[Result], path: Path) -> None:
    """Draw the table into an SVG file."""
    console = Console(record=True, width=150, file=StringIO())
    console.print(table_of(results))
    path.write_text(drawn(console, "svc, measured beside its targets"), encoding="utf-8")


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
