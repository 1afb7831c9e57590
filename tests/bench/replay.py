"""Build the views from a long history, next to only reading the same log."""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from aggregates.event import Scope
from svc.limits import REPLAY_EVENTS_MAX
from svc.log.opening import open_log
from svc.process import program
from svc.views.replay import BuildStep
from tests.bench.history import write_history
from tests.bench.results import Result
from tests.bench.servers import set_up

END_US = 1_790_000_000_000_000


def compare_replay(events: int, console: Console) -> list[Result]:
    """Print events a second of a replay of so many events, and of only reading them."""
    with history(events) as var:
        read_events, read_seconds = _read(var)
        steps = _build(var)
    table = Table("events", "read/s", "replayed/s", "ratio", "first fifth/s", "last fifth/s")
    read, built = read_events / read_seconds, steps[-1].done / steps[-1].seconds
    fifths = [f"{_rate(steps, of, of + 0.2):,.0f}" for of in (0.0, 0.8)]
    table.add_row(f"{steps[-1].done:,}", f"{read:,.0f}", f"{built:,.0f}", f"{built / read:.2f}", *fifths)
    console.print(table)
    return [Result("replayed events, one process", built, "/s", 5_000, baseline=f"reading the same log: {read:,.0f}/s")]


@contextmanager
def history(events: int) -> Iterator[Path]:
    """A folder whose log holds about so many events, in the mix of real sessions."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        var = Path(folder) / "var"
        made = set_up(var)
        scope = Scope(UUID(made["organization_id"]), UUID(made["developer_id"]))
        for _ in track(write_history(var, events, scope, END_US), "writing a history", transient=True):
            pass
        yield var


def _read(var: Path) -> tuple[int, float]:
    """How many events were read, words opened, and the seconds it took."""
    store, _ = open_log(var)
    count = position = 0
    started = time.perf_counter()
    while found := store.read_after(position, REPLAY_EVENTS_MAX):
        count += len(found)
        position = found[-1].position
    seconds = time.perf_counter() - started
    store.close()
    return count, seconds


class _Step(NamedTuple):
    done: int
    """Events."""
    seconds: float
    """From the start of the process."""


def _build(var: Path) -> list[_Step]:
    """How far the process came that a replay runs, and when."""
    command = [*program(), "build-views", "--var", str(var), "--build", str(var / "bench.db")]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        steps = [
            _Step(msgspec.json.decode(line, type=BuildStep).done, time.perf_counter() - started)
            for line in process.stdout
        ]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "svc build-views")
    return steps


def _rate(steps: Sequence[_Step], begin: float, end: float) -> float:
    """Events a second between two parts of the history, each told as a share of it."""
    within = [step for step in steps if begin <= step.done / steps[-1].done <= end]
    return (within[-1].done - within[0].done) / (within[-1].seconds - within[0].seconds)
