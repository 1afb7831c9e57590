"""How tools and tests deal with a real server: a connection that is kept, a load over many, waiting for something."""

import http.client
import time
from collections.abc import Callable, Iterator
from functools import cache
from threading import Thread
from typing import Any, NamedTuple, Self

import msgspec
import trio

BROKEN = (OSError, http.client.HTTPException)  # what a call raises where no answer came; the next one connects anew
TIMEOUT_SECONDS = 300.0  # for an answer: a shared machine may stand still for a minute


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: http.client.HTTPMessage
    ms: float

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Driver:
    """One sender's connection to a port of this machine."""

    def __init__(self, port: int, key: str | None = None, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self.port = port
        self.headers = {} if key is None else bearer(key)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def call(self, method: str, path: str, body: object = None, /, **headers: str) -> Answer:
        """Bytes, and pieces of them, are sent as they are, other values as JSON. Raises `BROKEN`."""
        raw = body is None or isinstance(body, bytes | Iterator)
        content: Any = body if raw else msgspec.json.encode(body)
        kind = {"Content-Type": "application/json"} if content else {}
        began = time.perf_counter()
        try:
            self._connection.request(method, path, content, kind | self.headers | headers)
            answer = self._connection.getresponse()
            return Answer(answer.status, answer.read(), answer.headers, (time.perf_counter() - began) * 1_000)
        except BROKEN:
            self.close()
            raise

    def ask(self, method: str, path: str, body: object = None, /) -> Answer:
        """Raises `RuntimeError` for anything but a success."""
        answer = self.call(method, path, body)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        return answer

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def once(port: int, method: str, path: str, body: object = None, key: str | None = None, **headers: str) -> Answer:
    """One call over a connection of its own. Raises `BROKEN`."""
    with Driver(port, key) as driver:
        return driver.call(method, path, body, **headers)


FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


@cache
def signed_in(port: int, key: str) -> str:
    """The cookie of a browser that gave its key."""
    answer = once(port, "POST", "/sign-in", f"key={key}".encode(), **FORM)
    return str(answer.headers["Set-Cookie"]).partition(";")[0]


def until(holds: Callable[[], bool], seconds: float = 600.0, pause: float = 0.05) -> bool:
    """Whether it comes to hold in that time; nothing fails because a machine is slow."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def together(*works: Callable[[], object]) -> None:
    """Each in a thread of its own, until all have ended."""
    threads = [Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def at(values: list[float], share: float) -> float:
    """The value below which this share lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


# --- a load: cheaper than the server that it keeps busy, on the same machine ---------------------------------------

Body = Callable[[int, int], bytes]  # the body of one request, by connection and number


class Measured(NamedTuple):
    """What one load showed; milliseconds of each answer."""

    seconds: float
    times: list[float]

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds


async def put_load(port: int, path: str, key: str | None, body: Body, connections: int, requests: int) -> Measured:
    """Send POSTs over so many connections; every answer must be a success."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {key}\r\n" if key else ""
    times: list[float] = []
    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(connections):
            nursery.start_soon(_connection, port, head, body, number, requests // connections, times)
    return Measured(time.perf_counter() - started, times)


async def _connection(port: int, head: str, body: Body, connection: int, count: int, times: list[float]) -> None:
    number = 0
    while number < count:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            goes_on = True
            while goes_on and number < count:
                content = body(connection, number)
                request = f"{head}Content-Length: {len(content)}\r\n\r\n".encode()
                started = time.perf_counter()
                await stream.send_all(request + content)
                goes_on = await _answer(stream)
                times.append((time.perf_counter() - started) * 1_000)
                number += 1


async def _answer(stream: trio.SocketStream) -> bool:
    """Take a success in; whether the connection goes on, which a server ends after so many requests."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = await stream.receive_some()
        if not chunk:
            raise ConnectionError(f"the server hung up after {received!r}")
        received += chunk
    head, _, rest = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 20"):
        raise AssertionError(f"not taken: {head[:200]!r} {rest[:200]!r}")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(rest) < length:
        rest += await stream.receive_some()
    return b"connection: close" not in head.lower()
