"""One TCP connection of a listener: hypercorn's, with the reader itself waiting for an idle client.

Hypercorn starts and cancels a task for every request, so that a connection that stays idle is closed. Here the reader's
own deadline does that: set when a request ends, lifted when one begins. That is worth a tenth of a millisecond a
request, and a connection whose client has gone is over at once, not when it would have been idle for too long.

A client that does not read what it is sent is dropped. Nothing is queued for it here: whoever writes waits, and the
sockets of both sides hold what they hold.
"""

from collections.abc import Callable
from math import inf

import hypercorn.trio.run
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import TrioSingleTask, WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState, TaskGroup

_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)

WRITE_PIECE_BYTES = 64 * 1024
WRITE_SECONDS_MAX = 20.0
"""So much has to be taken within so long: whoever reads slowly gets all of it, whoever reads nothing is dropped."""

LAST_WRITE_SECONDS_MAX = 1.0
"""The same once the connection is over: a client hung up, or the server is asked to stop, all of it within 5 s."""


class _NoTask(TrioSingleTask):
    """Stands where hypercorn keeps the task that waits for an idle client."""

    async def restart(self, task_group: TaskGroup, action: Callable[..., object]) -> None:
        """There is none to start."""


class Server(TCPServer):
    """One connection, from its first byte to its last."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        state: ConnectionState,
        stream: trio.SSLStream[trio.SocketStream],
    ) -> None:
        super().__init__(app, config, context, state, stream)
        self.idle_task = _NoTask()
        self._reading = trio.CancelScope()
        self._writing = trio.CancelScope()
        self._write_seconds = WRITE_SECONDS_MAX

    async def protocol_send(self, event: Event) -> None:
        """What the protocol wants done: bytes sent, the connection closed, or its being idle noted."""
        match event:
            case RawData():
                await self._send(event.data)
            case Updated():
                self._reading.deadline = self._idle_deadline() if event.idle else inf
            case _:
                await super().protocol_send(event)

    async def _send(self, data: bytes) -> None:
        try:
            self.send_lock.acquire_nowait()  # `acquire` would let every other task run first
        except trio.WouldBlock:
            await self.send_lock.acquire()
        try:
            for start in range(0, len(data), WRITE_PIECE_BYTES):
                await self._send_piece(data[start : start + WRITE_PIECE_BYTES])
        except _GONE:
            await self.protocol.handle(Closed())
        finally:
            self.send_lock.release()

    async def _send_piece(self, piece: bytes) -> None:
        """Raises `trio.ClosedResourceError` where nobody takes it: a part of it may be sent, so that is the end."""
        deadline = trio.current_time() + self._write_seconds
        with trio.CancelScope(shield=True, deadline=deadline) as self._writing:
            await self.stream.send_all(piece)
        if self._writing.cancelled_caught:
            await trio.aclose_forcefully(self.stream)
            raise trio.ClosedResourceError

    def _hurry(self) -> None:
        """Wait for nobody any more who does not read."""
        self._write_seconds = LAST_WRITE_SECONDS_MAX
        self._writing.deadline = min(self._writing.deadline, trio.current_time() + LAST_WRITE_SECONDS_MAX)

    async def _read_data(self) -> None:
        watching = trio.CancelScope()
        self._task_group.spawn(self._stop_when_idle, watching)
        self._reading.deadline = self._idle_deadline()
        with self._reading:
            await self._read_on()
        self._hurry()
        watching.cancel()
        with trio.CancelScope(shield=True):
            await self.protocol.handle(Closed())

    async def _read_on(self) -> None:
        while True:
            try:
                data = await self.stream.receive_some(MAX_RECV)
            except _GONE:
                return
            await self.protocol.handle(RawData(bytes(data)))
            if not data:
                return

    async def _stop_when_idle(self, watching: trio.CancelScope) -> None:
        """A server that stops waits for the requests it has, and for nothing else."""
        with watching:
            await self.context.terminated.wait()
            self._hurry()
            if self._reading.deadline < inf:
                self._reading.cancel()

    def _idle_deadline(self) -> float:
        return trio.current_time() + self.config.keep_alive_timeout


def use_own_server() -> None:
    """Let hypercorn serve connections through `Server`; it offers no setting for that."""
    hypercorn.trio.run.TCPServer = Server  # type: ignore[attr-defined,assignment]
