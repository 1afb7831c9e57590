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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from svc import __version__
from svc.hook import machine
from svc.hook.captures import AGENTS, LOGS, PROMPTS, captured, of_review
from svc.hook.machine import KIB_BYTES, MIB_BYTES, Connection, Outbox, connection_folder, load_connection

if TYPE_CHECKING:
    from http.client import HTTPConnection

EXIT_SECONDS = 1.7  # when the process ends: all of it, the interpreter's start included, stays below 2 s
DELIVER_SECONDS = 1.2  # until when something is sent. What is left stays in the outbox
DELIVER_AT_END_SECONDS = 0.7  # the same for a session's end: Claude Code gives all hooks 1.5 s together then
UNPACK_SECONDS = 0.3  # what the one-file program takes of all this before it begins: it unpacks itself
LATE_SECONDS = 0.1  # for a note that the server did not answer in time
assert DELIVER_AT_END_SECONDS < DELIVER_SECONDS < EXIT_SECONDS < EXIT_SECONDS + LATE_SECONDS < 2.0
INPUT_BYTES_MAX = 16 * MIB_BYTES  # a hook's input; a tool's output in it is the largest part
ANSWER_BYTES_MAX = 64 * KIB_BYTES  # how much of a server's answer is read
REVIEW_SECONDS = 600.0  # `svc review` is not started again so soon
_TRY_AGAIN = (401, 403, 408, 425, 429)  # of the key or the moment: nothing is wrong with the capture itself
_NO_SERVICE = (404, 405)  # from a route that every intake has; something else answers at this address


def ended_in(seconds: float, work: Callable[[], None]) -> NoReturn:
    """Do it, and end the process with 0, whatever goes wrong, and however long it would take."""
    with contextlib.suppress(BaseException):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the agent
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

    def work() -> None:
        told = json.loads(sys.stdin.buffer.read(INPUT_BYTES_MAX))
        agent = arguments[0] if arguments else "claude-code"
        name = arguments[2] if arguments[1:2] == ["--connection"] and len(arguments) > 2 else agent
        connection = load_connection(name)
        if connection is None or agent not in AGENTS:
            return
        outbox = Outbox(connection_folder(name))
        keep(connection, outbox, agent, told)
        ends = told.get("hook_event_name") == "SessionEnd"
        if ends and connection.judge and not of_review(told):
            review(connection.judge)
        if apart and not ends and _left_to_a_child():
            return
        _thread.start_new_thread(_end_in_time, (started, outbox))
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(connection, outbox, started + (DELIVER_AT_END_SECONDS if ends else DELIVER_SECONDS), last=ends)

    ended_in(max(0.01, started + EXIT_SECONDS - time.monotonic()), work)


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
        machine.forget_old(outbox.sessions)


def review(command: tuple[str, ...]) -> None:
    """Start it in the background, unless one was started lately."""
    stamp = machine.state_folder() / "review.stamp"
    with contextlib.suppress(OSError):
        if 0 <= time.time() - stamp.stat().st_mtime < REVIEW_SECONDS:
            return
    with contextlib.suppress(OSError):
        machine.replace_file(stamp, b"")
        if not os.fork():
            with contextlib.suppress(OSError):
                _detach()
                os.execv(command[0], command)
            os._exit(0)


def _left_to_a_child() -> bool:
    """False in the child, which is in nobody's way: no terminal's, and no reader's of what the hook prints."""
    try:
        if os.fork():
            return True
    except OSError:
        return False
    _detach()
    return False


def _detach() -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)


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


def send(connection: Connection, outbox: Outbox, deadline: float, *, last: bool = False) -> None:
    """Send all that waits, in order; another process that sends already goes on with what came in meanwhile.

    The `last` one of a session waits for that other one, whose process may end with the agent's.
    """
    if 0 < outbox.notes().get("pause_until", 0) - time.time() <= machine.PAUSE_SECONDS:
        return
    with contextlib.closing(Sender(connection, outbox, deadline)) as sender:
        while waiting := outbox.waiting():
            with outbox.sending(wait=last) as ours:
                if not ours or not all(sender.sent(path) for path in waiting):
                    return


class Sender:
    """One connection to the server for as long as there is something to send. `deadline`: by the monotonic clock."""

    def __init__(self, connection: Connection, outbox: Outbox, deadline: float) -> None:
        self._connection = connection
        self._outbox = outbox
        self._deadline = deadline
        self._http: HTTPConnection | None = None

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    def sent(self, path: Path) -> bool:
        """Whether the next one may be sent: this one was taken, or refused for good, or sent by another process."""
        if time.monotonic() >= self._deadline:
            return False
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return True
        try:
            letter = json.loads(data)
            place, body = letter["path"], json.dumps(letter["body"]).encode()
        except (ValueError, KeyError, TypeError):
            return self._done(path, {}, "unreadable")
        try:
            status, answer = self._post(place, body)
        except TimeoutError:
            self._outbox.pause()
            return False
        except Exception as error:  # no answer: no way there, no HTTP, a certificate or a host that cannot be one
            self._outbox.failed(getattr(error, "strerror", None) or type(error).__name__)
            return False
        missing = status in _NO_SERVICE and place in (PROMPTS, LOGS)
        if 400 <= status < 500 and status not in _TRY_AGAIN and not missing:
            return self._done(path, letter, status)
        if not 200 <= status < 300:
            self._outbox.failed(f"HTTP {status}")
            return False
        return self._done(path, letter, "refused in part" if b'"partialSuccess"' in answer else None)

    def _done(self, path: Path, letter: dict[str, Any], fault: int | str | None) -> bool:
        if fault is not None:
            self._outbox.bury(letter, fault)
        path.unlink(missing_ok=True)
        return True

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        # Late: importing HTTP takes half the time of a hook, and what happened is on disk before.
        from http.client import HTTPConnection, HTTPSConnection
        from urllib.parse import urlsplit

        url = urlsplit(self._connection.url)
        if self._http is None:
            connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
            self._http = connect(url.hostname or "", url.port)
        http, left = self._http, max(0.01, self._deadline - time.monotonic())
        http.timeout = left
        if http.sock is not None:
            http.sock.settimeout(left)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._connection.key}"}
        http.request("POST", url.path + path, body, headers | {"User-Agent": f"svc-hook/{__version__}"})
        answer = http.getresponse()
        status, text = answer.status, answer.read(ANSWER_BYTES_MAX)
        if not answer.isclosed():
            http.close()
        return status, text


if __name__ == "__main__":
    call(sys.argv[2:] if sys.argv[1:2] == ["hook"] else sys.argv[1:])
