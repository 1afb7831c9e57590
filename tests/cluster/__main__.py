"""`make cluster`: nodes over one PostgreSQL under faults, and how fast they are."""

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from tests.cluster.nodes import DISK, cluster
from tests.cluster.speed import speed
from tests.cluster.storm import Storm
from tests.support.postgres import Postgres, programs
from tests.support.process import log_tail
from tests.support.results import Outcome, Result, told

PARTS = ("storm", "speed")


@click.command()
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Some parts only; may be repeated.")
@click.option("--seconds", default=600.0, show_default=True, help="How long captures are sprayed while all breaks.")
@click.option("--rounds", default=3, show_default=True, help="Of each measurement.")
@click.option("--seed", default=1, show_default=True)
def main(only: tuple[str, ...], seconds: float, rounds: int, seed: int) -> None:
    """Ends with 1 where a promise was broken."""
    console, wanted = Console(width=150), only or PARTS
    if programs() is None:
        raise click.ClickException("no postgres is found on this machine; Debian's package is called postgresql")
    found: list[Result | Outcome] = []
    if "storm" in wanted:
        found.append(_storm(console, seconds, seed))
    if "speed" in wanted:
        found += speed(rounds)
    sys.exit(told(found))


def _storm(console: Console, seconds: float, seed: int) -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="svc-cluster-") as name,
        Postgres.started(DISK) as database,
        cluster(database, Path(name)) as found,
    ):
        console.print("three nodes have started at once over an empty database; one of them set it up")
        try:
            return Storm(found, seed).blow(seconds)
        except BaseException:
            for node in found.nodes:
                console.print(f"node {node.number}:", log_tail(node.var), markup=False)
            raise


if __name__ == "__main__":
    main()
