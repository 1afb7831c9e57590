"""The real program as child processes: its commands, and servers on free ports; for tests and for the tools."""

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from aggregates.people import entry
from tests.support.driver import bearer, until
from tests.support.warm import Child, Warm

ROOT = Path(__file__).parent.parent.parent
COMMAND_SECONDS = 1_200
READY_SECONDS = 600.0  # nothing fails because a machine is slow: a server that is not ready by then never will be
STOP_SECONDS = 5
NOTHING: Mapping[str, str] = MappingProxyType({})
QUIET = {"SVC_CATALOG_REFRESH": "false"}  # list prices are asked of nobody
NO_BUDGETS = {f"SVC_{name.upper()}": "0" for name in entry.NAMES}
"""Of what a server is flooded with, nothing is refused."""
KEY = re.compile(r"svc_[A-Za-z0-9_-]{43}")
_READY = re.compile(r"ready intake=(\S+) api=(\S+)")
_POLL_SECONDS = 0.01


class NotReady(Exception):
    """A server ended, or said nothing, before it answered; the message quotes its log."""


class Person(NamedTuple):
    """A developer with a key."""

    key: str
    developer_id: str
    organization_id: str


class Process(NamedTuple):
    pid: int
    words: str  # its command line


def environment() -> dict[str, str]:
    """The tests' own, with the source roots on the path and no setting of whoever runs them. A Python that may keep no
    compiled modules compiles all of svc at each start, a second every time."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    others.pop("PYTHONDONTWRITEBYTECODE", None)
    return others | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'http'}"}


@cache
def _warm() -> Warm:
    warm = Warm(environment())
    atexit.register(warm.close)
    return warm


class Server:
    """A server that was started; `wait_ready` comes before anything is asked."""

    def __init__(self, process: Child | subprocess.Popen[bytes], var: Path, key: str | None = None) -> None:
        self.process = process
        self.var = var
        self.key = key
        self.intake_url = self.api_url = ""
        self.began, self.ready_seconds = time.perf_counter(), 0.0
        self._clients: dict[str, httpx.Client] = {}
        self._lock = Lock()

    def wait_ready(self) -> "Server":
        """Raises `NotReady`."""
        until(lambda: self.process.poll() is not None or bool(_READY.search(self.said())), READY_SECONDS, _POLL_SECONDS)
        found = _READY.search(self.said())
        if found is None:
            raise NotReady(f"exit code {self.process.poll()}: {log_tail(self.var)}")
        self.ready_seconds = time.perf_counter() - self.began
        self.intake_url, self.api_url = found.groups()
        return self

    def said(self) -> str:
        return beside(self.var, "said").read_text()

    @property
    def intake(self) -> httpx.Client:
        return self._client(self.intake_url)

    @property
    def api(self) -> httpx.Client:
        return self._client(self.api_url)

    def _client(self, url: str) -> httpx.Client:
        """One for each listener, whichever thread asks first."""
        with self._lock:
            if url not in self._clients:
                headers = {} if self.key is None else bearer(self.key)
                self._clients[url] = httpx.Client(base_url=url, headers=headers, timeout=30)
            return self._clients[url]

    def capture(self, number: int, text: str = "Add a test for the parser", sessions: int = 7) -> httpx.Response:
        """A prompt that a client may send again under the same number."""
        event = {"prompt_text": f"{text} {number}", "tool_session_id": f"s{number % sessions}"}
        return self.intake.post("/v1/prompts", json=event | {"client_event_id": str(UUID(int=number))})

    def goals(self) -> Any:
        """What a developer sees of their work: waits until all that was captured is counted."""
        return self.api.get("/v1/score_v3/realtime/sub-sessions").json()

    @property
    def intake_port(self) -> int:
        return urlsplit(self.intake_url).port or 0

    @property
    def api_port(self) -> int:
        return urlsplit(self.api_url).port or 0

    @property
    def pid(self) -> int:
        """Of the process that serves: a one-file binary, or a tracer, has another one around it."""
        found: int = json.loads((self.var / "running.json").read_bytes())["pid"]
        return found

    def mib(self, kind: str = "VmRSS") -> float:
        """Its memory; `VmHWM`: the most so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(f"{kind}:")[2].split()[0]) / 1024

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """Ask it to stop, as a service manager does; its exit code. Raises `TimeoutExpired`."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """kill -9 of what serves; a tracer around it writes its last line."""
        if not kill_processes(self.var, "serve"):
            self.process.kill()
        self.process.wait()

    def close(self) -> None:
        while self._clients:
            self._clients.popitem()[1].close()

    def end(self) -> None:
        """Leave nothing of it, however it went."""
        self.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Program(NamedTuple):
    """How the program is started: by a command, or as a fork of one that has imported it."""

    command: tuple[str, ...] = ()
    told: Mapping[str, str] = NOTHING  # for the environment of everything it runs

    def run(
        self,
        *arguments: str | Path,
        check: bool = True,
        stdin: str | None = None,
        told: Mapping[str, str] = NOTHING,
        around: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. `around`: what to run it under. Raises `CalledProcessError`."""
        command = [str(argument) for argument in arguments]
        with ExitStack() as held:
            given, out, err = (held.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
            given.write(stdin or "")
            given.seek(0)
            child = self._start(command, told, (given.fileno(), out.fileno(), err.fileno()), around)
            try:
                code = child.wait(COMMAND_SECONDS)
            finally:
                child.kill()
            for file in (out, err):
                file.seek(0)
            done = subprocess.CompletedProcess(["svc", *command], code, out.read(), err.read())
        if check and code:
            raise Failed(code, done.args, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str | Path, told: Mapping[str, str] = NOTHING) -> Any:
        """What a command says with `--json`, whatever its exit code."""
        done = self.run(*arguments, "--json", check=False, told=told)
        if not done.stdout.strip():
            raise Failed(done.returncode, done.args, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def set_up(self, var: Path) -> Person:
        made = self.json("init", "--var", var)
        return Person(made["key"], made["developer_id"], made["organization_id"])

    def another(self, var: Path, name: str) -> Person:
        made = self.json("developer", "create", name, "--var", var)
        developer_id = made.get("developer_id") or made["developer"]["developer_id"]
        issued = self.json("key", "issue", "--developer", developer_id, "--var", var)
        return Person(issued["key"], developer_id, issued.get("organization_id", ""))

    def begin(
        self,
        var: Path,
        *flags: str,
        key: str | None = None,
        told: Mapping[str, str] = NOTHING,
        around: Sequence[str] = (),
        ports: tuple[int, int] = (0, 0),
    ) -> Server:
        """Start a server and do not wait."""
        listeners = ("--intake", f"127.0.0.1:{ports[0]}", "--api", f"127.0.0.1:{ports[1]}")
        with beside(var, "said").open("wb") as said, beside(var, "log").open("ab") as log, open(os.devnull) as nothing:
            files = (nothing.fileno(), said.fileno(), log.fileno())
            return Server(self._start(["serve", "--var", str(var), *listeners, *flags], told, files, around), var, key)

    @contextmanager
    def serving(self, var: Path, *flags: str, **how: Any) -> Iterator[Server]:
        """A server over a folder, until the end of the block. Raises `NotReady`."""
        server = self.begin(var, *flags, **how)
        try:
            yield server.wait_ready()
        finally:
            server.end()

    def _start(
        self, arguments: list[str], told: Mapping[str, str], files: tuple[int, int, int], around: Sequence[str]
    ) -> Child | subprocess.Popen[bytes]:
        given, out, err = files
        env = {**environment(), **self.told, **told}
        if not self.command:
            return Child(_warm().start(arguments, env, given, out, err))
        command = [*around, *self.command, *arguments]
        return subprocess.Popen(command, env=env, stdin=given, stdout=out, stderr=err, start_new_session=True)


class Failed(subprocess.CalledProcessError):
    def __str__(self) -> str:
        return f"{super().__str__()}: {self.stderr[-2_000:]}"


THIS_TREE = Program((sys.executable, "-m", "svc"), QUIET)
"""The program of these sources, each time in a process of its own, as an operator runs it."""


def beside(var: Path, what: str) -> Path:
    """A file next to a folder, for what a server says."""
    return var.with_name(f"{var.name}.{what}")


def log_tail(var: Path) -> str:
    log = beside(var, "log")
    return log.read_text(errors="replace")[-2_000:] if log.exists() else "no log"


def processes_of(var: Path) -> list[Process]:
    """Those that work on a folder, found by their command lines; no tracer."""
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
    found = [each.pid for each in processes_of(var) if f" {word} " in each.words]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


# --- for tests: forks ---------------------------------------------------------------------------------------------


def svc(
    *arguments: str | Path, check: bool = True, stdin: str | None = None, told: Mapping[str, str] = NOTHING
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return Program().run(*arguments, check=check, stdin=stdin, told=told)


def init(var: Path) -> dict[str, Any]:
    """A folder that is set up; what `svc init --json` says. Run once: each test gets a copy of what it made."""
    made, folder = _set_up()
    shutil.copytree(folder, var)
    return made | {"internal_secret_file": str(var / "internal-secret")}


@cache
def _set_up() -> tuple[dict[str, Any], Path]:
    folder = Path(tempfile.mkdtemp(prefix="svc-tests-")) / "var"
    atexit.register(shutil.rmtree, folder.parent)
    return json.loads(svc("init", "--var", folder, "--json").stdout), folder


def serving(
    var: Path, key: str | None = None, *flags: str, told: Mapping[str, str] = NOTHING
) -> AbstractContextManager[Server]:
    """A server over a folder, until the end of the block."""
    return Program().serving(var, *flags, key=key, told=told)
