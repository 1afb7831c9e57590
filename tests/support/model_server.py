"""An OpenAI-compatible endpoint that answers as it is told, and keeps everything that it was sent."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

AT_ONCE = {"Retry-After": "0.001"}
"""The client waits no longer before it tries again."""
ENDLESS_BYTES_MAX = 64 * 1024 * 1024


class Said(NamedTuple):
    """One response."""

    body: bytes
    status: int = 200
    seconds: float = 0.0
    """How long it is held back; it ends with the server."""
    headers: Mapping[str, str] = {}
    endless: bool = False
    """Whether the body comes again and again, until nobody reads it."""
    pause_seconds: float = 0.0
    """Between two pieces of an endless body."""


def says(value: Any, prompt_tokens: int = 100, completion_tokens: int = 20) -> Said:
    """A model that wrote this, as JSON."""
    return wrote(json.dumps(value, ensure_ascii=False), prompt_tokens, completion_tokens)


def wrote(text: str | None, prompt_tokens: int = 100, completion_tokens: int = 20) -> Said:
    """A model that wrote just this."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": 0}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Said(json.dumps(whole).encode())


def fails(status: int, body: bytes = b'{"error": {"message": "no"}}') -> Said:
    """A refusal."""
    return Said(body, status)


class Request(NamedTuple):
    """What arrived."""

    path: str
    headers: dict[str, str]
    raw: str
    body: Any

    @property
    def system(self) -> str:
        """The instructions."""
        return str(self.body["messages"][0]["content"])

    @property
    def data(self) -> Any:
        """The data that is asked about."""
        return json.loads(self.body["messages"][1]["content"])


class ModelServer:
    """`answer` is asked for every response; the requests stand in `received`, in order."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Said] = lambda _request: says({})
        self.received: list[Request] = []
        self.url = ""
        self.most_at_once = 0
        self.at_once = 0
        self.sent_bytes = 0
        """Of endless bodies."""
        self.ended = threading.Event()

    def answers(self, *said: Said) -> None:
        """These in order, the last one for ever."""
        left = list(said)
        self.answer = lambda _request: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """An endpoint on a port of its own, until the end of the block."""
    state, lock = ModelServer(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, raw, json.loads(raw))
            with lock:
                state.received.append(request)
                state.at_once += 1
                state.most_at_once = max(state.most_at_once, state.at_once)
                said = state.answer(request)
            if said.seconds:
                state.ended.wait(said.seconds)
            with lock:
                state.at_once -= 1
            self._reply(said)

        def _reply(self, said: Said) -> None:
            try:
                self.send_response(said.status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(said.body))}
                if said.endless:
                    headers = {"Content-Type": "application/json", "Connection": "close"}
                    self.close_connection = True
                for name, value in {**headers, **said.headers, **(AT_ONCE if said.status >= 400 else {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)
                while said.endless and state.sent_bytes < ENDLESS_BYTES_MAX:
                    self.wfile.write(said.body)
                    state.sent_bytes += len(said.body)
                    state.ended.wait(said.pause_seconds)
            except OSError:  # who asked has hung up
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
