"""Streams of events on the real program: two browsers, of which one stops reading; a stop; a restart; a replay."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import trio

from tests.support.event_streams import Stream
from tests.support.listening import self_signed
from tests.support.process import Server, init, serving

pytestmark = pytest.mark.process

PATH = "/v1/score_v3/events"
WAIT_SECONDS = 10.0
SESSIONS = 40


class Page:
    """A page that follows the events in a thread of its own, as a browser does."""

    def __init__(self) -> None:
        self.stream = Stream()
        self.ended = threading.Event()
        self._changed = threading.Condition()

    def follow(self, client: httpx.Client, headers: dict[str, str]) -> None:
        try:
            with client.stream("GET", PATH, headers=headers, timeout=60) as answer:
                assert answer.status_code == 200, answer.read()
                for data in answer.iter_bytes():
                    with self._changed:
                        self.stream.feed(data)
                        self._changed.notify_all()
        finally:
            self.ended.set()

    def until(self, holds: Callable[[Stream], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self.stream), WAIT_SECONDS), self.stream.told


@contextmanager
def page(client: httpx.Client, last_id: str | None = None) -> Iterator[Page]:
    """A page whose stream has begun. The server ends it."""
    one = Page()
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    thread = threading.Thread(target=one.follow, args=(client, headers), daemon=True)
    thread.start()
    one.until(lambda stream: stream.last_id != "")
    yield one
    assert one.ended.wait(WAIT_SECONDS)
    thread.join()


def silent(server: Server, key: str) -> socket.socket:
    """A client that asks for events and never reads."""
    address = urlsplit(server.api_url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((address.hostname, address.port))
    client.sendall(f"GET {PATH} HTTP/1.1\r\nHost: svc\r\nX-API-Key: {key}\r\n\r\n".encode())
    return client


def test_a_reader_is_told_whatever_another_does_and_a_stop_ends_both(tmp_path: Path) -> None:
    """One client never reads; the stop takes no five seconds."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server, silent(server, made["key"]), page(server.api) as reading:
        for number in range(SESSIONS):
            assert server.capture(number, sessions=SESSIONS).status_code == 201
            if not number:
                reading.until(lambda stream: len(stream.told) == 1)  # what comes in a burst is told as one
        reading.until(lambda stream: len(stream.told) >= 2)
        assert server.stop() == 0
        assert reading.ended.wait(1), "brought to its end before the server was gone"


async def _followed(api: httpx.AsyncClient, stream: Stream) -> None:
    async with api.stream("GET", PATH) as answer:
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
        async for data in answer.aiter_bytes():
            stream.feed(data)


async def test_events_over_http_2(tmp_path: Path) -> None:
    """A stream shares its connection with other requests; a stop brings it to its end."""
    var = tmp_path / "var"
    made = init(var)
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    stream = Stream()
    options: dict[str, Any] = {"headers": {"X-API-Key": made["key"]}, "verify": context}
    with serving(var, None, "--tls-certificate", str(certificate), "--tls-key", str(key)) as server:
        async with (
            httpx.AsyncClient(base_url=server.api_url, http2=True, timeout=30, **options) as api,
            httpx.AsyncClient(base_url=server.intake_url, **options) as intake,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(_followed, api, stream)
            with trio.fail_after(WAIT_SECONDS):
                while not stream.last_id:
                    assert (await api.get("/v1/score_v3/realtime/sub-sessions")).json() == []
                prompt = {"prompt_text": "Fix the crash in src/parser.py", "tool_session_id": "s1"}
                assert (await intake.post("/v1/prompts", json=prompt)).status_code == 201
                while not stream.told:
                    assert (await api.get("/v1/score_v3/score")).status_code == 200
            assert await trio.to_thread.run_sync(server.stop) == 0
