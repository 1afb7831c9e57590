"""HTTP/1.1 as the listeners speak it, in place of the server's own way.

`wire_requests.py` reads and `wire_responses.py` writes: half the time of the server's own way, some 75 µs less a
request. Bytes that are no request are answered here, before any application sees them: with the shape, the request id
and the log line of every other answer. And a response's head leaves with the first piece of its body, in one write.

Nothing is upgraded: a request that offers WebSocket or HTTP/2 is answered as what it is. HTTP/2 is agreed upon by TLS.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import hypercorn.protocol
import structlog
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.events import Event as ConnectionEvent
from hypercorn.protocol.events import Body, EndBody, Event, Request, Response, StreamClosed
from hypercorn.protocol.http_stream import ASGIHTTPState, HTTPStream
from hypercorn.typing import AppWrapper, ConnectionState, TaskGroup, WorkerContext

from svc_http.errors import HttpError, error_body
from svc_http.listener import new_request_id
from svc_http.wire_heads import Head, Refused
from svc_http.wire_requests import Mark, Requests
from svc_http.wire_responses import CONTINUE, ResponseWriter

_STREAM = 1
"""HTTP/1.1 has one stream at a time; events want it named."""

_Address = tuple[str, int] | None

log = structlog.get_logger()


class Protocol:
    """One connection. The server's reader hands it what arrives, the task of the application what is to be sent."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        task_group: TaskGroup,
        state: ConnectionState,
        ssl: bool,
        client: _Address,
        server: _Address,
        send: Callable[[ConnectionEvent], Awaitable[None]],
    ) -> None:
        self._config = config
        self._context = context
        self._state = state
        self._send = send
        self._new_stream: Callable[[], Stream] = partial(
            Stream, app, config, context, task_group, ssl, client, server, self.stream_send, _STREAM
        )
        self._requests = Requests(config.h11_max_incomplete_size)
        self._served = 0
        self._stream: Stream | None = None
        self._response = _no_response()
        self._head = b""
        """A response's head, until the first of its body, or its end, takes it along."""
        self._answered: trio.Event | None = None
        """What the reader waits for before it reads the next request."""
        self._over = False
        """Whether nothing more may be sent."""

    async def initiate(self) -> None:
        """There is nothing to say first."""

    async def handle(self, event: ConnectionEvent) -> None:
        """What the client did."""
        match event:
            case RawData():
                self._requests.feed(event.data)
                await self._read_on()
            case Closed():
                self._requests.stop()
                self._wake_reader()
                await self._close_stream()

    async def stream_send(self, event: Event) -> None:
        """What the application answers. Raises `WrongResponse`."""
        if self._over:
            return
        match event:
            case Response():
                headers = [*event.headers, *self._config.response_headers("h11")]
                self._head = self._response.head(event.status_code, headers)
            case Body():
                await self._write(self._response.piece(event.data))
            case EndBody():
                await self._write(self._response.end())
            case StreamClosed():
                await self._recycle()

    async def _write(self, data: bytes) -> None:
        whole, self._head = self._head + data, b""
        if whole:
            await self._send(RawData(whole))

    # --- requests ----------------------------------------------------------------------------------------

    async def _read_on(self) -> None:
        while True:
            try:
                part = self._requests.next()
            except Refused as refusal:
                return await self._refuse(refusal)
            match part:
                case Head():
                    await self._begin(part)
                case bytes():
                    await self._tell(Body(_STREAM, part))
                case Mark.END:
                    await self._tell(EndBody(_STREAM))
                case Mark.WAIT:
                    self._answered = trio.Event()
                    await self._answered.wait()
                case Mark.MORE:
                    return

    async def _begin(self, head: Head) -> None:
        await self._send(Updated(idle=False))
        self._served += 1
        keep_alive = head.keep_alive and self._served < self._config.keep_alive_max_requests
        self._response = ResponseWriter(head.method, head.version, keep_alive)
        self._stream = self._new_stream()
        await self._stream.handle(Request(_STREAM, head.headers, head.version, head.method, head.target, self._state))
        await self._context.mark_request()
        if head.expects_continue and head.length != 0 and self._requests.drained and not self._response.begun:
            await self._send(RawData(CONTINUE))

    async def _tell(self, event: Event) -> None:
        if self._stream is not None:
            await self._stream.handle(event)

    async def _refuse(self, refusal: Refused) -> None:
        """Answer bytes that are no request, unless an answer has begun, and close the connection."""
        self._over = True
        if not self._response.begun:
            await self._send_refusal(refusal)
        await self._send(Closed())

    async def _send_refusal(self, refusal: Refused) -> None:
        request_id = new_request_id()
        body = error_body(HttpError(refusal.status, refusal.message))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", request_id.encode()),
            *self._config.response_headers("h11"),
        ]
        await self._send(RawData(_no_response().head(refusal.status, headers) + body))
        log.info("request", listener=None, method=None, route=None, status=refusal.status, request_id=request_id)

    # --- between two requests ----------------------------------------------------------------------------

    async def _recycle(self) -> None:
        """The application is done with a request: go on to the next, or close the connection."""
        await self._close_stream()
        if self._may_go_on():
            self._requests.start_next()
            self._response = _no_response()
            await self._send(Updated(idle=True))
        else:
            self._over = True
            self._requests.stop()
            await self._send(Closed())
        self._wake_reader()

    def _may_go_on(self) -> bool:
        response, requests = self._response, self._requests
        whole = response.complete and requests.complete
        return whole and response.keep_alive and not self._context.terminated.is_set()

    def _wake_reader(self) -> None:
        if self._answered is not None:
            self._answered.set()

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.handle(StreamClosed(_STREAM))


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


def _no_response() -> ResponseWriter:
    """Between two requests: what is written here answers bytes that are none."""
    return ResponseWriter("", "1.1", keep_alive=False)


def use_own_protocol() -> None:
    """Let hypercorn speak HTTP/1.1 through `Protocol`; it offers no setting for that."""
    hypercorn.protocol.H11Protocol = Protocol  # type: ignore[attr-defined,assignment]
