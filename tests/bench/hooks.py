"""The time that `svc hook` takes as a process, next to a Python that does nothing."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.results import Result
from tests.bench.servers import Serving, fresh_service, svc_command

WITHOUT = {"PYTHONDONTWRITEBYTECODE", "CLAUDE_CONFIG_DIR"}
"""Variables that are none of the agent's."""


def compare_hooks(calls: int, console: Console) -> list[Result]:
    """Print milliseconds of a hook with the server up and with it gone, beside an idle Python."""
    table = Table("process", "p50 ms", "p99 ms", "to the idle one")
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
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
