"""`make bench`: figures of the service beside baselines of the same run."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from tests.bench.measures import captures, hooks, own_writes, records, replay, starts
from tests.support.picture import drawn
from tests.support.results import Result, table_of

PARTS: dict[str, tuple[int, str, Callable[[int, int], list[Result]]]] = {
    "requests": (6_000, "Captures in each round", captures),
    "own": (600, "Captures, 20 a second, each then read", lambda count, _rounds: own_writes(count)),
    "batches": (400, "Exports of 100 log records in each round", records),
    "events": (30_000, "Events of the history that is replayed", lambda count, _rounds: replay(count)),
    "hooks": (100, "Calls of a hook", lambda count, _rounds: hooks(count)),
    "starts": (10, "Starts of commands and of a server", lambda count, _rounds: starts(count)),
}


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw the results into this file too.")
def main(rounds: int, svg: Path | None, **counts: int) -> None:
    """Durable captures (16 connections, 1 KB prompts), log records and replayed events a second, hooks and starts, each
    beside a baseline. Reads over long histories: `python -m tests.bench.reads`.

    Example: python -m tests.bench --requests 4000 --own 0 --batches 0 --events 0 --hooks 0 --starts 0"""
    results = [each for name, count in counts.items() if count for each in PARTS[name][2](count, rounds)]
    console = Console(width=150, record=True)
    console.print(table_of(results))
    if svg:
        svg.write_text(drawn(console, "svc, measured beside its targets"), encoding="utf-8")


for name, (usual, counted, _) in PARTS.items():
    click.option(f"--{name}", default=usual, show_default=True, help=f"{counted}; 0 leaves them out.")(main)

if __name__ == "__main__":
    main()
