"""The service from a start to its end, over a mortal disk, behind HTTP without sockets."""

import math
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import h11
import msgspec
import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from quart_trio import QuartTrio

from svc.actors.actors import Clock
from svc.jobs.nodes import Job
from svc.log.store import EventStore
from svc.service import RunningService, lanes_of, tasks_of
from svc.serving import HEADER_BYTES_MAX, KEEP_ALIVE_SECONDS
from svc.settings import Settings
from svc_http.app import build_api, build_intake
from tests.sim.fate import FATE, Fate

Stream = trio.StapledStream[trio.testing.MemorySendStream, trio.testing.MemoryReceiveStream]


class Lost(Exception):
    """The connection broke before the answer was there: nobody knows what became of the request."""


class Answer(NamedTuple):
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
    stream.socket = _NoSocket()  # type: ignore[attr-defined]
    await TCPServer(ASGIWrapper(listener), _CONFIG, WorkerContext(None), {}, stream)  # type: ignore[arg-type]


class Connection:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self.reusable = True

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        named = [("Host", "svc"), ("Content-Length", str(len(body))), *headers.items()]
        parts: list[Any] = [h11.Request(method=method, target=path, headers=named)]
        parts += [h11.Data(data=body)] if body else []
        sent = b"".join(self._http.send(part) or b"" for part in (*parts, h11.EndOfMessage()))
        try:
            await self._stream.send_all(sent)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise Lost from error

    async def answer(self) -> Answer:
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


Side = Literal["intake", "api"]


class Life:
    def __init__(self, var: Path, store: EventStore, clock: Clock, fate: Fate) -> None:
        self.var = var
        self.store = store
        self.fate = fate
        self.scope = trio.CancelScope()
        self.up = False  # whether connections are taken
        self.service: RunningService | None = None
        self._clock = clock
        self._listeners: dict[Side, QuartTrio] = {}
        self._nursery: trio.Nursery | None = None
        self._idle: dict[Side, list[Connection]] = {"intake": [], "api": []}

    async def run(self) -> None:
        """From the start until it is stopped, dies, or cannot start. Its fate is that of every task it starts."""
        FATE.set(self.fate)
        with closing(self.store), self.scope:
            settings = Settings(var=str(self.var), catalog_refresh=False, ingest_url="http://svc")
            service = RunningService(settings, self.store, self._clock, lasting=False)
            self.service = service
            with closing(service):
                try:
                    await self._serve(service, lanes_of(service, settings, lasting=False, reporting=False))
                finally:
                    self.up = False

    async def _serve(self, service: RunningService, lanes: Sequence[Job]) -> None:
        """As `svc.service.open_service` and `svc.serving.listening` do."""
        async with trio.open_nursery() as nursery:
            for task in tasks_of(service):
                await nursery.start(task)
            for lane in lanes:
                nursery.start_soon(lane)
            self._listeners = {"intake": build_intake(service), "api": build_api(service)}
            async with trio.open_nursery() as connections:
                self._nursery = connections
                self.up = True
                await trio.sleep(math.inf)

    def connection(self, side: Side, chance: Random) -> Connection:
        """One that is idle, or a new one. Raises `Lost` where nobody listens."""
        if not self.up or self.fate.over or self.scope.cancel_called or self._nursery is None:
            raise Lost
        idle = self._idle[side]
        if idle and chance.random() < 0.7:
            return idle.pop(chance.randrange(len(idle)))
        here, there = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self._answer, side, there)
        return Connection(here)

    async def _answer(self, side: Side, stream: Stream) -> None:
        FATE.set(self.fate)  # whoever connects has none
        await serve(self._listeners[side], stream)

    def give_back(self, side: Side, connection: Connection) -> None:
        if connection.reusable:
            self._idle[side].append(connection)
