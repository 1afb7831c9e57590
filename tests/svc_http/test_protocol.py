"""Connections as the server keeps them: order, patience and ends, seen by clients that speak in bytes."""

from collections.abc import AsyncIterator
from functools import partial

import pytest
import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio import serve
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, ConnectionState, Scope

from svc_http.protocol import Protocol, use_own_protocol
from svc_http.server import use_own_server

Header = tuple[bytes, bytes]


class Place:
    """An application that does what its paths say, and a server for it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gate = trio.Event()
        """What `/wait` waits for, and `/pieces` between its pieces."""
        self.stop = trio.Event()
        self.config = Config()
        self.config.bind = ["127.0.0.1:0"]
        self.config.errorlog = None
        self.config.include_server_header = False
        self.config.include_date_header = False
        self.port = 0

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http", "the server takes this for an application without a beginning and an end"
        path = scope["path"]
        self.begun.append(path)
        match path:
            case "/echo":
                await _answer(send, await _body(receive))
            case "/wait":
                await self.gate.wait()
                await _answer(send, b"waited")
            case "/pieces":
                await self._pieces(send)
            case "/injected":
                await _answer(send, b"", (b"a", b"b\r\nset-cookie: c"))
            case "/short":
                await _answer(send, b"ab", (b"content-length", b"3"))
            case _:
                await _answer(send, path.encode())

    async def _pieces(self, send: ASGISendCallable) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": False})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await self.gate.wait()
        await send({"type": "http.response.body", "body": b"second", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def connect(self) -> trio.SocketStream:
        """A client."""
        return await trio.open_tcp_stream("127.0.0.1", self.port)


async def _body(receive: ASGIReceiveCallable) -> bytes:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    return body


async def _answer(send: ASGISendCallable, body: bytes, *headers: Header) -> None:
    fields = list(headers) or [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": fields, "trailers": False})
    await send({"type": "http.response.body", "body": body, "more_body": False})


@pytest.fixture
async def place(nursery: trio.Nursery) -> AsyncIterator[Place]:
    """The application, served."""
    use_own_protocol()
    use_own_server()
    place = Place()
    (url,) = await nursery.start(partial(serve, place, place.config, shutdown_trigger=place.stop.wait))
    place.port = int(url.rpartition(":")[2])
    with trio.fail_after(5):
        yield place
    place.gate.set()
    place.stop.set()


def asked(path: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """A request as bytes."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: svc", *headers, "", "")).encode() + body


def answered(body: bytes) -> bytes:
    """The answer as bytes."""
    return b"HTTP/1.1 200 \r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def exactly(stream: trio.SocketStream, expected: bytes) -> None:
    """These bytes come next."""
    seen = b""
    while len(seen) < len(expected):
        received = await stream.receive_some(len(expected) - len(seen))
        assert received, f"closed after {seen!r}"
        seen += received
    assert seen == expected


async def rest(stream: trio.SocketStream) -> bytes:
    """All until the server closes."""
    seen = b""
    while received := await stream.receive_some():
        seen += received
    return seen


async def test_requests_sent_together_are_answered_in_order(place: Place) -> None:
    """The second waits for the first, though nobody needs it to."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/wait") + asked("/2") + asked("/echo", "Content-Length: 3", body=b"abc"))
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert place.begun == ["/wait"]
        place.gate.set()
        await exactly(stream, answered(b"waited") + answered(b"/2") + answered(b"abc"))
    assert place.begun == ["/wait", "/2", "/echo"]


async def test_a_request_sent_while_another_is_answered_waits(place: Place) -> None:
    """Also one that comes in two pieces."""
    second = asked("/2")
    async with await place.connect() as stream:
        await stream.send_all(asked("/wait"))
        await trio.testing.wait_all_tasks_blocked(0.02)
        await stream.send_all(second[:9])
        await trio.testing.wait_all_tasks_blocked(0.02)
        place.gate.set()
        await exactly(stream, answered(b"waited"))
        await stream.send_all(second[9:])
        await exactly(stream, answered(b"/2"))


async def test_a_body_in_pieces_is_sent_as_they_come(place: Place) -> None:
    """The first is there before the second exists, and the connection goes on after the last."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/pieces"))
        await exactly(stream, b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        place.gate.set()
        await exactly(stream, b"6\r\nsecond\r\n0\r\n\r\n")
        await stream.send_all(asked("/2"))
        await exactly(stream, answered(b"/2"))


async def test_pieces_for_an_old_client_end_with_the_connection(place: Place) -> None:
    """HTTP/1.0 knows no chunks."""
    place.gate.set()
    async with await place.connect() as stream:
        await stream.send_all(b"GET /pieces HTTP/1.0\r\n\r\n")
        assert await rest(stream) == b"HTTP/1.1 200 \r\nConnection: close\r\n\r\nfirstsecond"


async def test_a_head_is_answered_without_a_body(place: Place) -> None:
    """The next answer begins right after it."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/abc", method="HEAD") + asked("/2"))
        await exactly(stream, b"HTTP/1.1 200 \r\ncontent-length: 4\r\n\r\n" + answered(b"/2"))


async def test_a_client_that_waits_to_be_told_to_continue(place: Place) -> None:
    """It is told, once; one that has already sent its body is not."""
    waiting = ("Expect: 100-continue", "Content-Length: 3")
    async with await place.connect() as stream:
        await stream.send_all(asked("/echo", *waiting))
        await exactly(stream, b"HTTP/1.1 100 Continue\r\n\r\n")
        await stream.send_all(b"abc")
        await exactly(stream, answered(b"abc"))
        await stream.send_all(asked("/echo", *waiting, body=b"def"))
        await exactly(stream, answered(b"def"))
        await stream.send_all(asked("/echo", "Expect: 100-continue"))
        await exactly(stream, answered(b""))


@pytest.mark.parametrize("path", ["/2", "/wait"])
async def test_a_client_that_sends_no_more_is_still_answered(place: Place, path: str) -> None:
    """Half of a connection may close."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/1") + asked(path))
        await stream.send_eof()
        await exactly(stream, answered(b"/1"))
        place.gate.set()
        assert await rest(stream) == answered(b"waited" if path == "/wait" else b"/2")


