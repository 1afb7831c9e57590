"""The real program as a child process, on a folder of its own and on free ports."""

import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import msgspec

from tests.cluster.sprayed import NODES, Together, balanced, folders, saw_command, told_of, told_of_command
from tests.support.warm import Child, Warm

ROOT = Path(__file__).parent.parent.parent
_READY = re.compile(r"ready intake=(\S+) api=(\S+)")
COMMAND_SECONDS = 120
STOP_SECONDS = 5


def environment() -> dict[str, str]:
    """The tests' own, with the source roots on the path and no setting of whoever runs them.

    A Python that may keep no compiled modules compiles all of svc at each start, a second every time.
    """
    others = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    clean = {name: value for name, value in others.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return clean | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'http'}"}


@cache
def _warm() -> Warm:
    warm = Warm(environment())
    atexit.register(warm.close)
    return warm


def svc(
    *arguments: str | Path, check: bool = True, stdin: str | None = None, told: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises `CalledProcessError` where it fails and `check` says so."""
    command = [str(argument) for argument in arguments]
    if NODES > 1:
        told = {**told_of_command(command), **told}
    with (
        tempfile.TemporaryFile("w+") as given,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        given.write(stdin or "")
        given.seek(0)
        child = Child(
            _warm().start(command, {**environment(), **told}, given.fileno(), out.fileno(), err.fileno()), None
        )
        code = child.wait(COMMAND_SECONDS)
        out.seek(0)
        err.seek(0)
        done = subprocess.CompletedProcess(["svc", *command], code, out.read(), err.read())
    saw_command(told)
    if check:
        done.check_returncode()
    return done


def init(var: Path) -> dict[str, Any]:
    """A folder that is set up; what `svc init --json` says. Run once: each test gets a copy of what it made."""
    if NODES > 1:
        found: dict[str, Any] = msgspec.json.decode(svc("init", "--var", var, "--json").stdout)
        return found
    made, folder = _set_up()
    shutil.copytree(folder, var)
    return made | {"internal_secret_file": str(var / "internal-secret")}


@cache
def _set_up() -> tuple[dict[str, Any], Path]:
    folder = Path(tempfile.mkdtemp(prefix="svc-tests-")) / "var"
    atexit.register(shutil.rmtree, folder.parent)
    return msgspec.json.decode(svc("init", "--var", folder, "--json").stdout), folder


class Server:
    """A server that runs."""

    def __init__(self, process: Child | subprocess.Popen[str], intake: str, api: str, key: str | None) -> None:
        self.process = process
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.intake = httpx.Client(base_url=intake, headers=headers, timeout=30)
        self.api = httpx.Client(base_url=api, headers=headers, timeout=30)
        self.intake_url = intake
        self.api_url = api

    def stop(self) -> int:
        """Ask it to stop, as a service manager does; its exit code. Raises where that takes over five seconds."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(
    var: Path, key: str | None = None, *flags: str, told: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Server]:
    """A server over a folder, until the end of the block."""
    if NODES > 1:
        with _sprayed(var, key, flags, told) as server:
            yield server
        return
    log = var.parent / f"{var.name}.log"
    with answering(_started(_serve(var, flags), log, told), key) as found:
        assert found is not None, log.read_text()
        yield found


def _serve(var: Path, flags: Sequence[str]) -> list[str]:
    return ["serve", "--var", str(var), "--intake", "127.0.0.1:0", "--api", "127.0.0.1:0", *flags]


@contextmanager
def _sprayed(var: Path, key: str | None, flags: Sequence[str], told: Mapping[str, str]) -> Iterator[Server]:
    """The nodes of a store, of which the folder is the first, behind a balancer."""
    told = {**told_of(var), **told}
    logs = [each.parent / f"{each.name}.log" for each in folders(var)]
    nodes = [_started(_serve(each, flags), log, told) for each, log in zip(folders(var), logs, strict=True)]
    with ExitStack() as held:
        found = [held.enter_context(answering(node, key)) for node in nodes]
        urls = []
        for each, log in zip(found, logs, strict=True):
            assert each is not None, log.read_text()
            urls.append((each.intake_url, each.api_url))
        intake, api = held.enter_context(balanced(told["SVC_STORE"], nodes, urls))
        server = Server(Together(nodes), intake, api, key)
        with server.intake, server.api:
            yield server


@contextmanager
def answering(process: Child | subprocess.Popen[str], key: str | None) -> Iterator[Server | None]:
    """The server that a process is once it has said `ready`, until the end of the block; None where it did not."""
    assert process.stdout is not None
    try:
        found = _READY.search(process.stdout.readline())
        if found is None:
            yield None
            return
        server = Server(process, found[1], found[2], key)
        try:
            yield server
        finally:
            server.intake.close()
            server.api.close()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _started(command: list[str], log: Path, told: Mapping[str, str]) -> Child:
    read, write = os.pipe()
    with log.open("a") as errors, open(os.devnull) as nothing:
        try:
            status = _warm().start(command, {**environment(), **told}, nothing.fileno(), write, errors.fileno())
        finally:
            os.close(write)
    return Child(status, os.fdopen(read))
