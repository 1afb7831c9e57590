"""`python -m tests.sim`: run histories until the time is over or a check fails. From the bottom up: `fate`
(randomness), `life` (a start to a death), `world`, `stories`, `model`, `clients`, `reads`, `history` (all of it)."""

import sys
import time
from collections import Counter
from itertools import count

import click
from rich.console import Console

from tests.sim.history import Failed, Size, history
from tests.sim.world import StoreKind
from tests.support.results import Result, table_of

STORES: tuple[StoreKind, ...] = ("memory", "sqlite")  # in turn


@click.command()
@click.option("--seed", type=int, help="One history, exactly as it was; else one seed after the other from 1.")
@click.option("--first", default=1, show_default=True, help="The seed to begin with.")
@click.option("--seconds", default=60.0, show_default=True, help="How long to go on.")
@click.option("--steps", default=10, show_default=True, help="How much happens in each history.")
@click.option("--store", type=click.Choice((*STORES, "nodes")), help="Under the log; else memory and SQLite in turn.")
@click.option("--details", is_flag=True, help="Which reads were checked how often, and what happened, at the end.")
def main(seed: int | None, first: int, seconds: float, steps: int, store: StoreKind | None, details: bool) -> None:
    """Seeded histories of the whole service against a naive model. Exit code 1 if anything does not hold.

    Example: python -m tests.sim --seconds 600"""
    console, started, number = Console(width=150), time.monotonic(), first
    told: dict[str, Counter[str]] = {"histories": Counter(), "reads": Counter(), "deeds": Counter()}
    failures = 0
    try:
        for number in count(first) if seed is None else iter([seed]):
            kind = store or STORES[number % 2]
            try:
                found = history(number, kind, Size(steps=steps))
                told["histories"] += Counter({"histories": 1}) + found.counts
                told["reads"] += found.reads
                told["deeds"] += found.deeds
            except Failed as failed:
                failures += 1
                console.print(str(failed), style="bold red", markup=False, soft_wrap=True)
                console.print(f"again: python -m tests.sim --seed {number} --store {kind} --steps {steps}")
            if time.monotonic() - started > seconds:
                break
    except KeyboardInterrupt:
        console.print("interrupted")
    for name in told if details else ("histories",):
        shown = [Result(*each) for each in told[name].most_common()]
        console.print(table_of(shown, f"{name}: {time.monotonic() - started:.0f} s, up to seed {number}"))
    console.print(f"{failures} divergences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