@pytest.mark.parametrize(
    "headers",
    [
        ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: YQ=="),
        ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: YQ"),
    ],
)
async def test_an_upgrade_is_not_taken_up(place: Place, headers: tuple[str, ...]) -> None:
    """The request is answered as what it is, its body is read, and what follows it is a request."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/1", *headers))
        await stream.send_all(asked("/echo", *headers, "Content-Length: 3", body=b"abc") + asked("/3"))
        await exactly(stream, answered(b"/1") + answered(b"abc") + answered(b"/3"))


async def test_nothing_after_the_last_request_is_read(place: Place) -> None:
    """Whoever says close has said all."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/1", "Connection: close") + asked("/2"))
        assert await rest(stream) == b"HTTP/1.1 200 \r\ncontent-length: 2\r\nConnection: close\r\n\r\n/1"
    assert place.begun == ["/1"]


async def test_what_comes_before_garbage_is_answered(place: Place) -> None:
    """Then the garbage is refused, and the connection closed."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/1") + b"garbage\r\n\r\n")
        await exactly(stream, answered(b"/1"))
        refusal = await rest(stream)
    assert refusal.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nConnection: close\r\n" in refusal
    assert refusal.count(b"HTTP/1.1 ") == 1


async def test_a_body_that_turns_into_garbage_is_refused_once(place: Place) -> None:
    """The application's own answer to it is not sent, too."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/echo", "Transfer-Encoding: chunked", body=b"3\r\nabc\r\nx\r\n"))
        refusal = await rest(stream)
    assert refusal.startswith(b"HTTP/1.1 400 ")
    assert refusal.count(b"HTTP/1.1 ") == 1


async def test_nothing_is_sent_after_a_refusal() -> None:
    """Whatever the application still answers, and however late the connection closes."""
    sent: list[Event] = []
    answers = trio.Event()

    async def late(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await answers.wait()
        await _answer(send, b"late")

    async def send(event: Event) -> None:
        sent.append(event)

    here = ("127.0.0.1", 1)
    async with TaskGroup() as tasks:
        state = ConnectionState({})
        protocol = Protocol(ASGIWrapper(late), Config(), WorkerContext(None), tasks, state, False, here, here, send)
        await protocol.handle(RawData(asked("/", "Transfer-Encoding: chunked", body=b"x\r\n")))
        answers.set()
    begun, refusal, closed = sent
    assert (begun, closed) == (Updated(idle=False), Closed())
    assert isinstance(refusal, RawData)
    assert refusal.data.startswith(b"HTTP/1.1 400 ")


async def test_garbage_after_an_answer_has_begun_ends_the_connection(place: Place) -> None:
    """There is no place for a second answer."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/pieces", "Transfer-Encoding: chunked"))
        await exactly(stream, b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await stream.send_all(b"x\r\n")
        assert await rest(stream) == b""
        place.gate.set()


async def test_a_body_that_is_not_read_to_its_end_ends_the_connection(place: Place) -> None:
    """What follows the answer cannot be told from the rest of the body."""
    async with await place.connect() as stream:
        await stream.send_all(asked("/1", "Content-Length: 100", body=b"GET /smuggled HTTP/1.1\r\nHost: svc\r\n\r\n"))
        assert await rest(stream) == answered(b"/1")
    assert place.begun == ["/1"]


@pytest.mark.parametrize(
    ("path", "seen"),
    [("/injected", b"HTTP/1.1 500 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), ("/short", b"")],
)
async def test_a_wrong_response_of_ours_ends_the_connection(place: Place, path: str, seen: bytes) -> None:
    """No client takes it for a whole one, or for two."""
    async with await place.connect() as stream:
        await stream.send_all(asked(path) + asked("/2"))
        assert (await rest(stream)).startswith(seen)
    assert place.begun == [path]


async def test_a_connection_has_its_share_of_requests(place: Place) -> None:
    """The last answer says so."""
    place.config.keep_alive_max_requests = 2
    async with await place.connect() as stream:
        await stream.send_all(asked("/1") + asked("/2") + asked("/3"))
        await exactly(stream, answered(b"/1"))
        assert await rest(stream) == b"HTTP/1.1 200 \r\ncontent-length: 2\r\nConnection: close\r\n\r\n/2"


async def test_an_idle_client_and_one_that_never_comes_to_the_point_are_left(place: Place) -> None:
    """After the time that connections are kept."""
    place.config.keep_alive_timeout = 0.05
    async with await place.connect() as idle, await place.connect() as slow:
        await idle.send_all(asked("/1"))
        await slow.send_all(b"GET / HTTP/1.1\r\nHost")
        await exactly(idle, answered(b"/1"))
        assert await rest(idle) == b""
        assert await rest(slow) == b""


async def test_a_server_that_stops_finishes_what_it_has_begun(place: Place) -> None:
    """The next request of the same client is not read, and an idle connection is closed at once."""
    async with await place.connect() as idle, await place.connect() as stream:
        await idle.send_all(asked("/1"))
        await exactly(idle, answered(b"/1"))
        await stream.send_all(asked("/wait") + asked("/2"))
        await trio.testing.wait_all_tasks_blocked(0.02)
        place.stop.set()
        assert await rest(idle) == b""
        place.gate.set()
        assert await rest(stream) == answered(b"waited")
    assert "/2" not in place.begun
