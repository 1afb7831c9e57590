"""HTTP without sockets: the real protocol on one side, a plain client on the other."""

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

import h11
import msgspec
import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from quart_trio import QuartTrio

from svc.serving import HEADER_BYTES_MAX, KEEP_ALIVE_SECONDS

Stream = trio.StapledStream[trio.testing.MemorySendStream, trio.testing.MemoryReceiveStream]


class Lost(Exception):
    """The connection broke before the answer was there: nobody knows what became of the request."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    position: int = 0  # that of a write where nodes share a log

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class _NoSocket:
    family = socket.AF_INET

    def getpeername(self) -> tuple[str, int]:
        return ("127.0.0.1", 1)

    getsockname = getpeername


_CONFIG = Config.from_mapping(
    accesslog=None,
    errorlog=None,
    keep_alive_timeout=KEEP_ALIVE_SECONDS,
    h11_max_incomplete_size=HEADER_BYTES_MAX,
    include_date_header=False,
)


async def serve(listener: QuartTrio, stream: Stream) -> None:
    """One connection, from its first byte to its last."""
    stream.socket = _NoSocket()  # type: ignore[attr-defined]
    await TCPServer(ASGIWrapper(listener), _CONFIG, WorkerContext(None), {}, stream)  # type: ignore[arg-type]


class Connection:
    """The client's side; for one request at a time."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self.reusable = True

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """The whole request. Raises `Lost`."""
        named = [("Host", "svc"), ("Content-Length", str(len(body))), *headers.items()]
        parts: list[Any] = [h11.Request(method=method, target=path, headers=named)]
        parts += [h11.Data(data=body)] if body else []
        sent = b"".join(self._http.send(part) or b"" for part in (*parts, h11.EndOfMessage()))
        try:
            await self._stream.send_all(sent)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise Lost from error

    async def answer(self) -> Answer:
        """The whole answer. Raises `Lost`."""
        status, body, position = 0, b"", 0
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._received())
            elif isinstance(event, h11.Response):
                status = event.status_code
                position = int(dict(event.headers).get(b"x-svc-position", 0))
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.reusable = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
                if self.reusable:
                    self._http.start_next_cycle()
                return Answer(status, body, position)
            else:
                raise Lost

    async def close(self) -> None:
        self.reusable = False
        await self._stream.aclose()

    async def _received(self) -> bytes:
        try:
            data = await self._stream.receive_some(65_536)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise Lost from error
        if not data:
            raise Lost
        return bytes(data)
