"""`make cluster`: nodes over one PostgreSQL under faults."""

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from tests.cluster.nodes import DISK, cluster
from tests.cluster.storm import Storm
from tests.support.postgres import Postgres, programs
from tests.support.process import log_tail
from tests.support.results import told


@click.command()
@click.option("--seconds", default=600.0, show_default=True, help="How long captures are sprayed while all breaks.")
@click.option("--seed", default=1, show_default=True)
def main(seconds: float, seed: int) -> None:
    """Ends with 1 where a promise was broken."""
    console = Console(width=150)
    if programs() is None:
        raise click.ClickException("no postgres is found on this machine; Debian's package is called postgresql")
    with (
        tempfile.TemporaryDirectory(prefix="svc-cluster-") as name,
        Postgres.started(DISK) as database,
        cluster(database, Path(name)) as nodes,
    ):
        console.print("three nodes have started at once over an empty database; one of them set it up")
        try:
            found = Storm(nodes, seed).blow(seconds)
        except BaseException:
            for node in nodes.nodes:
                console.print(f"node {node.number}:", log_tail(node.var), markup=False)
            raise
    sys.exit(told([found]))


if __name__ == "__main__":
    main()
