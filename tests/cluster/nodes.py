"""Nodes of the real program over one PostgreSQL, each with a line of its own to it, behind a balancer."""

import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trio

from svc.log.opening import make_master_key
from tests.support.driver import once, together, until
from tests.support.postgres import Postgres
from tests.support.process import KEY, NO_BUDGETS, THIS_TREE, NotReady, Program, Server, beside, log_tail

START_SECONDS = 120.0
DISK = {"shared_buffers": "128MB", "max_connections": "100"}  # otherwise as PostgreSQL comes: every commit is synced


class Node:
    """A node: its folder, its line to the database, and its server while it runs."""

    def __init__(self, folder: Path, number: int, database: Postgres, more: dict[str, str]) -> None:
        self.var = folder / f"node{number}"
        self.number = number
        self.line = Relay(lambda: [database.port])
        store = f"postgresql://svc@127.0.0.1:{self.line.port}/postgres"
        told = {"SVC_STORE": store, "SVC_MASTER_KEY_FILE": str(folder / "master.key"), **NO_BUDGETS, **more}
        self.program = Program(THIS_TREE.command, {**THIS_TREE.told, **told})
        self.intake = self.api = 0
        self.frozen = False
        self.server: Server

    @property
    def serves(self) -> bool:
        """Whether the balancer may choose it, as its health check tells."""
        return self.intake > 0 and not self.frozen

    def begin(self) -> None:
        self.server = self.program.begin(self.var, ports=(self.intake, self.api))

    def wait(self) -> None:
        """Until it serves. A start that found no database ends, and is tried again, as a service manager does."""
        assert until(self._started, START_SECONDS, 0.5), log_tail(self.var)
        self.intake, self.api = self.server.intake_port, self.server.api_port

    def _started(self) -> bool:
        try:
            self.server.wait_ready()
        except NotReady:
            self.begin()
            return False
        return True

    def freeze(self, frozen: bool) -> None:
        self.frozen = frozen
        self.server.process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)


class Cluster:
    def __init__(self, database: Postgres, nodes: list[Node]) -> None:
        self.database = database
        self.nodes = nodes
        self.balancer = Relay(lambda: [node.intake for node in nodes if node.serves])

    @property
    def key(self) -> str:
        """The key that one node showed, once."""
        found: str
        (found,) = {key for node in self.nodes for key in KEY.findall(beside(node.var, "log").read_text())}
        return found

    def heal(self) -> None:
        for node in self.nodes:
            node.line.cut(False)
            if node.frozen:
                node.freeze(False)
            if node.server.process.poll() is not None:
                node.begin()
                node.wait()

    def level(self, seconds: float = 180.0) -> None:
        """Wait until every node holds all of the log."""
        secret = (self.nodes[0].var / "internal-secret").read_text().strip()
        head: int = self.database.run("SELECT head FROM svc_log")[0][0]
        asked = {"X-Internal-Secret": secret, "X-Svc-Position": str(head)}
        for node in self.nodes:
            there = partial(once, node.api, "GET", "/v1/admin/developers", **asked)
            assert until(lambda: there().status == 200, seconds, 0.5), f"node {node.number} does not come up to {head}"  # noqa: B023


@contextmanager
def cluster(database: Postgres, folder: Path, number: int = 3, **more: str) -> Iterator[Cluster]:
    """Nodes that start at the same time over an empty database: one sets it up."""
    make_master_key(folder / "master.key")
    nodes = [Node(folder, each, database, more) for each in range(number)]
    try:
        for node in nodes:
            node.begin()
        together(*(node.wait for node in nodes))
        assert all(node.intake for node in nodes), [log_tail(node.var) for node in nodes]
        yield Cluster(database, nodes)
    finally:
        for node in nodes:
            node.server.process.send_signal(signal.SIGCONT)
            node.server.end()
            node.line.close()


_CHUNK_BYTES = 65_536


class Relay:
    """Passes connections on from a port of its own, in a thread of its own, until it is closed; it can be cut."""

    def __init__(self, targets: Callable[[], Sequence[int]]) -> None:
        """`targets`: the ports of which each connection takes one at random."""
        self._targets = targets
        self._random = random.Random(1)
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
                    nursery.start_soon(_pump, near, far, nursery.cancel_scope)
                    nursery.start_soon(_pump, far, near, nursery.cancel_scope)
            except OSError:
                pass  # the node is down: its client sees the connection end
            finally:
                self._lines.discard(scope)


async def _pump(source: trio.SocketStream, target: trio.SocketStream, whole: trio.CancelScope) -> None:
    try:
        while chunk := await source.receive_some(_CHUNK_BYTES):
            await target.send_all(chunk)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    whole.cancel()
