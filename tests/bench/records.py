"""Durable log records a second through /v1/logs, in batches of a hundred as Claude Code sends them.

Baselines of the same run: (a) decoding the same bytes into SQLite, one synced transaction a batch; (b) a bare route
that reads and decodes them.
"""

import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import trio
from rich.console import Console
from rich.table import Table

from tests.bench.load import put_load
from tests.bench.results import Result
from tests.bench.servers import bare_route, fresh_service
from tests.bench.telemetry import BATCH_RECORDS, export

CONNECTIONS = 4
"""Agents of one developer that export at the same time."""


class Compared(msgspec.Struct, frozen=True):
    """One round, in records a second; and how long the views took to be level after the load."""

    raw: float
    bare: float
    captured: float
    level_seconds: float
    most_mib: float

    @property
    def ratio(self) -> float:
        """Durable records over those that are only decoded and inserted."""
        return self.captured / self.raw


def compare_records(batches: int, rounds: int, console: Console) -> list[Result]:
    """Print durable log records a second beside both baselines."""
    bodies = [msgspec.json.encode(export(number)) for number in range(batches)]
    table = Table("round", "(a) decode + SQLite", "(b) bare route", "records/s", "to (a)", "to (b)", "level after")
    found = []
    for number in range(rounds):
        found.append(_round(bodies))
        table.add_row(str(number + 1), *_row(found[-1]))
    console.print(table)
    return _results(_middle(found))


def _row(compared: Compared) -> list[str]:
    return [
        f"{compared.raw:,.0f}",
        f"{compared.bare:,.0f}",
        f"{compared.captured:,.0f}",
        f"{compared.ratio:.2f}",
        f"{compared.captured / compared.bare:.2f}",
        f"{compared.level_seconds:.2f} s",
    ]


def _middle(all_rounds: list[Compared]) -> Compared:
    """The round of the median ratio."""
    return sorted(all_rounds, key=lambda each: each.ratio)[len(all_rounds) // 2]


def _results(middle: Compared) -> list[Result]:
    beside = f"decoding into SQLite: {middle.raw:,.0f}/s, of which it is {middle.ratio:.2f}"
    return [
        Result("log records, durable, one process", middle.captured, "/s", 10_000, baseline=beside),
        Result("memory under log records, one process", middle.most_mib, "MiB", 300, at_most=True, baseline="the most"),
    ]


def _round(bodies: Sequence[bytes]) -> Compared:
    raw = _raw(bodies)
    with bare_route() as port:
        bare = _load(port, {}, bodies)
    with fresh_service() as service:
        captured = _load(service.port, service.headers, bodies)
        return Compared(raw, bare, captured, service.level_seconds(), service.server.most_resident_mib())


def _load(port: int, headers: dict[str, str], bodies: Sequence[bytes]) -> float:
    return BATCH_RECORDS * trio.run(_put, port, headers, bodies)


async def _put(port: int, headers: dict[str, str], bodies: Sequence[bytes]) -> float:
    def body(connection: int, number: int) -> bytes:
        return bodies[number * CONNECTIONS + connection]

    measured = await put_load(port, "/v1/logs", headers, body, CONNECTIONS, len(bodies))
    return measured.per_second


def _raw(bodies: Sequence[bytes]) -> float:
    """Records a second that are decoded and on disk, without any server."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        db = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE batches (id INTEGER PRIMARY KEY, body BLOB)")
        started = time.perf_counter()
        for body in bodies:
            msgspec.json.decode(body)
            db.execute("INSERT INTO batches (body) VALUES (?)", (body,))
        seconds = time.perf_counter() - started
        db.close()
    return BATCH_RECORDS * len(bodies) / seconds
