"""Processes of the real program that need not import it first: forked from one that has, which takes most of a second.
A fork is a process like any other: with a memory, files and signals of its own, and it dies of kill -9."""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import IO

REQUEST_BYTES_MAX = 200_000


class Child:
    """A process that runs, as far as tests look at one."""

    def __init__(self, status: IO[str]) -> None:
        self._status = status
        self.pid = int(status.readline())
        self._code: int | None = None

    def send_signal(self, number: int) -> None:
        """Nothing, where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises `TimeoutExpired`."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("svc", timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self._code is None and select.select([self._status], [], [], timeout)[0]:
            self._code = int(self._status.readline())
            self._status.close()
        return self._code


class Warm:
    """The process that has imported the program, and what it is asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, "-m", "tests.support.warm", str(other.fileno())]
            self._process = subprocess.Popen(command, env=environment, pass_fds=[other.fileno()])

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> IO[str]:
        """`svc ARGUMENTS` with these descriptors; where its process id, and later its exit code, can be read."""
        request = json.dumps([arguments, dict(environment), os.getcwd()]).encode()
        told, tell = os.pipe()
        try:
            socket.send_fds(self._socket, [request], [stdin, stdout, stderr, tell])
        finally:
            os.close(tell)
        return os.fdopen(told)

    def close(self) -> None:
        """It ends with its last request; what it forked goes on."""
        self._socket.close()
        self._process.wait()


def _main(requests: socket.socket) -> None:
    """Fork for each request until there are no more; returns in a fork, with everything set for the program to run."""
    from svc.cli import COMMANDS

    for module in ("access", *(entry.module for entry in COMMANDS.values())):
        import_module(f"svc.cli.{module}")
    for module in ("svc.service", "svc_http.app", "svc.logs", "rich.progress"):
        import_module(module)
    # A fork that looked through all of this for garbage would copy it.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES_MAX, 4)
        if not request:
            os._exit(0)
        if not os.fork():
            requests.close()
            _guarded(descriptors.pop())
            arguments, environment, folder = json.loads(request)
            _become(arguments, environment, folder, descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _guarded(tell: int) -> None:
    """Fork once more: returns in the child, and tells from beside it which process it is and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if child := os.fork():
        os.write(tell, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(tell, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    os.close(tell)
    os.setsid()  # so that all of it can be ended at once, as a process that is started anew


def _become(arguments: list[str], environment: dict[str, str], folder: str, descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.umask(0)  # what the program writes is its user's alone all the same
    sys.argv = ["svc", *arguments]


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
    from svc.__main__ import main

    main()
