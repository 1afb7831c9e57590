"""The time that `svc hook`, commands and the start of a server take, next to a Python that does nothing."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.results import Result
from tests.bench.servers import Serving, fresh_service, ready_server, svc_command

WITHOUT = {"PYTHONDONTWRITEBYTECODE", "CLAUDE_CONFIG_DIR"}
"""Variables that are none of the agent's."""


def compare_hooks(calls: int, console: Console) -> list[Result]:
    """Print milliseconds of a hook with the server up and with it gone, beside an idle Python."""
    table = Table("process", "p50 ms", "p99 ms", "to the idle one")
    # The children of the last hooks may still write while the folder goes.
    with tempfile.TemporaryDirectory(prefix="svc-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        idle = _times([sys.executable, "-c", "import sys; sys.stdin.read()"], home, calls)
        with fresh_service() as service:
            command = _connect(service, home)
            up = _times(command, home, calls)
        gone = _times(command, home, calls)
    for name, times in (("idle Python", idle), ("hook, server up", up), ("hook, server gone", gone)):
        p50, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
        table.add_row(name, f"{p50:.0f}", f"{p99:.0f}", f"{p50 / idle[len(idle) // 2]:.1f}")
    console.print(table)
    beside = f"an idle Python: {idle[len(idle) // 2]:.0f} ms"
    return [
        Result(f"hook, {when}, p50", times[len(times) // 2], "ms", baseline=beside)
        for when, times in (("server up", up), ("server gone", gone))
    ]


READY = "svc serve, ready"
COMMAND_MS, READY_MS, IDLE_MIB = 300.0, 1_000.0, 90.0
"""Each at most."""
SETTLED_SECONDS = 2.0
"""After its start a server loads what reads texts."""
STARTS = ("--help", "score --help", "doctor --help", "open --help", "serve --help")


def compare_starts(rounds: int, console: Console) -> list[Result]:
    """Print medians: milliseconds of commands and until a server is ready, MiB of the idle server; in turns."""
    table = Table("start", "median", "beside")
    commands = {"Python": [sys.executable, "-c", "pass"]} | {
        f"svc {each}": svc_command(*each.split()) for each in STARTS
    }
    times: dict[str, list[float]] = {name: [] for name in (*commands, READY)}
    memory: list[float] = []
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        for number in range(rounds + 1):
            for name, command in commands.items():
                times[name] += _times(command, Path(folder), 1)
            with ready_server(Path(folder) / "var") as server:
                times[READY].append(server.ready_seconds * 1000)
                time.sleep(SETTLED_SECONDS)
                memory.append(server.resident_mib())
            if not number:  # the first one compiles modules, and makes the folder
                times, memory = {name: [] for name in times}, []
    found = {name: statistics.median(each) for name, each in times.items()}
    beside = f"python -c pass: {found.pop('Python'):.0f} ms"
    targets = dict.fromkeys(found, COMMAND_MS) | {READY: READY_MS}
    results = [Result(name, value, "ms", targets[name], True, beside) for name, value in found.items()]
    results.append(Result("svc serve, idle", statistics.median(memory), "MiB", IDLE_MIB, True, beside))
    for each in results:
        table.add_row(each.what, f"{each.measured:.0f} {each.unit}", each.baseline)
    console.print(table)
    return results


def _connect(service: Serving, home: Path) -> list[str]:
    """The command that the agent was told to run at a prompt."""
    key = service.headers["Authorization"].removeprefix("Bearer ")
    url = f"http://127.0.0.1:{service.port}"
    command = svc_command("connect", "claude-code", "--url", url, "--key", key)
    subprocess.run(command, env=_environment(home), check=True, capture_output=True)
    settings = msgspec.json.decode((home / ".claude" / "settings.json").read_bytes())
    return ["sh", "-c", settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]]


def _times(command: list[str], home: Path, calls: int) -> list[float]:
    """Milliseconds of each call, the shortest first."""
    told = {"hook_event_name": "UserPromptSubmit", "cwd": "/home/ana/shop", "prompt": "Fix the crash in src/app.py"}
    times = []
    for number in range(calls):
        text = msgspec.json.encode(told | {"session_id": "s1", "prompt_id": f"p{number}"})
        began = time.perf_counter()
        subprocess.run(command, input=text, env=_environment(home), check=True, capture_output=True)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)


def _environment(home: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in WITHOUT} | {"HOME": str(home)}
