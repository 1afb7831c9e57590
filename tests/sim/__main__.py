"""`python -m tests.sim` and `make soak`: run histories until the time is over or a check fails.

The modules, from the bottom up: `chance` (randomness from the seed), `threads` (one thread), `disk` (faults and deaths
below the log and the views), `wire` (connections without sockets), `life` (the service from a start to its death),
`world` (lives one after the other, and the disk between them), `nodes` (one world, or three over one log), `stories`
(what agents see), `model` (what was acknowledged), `clients` (senders), `reads` (answers against the model), `faults`,
`history` (all of it, step by step).
"""

import sys
import time
from collections import Counter
from itertools import count

import click
from rich.console import Console, Group
from rich.live import Live

from tests.sim.history import Failed, Size, Told, history
from tests.sim.world import StoreKind
from tests.support.results import Result, table_of

STORES: tuple[StoreKind, ...] = ("memory", "sqlite")  # in turn
FIGURES = {
    "lives": "starts of the service",
    "deaths": "of which after a death",
    "requests": "requests sent",
    "acknowledged": "writes acknowledged",
    "lost": "answers lost, and asked for again",
    "refused": "refused with 503, and sent again",
    "events": "events replayed twice",
}


class Sum:
    """What all histories came to."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self.deeds: Counter[str] = Counter()
        self.failures = 0

    def add(self, told: Told) -> None:
        self.counts["histories"] += 1
        self.reads += told.reads
        self.deeds += told.deeds
        for name, said in FIGURES.items():
            self.counts[said] += getattr(told, name)

    def table(self, seed: int, details: bool = False) -> Group:
        title = f"{time.monotonic() - self.started:.0f} s, at seed {seed}"
        rows = [*self.counts.items(), ("reads checked", self.reads.total())]
        shown = [*_figures(rows), Result("divergences", self.failures, "", 0, True)]
        more = [self.reads.most_common(), self.deeds.most_common()] if details else []
        return Group(table_of(shown, title), *(table_of(_figures(each)) for each in more))


def _figures(counts: list[tuple[str, int]]) -> list[Result]:
    return [Result(name, number) for name, number in counts]


@click.command()
@click.option("--seed", type=int, help="One history, exactly as it was; else one seed after the other from 1.")
@click.option("--first", default=1, show_default=True, help="The seed to begin with.")
@click.option("--seconds", default=60.0, show_default=True, help="How long to go on.")
@click.option("--steps", default=10, show_default=True, help="How much happens in each history.")
@click.option("--store", type=click.Choice((*STORES, "nodes")), help="Under the log; else memory and SQLite in turn.")
@click.option("--details", is_flag=True, help="Which reads were checked how often, and what happened, at the end.")
def main(seed: int | None, first: int, seconds: float, steps: int, store: StoreKind | None, details: bool) -> None:
    """Seeded histories of the whole service against a naive model. Exit code 1 if anything does not hold.

    Example: python -m tests.sim --seconds 600
    """
    console, total, number = Console(width=150), Sum(), first
    try:
        with Live(console=console, refresh_per_second=2) as live:
            for number in count(first) if seed is None else iter([seed]):
                _one(number, store or STORES[number % 2], steps, total, console)
                live.update(total.table(number))
                if time.monotonic() - total.started > seconds:
                    break
    except KeyboardInterrupt:
        console.print("interrupted")
    if details:
        console.print(total.table(number, details))
    sys.exit(1 if total.failures else 0)


def _one(seed: int, kind: StoreKind, steps: int, total: Sum, console: Console) -> None:
    try:
        total.add(history(seed, kind, Size(steps=steps)))
    except Failed as failed:
        total.failures += 1
        console.print(str(failed), style="bold red", markup=False, soft_wrap=True)
        console.print(f"again: python -m tests.sim --seed {seed} --store {kind} --steps {steps}", markup=False)


if __name__ == "__main__":
    main()
