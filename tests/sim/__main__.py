"""`python -m tests.sim` and `make soak`: run histories until the time is over or a check fails.

The modules, from the bottom up: `chance` (randomness from the seed), `fate` (when a life ends; its one thread), `disk`
(faults and deaths below the log and the views), `wire` (connections without sockets), `life` (the service from a start
to its death), `world` (lives one after the other, and the disk between them), `nodes` (one world, or three over one
log), `stories` (what agents see), `model` (what was acknowledged), `clients` (senders), `reads` (answers against the
model), `faults`, `history` (all of it, step by step).
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


class Sum:
    """What all histories came to."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.told: list[Counter[str]] = [Counter(), Counter()]
        self.failures = 0

    def add(self, told: Told) -> None:
        self.counts += Counter({"histories": 1}) + told.counts + Counter({"reads checked": told.reads.total()})
        for mine, new in zip(self.told, (told.reads, told.deeds), strict=True):
            mine += new

    def table(self, seed: int, details: bool = False) -> Group:
        title = f"{time.monotonic() - self.started:.0f} s, at seed {seed}"
        shown = [Result(*each) for each in self.counts.items()] + [Result("divergences", self.failures, "", 0, True)]
        more = [[Result(*each) for each in counts.most_common()] for counts in (self.told if details else ())]
        return Group(table_of(shown, title), *map(table_of, more))


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
