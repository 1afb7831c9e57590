"""Servers that a hook may meet: one that answers as it is told, and one that never does."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.listening import Handler, listening


class Intake:
    """Answers every request with `status`, and keeps what it took."""

    def __init__(self, status: int = 204) -> None:
        self.status = status
        self.body = b""
        self.received: list[dict[str, Any]] = []  # the bodies of requests, in order, those that were refused included
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
            body = self.body()
            with lock:
                state.received.append(json.loads(body))
                state.paths.append(self.path)
                status, answer = state.status, state.body
            state.answers.wait(10)
            if status == 204:
                self.send_response(status)
                self.end_headers()
            else:
                self.answer(status, answer)

    with listening(Taking) as state.url:
        yield state


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def dripping() -> Iterator[str]:
    """The URL of a server that answers, a byte now and then, and never comes to an end."""
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not done.wait(0.1):
                    connection.sendall(b"x")
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


def closed() -> str:
    """The URL of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
