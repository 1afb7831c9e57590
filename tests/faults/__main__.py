"""`make faults`: break the real program in many ways and report what was seen."""

import contextlib
import json
import random
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.faults.clock import clock_back
from tests.faults.commands import killed_commands
from tests.faults.damage import damaged_archive, damaged_views
from tests.faults.kills import kill_rounds
from tests.faults.outcome import Outcome
from tests.faults.power import power_cuts
from tests.faults.program import Program, program_of
from tests.faults.refusing import full_disk, no_sync, read_only
from tests.faults.trial import Trial


class Kind(NamedTuple):
    """A kind of fault."""

    fault: str
    expected: str
    begin: Callable[[Trial], None]


FAULTS = {
    "kills": Kind("kill -9 under load", "acknowledged = found, each once, nothing half; verify clean", kill_rounds),
    "power": Kind("power cut (unsynced writes lost)", "what was acknowledged by then is there, once", power_cuts),
    "full": Kind("disk full", "503, /health 503; with room again goes on without a restart, nothing lost", full_disk),
    "read-only": Kind("store read-only while running", "503, /health 503; goes on without a restart", read_only),
    "no-sync": Kind("disk that cannot sync", "503, nothing acknowledged meanwhile; then goes on", no_sync),
    "views": Kind("views damaged (at a start, running)", "reads 503 until built anew by itself", damaged_views),
    "archive": Kind("file of the archive damaged", "named in the log, skipped, counted, verify tells", damaged_archive),
    "clock": Kind("clock going backwards while running", "nothing lost, order by position, figures sane", clock_back),
    "commands": Kind(
        "kill -9 in replay, backup, restore, retention, forget",
        "begun again it completes, nothing lost",
        killed_commands,
    ),
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

    Example: python -m tests.faults --rounds 300 --only kills
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no server is left behind then, either
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
    """What was seen; where it is interrupted, until then."""
    outcomes: list[Outcome] = []
    with _bar() as bar, contextlib.suppress(KeyboardInterrupt):
        for name in names:
            kind, often = FAULTS[name], rounds if name == "kills" else times
            outcomes.append(Outcome(kind.fault, kind.expected))
            task = bar.add_task(name, total=often)
            kind.begin(Trial(program, folder, often, seed, outcomes[-1], partial(bar.advance, task)))
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
