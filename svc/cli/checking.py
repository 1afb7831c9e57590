"""Proving that the log always gives the same tables: two builds, in two processes, under different hash seeds and
batch sizes, compared with each other and with the tables that serve."""

import sqlite3
import subprocess
from pathlib import Path

import msgspec
import trio

from projections.apply import bookmark
from svc.cli.access import NotReached
from svc.log.sqlite import EVENTS_FILE, open_log
from svc.maintenance.verify import scratch
from svc.views.replay import Progress, build_in_child, copy_of, digests
from svc.views.views import RULES_VERSION, current_file

_BUILDS: tuple[tuple[str, int], ...] = (("1", 500), ("4242", 37))
"""The hash seed and the batch size of each build."""


class TableDigests(msgspec.Struct, frozen=True):
    """SHA-256 over one table in the order of its key, from three sides."""

    table: str
    live: str
    first: str
    second: str


class Checked(msgspec.Struct, frozen=True):
    """What a check found."""

    identical: bool
    position: int
    """Up to here all three were compared."""
    failed: int
    """Facts that could not be derived."""
    tables: list[TableDigests]


async def check(var: Path, progress: Progress) -> Checked:
    """Build twice beside the serving tables and compare. Raises `NotReached` where there are none."""
    if (var / EVENTS_FILE).exists():
        open_log(var)[0].close()  # one that cannot be opened says so here, and not as two builds that stopped
    live_path = current_file(var, RULES_VERSION)
    if live_path is None:
        raise NotReached(f"{var} holds no tables to check; start the server once, or run `svc replay`")
    with scratch(var, "check") as folder:
        live = await trio.to_thread.run_sync(copy_of, live_path, folder / "live.db")
        try:
            position = bookmark(live).position
            paths = [folder / f"build-{number}.db" for number in range(len(_BUILDS))]
            await _build_all(var, paths, position, progress)
            return await trio.to_thread.run_sync(_compare, live, paths, position)
        finally:
            live.close()


async def _build_all(var: Path, paths: list[Path], position: int, progress: Progress) -> None:
    done = [0] * len(paths)

    def report(number: int, events: int) -> None:
        done[number] = events
        progress(sum(done), position * len(paths))

    async with trio.open_nursery() as nursery:
        for number, path in enumerate(paths):
            nursery.start_soon(_build, var, path, position, number, report)


async def _build(var: Path, path: Path, position: int, number: int, report: Progress) -> None:
    seed, batch_events = _BUILDS[number]
    try:
        await build_in_child(
            var,
            path,
            lambda done, _of: report(number, done),
            batch_events=batch_events,
            up_to=position,
            environment={"PYTHONHASHSEED": seed},
        )
    except subprocess.CalledProcessError as error:
        raise NotReached(f"build {number + 1} stopped with exit code {error.returncode}") from error


def _compare(live: sqlite3.Connection, paths: list[Path], position: int) -> Checked:
    builds = []
    for path in paths:
        db = sqlite3.connect(path)
        builds.append(digests(db))
        db.close()
    of_live = digests(live)
    tables = [TableDigests(table, of_live[table], *(build[table] for build in builds)) for table in of_live]
    return Checked(
        identical=all(row.live == row.first == row.second for row in tables),
        position=position,
        failed=live.execute("SELECT count(*) FROM failed").fetchone()[0],
        tables=tables,
    )
