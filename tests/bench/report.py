"""`python -m tests.bench.report`: make a monthly report over many sub-sessions and measure stands of the loop.

The report is requested, awaited and read through the routes, as a page does it. The longest stand is shown by the
clock, and as the processor time of this server alone, because other processes take their turns too.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import click
import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from aggregates.event import Scope
from aggregates.reports.events import ReportPeriod, last_whole_period
from aggregates.times import US_PER_SECOND
from svc.actors.actors import SystemClock
from tests.bench.history import TURN_EVENTS, Mix, write_history
from tests.bench.servers import behind_events, set_up

SESSION_TURNS = (2, 1)
REPORTS = "/v1/score_v3/report"
LOOK_SECONDS = 0.05
WAIT_SECONDS = 120.0
STAND_MS = 50
"""How long the loop may stand still at most."""


class Late(NamedTuple):
    """A beat of the loop that came late."""

    seconds: float
    cpu_seconds: float
    """What the server computed meanwhile, in all of its threads."""
    at: float

    @property
    def own_seconds(self) -> float:
        """So much of it the server itself was at work."""
        return min(self.seconds, self.cpu_seconds)


class Served:
    """A server with a heart, and what it tells."""

    def __init__(self, process: "subprocess.Popen[str]", key: str) -> None:
        self._process = process
        self._key = key
        self._late: list[Late] = []
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        self._port = int(ready[2].rpartition(":")[2])
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            self._late.append(Late(*map(float, line.split()[1:])))

    def late_between(self, began: float, ended: float) -> list[Late]:
        """The beats that came late between two times."""
        return [each for each in self._late if began <= each.at <= ended + each.seconds]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of a route, which must be a success."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=WAIT_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else msgspec.json.encode(body), headers)
            response = connection.getresponse()
            content = response.read()
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {content[:200]!r}")
            return msgspec.json.decode(content) if content else None
        finally:
            connection.close()


class Made(NamedTuple):
    """One report."""

    seconds: float
    size: int
    sub_sessions: int
    late: list[Late]


@click.command()
@click.option("--sub-sessions", default=10_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--var", type=click.Path(path_type=Path), help="Keep the history in this folder, or use the one there.")
def main(sub_sessions: int, rounds: int, var: Path | None) -> None:
    """A monthly report over so many sub-sessions: seconds until it is there, and the loop's longest stand.

    Example: python -m tests.bench.report --sub-sessions 2000 --rounds 1
    """
    console = Console(width=110)
    with TemporaryDirectory(prefix="svc-bench-") as folder:
        where = var or Path(folder) / "var"
        period = last_whole_period("monthly", ZoneInfo("UTC"), SystemClock().now_us())
        key = _key(where) if where.exists() else _history(where, sub_sessions, period)
        with _served(where, key) as served:
            _wait_until_level(where)
            made = [_report(served, period) for _ in range(rounds)]
    table = Table("sub-sessions", "report s", "KiB", "longest stand ms", "own work ms", f"over {STAND_MS} ms")
    for each in made:
        table.add_row(*_row(each))
    console.print(table)


def _row(made: Made) -> list[str]:
    longest_ms = max((late.seconds for late in made.late), default=0.0) * 1000
    own_ms = [late.own_seconds * 1000 for late in made.late]
    over = sum(each > STAND_MS for each in own_ms)
    sizes = (f"{made.sub_sessions:,}", f"{made.seconds:.2f}", f"{made.size / 1024:.0f}")
    return [*sizes, f"{longest_ms:.0f}", f"{max(own_ms, default=0.0):.0f}", str(over)]


def _history(var: Path, sub_sessions: int, period: ReportPeriod) -> str:
    """A folder whose owner worked on so many sub-sessions in the period, each in an agent session of its own."""
    made = set_up(var)
    (var / "bench-key").write_text(made["key"])
    turns = sub_sessions * sum(SESSION_TURNS) // len(SESSION_TURNS)
    length_us = period.end_us - period.start_us
    mix = Mix(developers=1, session_turns=SESSION_TURNS, turn_us=length_us // (turns + 20))
    scope = Scope(UUID(made["organization_id"]), UUID(made["developer_id"]))
    for _ in track(write_history(var, turns * TURN_EVENTS, scope, period.end_us, mix), "history", transient=True):
        pass
    return made["key"]


def _key(var: Path) -> str:
    return (var / "bench-key").read_text()


@contextmanager
def _served(var: Path, key: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "tests.bench.beating", str(var)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Served(process, key)
        finally:
            process.terminate()
            process.wait()


def _wait_until_level(var: Path) -> None:
    while behind_events(var):
        time.sleep(0.2)
    time.sleep(5)  # the archive follows the views


def _report(served: Served, period: ReportPeriod) -> Made:
    """Ask for it, look for it, read it, delete it."""
    date = datetime.fromtimestamp(period.start_us / US_PER_SECOND, UTC).date().isoformat()
    began = time.monotonic()
    asked = served.call("POST", f"{REPORTS}/generate", {"period": "monthly", "date": date, "timezone": "UTC"})
    status = asked["status"]
    while status in ("queued", "running") and time.monotonic() < began + WAIT_SECONDS:
        time.sleep(LOOK_SECONDS)
        status = served.call("GET", f"{REPORTS}/status/{asked['report_id']}")["status"]
    seconds = time.monotonic() - began
    if status != "completed":
        raise RuntimeError(f"the report is {status}")
    report = served.call("GET", f"{REPORTS}/{asked['report_id']}")
    ended = time.monotonic()
    time.sleep(0.1)
    late = served.late_between(began, ended)
    served.call("DELETE", f"{REPORTS}/{asked['report_id']}")
    return Made(seconds, len(msgspec.json.encode(report)), report["sections"]["score"]["total_count"], late)


if __name__ == "__main__":
    main()
