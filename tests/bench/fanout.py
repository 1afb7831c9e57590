"""The time from a capture until every page that follows has heard of it, for one page and for sixteen."""

import time
from typing import NamedTuple

import msgspec
import trio
from rich.console import Console
from rich.table import Table

from tests.bench.results import Result
from tests.bench.servers import Serving, fresh_service

PAGES = (1, 16)
"""One is the baseline; sixteen are as many as one developer may have open."""
KEPT_BYTES = 8_192
WAIT_SECONDS = 30.0


class Heard(NamedTuple):
    """Milliseconds from sending a capture to its answer, and to the last page's hearing of it."""

    answered_ms: float
    heard_ms: float


def compare_fanout(captures: int, console: Console) -> list[Result]:
    """Print how long events take to one page and to sixteen."""
    table = Table("pages", "answered p50/p99 ms", "heard by all p50/p99 ms", "to one page")
    ratio = one = 0.0
    with fresh_service() as service:
        for pages in PAGES:
            heard = trio.run(_follow, service, pages, captures)
            answered, all_heard = ([each[part] for each in heard] for part in (0, 1))
            one = one or _at(all_heard, 0.5)
            ratio = _at(all_heard, 0.5) / one
            times = (f"{_at(part, 0.5):.0f} / {_at(part, 0.99):.0f}" for part in (answered, all_heard))
            table.add_row(str(pages), *times, f"{ratio:.2f}")
    console.print(table)
    beside = f"one page: {one:,.0f} ms, of which a second is gathered"
    return [Result("events to 16 pages, of the time to one", ratio, "", baseline=beside)]


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def _follow(service: Serving, pages: int, captures: int) -> list[Heard]:
    heard = []
    async with trio.open_nursery() as nursery:
        streams = [await _page(service) for _ in range(pages)]
        capture = await trio.open_tcp_stream("127.0.0.1", service.port)
        for number in range(captures):
            heard.append(await _once(service, capture, streams, f"fan-{pages}-{number}"))
        nursery.cancel_scope.cancel()
    for stream in (*streams, capture):
        await trio.aclose_forcefully(stream)
    return heard


async def _page(service: Serving) -> trio.SocketStream:
    """A stream of events that has begun."""
    stream = await trio.open_tcp_stream("127.0.0.1", service.server.api_port)
    lines = ("GET /v1/score_v3/events HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in service.headers.items()))
    await stream.send_all(("\r\n".join(lines) + "\r\n\r\n").encode())
    await _until(stream, b"id:")
    return stream


async def _once(service: Serving, capture: trio.SocketStream, pages: list[trio.SocketStream], session: str) -> Heard:
    body = msgspec.json.encode({"prompt_text": "Fix the crash in src/app.py", "tool_session_id": session})
    head = ["POST /v1/prompts HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    head += [f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in service.headers.items())]
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for page in pages:
            nursery.start_soon(_until, page, session.encode())
        await capture.send_all(("\r\n".join(head) + "\r\n\r\n").encode() + body)
        await _until(capture, b"}")
        answered = time.perf_counter() - began
    return Heard(answered * 1000, (time.perf_counter() - began) * 1000)


async def _until(stream: trio.SocketStream, wanted: bytes) -> None:
    """Read until this has come. Raises `TooSlowError`, or ConnectionError where the server hangs up."""
    last = b""
    with trio.fail_after(WAIT_SECONDS):
        while wanted not in last:
            chunk = await stream.receive_some()
            if not chunk:
                raise ConnectionError(f"the server hung up before {wanted!r}")
            last = (last + chunk)[-KEPT_BYTES:]
