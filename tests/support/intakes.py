"""Servers that a hook may meet: one that answers as it is told, and one that never does."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

from tests.support.listening import Handler, listening


class Heard(NamedTuple):
    """One request."""

    headers: dict[str, str]
    body: bytes


class Intake:
    """Answers every request with `status`, and keeps what it took."""

    def __init__(self, status: int = 204) -> None:
        self.status = status
        self.body = b""
        self.location = ""  # where it redirects to
        self.received: list[dict[str, Any]] = []  # the bodies of requests, in order, those that were refused included
        self.heard: list[Heard] = []
        self.paths: list[str] = []
        self.url = ""
        self.answers = threading.Event()  # cleared, it takes requests and answers them once this is set again
        self.answers.set()


@contextmanager
def intake(status: int = 204) -> Iterator[Intake]:
    """An intake on a port of its own, until the end of the block."""
    state, lock = Intake(status), threading.Lock()

    class Taking(Handler):
        def do_POST(self) -> None:
            body, headers = self.body(), {name.lower(): value for name, value in self.headers.items()}
            with lock:
                state.received.append(json.loads(body))
                state.heard.append(Heard(headers, body))
                state.paths.append(self.path)
                status, answer = state.status, state.body
            state.answers.wait(10)
            if status == 204:
                self.send_response(status)
                self.end_headers()
            else:
                self.answer(status, answer, **({"Location": state.location} if state.location else {}))

    with listening(Taking) as state.url:
        yield state


@contextmanager
def silent(drips: bytes = b"") -> Iterator[str]:
    """The URL of a server that takes connections and never says a word; or begins so, drips, and never comes to an
    end."""
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(drips)
                while not done.wait(0.1):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(10)
        if drips:
            pool.submit(drip, listener)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()


def dripping() -> AbstractContextManager[str]:
    """The URL of a server that answers, a byte now and then, and never comes to an end."""
    return silent(b"HTTP/1.1 200 OK\r\nX: ")


def closed() -> str:
    """The URL of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
