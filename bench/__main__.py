"""`make bench`: what is durable a second, beside baselines of the same run."""

import click
from rich.console import Console

from bench.captures import compare_captures
from bench.records import compare_records
from bench.replay import compare_replay


@click.command()
@click.option("--requests", default=8000, show_default=True, help="Captures in each round; 0 leaves them out.")
@click.option("--batches", default=400, show_default=True, help="Exports of 100 log records in each round; likewise.")
@click.option("--events", default=30000, show_default=True, help="Events of the history that is replayed; 0: none.")
@click.option("--rounds", default=3, show_default=True)
def main(requests: int, batches: int, events: int, rounds: int) -> None:
    """Durable captures (16 connections, 1 KB prompts), log records and replayed events a second, beside baselines.

    Example: python -m bench --requests 4000 --batches 0 --events 0
    """
    console = Console(width=110)
    if requests:
        compare_captures(requests, rounds, console)
    if batches:
        compare_records(batches, rounds, console)
    if events:
        compare_replay(events, console)


if __name__ == "__main__":
    main()
