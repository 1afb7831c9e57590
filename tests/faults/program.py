"""The real program on its own folders: its commands, and servers that are killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent.parent
READY_SECONDS = 600.0
"""Nothing here fails because a machine is slow: a server that is not ready by then never will be."""
COMMAND_SECONDS = 1200.0
NO_MORE: Mapping[str, str] = MappingProxyType({})
_READY = re.compile(r"ready intake=\S*?:(\d+) api=\S*?:(\d+)")
_POLL_SECONDS = 0.02


class NotReady(Exception):
    """A server ended, or said nothing, before it answered requests; the message quotes its log."""


class Owner(NamedTuple):
    """Who a folder was set up for."""

    key: str
    developer_id: str


class Process(NamedTuple):
    """A process that works on a folder."""

    pid: int
    words: str
    """Its command line."""


def environment(**more: str) -> dict[str, str]:
    """That of whoever runs this, without settings of theirs; list prices are asked of nobody."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # without compiled modules each start takes a second longer
    path = f"{ROOT}{os.pathsep}{ROOT / 'http'}"
    return kept | {"PYTHONPATH": path, "SVC_CATALOG_REFRESH": "false"} | more


class Server:
    """A server that was started; it may not be ready yet."""

    def __init__(self, process: subprocess.Popen[bytes], var: Path, said: Path) -> None:
        self.process = process
        self.var = var
        self.intake = 0
        self.api = 0
        self._said = said

    def wait_ready(self) -> "Server":
        """Return once requests are answered. Raises `NotReady`."""
        end = time.monotonic() + READY_SECONDS
        while (found := _READY.search(self._said.read_text())) is None:
            if self.process.poll() is not None or time.monotonic() > end:
                raise NotReady(f"exit code {self.process.poll()}: {log_tail(self.var)}")
            time.sleep(_POLL_SECONDS)
        self.intake, self.api = int(found[1]), int(found[2])
        return self

    def kill(self) -> None:
        """kill -9 of the server; whoever keeps its views notices that by itself."""
        for each in processes_of(self.var):
            if " serve " in each.words:
                _kill(each.pid)
        self.process.wait()  # a tracer around it writes the last line

    def stop(self) -> int:
        """Ask it to stop, as a service manager does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(READY_SECONDS)

    def end(self) -> None:
        """Leave nothing of it, however it went."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def pid(self) -> int:
        """Of the process that serves: a one-file binary has another one around it."""
        running: int = json.loads((self.var / "running.json").read_bytes())["pid"]
        return running


class Program(NamedTuple):
    """The program under test."""

    command: tuple[str, ...]

    def run(
        self,
        var: Path,
        *arguments: str | Path,
        check: bool = True,
        around: Sequence[str] = (),
        more: Mapping[str, str] = NO_MORE,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a folder to its end. `around`: what to run it under."""
        command = [*around, *self.command, *map(str, arguments), "--var", str(var)]
        done = subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=COMMAND_SECONDS)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done

    def json(self, var: Path, *arguments: str) -> Any:
        """What a command answers with `--json`, whatever its exit code."""
        done = self.run(var, *arguments, "--json", check=False)
        if not done.stdout.strip():
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def set_up(self, var: Path) -> Owner:
        """Make a folder as an operator does."""
        made = self.json(var, "init")
        return Owner(made["key"], made["developer_id"])

    def another(self, var: Path, name: str) -> Owner:
        """One more developer in a folder."""
        made = self.json(var, "developer", "create", name)
        developer_id = made.get("developer_id") or made["developer"]["developer_id"]
        issued = self.json(var, "key", "issue", "--developer", developer_id)
        return Owner(issued["key"], developer_id)

    def begin(self, var: Path, *, around: Sequence[str] = (), more: Mapping[str, str] = NO_MORE) -> Server:
        """Start a server and do not wait. `around`: what to run it under; `more`: for its environment."""
        listeners = ("--intake", "127.0.0.1:0", "--api", "127.0.0.1:0", "--log-level", "info")
        command = [*around, *self.command, "serve", "--var", str(var), *listeners]
        said = beside(var, "said")
        with said.open("wb") as out, beside(var, "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=out, stderr=log, env=environment(**more), start_new_session=True)
        return Server(process, var, said)

    def serve(self, var: Path, *, around: Sequence[str] = (), more: Mapping[str, str] = NO_MORE) -> Server:
        """Start a server and wait until it is ready. Raises `NotReady`."""
        server = self.begin(var, around=around, more=more)
        try:
            return server.wait_ready()
        except BaseException:
            server.end()
            raise


def program_of(path: str | None) -> Program:
    """The one-file binary at a path, or the package of this very tree."""
    return Program((sys.executable, "-m", "svc") if path is None else (str(Path(path).absolute()),))


def beside(var: Path, what: str) -> Path:
    """A file next to a folder, for what a server says."""
    return var.with_name(f"{var.name}.{what}")


def log_tail(var: Path) -> str:
    """The end of what servers over a folder logged."""
    log = beside(var, "log")
    return log.read_text(errors="replace")[-1500:] if log.exists() else "no log"


def processes_of(var: Path) -> list[Process]:
    """Those that work on a folder, found by their command lines."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if f" --var {var} " in words and not words.startswith("strace "):
                    found.append(Process(int(folder.name), words))
    return found


def kill_processes(var: Path, word: str) -> int:
    """kill -9 of those whose command line holds a word; how many there were."""
    return sum(_kill(each.pid) for each in processes_of(var) if f" {word} " in each.words)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
