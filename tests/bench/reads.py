"""Reads and pages over a short and a long history: the time of each, the server's start, and its memory.

    python -m tests.bench.reads --events 10000 --events 1000000 --folder DIR

The first baseline of a read is the same read over the shorter history in the same run. Its windows hold less: 10,000
events are three days of ten developers, a tenth of a month of the long history. So the second baseline is a short
history of one developer, whose three days hold as many prompts as a month of the long one. A read that is slower than
that grows with the length of the history. Histories are asked in turn, a few times each, so that a slow moment of the
machine slows all.

Histories stay in the folder, so an interrupted run goes on. A million events take some ten minutes to write and to
project.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from aggregates.event import Scope
from svc.actors.actors import SystemClock
from tests.bench.history import USUAL, Mix, write_history
from tests.bench.results import Result, keep
from tests.bench.servers import Ready, behind_events, ready_server, set_up

WINDOWS = ("daily", "weekly", "monthly")
MONTH_US = 30 * 86_400 * 1_000_000
IN_A_ROW = 20
GROWN_MAX = 1.5
"""How many times as long a read may take over a hundred times as many events."""
FIGURES = ("score", "speed", "tokens", "skill")
READS = (
    *(f"/v1/score_v3/{figure}?window={window}" for figure in FIGURES for window in WINDOWS),
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
PAGES = (
    *("/", "/?days=all", "/goals?days=all", "/goals?days=all&words=parser", "/not-counted?days=all"),
    *("/habits", "/habits?days=all", "/limits", "/limits?days=90", "/cost", "/cost?days=all"),
    *("/reports", "/compared", "/compared?days=all", "/mine", "/team"),
    *("/goals/{sub_session}", "/goals/{sub_session}/say?word=not-reached", "/goals/{sub_session}/say?word=join"),
    *("/operator/server", "/operator/people", "/operator/audit"),
)
"""Every page, over all time where that is the most; a day's, a person's or a goal's is the dearest of its kind."""
ROUTES = (*READS, *PAGES)
PAGE_MS_MAX = 200


class Took(NamedTuple):
    """Times of one read, in milliseconds."""

    p50: float
    p99: float


class History(NamedTuple):
    """A folder that holds one."""

    events: int
    developers: int
    home: Path

    @property
    def name(self) -> str:
        """As the tables call it."""
        return f"{self.events:,}" if self.developers == USUAL.developers else f"{self.events:,} of {self.developers}"


class Measured(NamedTuple):
    """What one history showed."""

    history: str
    ready_seconds: float
    idle_mib: float
    reads: dict[str, Took]


@click.command()
@click.option("--events", multiple=True, type=int, default=(10_000, 1_000_000), show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True, help="Where histories are kept.")
@click.option("--dense", default=1, show_default=True, help="Developers of the second baseline; 0: without it.")
@click.option("--requests", default=100, show_default=True, help="Of each route.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--keep", "kept", type=click.Path(dir_okay=False, path_type=Path), help="Keep the results in this file.")
def main(events: tuple[int, ...], folder: Path, dense: int, requests: int, as_json: bool, kept: Path | None) -> None:
    """Milliseconds of each scoring read and each page over histories of several lengths, one request at a time.

    Example: python -m tests.bench.reads --events 10000 --events 100000 --folder /tmp/histories
    """
    histories = [History(each, USUAL.developers, folder / str(each)) for each in events]
    if dense:
        histories.insert(1, History(events[0], dense, folder / f"{events[0]}-of-{dense}"))
    for history in histories:
        if not (history.home / "done").exists():
            _prepare(history)
    measured = _measured(histories, requests)
    if as_json:
        print(json.dumps([each._asdict() for each in measured]))
    else:
        _show(measured, Console(width=120))
    if kept:
        keep(kept, _results(measured))


def _measured(histories: Sequence[History], requests: int) -> list[Measured]:
    """Each behind a server of its own."""
    with ExitStack() as stack:
        servers = []
        for history in histories:
            server = stack.enter_context(ready_server(history.home / "var"))
            while behind_events(history.home / "var"):
                time.sleep(0.1)
            time.sleep(2)
            servers.append(
                (server.ready_seconds, server.resident_mib(), stack.enter_context(_calling(server, history)))
            )
        calls = [call for *_, call in servers]
        reads = {route: _took(calls, route, requests) for route in track(ROUTES, transient=True)}
        return [
            Measured(history.name, ready, idle, {route: took[number] for route, took in reads.items()})
            for number, (history, (ready, idle, _)) in enumerate(zip(histories, servers, strict=True))
        ]


def _prepare(history: History) -> None:
    """Write a history that ends now, and project it."""
    home, var = history.home, history.home / "var"
    subprocess.run(["rm", "-rf", str(home)], check=True)
    home.mkdir(parents=True)
    made = set_up(var)
    (home / "key").write_text(made["key"])
    scope = Scope(UUID(made["organization_id"]), UUID(made["developer_id"]))
    written = write_history(var, history.events, scope, SystemClock().now_us(), Mix(developers=history.developers))
    for _ in track(written, f"writing {history.name} events", transient=True):
        pass
    with ready_server(var):  # which projects it; the next start is one like any other
        while behind_events(var):
            time.sleep(0.5)
    (home / "done").touch()


