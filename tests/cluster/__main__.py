"""`make cluster`: nodes over one PostgreSQL under faults, a follower under writers, and how fast both are."""

import sys
import tempfile
from pathlib import Path

import click
import msgspec
from rich.console import Console

from tests.cluster.follower import follow
from tests.cluster.nodes import DISK, cluster
from tests.cluster.speed import appends, captures, captures_alone
from tests.cluster.storm import Storm
from tests.support.postgres import Postgres, programs, shared_store_in

PARTS = ("storm", "follower", "speed")
OF_BARE_MIN = 0.5


@click.command()
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="Some parts only; may be repeated.")
@click.option("--seconds", default=600.0, show_default=True, help="How long captures are sprayed while all breaks.")
@click.option("--events", default=1_000_000, show_default=True, help="What the follower reads.")
@click.option("--rounds", default=3, show_default=True, help="Of each measurement.")
@click.option("--seed", default=1, show_default=True)
def main(only: tuple[str, ...], seconds: float, events: int, rounds: int, seed: int) -> None:
    """Ends with 1 where a promise was broken."""
    console = Console()
    if programs() is None:
        raise click.ClickException("no postgres is found on this machine; Debian's package is called postgresql")
    wanted, kept = only or PARTS, True
    if "storm" in wanted:
        kept &= _storm(console, seconds, seed)
    if "follower" in wanted:
        kept &= _follower(console, events)
    if "speed" in wanted:
        kept &= _speed(console, rounds)
    sys.exit(0 if kept else 1)


def _storm(console: Console, seconds: float, seed: int) -> bool:
    with (
        tempfile.TemporaryDirectory(prefix="svc-cluster-") as name,
        Postgres.started(DISK) as database,
        cluster(database, Path(name)) as found,
    ):
        console.print("three nodes have started at once over an empty database; one of them set it up")
        try:
            seen = Storm(found, seed).blow(seconds)
        except BaseException:
            for node in found.nodes:
                console.print(f"node {node.number}:", node.log.read_text()[-3_000:], markup=False)
            raise
    for field, value in msgspec.structs.asdict(seen).items():
        console.print(f"{field.replace('_', ' ')}: {value}", highlight=False)
    console.print("held" if seen.held else "[red]BROKEN[/red]")
    return seen.held


def _follower(console: Console, events: int) -> bool:
    with Postgres.started(DISK) as database, shared_store_in(database) as url:
        found = follow(url, events)
    console.print(
        f"follower under 4 writers: {found.events:,} events read, {found.missed} missed, {found.out_of_order} out of "
        f"order, {found.gaps} gaps, {found.per_second:,.0f}/s",
        highlight=False,
    )
    return found.events >= events - events % 4 and found.missed + found.out_of_order + found.gaps == 0


def _speed(console: Console, rounds: int) -> bool:
    kept = True
    with Postgres.started(DISK) as database:
        for each in appends(database, rounds, 3.0):
            kept &= each.of_bare >= OF_BARE_MIN
            console.print(
                f"{each.events_per_append} events an append: SQLite {each.sqlite:,.0f}/s, PostgreSQL "
                f"{each.postgres:,.0f}/s, bare psycopg {each.bare:,.0f}/s, of bare {each.of_bare:.2f}",
                highlight=False,
            )
    for captured in (captures_alone(10.0), *(captures(number, 10.0) for number in (1, 2, 3))):
        who = f"{captured.nodes} nodes on PostgreSQL" if captured.nodes else "one process on SQLite"
        console.print(
            f"{who}: {captured.per_second:,.0f} captures/s, p50 {captured.p50_ms:.0f} ms, p99 {captured.p99_ms:.0f} ms",
            highlight=False,
        )
    return kept


if __name__ == "__main__":
    main()
