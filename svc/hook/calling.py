"""One call of `svc hook`: never a word on standard output, never an exit code but 0, never longer than two seconds."""

import _thread
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from svc.hook.bounds import (
    DELIVER_AT_END_SECONDS,
    DELIVER_SECONDS,
    EXIT_SECONDS,
    INPUT_BYTES_MAX,
    LATE_SECONDS,
    UNPACK_SECONDS,
)


def call(arguments: list[str]) -> NoReturn:
    """`AGENT [--connection NAME]`, the hook's JSON on standard input. Ends the process."""
    started = time.monotonic() - (UNPACK_SECONDS if getattr(sys, "frozen", False) else 0)
    late: list[Callable[[], None]] = []
    with contextlib.suppress(BaseException):
        # Ctrl-C is meant for the agent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _thread.start_new_thread(_end_in_time, (started, late))
        _call(arguments, started, late)
    os._exit(0)


def _end_in_time(started: float, late: list[Callable[[], None]]) -> None:
    """Whatever the process waits for (a name's address, a disk, a server that drips), it ends."""
    time.sleep(max(0, started + EXIT_SECONDS - time.monotonic()))
    with contextlib.suppress(BaseException):
        _thread.start_new_thread(_now, (late,))
        time.sleep(LATE_SECONDS)
    os._exit(0)


def _now(late: list[Callable[[], None]]) -> None:
    for each in late:
        each()
    os._exit(0)


def _call(arguments: list[str], started: float, late: list[Callable[[], None]]) -> None:
    told = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
    # Imported only now: what is no JSON is over at once.
    from svc.hook.handling import handle

    agent = arguments[0] if arguments else "claude-code"
    name = arguments[2] if arguments[1:2] == ["--connection"] and len(arguments) > 2 else agent
    ends = told.get("hook_event_name") == "SessionEnd"
    deadline = started + (DELIVER_AT_END_SECONDS if ends else DELIVER_SECONDS)
    handle(agent, name, told, deadline=deadline, late=late)
