"""HTTP/1.1 as the listeners speak it, where the server's own way does not do.

Bytes that are no HTTP request are refused by the server before any application sees them, with an empty body: here that
answer gets the shape, the request id and the log line of every other one. And the server sends a response's head, body
and end one by one: here they leave together, which saves two writes to the socket a request.
"""

from itertools import chain

import h11
import hypercorn.protocol
import hypercorn.protocol.h11
import structlog
from hypercorn.events import RawData
from hypercorn.protocol.events import Body, EndBody, Event, StreamClosed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.http_stream import ASGIHTTPState, HTTPStream

from svc_http.errors import HttpError, error_body
from svc_http.request_ids import new_request_id

_MESSAGES = {
    400: "this is no valid HTTP request; check its first line, its headers and its length",
    431: "the request line and headers are too large; send shorter ones",
}

_Sendable = h11.Response | h11.InformationalResponse | h11.Data | h11.EndOfMessage

log = structlog.get_logger()


class Protocol(H11Protocol):
    """One connection."""

    _head = b""
    """A response's head, until the first of its body, or its end, takes it along."""

    async def _send_h11_event(self, event: _Sendable) -> None:
        try:
            data = self.connection.send(event)
        except h11.LocalProtocolError:
            # The client broke the protocol itself and has had its answer.
            if self.connection.their_state != h11.ERROR:
                raise
            return
        if isinstance(event, h11.Response):
            self._head = data or b""
            return
        whole, self._head = self._head + (data or b""), b""
        if whole:
            await self.send(RawData(data=whole))

    async def _send_error_response(self, status_code: int) -> None:
        request_id = new_request_id()
        body = error_body(HttpError(status_code, _MESSAGES.get(status_code, _MESSAGES[400])))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        own = self.config.response_headers("h11")
        await self._send_h11_event(h11.Response(status_code=status_code, headers=list(chain(headers, own))))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())
        log.info("request", listener=None, method=None, route=None, status=status_code, request_id=request_id)


class Stream(HTTPStream):
    """One request. A body that arrived with its end is handed on as one piece, and after the answer nothing is."""

    _held: Body | None = None
    """The last piece of the body, until it is known whether another follows."""

    async def handle(self, event: Event) -> None:
        """Hand what the client did on to the application."""
        match event:
            case Body():
                held, self._held = self._held, event
                if held is not None:
                    await super().handle(held)
            case EndBody() if self._held is not None:
                await self._end_with(self._held)
            case StreamClosed() if self.state is ASGIHTTPState.CLOSED:
                self.closed = True
            case _:
                await super().handle(event)

    async def _end_with(self, last: Body) -> None:
        self._held = None
        if not self.closed:
            await self.app_put({"type": "http.request", "body": bytes(last.data), "more_body": False})


def use_own_protocol() -> None:
    """Let hypercorn speak HTTP/1.1 through `Protocol` and `Stream`; it offers no setting for that."""
    hypercorn.protocol.H11Protocol = Protocol  # type: ignore[attr-defined]
    hypercorn.protocol.h11.HTTPStream = Stream  # type: ignore[attr-defined]
