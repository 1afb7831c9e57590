"""One request on its way through a listener, in the task that the server gave it.

Quart's own connection opens a nursery with two tasks for every request, so that it can cancel a handler whose client
hangs up. Here a handler is never cancelled for that: it only waits for an actor or a query, both of which are bounded,
and it takes the body in itself, when it wants it. That is worth a tenth of a millisecond a request.
"""

from typing import TYPE_CHECKING, cast

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPResponseBodyEvent, HTTPResponseStartEvent
from quart.utils import encode_headers
from quart.wrappers.response import DataBody
from quart_trio.asgi import TrioASGIHTTPConnection
from quart_trio.wrappers import TrioResponse

from svc_http.bodies import ClientGone, Request

if TYPE_CHECKING:
    from svc_http.listener import Listener


class Connection(TrioASGIHTTPConnection):
    """Answers one request without any further task."""

    async def __call__(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request = self._create_request_from_scope(send)
        assert isinstance(request, Request)
        request.body.receive_from(receive)
        try:
            response = await cast("Listener", self.app).handle_request(request)
        except ClientGone:
            return
        if request.body.ended or not _announces_body(request):
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
    assert isinstance(body, DataBody), "every answer is whole before it is sent"
    start: HTTPResponseStartEvent = {
        "type": "http.response.start",
        "status": response.status_code,
        "headers": encode_headers(response.headers),
        "trailers": False,
    }
    await send(start)
    whole: HTTPResponseBodyEvent = {"type": "http.response.body", "body": body.data, "more_body": False}
    await send(whole)
