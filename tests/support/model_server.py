"""An OpenAI-compatible endpoint that answers as it is told, and keeps everything that it was sent."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from svc.llm.client import Budget, Count, Gateway
from svc.settings import Settings
from tests.support.listening import Handler, listening

AT_ONCE = {"Retry-After": "0.001"}  # the client waits no longer before it tries again
ENDLESS_BYTES_MAX = 64 * 1024 * 1024


class Said(NamedTuple):
    """One response."""

    body: bytes
    status: int = 200
    seconds: float = 0.0  # how long it is held back; it ends with the server
    headers: Mapping[str, str] = {}
    endless: bool = False  # whether the body comes again and again, until nobody reads it
    pause_seconds: float = 0.0  # between two pieces of an endless body


def says(value: Any, prompt_tokens: int = 100, completion_tokens: int = 20) -> Said:
    """A model that wrote this, as JSON."""
    return wrote(json.dumps(value, ensure_ascii=False), prompt_tokens, completion_tokens)


def wrote(text: str | None, prompt_tokens: int = 100, completion_tokens: int = 20) -> Said:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": 0}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Said(json.dumps(whole).encode())


def fails(status: int, body: bytes = b'{"error": {"message": "no"}}') -> Said:
    return Said(body, status)


class Request(NamedTuple):
    """What arrived."""

    path: str
    headers: dict[str, str]
    raw: str
    body: Any

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def data(self) -> Any:
        return json.loads(self.body["messages"][1]["content"])


class ModelServer:
    """`answer` is asked for every response; the requests stand in `received`, in order."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Said] = lambda _request: says({})
        self.received: list[Request] = []
        self.url = ""
        self.most_at_once = 0
        self.at_once = 0
        self.sent_bytes = 0  # of endless bodies
        self.ended = threading.Event()

    def answers(self, *said: Said) -> None:
        """These in order, the last one for ever."""
        left = list(said)
        self.answer = lambda _request: left.pop(0) if len(left) > 1 else left[0]


def gateway_to(
    server: ModelServer, folder: Path, now_us: Callable[[], int], leaves: Callable[[UUID], bool], count: Count
) -> Gateway:
    """It asks this server, and spends what the settings allow."""
    settings = Settings(llm_url=server.url, llm_model="m")
    return Gateway(settings, Budget(folder / "spent.json", settings.llm_daily_tokens, now_us), leaves, count)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """An endpoint on a port of its own, until the end of the block."""
    state, lock = ModelServer(), threading.Lock()

    class Answering(Handler):
        def do_POST(self) -> None:
            raw = self.body().decode()
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
            try:
                self._reply(said)
            except OSError:  # who asked has hung up
                self.close_connection = True

        def _reply(self, said: Said) -> None:
            length = {"Connection": "close"} if said.endless else {"Content-Length": str(len(said.body))}
            headers = {"Content-Type": "application/json", **length, **said.headers}
            self.close_connection = said.endless
            self.send_response(said.status)
            for name, value in {**headers, **(AT_ONCE if said.status >= 400 else {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)
            while said.endless and state.sent_bytes < ENDLESS_BYTES_MAX:
                self.wfile.write(said.body)
                state.sent_bytes += len(said.body)
                state.ended.wait(said.pause_seconds)

    with listening(Answering) as url:
        state.url = f"{url}/v1"
        try:
            yield state
        finally:
            state.ended.set()
