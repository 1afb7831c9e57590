"""Building the views anew from a long history, beside reading the same log and doing nothing with it."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.progress import track
from rich.table import Table

from aggregates.scope import Scope
from bench.history import write_history
from bench.results import Result
from bench.servers import set_up
from svc.event_log import open_log
from svc.limits import PROJECT_EVENTS_MAX
from svc.replay import build

END_US = 1_790_000_000_000_000


def compare_replay(events: int, console: Console) -> list[Result]:
    """Print events a second of a replay of so many events, and of only reading them."""
    with history(events) as var:
        read_events, read_seconds = _read(var)
        built_events, built_seconds = _build(var)
    table = Table("events", "read/s", "replayed/s", "ratio")
    read, built = read_events / read_seconds, built_events / built_seconds
    table.add_row(f"{built_events:,}", f"{read:,.0f}", f"{built:,.0f}", f"{built / read:.2f}")
    console.print(table)
    return [Result("replayed events", built, "/s", 20_000, baseline=f"reading the same log: {read:,.0f}/s")]


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
    while found := store.read_after(position, PROJECT_EVENTS_MAX):
        count += len(found)
        position = found[-1].position
    seconds = time.perf_counter() - started
    store.close()
    return count, seconds


def _build(var: Path) -> tuple[int, float]:
    store, vault = open_log(var)
    started = time.perf_counter()
    events = build(var / "bench.db", store, vault.digester, lambda _done, _of: None)
    seconds = time.perf_counter() - started
    store.close()
    return events, seconds
