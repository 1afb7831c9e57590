"""The time from a capture until every page that follows has heard of it, for one page and for sixteen."""

import time

import trio

from tests.bench.world import MIDDLE, Service, fresh_service
from tests.support.driver import at, head_of
from tests.support.results import Result
from tests.support.work import prompt

PAGES = (1, 16)  # one is the baseline; sixteen are as many as one developer may have open
KEPT_BYTES = 8_192
WAIT_SECONDS = 30.0


def fanout(captures: int) -> list[Result]:
    with fresh_service() as service:
        one, all_of_them = (at(trio.run(_follow, service, pages, captures), MIDDLE) for pages in PAGES)
    beside = f"one page: {one:,.0f} ms, of which a second is gathered"
    return [Result("events to 16 pages, of the time to one", all_of_them / one, baseline=beside)]


async def _follow(service: Service, pages: int, captures: int) -> list[float]:
    """Milliseconds from sending each capture until the last page has heard of it."""
    heard = []
    streams = [await _page(service) for _ in range(pages)]
    capture = await trio.open_tcp_stream("127.0.0.1", service.server.intake_port)
    for number in range(captures):
        heard.append(await _once(service, capture, streams, f"fan-{pages}-{number}"))
    for stream in (*streams, capture):
        await trio.aclose_forcefully(stream)
    return heard


async def _page(service: Service) -> trio.SocketStream:
    """A stream of events that has begun."""
    stream = await trio.open_tcp_stream("127.0.0.1", service.server.api_port)
    await stream.send_all(f"{head_of('GET', '/v1/score_v3/events', service.key)}\r\n".encode())
    await _until(stream, b"id:")
    return stream


async def _once(service: Service, capture: trio.SocketStream, pages: list[trio.SocketStream], session: str) -> float:
    body = prompt("Fix the crash in src/app.py", session)
    head = f"{head_of('POST', '/v1/prompts', service.key)}Content-Length: {len(body)}\r\n\r\n"
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for page in pages:
            nursery.start_soon(_until, page, b"data:")
        await capture.send_all(head.encode() + body)
        await _until(capture, b"}")
    return (time.perf_counter() - began) * 1000


async def _until(stream: trio.SocketStream, wanted: bytes) -> None:
    """Read until this has come. Raises `TooSlowError`, or ConnectionError where the server hangs up."""
    last = b""
    with trio.fail_after(WAIT_SECONDS):
        while wanted not in last:
            chunk = await stream.receive_some()
            if not chunk:
                raise ConnectionError(f"the server hung up before {wanted!r}")
            last = (last + chunk)[-KEPT_BYTES:]
