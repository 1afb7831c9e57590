"""`make bench`: figures of the service beside baselines of the same run."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from tests.bench.measures import captures, hooks, own_writes, records, replay, starts
from tests.bench.results import keep
from tests.support.results import Result, table_of


@click.command()
@click.option("--requests", default=6000, show_default=True, help="Captures in each round; 0 leaves them out.")
@click.option("--own", default=600, show_default=True, help="Captures, 20 a second, each then read; likewise.")
@click.option("--batches", default=400, show_default=True, help="Exports of 100 log records in each round; likewise.")
@click.option("--events", default=30000, show_default=True, help="Events of the history that is replayed; 0: none.")
@click.option("--hooks", "calls", default=100, show_default=True, help="Calls of a hook; likewise.")
@click.option("--starts", "begun", default=10, show_default=True, help="Starts of commands and of a server; likewise.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--keep", "kept", type=click.Path(dir_okay=False, path_type=Path), help="Keep the results in this file.")
def main(
    requests: int,
    own: int,
    batches: int,
    events: int,
    calls: int,
    begun: int,
    rounds: int,
    kept: Path | None,
) -> None:
    """Durable captures (16 connections, 1 KB prompts), log records and replayed events a second, hooks and
    starts, each beside a baseline. Reads over long histories: `python -m tests.bench.reads`.

    Example: python -m tests.bench --requests 4000 --own 0 --batches 0 --events 0 --hooks 0 --starts 0
    """
    parts: list[tuple[int, Callable[[], list[Result]]]] = [
        (requests, lambda: captures(requests, rounds)),
        (own, lambda: own_writes(own)),
        (batches, lambda: records(batches, rounds)),
        (events, lambda: replay(events)),
        (calls, lambda: hooks(calls)),
        (begun, lambda: starts(begun)),
    ]
    results = [each for wanted, measure in parts if wanted for each in measure()]
    if kept:
        keep(kept, results)
    Console(width=150).print(table_of(results))


if __name__ == "__main__":
    main()
