"""The servers under measurement, each as a child process."""

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from aggregates.people import budgets

_READY = re.compile(r"ready intake=\S*?:(\d+) api=\S*?:?(\d*)$")


class Ready(NamedTuple):
    """A server that answers."""

    pid: int
    port: int
    """Of the public listener."""
    api_port: int
    ready_seconds: float
    """From its start to its `ready` line."""

    def resident_mib(self) -> float:
        """What it takes just now."""
        return _mib(self.pid, "VmRSS:")

    def most_resident_mib(self) -> float:
        """The most that it has taken since its start."""
        return _mib(self.pid, "VmHWM:")


def _mib(pid: int, kind: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(kind)[2].split()[0]) / 1024


class Serving(msgspec.Struct, frozen=True):
    """A service over a new folder, and how to talk to it."""

    server: Ready
    headers: dict[str, str]
    var: Path

    @property
    def port(self) -> int:
        """Of the public listener."""
        return self.server.port

    def behind_events(self) -> int:
        """Events in the log that the views do not hold yet."""
        return behind_events(self.var)

    def level_seconds(self) -> float:
        """How long it takes from now until the views hold everything."""
        started = time.perf_counter()
        while self.behind_events():
            time.sleep(0.02)
        return time.perf_counter() - started


@contextmanager
def ready_server(var: Path, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Ready]:
    """A server over a folder, as an operator starts it."""
    listeners = ("--intake", "127.0.0.1:0", "--api", "127.0.0.1:0")
    command = svc_command("serve", "--var", str(var), *listeners, "--log-level", "warning")
    with _started(command, **more) as server:
        yield server


def behind_events(var: Path) -> int:
    """Events in the log of a folder that its views do not hold yet."""
    views = var / (var / "views.current").read_text().strip()
    head = _one(var / "events.db", "SELECT max(rowid) FROM stored_events")
    return head - _one(views, "SELECT position FROM bookmark")


def set_up(var: Path) -> dict[str, str]:
    """Make a folder as an operator does; the key and the ids of who owns it."""
    made = subprocess.run(svc_command("init", "--var", str(var), "--json"), check=True, capture_output=True)
    return msgspec.json.decode(made.stdout, type=dict[str, str])


NO_BUDGETS = {f"SVC_{name.upper()}": "0" for name in budgets.NAMES}
"""Of what a server is flooded with, nothing is refused."""


@contextmanager
def fresh_service(more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Serving]:
    """The service as an operator starts it, on a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder:
        var = Path(folder) / "var"
        headers = {"Authorization": f"Bearer {set_up(var)['key']}"}
        with ready_server(var, more) as server:
            yield Serving(server, headers, var)


@contextmanager
def bare_route() -> Iterator[int]:
    """The port of a server that reads and decodes, and no more."""
    with _started([sys.executable, "-m", "tests.bench.bare"]) as server:
        yield server.port


def svc_command(*arguments: str) -> list[str]:
    """The program under this Python."""
    return [sys.executable, "-m", "svc", *arguments]


@contextmanager
def _started(command: list[str], **settings: str) -> Iterator[Ready]:
    """A server that runs as a child, of a Python that may keep compiled modules, as an operator's does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | settings
    quiet = subprocess.DEVNULL
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            ports = _ports(process.stdout, command)
            yield Ready(process.pid, *ports, time.perf_counter() - began)
        finally:
            process.terminate()
            process.wait()


def _ports(lines: Iterator[str], command: list[str]) -> tuple[int, int]:
    """Public, and private, 0 where it has none."""
    for line in lines:
        found = _READY.search(line)
        if found is not None:
            return int(found[1]), int(found[2] or 0)
    raise RuntimeError(f"{command} did not start")


def _one(path: Path, query: str) -> int:
    db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        value: int = db.execute(query).fetchone()[0]
        return value
    finally:
        db.close()
