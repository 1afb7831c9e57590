"""What only a real connection shows: a client that is refused while it sends still sees the answer."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
import trio.testing
from hypercorn.config import Config
from hypercorn.trio import serve
from quart_trio import QuartTrio

from svc_http import bodies, listener
from svc_http.app import build_api, build_intake
from svc_http.bodies import FRAME_BYTES_MAX
from svc_http.listener import UNREAD_BYTES_MAX
from tests.support.basics import ANA_KEY
from tests.svc_http.house import SECRET, House

_PIECE = b"a" * 64 * 1024
_PIECES = 5 * 1024 * 1024 // len(_PIECE)
_LENGTH, _CHUNKED = f"Content-Length: {_PIECES * len(_PIECE)}", "Transfer-Encoding: chunked"
_CLOSE = "Connection: close"
_PROMPT = b'{"prompt_text":"Fix it","tool_session_id":"session-1"}'


@pytest.fixture
async def address(house: House, nursery: trio.Nursery) -> AsyncIterator[tuple[str, int]]:
    async with listening(house, nursery) as found:
        yield found


@asynccontextmanager
async def listening(
    house: House, nursery: trio.Nursery, build: Callable[[House], QuartTrio] = build_intake, **options: float
) -> AsyncIterator[tuple[str, int]]:
    """A listener, the public one by default, on a port of its own."""
    stop = trio.Event()
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    for name, value in options.items():
        setattr(config, name, value)
    (url,) = await nursery.start(partial(serve, build(house), config, shutdown_trigger=stop.wait))
    host, _, port = url.removeprefix("http://").rpartition(":")
    yield host, int(port)
    stop.set()


def _asked(first: str, *lines: str, body: bytes = b"") -> bytes:
    length = [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join((f"{first} HTTP/1.1", "Host: svc", *lines, *length, "", "")).encode() + body


def _posted(*lines: str, body: bytes = b"", key: str = ANA_KEY, path: str = "/v1/prompts") -> bytes:
    return _asked(f"POST {path}", f"X-API-Key: {key}", "Content-Type: application/json", *lines, body=body)


async def _answer(stream: trio.SocketStream) -> bytes:
    """One answer that is JSON."""
    answer = b""
    while not answer.endswith(b"}"):
        received = await stream.receive_some()
        assert received, f"closed before the answer was complete: {answer!r}"
        answer += received
    return answer


async def _to_the_end(address: tuple[str, int], sent: bytes) -> bytes:
    answer = b""
    with trio.fail_after(5):
        async with await trio.open_tcp_stream(*address) as stream:
            await stream.send_all(sent)
            while received := await stream.receive_some():
                answer += received
    return answer


@pytest.mark.parametrize("length", [_LENGTH, _CHUNKED])
@pytest.mark.parametrize(("key", "status"), [(ANA_KEY, 413), ("svc_wrong", 401)])
async def test_a_refused_client_sees_the_answer(address: tuple[str, int], length: str, key: str, status: int) -> None:
    """With and without Content-Length; the body is read on without being kept."""
    is_chunked = length == _CHUNKED
    async with await trio.open_tcp_stream(*address) as stream:
        await stream.send_all(_posted(length, key=key))
        for _ in range(_PIECES):
            await stream.send_all(b"%x\r\n%b\r\n" % (len(_PIECE), _PIECE) if is_chunked else _PIECE)
        await stream.send_all(b"0\r\n\r\n" if is_chunked else b"")
        answer = await _answer(stream)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b'{"code":%d,"message":' % status in answer
    assert b"x-request-id: " in answer


async def test_a_body_announced_without_measure_is_refused_at_once(address: tuple[str, int]) -> None:
    """Nobody waits for what will not be read."""
    answer = await _to_the_end(address, _posted(f"Content-Length: {UNREAD_BYTES_MAX + 1}", _CLOSE))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert str(FRAME_BYTES_MAX).encode() in answer


async def test_a_connection_serves_one_request_after_the_other(house: House, address: tuple[str, int]) -> None:
    """A refusal in between does not end it."""
    async with await trio.open_tcp_stream(*address) as stream:
        for key, status in ((ANA_KEY, 201), ("svc_wrong", 401), (ANA_KEY, 201)):
            await stream.send_all(_posted(body=_PROMPT, key=key))
            assert (await _answer(stream)).startswith(b"HTTP/1.1 %d " % status)
    assert len(house.events) == 3, "the claim of the session, and two prompts"


_TARGETS = (
    *("//health", "/%2fhealth", "/../health", "/%2e%2e/health", "/./health", "/health/", "/health%00", "/health;a=b"),
    *("/health%", "/health#x", "/Health", "/%68ealth", "/v1%2fhealth", "/health%2568", "http://svc/health", "*"),
)
"""None is the route: what a proxy in front keeps away under one spelling is there under no other."""
_SMUGGLED = {
    "two different lengths": ("Content-Length: 5\r\nContent-Length: 6", 400),
    "a list of lengths": ("Content-Length: 5, 6", 400),
    "a signed length": ("Content-Length: +5", 400),
    "a length in hexadecimal digits": ("Content-Length: 0x5", 400),
    "a length and chunks": ("Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
    "chunks said twice": ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 501),
    "another coding": ("Transfer-Encoding: gzip, chunked", 501),
    "a space before the colon": ("Transfer-Encoding : chunked", 400),
}
"""A request whose end is in doubt ends the connection: what follows it is never read as another one."""
_SENT = {
    "a client that asks for the end": (_asked("GET /health", _CLOSE), 200),
    "HTTP/1.0": (b"GET /health HTTP/1.0\r\n\r\n", 200),
    "a query of nothing": (_asked("GET /health?%ff=%00&&=", _CLOSE), 200),
    "a body that nobody wants": (_asked("GET /health", _CLOSE, body=_PIECE), 200),
    "no request": (b"HELLO\r\n\r\n", 400),
    "a header with a space in its name": (_asked("GET /health", "A Header: x"), 400),
    **{each: (_asked(f"GET {each}", _CLOSE), 404) for each in _TARGETS},
    **{
        name: (_asked("POST /health", lines) + b"0\r\n\r\n" + _asked("GET /health"), status)
        for name, (lines, status) in _SMUGGLED.items()
    },
}


@pytest.mark.parametrize(("sent", "status"), _SENT.values(), ids=_SENT)
async def test_what_is_sent_is_taken_as_it_stands(address: tuple[str, int], sent: bytes, status: int) -> None:
    """And the connection is over: clients that read to the end would wait for ever otherwise."""
    answer = await _to_the_end(address, sent)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.endswith(b"ok") == (status == 200)


@pytest.mark.parametrize(
    "path", ["/v1/%61dmin/keys", "/v1/admin%2Fkeys", "/v1/%2561dmin/keys", "/v1%5cadmin/keys", "/v1/%2e/admin/keys"]
)
async def test_administration_is_reached_by_its_own_spelling(house: House, nursery: trio.Nursery, path: str) -> None:
    async with listening(house, nursery, build_api) as address:
        answer = await _to_the_end(address, _asked(f"GET {path}", f"X-Internal-Secret: {SECRET}", _CLOSE))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"the path percent-encodes" in answer


async def test_a_204_has_neither_body_nor_length(address: tuple[str, int]) -> None:
    sent = _posted(_CLOSE, body=b'{"plugin_version":"0.6.0"}', path="/v1/setup-complete")
    answer = await _to_the_end(address, sent)
    assert answer.startswith(b"HTTP/1.1 204 ")
    assert b"\r\ncontent-" not in answer.lower()


async def test_a_client_that_hangs_up_while_it_sends(house: House, address: tuple[str, int]) -> None:
    """Nothing is stored of half a body, and the next client is served."""
    async with await trio.open_tcp_stream(*address) as stream:
        await stream.send_all(_posted("Content-Length: 100") + b"{")
    assert (await _to_the_end(address, _asked("GET /health", _CLOSE))).endswith(b"ok")
    assert house.events == []


@pytest.mark.parametrize("sent", [b"", b"GET", _asked("GET /health")])
async def test_an_idle_connection_ends(house: House, nursery: trio.Nursery, sent: bytes) -> None:
    """Before its first request, in the middle of one's head, and after an answer."""
    async with listening(house, nursery, keep_alive_timeout=0.2) as address:
        assert (await _to_the_end(address, sent)).endswith(b"ok" if sent.endswith(b"\n") else b"")


