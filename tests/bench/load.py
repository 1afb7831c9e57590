"""A cheap client that keeps a fixed number of connections busy."""

import time
import uuid
from collections.abc import Callable

import msgspec
import trio

Body = Callable[[int, int], bytes]
"""The request body of one request, by connection and number."""


class Measured(msgspec.Struct, frozen=True):
    """What one load showed. Latencies in milliseconds."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        """Answered requests a second."""
        return self.requests / self.seconds


async def put_load(
    port: int, path: str, headers: dict[str, str], body: Body, connections: int, requests: int
) -> Measured:
    """Send `requests` POSTs to a path over so many connections; every answer must be a success."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    latencies: list[float] = []
    each = requests // connections
    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for connection in range(connections):
            nursery.start_soon(_connection, port, head, body, connection, each, latencies)
    seconds = time.perf_counter() - started
    latencies.sort()
    return Measured(
        requests=len(latencies),
        seconds=seconds,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[int(len(latencies) * 0.99)] * 1000,
    )


async def _connection(port: int, head: str, body: Body, connection: int, count: int, latencies: list[float]) -> None:
    number = 0
    while number < count:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            goes_on = True
            while goes_on and number < count:
                content = body(connection, number)
                request = f"{head}Content-Length: {len(content)}\r\n\r\n".encode()
                started = time.perf_counter()
                await stream.send_all(request + content)
                goes_on = await _answer(stream)
                latencies.append(time.perf_counter() - started)
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


_SENTENCES = (
    "Fix the crash in src/parser_{n}.py when the input has no header line and the file is empty.",
    "The error is KeyError: 'total_{n}' raised from compute_totals in reports/monthly.py line {n}.",
    "Add a test for the empty case next to the others in tests/test_parser_{n}.py.",
    "Keep the public signature as it is, other teams import it.",
    "Run pytest -q tests/test_parser_{n}.py before you say that it is done.",
    "Please explain first why the cache in storage/cache.py is not invalidated after a write.",
    "Now rename the option --format to --output in the command line and update docs/cli.md.",
    "We saw this in production last week with order {n}, so the cause matters more than a quick patch.",
    "Do not touch the database migrations.",
    "Make a plan with steps before you change anything in the billing module.",
    "It should return an empty list instead of None, with a warning in the log.",
    "Thanks, that works, next the retry logic in http_client_{n}.py needs a limit of five tries.",
)


def prompt_text(connection: int, number: int, characters: int = 1000) -> str:
    """A prompt of some length that differs each time."""
    words: list[str] = []
    size = 0
    place = connection * 7 + number
    while size < characters:
        sentence = _SENTENCES[place % len(_SENTENCES)].format(n=(connection * 1000 + number) % 977)
        words.append(sentence)
        size += len(sentence) + 1
        place += 5
    return " ".join(words)[:characters]


def prompt_body(connection: int, number: int) -> bytes:
    """About 1 KB of a prompt; an agent session lasts twenty prompts."""
    value = {
        "prompt_text": prompt_text(connection, number),
        "source": "claude-code",
        "tool_session_id": f"bench-{connection}-{number // 20}",
        "client_event_id": str(uuid.UUID(int=(connection << 64) + number + 1)),
    }
    return msgspec.json.encode(value)
