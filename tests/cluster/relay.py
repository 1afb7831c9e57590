"""A relay of TCP connections: the balancer, which takes any node, and the line between a node and the database."""

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import trio

_CHUNK_BYTES = 65_536


class Relay:
    """Passes connections on from a port of its own, in a thread of its own, until it is closed; it can be cut."""

    def __init__(self, targets: Callable[[], Sequence[int]], seed: int = 1) -> None:
        """`targets`: the ports of which each connection takes one at random."""
        self._targets = targets
        self._random = random.Random(seed)
        self._cut = False
        self._lines: set[trio.CancelScope] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,), daemon=True)
        self._thread.start()
        self._ready.wait()

    def cut(self, cut: bool) -> None:
        """End every connection and let no other one through, or let them through again."""
        self._cut = cut
        if cut:
            trio.from_thread.run_sync(self._end, trio_token=self._token)

    def there(self, data: bytes) -> bytes:
        return data

    def back(self, data: bytes) -> bytes:
        return data

    def close(self) -> None:
        self._token.run_sync_soon(self._nursery.cancel_scope.cancel)
        self._thread.join()

    def _end(self) -> None:
        for scope in self._lines:
            scope.cancel()

    async def _run(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            listeners: Any = await trio.open_tcp_listeners(0, host="127.0.0.1")
            self.port: int = listeners[0].socket.getsockname()[1]
            self._ready.set()
            await trio.serve_listeners(self._pass_on, listeners)

    async def _pass_on(self, near: trio.SocketStream) -> None:
        targets = self._targets()
        if self._cut or not targets:
            return
        with trio.CancelScope() as scope:
            self._lines.add(scope)
            try:
                far = await trio.open_tcp_stream("127.0.0.1", self._random.choice(targets))
                async with far, trio.open_nursery() as nursery:
                    nursery.start_soon(_pump, near, far, self.there, nursery.cancel_scope)
                    nursery.start_soon(_pump, far, near, self.back, nursery.cancel_scope)
            except OSError:
                pass  # the node is down: its client sees the connection end
            finally:
                self._lines.discard(scope)


Passing = Callable[[bytes], bytes]


async def _pump(
    source: trio.SocketStream, target: trio.SocketStream, passing: Passing, whole: trio.CancelScope
) -> None:
    try:
        while chunk := await source.receive_some(_CHUNK_BYTES):
            await target.send_all(passing(chunk))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    whole.cancel()
