"""The time that `svc hook`, commands and the start of a server take, beside a Python that does nothing."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.bench.world import MIDDLE, fresh_service
from tests.support.driver import at
from tests.support.process import THIS_TREE, environment
from tests.support.results import Result

COMMAND_MS, READY_MS, IDLE_MIB = 300.0, 1_000.0, 90.0  # each at most
SETTLED_SECONDS = 2.0  # after its start a server loads what reads texts
STARTS = ("--help", "score --help", "doctor --help", "open --help", "serve --help")
IDLE = (sys.executable, "-c", "import sys; sys.stdin.read()")


def hooks(calls: int) -> list[Result]:
    """A hook with the server up and with it gone."""
    # The children of the last hooks may still write while the folder goes.
    with tempfile.TemporaryDirectory(prefix="svc-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        idle = _times(IDLE, home, calls)
        with fresh_service() as service:
            to = ("--url", service.server.intake_url, "--key", service.key)
            THIS_TREE.run("connect", "claude-code", *to, told={"HOME": str(home)})
            settings = msgspec.json.decode((home / ".claude" / "settings.json").read_bytes())
            command = ("sh", "-c", settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"])
            up = _times(command, home, calls)
        gone = _times(command, home, calls)
    beside = f"an idle Python: {at(idle, MIDDLE):.0f} ms"
    return [
        Result(f"hook, {when}, p50", at(times, MIDDLE), "ms", baseline=f"{beside}; p99 {at(times, 0.99):.0f} ms")
        for when, times in (("server up", up), ("server gone", gone))
    ]


def starts(rounds: int) -> list[Result]:
    """Commands, and until a server is ready; MiB of the idle server; in turns. The first round compiles modules."""
    commands = {f"svc {each}": (*THIS_TREE.command, *each.split()) for each in STARTS}
    plain, ready, memory = list[float](), list[float](), list[float]()
    times: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        for _ in range(rounds + 1):
            plain += _times((sys.executable, "-c", "pass"), Path(folder), 1)
            for name, command in commands.items():
                times[name] += _times(command, Path(folder), 1)
            with THIS_TREE.serving(Path(folder) / "var") as server:
                ready.append(server.ready_seconds * 1000)
                time.sleep(SETTLED_SECONDS)
                memory.append(server.mib())
    beside = f"python -c pass: {_median(plain):.0f} ms"
    return [
        *(Result(name, _median(each), "ms", COMMAND_MS, True, beside) for name, each in times.items()),
        Result("svc serve, ready", _median(ready), "ms", READY_MS, True, beside),
        Result("svc serve, idle", _median(memory), "MiB", IDLE_MIB, True, beside),
    ]


def _median(rounds: list[float]) -> float:
    return statistics.median(rounds[1:])


def _times(command: Sequence[str], home: Path, calls: int) -> list[float]:
    told = {"hook_event_name": "UserPromptSubmit", "cwd": "/home/ana/shop", "prompt": "Fix the crash in src/app.py"}
    env = {name: value for name, value in environment().items() if name != "CLAUDE_CONFIG_DIR"} | {"HOME": str(home)}
    times = []
    for number in range(calls):
        text = msgspec.json.encode(told | {"session_id": "s1", "prompt_id": f"p{number}"})
        began = time.perf_counter()
        subprocess.run(command, input=text, env=env, check=True, capture_output=True)
        times.append((time.perf_counter() - began) * 1000)
    return times