async def test_who_hangs_up_is_counted(house: House, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that nobody waited for."""
    begun = trio.Event()

    async def never(*_: object) -> None:
        begun.set()
        await trio.sleep_forever()

    monkeypatch.setattr(house, "send", never)
    async with await trio.open_tcp_stream(*address) as stream:
        await stream.send_all(_posted(body=_PROMPT))
        await begun.wait()
    with trio.fail_after(5):
        while not house.observed:
            await trio.testing.wait_all_tasks_blocked()
    assert house.observed == {"intake POST /v1/prompts 499": 1}


async def test_a_trickle_is_given_up(house: House, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """408, though the client never stops to send."""
    monkeypatch.setattr(bodies, "BODY_SECONDS_MAX", 0.2)
    monkeypatch.setattr(listener, "UNREAD_SECONDS_MAX", 0.2)
    async with listening(house, nursery) as address:
        answer = await _to_the_end(address, _posted("Content-Length: 100") + b"{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'{"code":408,"message":' in answer


async def test_an_offered_web_socket_is_refused_like_anything_else(address: tuple[str, int]) -> None:
    """404 where there is no route, with the usual shape."""
    lines = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    answer = await _to_the_end(address, _asked("GET /none", *lines))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b'{"code":404,"message":"no route GET /none"}' in answer
    assert b"x-request-id: " in answer
