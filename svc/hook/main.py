"""One call of `svc hook`: never a word on standard output, never an exit code but 0, never longer than two seconds."""

import _thread
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from svc.hook.captures import AGENTS, Sessions, captured, happening, last_message
from svc.hook.machine import (
    DELIVER_AT_END_SECONDS,
    DELIVER_SECONDS,
    EXIT_SECONDS,
    INPUT_BYTES_MAX,
    LATE_SECONDS,
    UNPACK_SECONDS,
    Connection,
    connection_folder,
    load_connection,
)
from svc.hook.outbox import Outbox


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
    """Keep what happened in the outbox, then send what waits there. `late`: what to do should it be ended by time."""
    told = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
    agent = arguments[0] if arguments else "claude-code"
    name = arguments[2] if arguments[1:2] == ["--connection"] and len(arguments) > 2 else agent
    connection = load_connection(name)
    if connection is None or agent not in AGENTS:
        return
    outbox = Outbox(connection_folder(name))
    keep(connection, outbox, agent, told)
    late.append(lambda: outbox.pause("no answer in time"))
    ends = told.get("hook_event_name") == "SessionEnd"
    send(connection, outbox, started + (DELIVER_AT_END_SECONDS if ends else DELIVER_SECONDS))


def keep(connection: Connection, outbox: Outbox, agent: str, told: dict[str, Any]) -> None:
    """Accept what happened. A prompt is noted first: were it lost, its answer would be taken for another one's."""
    found = happening(agent, told)
    if found is None:
        return
    if found.kind == "response" and found.text is None:
        found = found._replace(text=last_message(found.transcript))
    sessions = Sessions(connection_folder(connection.name))
    last = sessions.last(found.session) if found.kind == "response" else None
    letter, prompt = captured(connection, found, last, time.time())
    if prompt is not None and not prompt.answered:
        sessions.remember(found.session, prompt)
    if letter is not None:
        outbox.accept(letter)
    if prompt is not None and prompt.answered:
        sessions.remember(found.session, prompt)
    if found.kind == "session_end":
        sessions.forget_old()


def send(connection: Connection, outbox: Outbox, deadline: float) -> None:
    """Send what waits, until a time of the monotonic clock."""
    from svc.hook.sender import Sender

    with contextlib.closing(Sender(connection, outbox, deadline)) as sender:
        sender.send_waiting()