class _Call:
    def __init__(self, connection: HTTPConnection, key: str, home: Path) -> None:
        self._connection = connection
        self._headers = {"Authorization": f"Bearer {key}"}
        self._headers["Cookie"] = f"{self._cookie(key)}; {self._operator(home)}"
        newest = json.loads(self.get("/v1/score_v3/realtime/sub-sessions?limit=1"))[0]
        now_us = SystemClock().now_us()
        self._named = {
            "sub_session": newest["sub_session_id"],
            "month": f"from_us={now_us - MONTH_US}&to_us={now_us}",
        }

    def _cookie(self, key: str) -> str:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        return self._set("POST", "/sign-in", f"key={key}", form)

    def _operator(self, home: Path) -> str:
        secret = {"X-Internal-Secret": (home / "var" / "internal-secret").read_text().strip()}
        self._connection.request("POST", "/v1/admin/operator-links", headers=secret)
        return self._set("GET", json.loads(self._connection.getresponse().read())["path"], None, {})

    def _set(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> str:
        """The cookie that the answer sets."""
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        answer.read()
        return (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def ask(self, route: str) -> float:
        """The milliseconds that it takes; raises RuntimeError for anything but a success."""
        path = route.format(**self._named)
        began = time.perf_counter()
        self.get(path)
        return (time.perf_counter() - began) * 1000

    def get(self, path: str) -> bytes:
        """The body; raises RuntimeError for anything but a success."""
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return body


@contextmanager
def _calling(server: Ready, history: History) -> Iterator[_Call]:
    connection = HTTPConnection("127.0.0.1", server.api_port, timeout=120)
    try:
        yield _Call(connection, (history.home / "key").read_text(), history.home)
    finally:
        connection.close()


def _took(calls: Sequence[_Call], route: str, requests: int) -> list[Took]:
    """Of one read over each history."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(0, requests, IN_A_ROW):
        for call, own in zip(calls, times, strict=True):
            call.ask(route)  # the first of a row finds the processor busy with other things
            own += [call.ask(route) for _ in range(IN_A_ROW)]
    return [Took(_at(own, 50), _at(own, 99)) for own in times]


def _at(times: list[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


def _results(measured: list[Measured]) -> list[Result]:
    """Of the longest history, beside each shorter one."""
    *shorter, longest = measured
    over = f"{longest.history} events"
    slowest, page = (max(kind, key=lambda route: longest.reads[route].p99) for kind in (READS, PAGES))
    return [
        Result(
            f"slowest read, p99, {over}", longest.reads[slowest].p99, "ms", 20, at_most=True, baseline=_short(slowest)
        ),
        Result(
            f"slowest page, p99, {over}",
            longest.reads[page].p99,
            "ms",
            PAGE_MS_MAX,
            at_most=True,
            baseline=_short(page),
        ),
        *(_grown(longest, each) for each in shorter),
        Result(f"ready, {over}", longest.ready_seconds, "s", 1, at_most=True),
        Result(f"memory, idle, {over}", longest.idle_mib, "MiB", 100, at_most=True, baseline="one process"),
    ]


def _grown(longest: Measured, shorter: Measured) -> Result:
    """How much longer than over the shorter history the read takes that suffers most."""

    def ratio(route: str) -> float:
        return longest.reads[route].p50 / shorter.reads[route].p50

    worst = max(READS, key=ratio)
    within = sum(ratio(route) <= GROWN_MAX for route in READS)
    beside = f"{_short(worst)}; {within} of {len(READS)} reads are within"
    return Result(
        f"a read's p50 to that over {shorter.history}", ratio(worst), "", GROWN_MAX, at_most=True, baseline=beside
    )


def _short(route: str) -> str:
    return route.removeprefix("/v1/score_v3").replace("{sub_session}", "…").replace("?{month}", " of a month")


def _show(measured: list[Measured], console: Console) -> None:
    """Each history's p50 and p99, and the longest one's p50 over those of the shorter ones."""
    *shorter, longest = measured
    histories = (f"{each.history}\np50 / p99" for each in measured)
    table = Table("read, ms", *histories, *(f"p50 to\n{each.history}" for each in shorter))
    for route in ROUTES:
        cells = [f"{took.p50:.1f} / {took.p99:.1f}" for took in (each.reads[route] for each in measured)]
        ratios = [f"{longest.reads[route].p50 / each.reads[route].p50:.2f}" for each in shorter]
        table.add_row(_short(route), *cells, *ratios)
    console.print(table)
    starts = Table("events", "ready s", "idle MiB")
    for each in measured:
        starts.add_row(each.history, f"{each.ready_seconds:.2f}", f"{each.idle_mib:.0f}")
    console.print(starts)


if __name__ == "__main__":
    sys.exit(main())
