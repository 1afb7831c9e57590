"""Reads and pages over a short and a long history: the time of each, the server's start, and its memory.

The first baseline of a read is the same read over the shorter history in the same run. Its windows hold less, so the
second is a short history of one developer, whose three days hold as many prompts as a month of the long one. A read
that is slower than that grows with the length of the history."""

import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from svc.actors.actors import Clock
from tests.bench.history import USUAL, Mix, prepared
from tests.bench.world import wait_level
from tests.support.driver import FORM, Driver, at, once, signed_in
from tests.support.process import THIS_TREE, Server
from tests.support.results import Result, table_of

WINDOWS = ("daily", "weekly", "monthly")
MONTH_US = 30 * 86_400 * 1_000_000
IN_A_ROW = 20
GROWN_MAX = 1.5  # how many times as long a read may take over a hundred times as many events
PAGE_MS_MAX, READ_MS_MAX, READY_SECONDS_MAX, IDLE_MIB_MAX = 200, 20, 1, 100
_SCORE, _ONE = "/v1/score_v3", "/v1/score_v3/sub-sessions/{sub_session}"
READS = (
    *(f"{_SCORE}/{figure}?window={window}" for figure in ("score", "speed", "tokens", "skill") for window in WINDOWS),
    *(f"{_SCORE}/{name}" for name in ("speed/sessions", "tokens/trend", "insight/sessions", "trivia/trend")),
    *(f"{_SCORE}/{name}?window=monthly" for name in ("insight/summary", "insight/rubric", "trivia", "integrity")),
    *(f"{_SCORE}/{name}" for name in ("integrity/trend", "integrity/recent", "peer-comparison", "today-summary")),
    f"{_SCORE}/realtime/sub-sessions",
    *(f"{_SCORE}/{spent}?{{month}}" for spent in ("files", "prompts/top", "task-time", "model-task")),
    *(_ONE, f"{_ONE}/prompts", f"{_ONE}/turns", f"{_ONE}/explain", f"{_SCORE}/sessions/{{sub_session}}/prompts"),
)
"""Every scoring read; those with a window in each window where figures are added up over it."""
PAGES = (
    *("/", "/?days=90", "/?days=all"),
    *("/goals?days=all", "/goals?days=all&sort=cost", "/goals?days=all&outcome=not_counted"),
    *("/habits", "/habits?days=all", "/cost", "/cost?days=all", "/cost?days=all&by=model&stack=project"),
    *("/reports", "/settings", "/team", "/team?days=all"),
    *("/goals/{sub_session}", "/goals/{sub_session}/say?word=not-reached", "/goals/{sub_session}/say?word=join"),
    *("/administration/server", "/administration/people", "/administration/audit"),
)
"""Every page, over all time where that is the most; a day's, a person's or a goal's is the dearest of its kind."""
ROUTES = (*READS, *PAGES)


class History(NamedTuple):
    """A folder that holds one."""

    events: int
    developers: int
    home: Path

    @property
    def name(self) -> str:
        return f"{self.events:,}" if self.developers == USUAL.developers else f"{self.events:,} of {self.developers}"

    @property
    def var(self) -> Path:
        return self.home / "var"


class Measured(NamedTuple):
    """What one history showed; of each read p50 and p99, in milliseconds."""

    history: str
    ready_seconds: float
    mib: float
    reads: dict[str, tuple[float, float]]


@click.command()
@click.option("--events", multiple=True, type=int, default=(10_000, 1_000_000), show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True, help="Where histories are kept.")
@click.option("--dense", default=1, show_default=True, help="Developers of the second baseline; 0: without it.")
@click.option("--requests", default=100, show_default=True, help="Of each route.")
def main(events: tuple[int, ...], folder: Path, dense: int, requests: int) -> None:
    """Milliseconds of each scoring read and each page over histories of several lengths, one request at a time.

    Example: python -m tests.bench.reads --events 10000 --events 100000 --folder /tmp/histories"""
    histories = [History(each, USUAL.developers, folder / str(each)) for each in events]
    if dense:
        histories.insert(1, History(events[0], dense, folder / f"{events[0]}-of-{dense}"))
    for history in histories:
        if not (history.home / "done").exists():
            _prepare(history)
    measured = _measured(histories, requests)
    console = Console(width=150)
    _show(measured, console)
    console.print(table_of(_results(measured)))


def _prepare(history: History) -> None:
    """Write a history that ends now, and project it."""
    shutil.rmtree(history.home, ignore_errors=True)
    history.home.mkdir(parents=True)
    key = prepared(history.var, history.events, Clock().now_us(), Mix(developers=history.developers))
    (history.home / "key").write_text(key)
    with THIS_TREE.serving(history.var):  # which projects it; the next start is one like any other
        wait_level(history.var, 0.5)
    (history.home / "done").touch()


