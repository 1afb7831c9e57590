"""Build the views from a long history, in a process of their own, beside only reading the same log."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from svc.log.opening import open_log
from svc.views.replay import REPLAY_EVENTS_MAX, build
from tests.bench.history import prepared
from tests.support.process import environment
from tests.support.results import Result

END_US = 1_790_000_000_000_000
Step = tuple[int, float]  # events, and seconds from the start of the process


def replay(events: int) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        var = Path(folder) / "var"
        prepared(var, events, END_US)
        read, steps = _read(var), _built(var)
    done, seconds = steps[-1]
    fifths = [f"{_rate(steps, of, of + 0.2):,.0f}" for of in (0.0, 0.8)]
    beside = f"reading the same log: {read:,.0f}/s; the first fifth {fifths[0]}/s, the last {fifths[1]}/s"
    return [Result("replayed events, one process", done / seconds, "/s", 5_000, baseline=beside)]


def _read(var: Path) -> float:
    store, _ = open_log(var)
    with closing(store):
        count = position = 0
        started = time.perf_counter()
        while found := store.read_after(position, REPLAY_EVENTS_MAX):
            count += len(found)
            position = found[-1].position
        seconds = time.perf_counter() - started
    return count / seconds


def _built(var: Path) -> list[Step]:
    command = [sys.executable, "-m", "tests.bench.replay", str(var)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        steps = [(int(line), time.perf_counter() - started) for line in process.stdout]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return steps


def _rate(steps: Sequence[Step], begin: float, end: float) -> float:
    """Events a second between two parts of the history, each told as a share of it."""
    within = [step for step in steps if begin <= step[0] / steps[-1][0] <= end] or [(0, 0.0)]
    return (within[-1][0] - within[0][0]) / max(within[-1][1] - within[0][1], 1e-9)


def main() -> None:
    """Build the views of a folder, and print how far they are."""
    var = Path(sys.argv[1])
    store, vault = open_log(var)
    with closing(store):
        build(var / "bench.db", store, vault.known_digester, lambda done, _of: print(done, flush=True))


if __name__ == "__main__":
    main()
