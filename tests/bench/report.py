"""`python -m tests.bench.report`: make a monthly report over many sub-sessions and measure stands of the loop.

The report is requested, awaited and read through the routes, as a page does it. The server beats meanwhile: this file
is the program that is served, too. The longest stand is shown by the clock, and as the processor time of the server
alone, because other processes take their turns too.
"""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zoneinfo import ZoneInfo

import click
import trio
from rich.console import Console

from aggregates.reports.events import ReportPeriod, last_whole_period
from aggregates.times import US_PER_SECOND
from svc.logs import set_up_logs
from svc.process import Clock
from svc.serving import Listening, serve
from svc.settings import Settings
from tests.bench.history import TURN_EVENTS, Mix, prepared
from tests.bench.world import wait_level
from tests.support.driver import Driver, until
from tests.support.process import Program, Server
from tests.support.results import Result, table_of

SESSION_TURNS = (2, 1)
REPORTS = "/v1/score_v3/report"
LOOK_SECONDS, WAIT_SECONDS = 0.05, 120.0
STAND_MS = 50  # how long the loop may stand still at most
BEAT_SECONDS, LATE_SECONDS = 0.001, 0.005
BEATING = Program((sys.executable, "-m", "tests.bench.report"))


class Late(NamedTuple):
    """A beat of the loop that came late; what the server computed meanwhile, in all threads; by the common clock."""

    seconds: float
    cpu_seconds: float
    at: float


@click.command()
@click.option("--sub-sessions", default=10_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--var", type=click.Path(path_type=Path), help="Keep the history in this folder, or use the one there.")
def main(sub_sessions: int, rounds: int, var: Path | None) -> None:
    """A monthly report over so many sub-sessions: seconds until it is there, and the loop's longest stand.

    Example: python -m tests.bench.report --sub-sessions 2000 --rounds 1
    """
    with TemporaryDirectory(prefix="svc-bench-") as folder:
        where = var or Path(folder) / "var"
        period = last_whole_period("monthly", ZoneInfo("UTC"), Clock().now_us())
        kept = where.with_name(f"{where.name}.key")
        if not where.exists():
            turns = sub_sessions * sum(SESSION_TURNS) // len(SESSION_TURNS)
            mix = Mix(1, SESSION_TURNS, (period.end_us - period.start_us) // (turns + 20))
            kept.write_text(prepared(where, turns * TURN_EVENTS, period.end_us, mix))
        with BEATING.serving(where) as server:
            wait_level(where)
            time.sleep(5)  # the archive follows the views
            with Driver(server.api_port, kept.read_text()) as driver:
                found = [each for _ in range(rounds) for each in _report(server, driver, period)]
    Console(width=150).print(table_of(found))


def _report(server: Server, driver: Driver, period: ReportPeriod) -> list[Result]:
    """Ask for it, look for it, read it, delete it."""
    date = datetime.fromtimestamp(period.start_us / US_PER_SECOND, UTC).date().isoformat()
    began = time.monotonic()
    wanted = {"period": "monthly", "date": date, "timezone": "UTC"}
    asked = driver.ask("POST", f"{REPORTS}/generate", wanted).json
    named = f"{REPORTS}/status/{asked['report_id']}"
    if not until(lambda: driver.ask("GET", named).json["status"] == "completed", WAIT_SECONDS, LOOK_SECONDS):
        raise RuntimeError(f"the report is {driver.ask('GET', named).json['status']}")
    seconds = time.monotonic() - began
    report = driver.ask("GET", f"{REPORTS}/{asked['report_id']}")
    ended = time.monotonic()
    time.sleep(0.1)
    driver.ask("DELETE", f"{REPORTS}/{asked['report_id']}")
    told = [Late(*map(float, line.split()[1:])) for line in server.said().splitlines() if line.startswith("late ")]
    late = [each for each in told if began <= each.at <= ended + each.seconds]
    own_ms = [min(each.seconds, each.cpu_seconds) * 1000 for each in late]
    what = f"report over {report.json['sections']['score']['total_count']:,} sub-sessions"
    beside = f"by the clock {max((each.seconds for each in late), default=0.0) * 1000:.0f} ms"
    over = f"{beside}; {sum(each > STAND_MS for each in own_ms)} were longer than {STAND_MS} ms"
    return [
        Result(what, seconds, "s", baseline=f"{len(report.body) / 1024:.0f} KiB"),
        Result("the loop's longest stand, own work", max(own_ms, default=0.0), "ms", STAND_MS, True, over),
    ]


# --- the server with a heart -----------------------------------------------------------------------------------------


async def _serve(settings: Settings) -> None:
    async with trio.open_nursery() as nursery:

        def ready(addresses: Listening) -> None:
            print(f"ready intake={addresses.intake_url} api={addresses.api_url}", flush=True)
            nursery.start_soon(_beat)

        await serve(settings, ready, lambda _made: None)
        nursery.cancel_scope.cancel()


async def _beat() -> None:
    while True:
        began, used = time.monotonic(), time.process_time()
        await trio.sleep(BEAT_SECONDS)
        now = time.monotonic()
        late = now - began - BEAT_SECONDS
        if late >= LATE_SECONDS:
            print(f"late {late:.4f} {time.process_time() - used:.4f} {now:.4f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        set_up_logs("warning")
        served = sys.argv[sys.argv.index("--var") + 1]
        trio.run(_serve, Settings(var=served, intake="127.0.0.1:0", api="127.0.0.1:0", catalog_refresh=False))
    else:
        main()