def _measured(histories: Sequence[History], requests: int) -> list[Measured]:
    """Each behind a server of its own."""
    with ExitStack() as stack:
        found, readers = [], []
        for history in histories:
            server = stack.enter_context(THIS_TREE.serving(history.var))
            wait_level(history.var)
            time.sleep(2)
            found.append(Measured(history.name, server.ready_seconds, server.mib(), {}))
            driver = stack.enter_context(Driver(server.api_port, (history.home / "key").read_text()))
            readers.append(_Reader(server, driver))
        for route in track(ROUTES, transient=True):
            for measured, times in zip(found, _took(readers, route, requests), strict=True):
                measured.reads[route] = at(times, 0.5), at(times, 0.99)
        return found


class _Reader:
    """Somebody who is signed in to the pages, as an owner and as an operator."""

    def __init__(self, server: Server, driver: Driver) -> None:
        self._driver = driver
        secret = (server.var / "internal-secret").read_text().strip()
        linked = once(server.api_port, "POST", "/v1/admin/operator-links", **{"X-Internal-Secret": secret}).json["path"]
        operator = once(server.api_port, "POST", linked, b"", **FORM).headers["Set-Cookie"].partition(";")[0]
        key = driver.headers["Authorization"].partition(" ")[2]
        driver.headers["Cookie"] = f"{signed_in(server.api_port, key)}; {operator}"
        newest = self._driver.ask("GET", f"{_SCORE}/realtime/sub-sessions?limit=1").json[0]
        now_us = Clock().now_us()
        month = f"from_us={now_us - MONTH_US}&to_us={now_us}"
        self._named = {"sub_session": newest["sub_session_id"], "month": month}

    def ask(self, route: str) -> float:
        return self._driver.ask("GET", route.format(**self._named)).ms


def _took(readers: Sequence[_Reader], route: str, requests: int) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in readers]
    for _ in range(0, requests, IN_A_ROW):
        for reader, own in zip(readers, times, strict=True):
            reader.ask(route)  # the first of a row finds the processor busy with other things
            own += [reader.ask(route) for _ in range(IN_A_ROW)]
    return times


def _results(measured: list[Measured]) -> list[Result]:
    """Of the longest history, beside each shorter one."""
    *shorter, longest = measured
    over, reads = f"{longest.history} events", longest.reads
    slowest, page = (max(kind, key=lambda route: reads[route][1]) for kind in (READS, PAGES))
    return [
        Result(f"slowest read, p99, {over}", reads[slowest][1], "ms", READ_MS_MAX, True, _short(slowest)),
        Result(f"slowest page, p99, {over}", reads[page][1], "ms", PAGE_MS_MAX, True, _short(page)),
        *(_grown(longest, each) for each in shorter),
        Result(f"ready, {over}", longest.ready_seconds, "s", READY_SECONDS_MAX, True),
        Result(f"memory, idle, {over}", longest.mib, "MiB", IDLE_MIB_MAX, True),
    ]


def _grown(longest: Measured, shorter: Measured) -> Result:
    """How much longer than over the shorter history the read takes that suffers most."""
    ratios = {route: longest.reads[route][0] / shorter.reads[route][0] for route in READS}
    worst = max(READS, key=ratios.__getitem__)
    within = sum(ratio <= GROWN_MAX for ratio in ratios.values())
    beside = f"{_short(worst)}; {within} of {len(READS)} reads are within"
    return Result(f"a read's p50 to that over {shorter.history}", ratios[worst], "", GROWN_MAX, True, beside)


def _short(route: str) -> str:
    return route.removeprefix(_SCORE).replace("{sub_session}", "…").replace("?{month}", " of a month")


def _show(measured: list[Measured], console: Console) -> None:
    """Each history's p50 and p99, and the longest one's p50 over those of the shorter ones."""
    *shorter, longest = measured
    names = (f"{each.history}\np50 / p99\nready {each.ready_seconds:.2f} s\n{each.mib:.0f} MiB" for each in measured)
    table = Table("read, ms", *names, *(f"p50 to\n{each.history}" for each in shorter))
    for route in ROUTES:
        cells = ["{:.1f} / {:.1f}".format(*each.reads[route]) for each in measured]
        ratios = [f"{longest.reads[route][0] / each.reads[route][0]:.2f}" for each in shorter]
        table.add_row(_short(route), *cells, *ratios)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
