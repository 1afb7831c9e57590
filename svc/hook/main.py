"""One call of `svc hook`: never a word on standard output, never an exit code but 0, never longer than two seconds.

Also a program of its own, which the one-file binary carries: unpacking all of that takes seconds. From a package agents
run `start.py`: they wait until the capture is on disk, and a child of the hook sends it.
"""

import _thread
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from svc.hook.captures import AGENTS, captured
from svc.hook.machine import MIB_BYTES, Connection, Outbox, connection_folder, forget_old, load_connection

EXIT_SECONDS = 1.7
"""When the process ends whatever it is doing, so that all of it, the interpreter's start included, stays below 2 s."""
DELIVER_SECONDS = 1.2  # until when something is sent. What is left stays in the outbox
DELIVER_AT_END_SECONDS = 0.7  # the same for a session's end: Claude Code gives all hooks 1.5 s together then
UNPACK_SECONDS = 0.3  # what the one-file program takes of all this before it begins: it unpacks itself
LATE_SECONDS = 0.1  # for a note that the server did not answer in time
assert DELIVER_AT_END_SECONDS < DELIVER_SECONDS < EXIT_SECONDS < EXIT_SECONDS + LATE_SECONDS < 2.0
INPUT_BYTES_MAX = 16 * MIB_BYTES  # a hook's input; a tool's output in it is the largest part


def ended_in(seconds: float, work: Callable[[], None]) -> NoReturn:
    """Do it, and end the process with 0, whatever goes wrong, and however long it would take."""
    with contextlib.suppress(BaseException):
        # Ctrl-C is meant for the agent.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # No thread until there is a child: a fork takes no threads along, and whatever they hold stays held.
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
    os._exit(0)


def call(arguments: list[str], *, apart: bool = False) -> NoReturn:
    """`AGENT [--connection NAME]`, the hook's JSON on standard input. Ends the process.

    `apart`: a child sends, and nobody waits for it. A session's end is waited for: the machine may go away after it.
    """
    started = time.monotonic() - (UNPACK_SECONDS if getattr(sys, "frozen", False) else 0)
    left = max(0.01, started + EXIT_SECONDS - time.monotonic())
    ended_in(left, lambda: _call(arguments, started, apart))


def _end_in_time(started: float, late: Outbox) -> None:
    """Whatever the process waits for (a name's address, a disk, a server that drips), it ends, and `late` notes it."""

    def note() -> None:
        late.pause()
        os._exit(0)

    time.sleep(max(0, started + EXIT_SECONDS - time.monotonic()))
    with contextlib.suppress(BaseException):
        _thread.start_new_thread(note, ())
        time.sleep(LATE_SECONDS)
    os._exit(0)


def _call(arguments: list[str], started: float, apart: bool) -> None:
    """Keep what happened in the outbox, then send what waits there."""
    told = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
    agent = arguments[0] if arguments else "claude-code"
    name = arguments[2] if arguments[1:2] == ["--connection"] and len(arguments) > 2 else agent
    connection = load_connection(name)
    if connection is None or agent not in AGENTS:
        return
    outbox = Outbox(connection_folder(name))
    keep(connection, outbox, agent, told)
    ends = told.get("hook_event_name") == "SessionEnd"
    if apart and not ends and _left_to_a_child():
        return
    _thread.start_new_thread(_end_in_time, (started, outbox))
    signal.setitimer(signal.ITIMER_REAL, 0)
    from svc.hook.sender import send

    send(connection, outbox, started + (DELIVER_AT_END_SECONDS if ends else DELIVER_SECONDS), last=ends)


def _left_to_a_child() -> bool:
    """False in the child, which is in nobody's way: no terminal's, and no reader's of what the hook prints."""
    try:
        if os.fork():
            return True
    except OSError:
        return False
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    return False


def keep(connection: Connection, outbox: Outbox, agent: str, told: dict[str, Any]) -> None:
    """Accept what happened. A prompt is noted first: were it lost, its answer would be taken for another one's."""
    found = captured(connection, agent, told, outbox.last, time.time())
    if found is None:
        return
    if found.prompt is not None and not found.prompt.answered:
        outbox.remember(found.session, found.prompt)
    if found.letter is not None:
        outbox.accept(found.letter)
    if found.prompt is not None and found.prompt.answered:
        outbox.remember(found.session, found.prompt)
    if found.kind == "session_end":
        forget_old(outbox.sessions)


if __name__ == "__main__":
    call(sys.argv[2:] if sys.argv[1:2] == ["hook"] else sys.argv[1:])
