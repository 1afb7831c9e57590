"""Reads over a short and a long history: how long each takes, how fast a server is ready, and how much memory it has.

    python -m bench.reads --events 10000 --events 1000000 --folder DIR

The baseline of a read is the same read over the shorter history, in the same run. Histories stay in the folder, so a
run that was broken off goes on where it was; a million events take some ten minutes to write and to project.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from aggregates.scope import Scope
from bench.history import write_history
from bench.servers import Resident, behind_events, ready_server, set_up
from svc.clock import SystemClock

WINDOWS = ("daily", "weekly", "monthly")
MONTH_US = 30 * 86_400 * 1_000_000
FIGURES = ("score", "speed", "tokens", "skill")
ROUTES = (
    *(
        f"/v1/score_v3/{figure}?window={window}"
        for figure in ("score", "speed", "tokens", "skill")
        for window in WINDOWS
    ),
    "/v1/score_v3/speed/sessions",
    "/v1/score_v3/tokens/trend",
    "/v1/score_v3/insight/sessions",
    "/v1/score_v3/insight/summary?window=monthly",
    "/v1/score_v3/insight/rubric?window=monthly",
    "/v1/score_v3/trivia?window=monthly",
    "/v1/score_v3/trivia/trend",
    "/v1/score_v3/integrity?window=monthly",
    "/v1/score_v3/integrity/trend",
    "/v1/score_v3/integrity/recent",
    "/v1/score_v3/peer-comparison",
    "/v1/score_v3/realtime/sub-sessions",
    *(f"/v1/score_v3/{spent}?{{month}}" for spent in ("files", "prompts/top", "task-time", "model-task")),
    "/v1/score_v3/today-summary",
    "/v1/score_v3/sub-sessions/{sub_session}",
    "/v1/score_v3/sub-sessions/{sub_session}/prompts",
    "/v1/score_v3/sub-sessions/{sub_session}/explain",
    "/v1/score_v3/sessions/{sub_session}/prompts",
)
"""Every scoring read; those with a window in each window where figures are added up over it."""


class Took(NamedTuple):
    """Times of one read, in milliseconds."""

    p50: float
    p99: float


class Measured(NamedTuple):
    """What one history showed."""

    events: int
    ready_seconds: float
    idle: Resident
    reads: dict[str, Took]


@click.command()
@click.option("--events", multiple=True, type=int, default=(10_000, 1_000_000), show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True, help="Where histories are kept.")
@click.option("--requests", default=100, show_default=True, help="Of each route.")
@click.option("--json", "as_json", is_flag=True)
def main(events: tuple[int, ...], folder: Path, requests: int, as_json: bool) -> None:
    """Milliseconds of each scoring read over histories of several lengths, one request at a time.

    Example: python -m bench.reads --events 10000 --events 100000 --folder /tmp/histories
    """
    measured = [_measured(folder / str(each), each, requests) for each in events]
    if as_json:
        print(json.dumps([each._asdict() for each in measured]))
    else:
        _show(measured, Console(width=120))


def _measured(folder: Path, events: int, requests: int) -> Measured:
    var = folder / "var"
    if not (folder / "done").exists():
        _prepare(folder, var, events)
    key = (folder / "key").read_text()
    with ready_server(var) as server:
        while behind_events(var):
            time.sleep(0.1)
        time.sleep(2)
        idle = server.resident()
        with _calling(server.api_port, key) as call:
            named = _names(call)
            reads = {route: _took(call, route.format(**named), requests) for route in track(ROUTES, transient=True)}
        return Measured(events, server.ready_seconds, idle, reads)


def _prepare(folder: Path, var: Path, events: int) -> None:
    """Write a history that ends now, and project it."""
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    folder.mkdir(parents=True)
    made = set_up(var)
    (folder / "key").write_text(made["key"])
    scope = Scope(UUID(made["organization_id"]), UUID(made["developer_id"]))
    now_us = SystemClock().now_us()
    for _ in track(write_history(var, events, scope, now_us), f"writing {events:,} events", transient=True):
        pass
    with ready_server(var):  # which projects it; the next start is one like any other
        while behind_events(var):
            time.sleep(0.5)
    (folder / "done").touch()


class _Call:
    def __init__(self, connection: HTTPConnection, key: str) -> None:
        self._connection = connection
        self._headers = {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> bytes:
        """The body; raises RuntimeError for anything but a success."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return body


@contextmanager
def _calling(port: int, key: str) -> Iterator[_Call]:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        yield _Call(connection, key)
    finally:
        connection.close()


def _names(call: _Call) -> dict[str, object]:
    newest = json.loads(call.get("/v1/score_v3/realtime/sub-sessions?limit=1"))[0]
    now_us = SystemClock().now_us()
    month = f"from_us={now_us - MONTH_US}&to_us={now_us}"
    return {"sub_session": newest["sub_session_id"], "month": month}


def _took(call: _Call, path: str, requests: int) -> Took:
    call.get(path)
    times = []
    for _ in range(requests):
        began = time.perf_counter()
        call.get(path)
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    return Took(times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)])


def _show(measured: list[Measured], console: Console) -> None:
    columns = [f"{part} {each.events:,}" for each in measured for part in ("p50", "p99")]
    table = Table("read, ms", *columns, "p50 ratio")
    for route in ROUTES:
        took = [each.reads[route] for each in measured]
        cells = [f"{value:.1f}" for each in took for value in each]
        table.add_row(route.removeprefix("/v1/score_v3"), *cells, f"{took[-1].p50 / took[0].p50:.2f}")
    console.print(table)
    starts = Table("events", "ready s", "server MiB", "views MiB")
    for each in measured:
        starts.add_row(
            f"{each.events:,}", f"{each.ready_seconds:.2f}", f"{each.idle.server:.0f}", f"{each.idle.child:.0f}"
        )
    console.print(starts)


if __name__ == "__main__":
    sys.exit(main())
