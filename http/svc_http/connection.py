"""One request on its way through a listener, in the task that the server gave it.

Quart's own connection opens a nursery with two tasks for every request, so that it can cancel a handler whose client
hangs up. Here a handler is never cancelled for that: it only waits for an actor or a query, both of which are bounded,
and it takes the body in itself, when it wants it. That is worth a tenth of a millisecond a request.

Only an answer without an end is written beside a task that notices when its client has gone.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPResponseBodyEvent, HTTPResponseStartEvent
from quart.utils import encode_headers
from quart.wrappers.response import DataBody
from quart_trio.asgi import TrioASGIHTTPConnection
from quart_trio.wrappers import TrioResponse

from svc_http.bodies import ClientGone, Request
from svc_http.server import WRITE_SECONDS_MAX

if TYPE_CHECKING:
    from svc_http.listener import Listener


Write = Callable[[bytes], Awaitable[None]]
"""Sends a piece of an answer; returns once the next may be sent."""


class Streamed(TrioResponse):
    """An answer that goes on for as long as its route writes."""

    automatically_set_content_length = False

    def __init__(self, run: Callable[[Write], Awaitable[None]], content_type: str) -> None:
        """`run`: writes the body; it is cancelled when the client has gone, or does not read."""
        super().__init__(b"", 200, content_type=content_type)
        self.run = run


class Connection(TrioASGIHTTPConnection):
    """Answers one request, mostly without any further task."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request = self._create_request_from_scope(send)
        assert isinstance(request, Request)
        request.body.receive_from(receive)
        try:
            response = await cast("Listener", self.app).handle_request(request)
        except ClientGone:
            return
        if isinstance(response, Streamed):
            await _stream(receive, send, response)
        elif request.body.ended or not _announces_body(request):
            await _answer(send, response)
        else:
            await _answer_beside_body(send, response, request)


def _announces_body(request: Request) -> bool:
    """Whether pieces of a body may be on their way; HTTP/2 needs no header for one."""
    headers = request.headers
    return request.http_version >= "2" or "Content-Length" in headers or "Transfer-Encoding" in headers


async def _answer_beside_body(send: ASGISendCallable, response: TrioResponse, request: Request) -> None:
    """Answer a client that still sends what no handler wanted.

    The server's channel to us holds ten pieces. Were it full, the server's own last message, that all is over, would
    wait for room inside our last `send`, for ever.
    """
    async with trio.open_nursery() as nursery:
        nursery.start_soon(request.body.drain)
        await _answer(send, response)
        nursery.cancel_scope.cancel()


async def _answer(send: ASGISendCallable, response: TrioResponse) -> None:
    body = response.response
    assert isinstance(body, DataBody), "every other answer is whole before it is sent"
    await send(_start(response))
    await send(_body(body.data, more=False))


async def _stream(receive: ASGIReceiveCallable, send: ASGISendCallable, response: Streamed) -> None:
    """Write until the route has ended, or the client: one that has gone, or that reads nothing."""
    async with trio.open_nursery() as nursery:

        async def write(piece: bytes, more: bool = True) -> None:
            # Over HTTP/1.1 the connection itself drops who does not read; over HTTP/2 each stream has a window.
            with trio.move_on_after(WRITE_SECONDS_MAX) as waited:
                await send(_body(piece, more))
            if waited.cancelled_caught:
                nursery.cancel_scope.cancel()
                await trio.lowlevel.checkpoint()

        nursery.start_soon(_cancel_when_gone, receive, nursery.cancel_scope)
        await send(_start(response))
        await response.run(write)
        await write(b"", more=False)
        nursery.cancel_scope.cancel()


async def _cancel_when_gone(receive: ASGIReceiveCallable, writing: trio.CancelScope) -> None:
    while (await receive())["type"] == "http.request":
        pass
    writing.cancel()


def _start(response: TrioResponse) -> HTTPResponseStartEvent:
    headers = encode_headers(response.headers)
    return {"type": "http.response.start", "status": response.status_code, "headers": headers, "trailers": False}


def _body(data: bytes, more: bool) -> HTTPResponseBodyEvent:
    return {"type": "http.response.body", "body": data, "more_body": more}
