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

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.faults.commands import kill_rounds, killed_commands
from tests.faults.house import Trial
from tests.faults.power import power_cuts
from tests.faults.refusing import damaged_views, full_disk, no_sync, read_only
from tests.support.process import QUIET, THIS_TREE, Program
from tests.support.results import Outcome, all_hold, told

FAULTS: dict[str, tuple[str, str, Callable[[Trial], None]]] = {
    "kills": ("kill -9 under load", "acknowledged = found, each once, nothing half; verify clean", kill_rounds),
    "power": ("power cut (unsynced writes lost)", "what was acknowledged by then is there, once", power_cuts),
    "full": ("disk full", "503, /health 503; with room again goes on without a restart, nothing lost", full_disk),
    "read-only": ("store read-only while running", "503, /health 503; goes on without a restart", read_only),
    "no-sync": ("disk that cannot sync", "503, nothing acknowledged meanwhile; then goes on", no_sync),
    "views": ("views damaged (at a start, running)", "reads 503 until built anew by itself", damaged_views),
    "commands": ("kill -9 in replay, backup, restore", "begun again it completes, nothing lost", killed_commands),
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

    Example: python -m tests.faults --rounds 300 --only kills"""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no server is left behind then, either
    seed = random.randrange(10**6) if seed is None else seed
    program = THIS_TREE if binary is None else Program((str(Path(binary).absolute()),), QUIET)
    with tempfile.TemporaryDirectory(prefix="svc-faults-") as scratch:
        outcomes = _tried(program, folder or Path(scratch), only or tuple(FAULTS), rounds, times, seed)
    if as_json:
        click.echo(json.dumps({"seed": seed, "outcomes": msgspec.to_builtins(outcomes)}))
    else:
        told(outcomes, f"seed {seed}")
    sys.exit(0 if all_hold(outcomes) else 1)


def _tried(program: Program, folder: Path, names: tuple[str, ...], rounds: int, times: int, seed: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar, contextlib.suppress(KeyboardInterrupt):
        for name in names:
            fault, expected, begin = FAULTS[name]
            often = rounds if name == "kills" else times
            outcomes.append(Outcome(fault, expected))
            task = bar.add_task(name, total=often)
            begin(Trial(program, folder, often, seed, outcomes[-1], partial(bar.advance, task)))
    return outcomes


if __name__ == "__main__":
    main()
