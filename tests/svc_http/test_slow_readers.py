"""Clients that do not read what they are sent: dropped, whatever they asked for, and nobody else waits for them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import structlog
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, Scope

from svc.serving import bound_socket
from svc_http.app import build_api
from svc_http.routes import sub_sessions as events
from tests.support.basics import ANA_KEY, ANA_SCOPE, NOW_US
from tests.support.event_streams import Stream
from tests.support.facts import Log
from tests.svc_http.house import House

LARGE = bytes(range(256)) * 4 * 4096  # 4 MiB: more than the sockets of both sides hold
RECEIVE_BUFFER_BYTES = 4096  # what the client's socket takes while its program does not read
PIECE_BYTES = 64 * 1024
UNTAKEN_SECONDS = 0.5  # how long these clients may leave untaken what they are sent
Ask = Callable[[str], Awaitable[trio.SocketStream]]


@asynccontextmanager
async def serving(app: ASGIFramework) -> AsyncIterator[Ask]:
    """A server on a port of its own, until nobody is served any more; and a client that asks and reads nothing yet."""
    config, stop, clients = Config(), trio.Event(), list[trio.SocketStream]()
    config.errorlog, config.graceful_timeout = None, 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("svc.serving.CLIENT_READ_STALL_SECONDS", UNTAKEN_SECONDS)
        config.bind = [f"fd://{bound_socket('127.0.0.1', 0).detach()}"]
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            (url,) = await nursery.start(partial(serve, app, config, shutdown_trigger=stop.wait))

            async def ask(path: str) -> trio.SocketStream:
                socket = trio.socket.socket()
                socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
                await socket.connect(("127.0.0.1", int(url.rpartition(":")[2])))
                clients.append(trio.SocketStream(socket))
                await clients[-1].send_all(f"GET {path} HTTP/1.1\r\nHost: svc\r\nX-API-Key: {ANA_KEY}\r\n\r\n".encode())
                return clients[-1]

            yield ask
            stop.set()
        for client in clients:
            await client.aclose()


class Giving:
    """An application that gives everybody the same large answer."""

    def __init__(self) -> None:
        self.given = trio.Event()  # whether an answer was taken, or given up

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http", "the server takes this for an application without a beginning and an end"
        headers = [(b"content-length", b"%d" % len(LARGE))]
        await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
        try:
            await send({"type": "http.response.body", "body": LARGE, "more_body": False})
        finally:
            self.given.set()


async def rest_of(stream: trio.SocketStream) -> bytes:
    """All that still comes, up to the end of the connection, however it ends."""
    received = b""
    try:
        while data := await stream.receive_some():
            received += data
    except trio.BrokenResourceError:
        pass
    return received


async def test_who_reads_nothing_of_a_large_answer_is_dropped() -> None:
    """The rest is not kept for it."""
    app = Giving()
    async with serving(app) as ask:
        client = await ask("/")
        await app.given.wait()
        assert len(await rest_of(client)) < len(LARGE)


async def test_who_reads_slowly_gets_all_of_it() -> None:
    """Though all of it takes longer than any piece of it may."""
    async with serving(Giving()) as ask:
        client = await ask("/")
        received, began = b"", trio.current_time()
        while not received.endswith(LARGE[-PIECE_BYTES:]) or len(received) < len(LARGE):
            received += await client.receive_some(PIECE_BYTES)
            if len(received) // (len(LARGE) // 8) > (trio.current_time() - began) / 0.1:
                await trio.sleep(0.1)
        assert trio.current_time() - began > UNTAKEN_SECONDS


async def test_a_server_that_stops_waits_for_nobody_who_does_not_read() -> None:
    """No longer than it would wait at other times."""
    with trio.fail_after(3):
        async with serving(Giving()) as ask:
            await (await ask("/")).receive_some(1)


async def test_one_reader_stops_and_the_other_is_told_everything(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams of events over real connections: the one that does not read is dropped, with what was kept for it."""
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(events, "TELL_SECONDS", 0.0)
    house.followed = True
    async with serving(build_api(house)) as ask:
        stuck, reading = await ask(events.PATH), await ask(events.PATH)
        stream, log = Stream(), Log(ANA_SCOPE)
        capture_id = log.prompt("s1", "Fix the crash in src/parser.py", NOW_US)
        house.has_seen(log)
        await read_until(reading, stream, len(house.events))
        said = 0
        with structlog.testing.capture_logs() as lines:
            while not any(line["event"] == "event stream ended" for line in lines):
                said += 1
                house.has_seen(Log(ANA_SCOPE).renames(capture_id, f"Title {said}"))
                await read_until(reading, stream, len(house.events))
        assert len(stream.told) == said
        assert said < 2_000, "what the sockets hold, and not more"
        assert (await rest_of(stuck)).startswith(b"HTTP/1.1 200")
        house.stop_following()


async def read_until(client: trio.SocketStream, stream: Stream, position: int) -> None:
    """Read a stream of events on until it has told of a position; a head, and sizes of chunks, are no part of it."""
    while stream.last_id != str(position):
        for part in (await client.receive_some()).split(b"\r\n"):
            if part.endswith(b"\n"):
                stream.feed(part)
