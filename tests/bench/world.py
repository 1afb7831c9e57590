"""The folders and servers that are measured."""

import math
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.driver import until
from tests.support.process import NOTHING, THIS_TREE, Program, Server

MIDDLE = 0.5


@contextmanager
def bench_folder() -> Iterator[Path]:
    """The children of hooks may still write while it goes."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def fresh_server(told: Mapping[str, str] = NOTHING) -> Iterator[Server]:
    """Over a new folder; its key is the owner's."""
    with bench_folder() as folder:
        key = THIS_TREE.set_up(folder / "var").key
        with THIS_TREE.serving(folder / "var", "--log-level", "warning", key=key, told=told) as server:
            yield server


@contextmanager
def bare_route() -> Iterator[int]:
    """The port of a server that reads and decodes, and no more."""
    bare = Program((sys.executable, "-m", "tests.bench.bare"))
    with bench_folder() as folder, bare.serving(folder / "bare") as server:
        yield server.intake_port


def wait_level(var: Path, pause: float = 0.2) -> float:
    """The seconds until the views of a folder hold its log."""

    def is_level() -> bool:
        views = var / (var / "views.current").read_text().strip()
        head = _one(var / "events.db", "SELECT max(rowid) FROM stored_events")
        return head == _one(views, "SELECT position FROM bookmark")

    started = time.perf_counter()
    until(is_level, math.inf, pause)
    return time.perf_counter() - started


def _one(path: Path, query: str) -> int:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        value: int = db.execute(query).fetchone()[0]
        return value
