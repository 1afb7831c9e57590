"""`make faults`: faults put to the real program, and what was seen."""

import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from faults.damage import damaged_archive, damaged_views
from faults.kills import kill_rounds
from faults.outcome import Outcome
from faults.power import power_cuts
from faults.program import Program, program_of
from faults.refusing import full_disk, no_sync, read_only

Fault = Callable[[Program, Path, int, int, Callable[[], None]], Outcome]
"""The program, a folder to work in, how often, the seed, and whom to tell after each time."""

FAULTS: dict[str, Fault] = {
    "kills": kill_rounds,
    "power": power_cuts,
    "full": full_disk,
    "views": damaged_views,
    "archive": damaged_archive,
    "read-only": read_only,
    "no-sync": no_sync,
}


@click.command()
@click.option("--program", "binary", type=click.Path(exists=True), help="The one-file binary. [default: this tree]")
@click.option("--rounds", default=20, show_default=True, help="Rounds of kill -9 under load.")
@click.option("--times", default=2, show_default=True, help="How often each of the other faults is tried.")
@click.option("--only", multiple=True, type=click.Choice(list(FAULTS)), help="Some faults only; may be repeated.")
@click.option("--seed", type=int, help="Repeats the moments and kinds of earlier rounds. [default: a new one]")
@click.option("--folder", type=click.Path(path_type=Path), help="Work in here and leave it. [default: a temporary one]")
@click.option("--json", "as_json", is_flag=True, help="The outcomes as JSON.")
def main(
    binary: str | None,
    rounds: int,
    times: int,
    only: tuple[str, ...],
    seed: int | None,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Put faults to the real program in folders of its own. Ends with 1 where something is not as it must be.

    Example: python -m faults --rounds 300 --only kills
    """
    seed = random.randrange(10**6) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="svc-faults-") as scratch:
        outcomes = _tried(program_of(binary), folder or Path(scratch), only or tuple(FAULTS), rounds, times, seed)
    if as_json:
        click.echo(json.dumps({"seed": seed, "outcomes": msgspec.to_builtins(outcomes)}))
    else:
        _show(outcomes, seed)
    if any(outcome.deviations for outcome in outcomes):
        sys.exit(1)


def _tried(program: Program, folder: Path, names: tuple[str, ...], rounds: int, times: int, seed: int) -> list[Outcome]:
    outcomes = []
    with _bar() as bar:
        for name in names:
            often = rounds if name == "kills" else times
            task = bar.add_task(name, total=often)
            outcomes.append(FAULTS[name](program, folder, often, seed, lambda task=task: bar.advance(task)))  # type: ignore[misc]
    return outcomes


def _show(outcomes: list[Outcome], seed: int) -> None:
    console = Console(width=140)
    table = Table("fault", "times", "expected", "seen", "", title=f"seed {seed}")
    for outcome in outcomes:
        seen = ", ".join(f"{name} {number:,}" for name, number in outcome.seen.items())
        table.add_row(
            outcome.fault, str(outcome.tried), outcome.expected, outcome.left_out or seen, outcome.verdict(),
            style="bold red" if outcome.deviations else "",
        )  # fmt: skip
    console.print(table)
    for outcome in outcomes:
        for deviation in outcome.deviations:
            console.print(f"{outcome.fault}: {deviation}", style="red", markup=False)


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


if __name__ == "__main__":
    main()
