"""Servers that a hook may meet: one that answers as it is told, and one that never does."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Intake:
    """Answers every request with `status`, and keeps what it took."""

    def __init__(self, status: int = 204) -> None:
        self.status = status
        self.body = b""
        self.received: list[dict[str, Any]] = []
        """The bodies of requests, in order, those that were refused included."""
        self.paths: list[str] = []
        self.url = ""
        self.answers = threading.Event()
        """Cleared, it takes requests and answers them once this is set again."""
        self.answers.set()


@contextmanager
def intake(status: int = 204) -> Iterator[Intake]:
    """An intake on a port of its own, until the end of the block."""
    state, lock = Intake(status), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                state.received.append(json.loads(body))
                state.paths.append(self.path)
                status, answer = state.status, state.body
            state.answers.wait(10)
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
