"""`make bench`: figures of the service next to baselines of the same run."""

from pathlib import Path

import click
from rich.console import Console

from tests.bench.captures import compare_captures
from tests.bench.fanout import compare_fanout
from tests.bench.hooks import compare_hooks, compare_starts
from tests.bench.own_writes import compare_own_writes
from tests.bench.records import compare_records
from tests.bench.replay import compare_replay
from tests.bench.results import Result, keep, table_of


@click.command()
@click.option("--requests", default=6000, show_default=True, help="Captures in each round; 0 leaves them out.")
@click.option("--own", default=600, show_default=True, help="Captures, 20 a second, each then read; likewise.")
@click.option("--batches", default=400, show_default=True, help="Exports of 100 log records in each round; likewise.")
@click.option("--events", default=30000, show_default=True, help="Events of the history that is replayed; 0: none.")
@click.option("--told", default=200, show_default=True, help="Captures that pages follow by events; likewise.")
@click.option("--hooks", default=100, show_default=True, help="Calls of a hook; likewise.")
@click.option("--starts", default=10, help="Starts of commands and of a server; likewise.", show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--keep", "kept", type=click.Path(dir_okay=False, path_type=Path), help="Keep the results in this file.")
def main(
    requests: int,
    own: int,
    batches: int,
    events: int,
    told: int,
    hooks: int,
    starts: int,
    rounds: int,
    kept: Path | None,
) -> None:
    """Durable captures (16 connections, 1 KB prompts), log records and replayed events a second, events to pages, hooks
    and starts, each beside a baseline. Reads over long histories: `python -m tests.bench.reads`.

    Example: python -m tests.bench --requests 4000 --own 0 --batches 0 --events 0 --told 0 --hooks 0 --starts 0
    """
    console = Console(width=150)
    results: list[Result] = []
    if requests:
        results += compare_captures(requests, rounds, console)
    if own:
        results += compare_own_writes(own, console)
    if batches:
        results += compare_records(batches, rounds, console)
    if events:
        results += compare_replay(events, console)
    if told:
        results += compare_fanout(told, console)
    if hooks:
        results += compare_hooks(hooks, console)
    if starts:
        results += compare_starts(starts, console)
    if kept:
        keep(kept, results)
    console.print(table_of(results))


if __name__ == "__main__":
    main()
