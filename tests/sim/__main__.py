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
from rich.console import Console
from rich.live import Live
from rich.table import Table

from tests.sim.history import Failed, Size, Told, history
from tests.sim.world import StoreKind

STORES: tuple[StoreKind, ...] = ("memory", "sqlite")
"""In turn."""


class Sum:
    """What all histories came to."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.histories = 0
        self.reads: Counter[str] = Counter()
        self.deeds: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.failures: list[Failed] = []

    def add(self, told: Told) -> None:
        """One more."""
        self.histories += 1
        self.reads += told.reads
        self.deeds += told.deeds
        for name in ("lives", "deaths", "requests", "acknowledged", "refused", "lost", "events"):
            self.counts[name] += getattr(told, name)

    def table(self, seed: int) -> Table:
        """As it stands."""
        table = Table(show_header=False, title=f"{time.monotonic() - self.started:.0f} s, at seed {seed}")
        rows = {
            "histories": self.histories,
            "starts of the service": self.counts["lives"],
            "of which after a death": self.counts["deaths"],
            "requests sent": self.counts["requests"],
            "writes acknowledged": self.counts["acknowledged"],
            "answers lost, and asked for again": self.counts["lost"],
            "refused with 503, and sent again": self.counts["refused"],
            "events replayed twice": self.counts["events"],
            "reads checked": sum(self.reads.values()),
            "divergences": len(self.failures),
        }
        for name, number in rows.items():
            table.add_row(name, f"{number:,}")
        return table


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
    console = Console(width=110)
    total = Sum()
    seeds = count(first) if seed is None else iter([seed])
    try:
        with Live(console=console, refresh_per_second=2) as live:
            for number in seeds:
                _one(number, store or STORES[number % 2], steps, total, console)
                live.update(total.table(number))
                if time.monotonic() - total.started > seconds:
                    break
    except KeyboardInterrupt:
        console.print("interrupted")
    if details:
        _details(total, console)
    sys.exit(1 if total.failures else 0)


def _one(seed: int, kind: StoreKind, steps: int, total: Sum, console: Console) -> None:
    try:
        total.add(history(seed, kind, Size(steps=steps)))
    except Failed as failed:
        total.failures.append(failed)
        console.print(str(failed), style="bold red", markup=False, soft_wrap=True)
        console.print(f"again: python -m tests.sim --seed {seed} --store {kind} --steps {steps}", markup=False)


def _details(total: Sum, console: Console) -> None:
    for title, counts in (("read", total.reads), ("done", total.deeds)):
        table = Table(title, "times")
        for name, number in counts.most_common():
            table.add_row(name, f"{number:,}")
        console.print(table)


if __name__ == "__main__":
    main()
