"""`make bench`: durable captures a second beside a bare route, in the same run."""

import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
import trio
from rich.console import Console
from rich.table import Table

from bench.load import Measured, prompt_body, put_load

CONNECTIONS = 16
_READY = re.compile(r"ready intake=\S*?:(\d+) ")


class Compared(msgspec.Struct, frozen=True):
    """One round: the bare route, the service, and how far behind its views were when the load ended."""

    bare: Measured
    captured: Measured
    behind_events: int
    level_seconds: float

    @property
    def ratio(self) -> float:
        """Captures a second over bare requests a second."""
        return self.captured.per_second / self.bare.per_second


@click.command()
@click.option("--requests", default=8000, show_default=True, help="Captures in each round.")
@click.option("--rounds", default=3, show_default=True)
def main(requests: int, rounds: int) -> None:
    """Durable captures a second through /v1/prompts (16 connections, 1 KB prompts), as a ratio to a bare route.

    Example: python -m bench --requests 4000
    """
    table = Table("round", "bare/s", "p50/p99 ms", "captures/s", "p50/p99 ms", "ratio", "views behind", "level after")
    ratios = []
    for number in range(rounds):
        compared = _round(requests)
        ratios.append(compared.ratio)
        table.add_row(
            str(number + 1),
            f"{compared.bare.per_second:,.0f}",
            f"{compared.bare.p50_ms:.1f} / {compared.bare.p99_ms:.1f}",
            f"{compared.captured.per_second:,.0f}",
            f"{compared.captured.p50_ms:.1f} / {compared.captured.p99_ms:.1f}",
            f"{compared.ratio:.2f}",
            f"{compared.behind_events:,} events",
            f"{compared.level_seconds:.2f} s",
        )
    Console().print(table)
    Console().print(f"median ratio {sorted(ratios)[len(ratios) // 2]:.2f}")


def _round(requests: int) -> Compared:
    with _started([sys.executable, "-m", "bench.bare"]) as port:
        bare = trio.run(put_load, port, {}, prompt_body, CONNECTIONS, requests)
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        var = Path(folder) / "var"
        made = subprocess.run(
            [sys.executable, "-m", "svc", "init", "--var", str(var), "--json"], check=True, capture_output=True
        )
        headers = {"Authorization": f"Bearer {msgspec.json.decode(made.stdout)['key']}"}
        serve = [
            "serve",
            "--var",
            str(var),
            "--intake",
            "127.0.0.1:0",
            "--api",
            "127.0.0.1:0",
            "--log-level",
            "warning",
        ]
        with _started([sys.executable, "-m", "svc", *serve]) as port:
            captured = trio.run(put_load, port, headers, prompt_body, CONNECTIONS, requests)
            behind = _behind(var)
            started = time.perf_counter()
            while _behind(var):
                time.sleep(0.02)
            level_seconds = time.perf_counter() - started
    return Compared(bare, captured, behind, level_seconds)


@contextmanager
def _started(command: list[str]) -> Iterator[int]:
    """The intake port of a server that runs as a child."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = _READY.search(line)
            if found is None:
                raise RuntimeError(f"{command} did not start: {line!r}")
            yield int(found[1])
        finally:
            process.terminate()
            process.wait()


def _behind(var: Path) -> int:
    """Events in the log that the views do not hold yet."""
    views = var / (var / "views.current").read_text().strip()
    head = _one(var / "events.db", "SELECT max(rowid) FROM stored_events")
    return head - _one(views, "SELECT position FROM bookmark")


def _one(path: Path, query: str) -> int:
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        value: int = db.execute(query).fetchone()[0]
        return value
    finally:
        db.close()


if __name__ == "__main__":
    main()
