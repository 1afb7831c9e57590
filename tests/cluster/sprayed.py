"""The same tests with several nodes: what `tests.support.process` starts where TEST_NODES says how many.

Each folder that a test sets up is the first node of a store of its own in PostgreSQL; the others lie beside it. Clients
talk to a balancer that takes any node for each request and, as a session does, brings the newest position that it was
told with each read.
"""

import atexit
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import trio

from svc.log.opening import make_master_key
from tests.cluster.relay import Relay
from tests.support.postgres import QUICK, Postgres, in_schema
from tests.support.warm import Child

NODES = int(os.environ.get("TEST_NODES", "1"))  # 1: a server is one process over its folder
KNOWN_SECONDS = 0.5
_HEAD = re.compile(rb"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^\r\n]* HTTP/1\.1\r\n")
_POSITION = re.compile(rb"\r\nx-svc-position: ([0-9]+)\r\n", re.IGNORECASE)
_stores: dict[Path, str] = {}


@cache
def database() -> Postgres:
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(Postgres.started(QUICK | {"max_connections": "200"}))


def told_of(var: Path) -> dict[str, str]:
    """What a node over this folder is told: its store, which is made at the first call."""
    if var not in _stores:
        schema = f"svc_{uuid4().hex}"
        database().run(f"CREATE SCHEMA {schema}")
        _stores[var] = in_schema(database().url, schema)
        make_master_key(_key_file(var))
    return {"SVC_STORE": _stores[var], "SVC_MASTER_KEY_FILE": str(_key_file(var))}


def told_of_command(arguments: Sequence[str]) -> dict[str, str]:
    """The same for a command that names the folder of a store."""
    named = [Path(value) for option, value in pairwise(arguments) if option == "--var"]
    return told_of(named[0]) if named and (named[0] in _stores or arguments[0] in ("init", "serve")) else {}


def folders(var: Path) -> list[Path]:
    return [var, *(var.with_name(f"{var.name}-node{number}") for number in range(2, NODES + 1))]


def _key_file(var: Path) -> Path:
    return var.with_name(f"{var.name}.master-key")


class Together(Child):
    """All nodes, asked and ended as one process."""

    def __init__(self, nodes: Sequence[Child]) -> None:
        self.nodes = nodes
        self.pid = nodes[0].pid

    def send_signal(self, number: int) -> None:
        for node in self.nodes:
            node.send_signal(number)

    def poll(self) -> int | None:
        codes = [node.poll() for node in self.nodes]
        return None if None in codes else max((code or 0 for code in codes), key=abs)

    def wait(self, timeout: float | None = None) -> int:
        return max((node.wait(timeout) for node in self.nodes), key=abs)


class Session:
    """How far the tests' clients were told that the log is."""

    def __init__(self, store: str) -> None:
        self.position = 0
        self._store = store

    def look(self) -> None:
        with psycopg.connect(self._store) as connection, suppress(psycopg.errors.UndefinedTable):
            found = connection.execute("SELECT head FROM svc_log").fetchone()
            self.position = max(self.position, found[0] if found else 0)


_sessions: dict[str, Session] = {}


def saw_command(told: Mapping[str, str]) -> None:
    """A command has ended: within half a second every node knows what it did, the keys among it."""
    session = _sessions.get(told.get("SVC_STORE", ""))
    if session is not None:
        session.look()
        time.sleep(KNOWN_SECONDS)


class Balancer(Relay):
    """One request a connection, so that each may go to another node. What is not HTTP in the clear passes as it is."""

    def __init__(self, targets: Callable[[], Sequence[int]], session: Session) -> None:
        self._session = session
        super().__init__(targets)

    def there(self, data: bytes) -> bytes:
        """Only the first piece of a connection begins with a request: the answer to it ends the connection."""
        found = _HEAD.match(data)
        if found is None:
            return data
        more = f"Connection: close\r\nX-Svc-Position: {self._session.position}\r\n".encode()
        return data[: found.end()] + more + data[found.end() :]

    def back(self, data: bytes) -> bytes:
        head = data.partition(b"\r\n\r\n")[0] + b"\r\n" if data.startswith(b"HTTP/1.1 ") else b""
        for found in _POSITION.finditer(head):
            self._session.position = max(self._session.position, int(found[1]))
        return data


@contextmanager
def balanced(store: str, nodes: Sequence[Child], urls: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Where the balancers before the public and the private listeners answer, until the end of the block."""
    session = _sessions.setdefault(store, Session(store))
    session.look()

    def ports(side: int) -> list[int]:
        alive = [url for node, url in zip(nodes, urls, strict=True) if node.poll() is None]
        return [urlsplit(url[side]).port or 0 for url in alive]

    sides = [Balancer(lambda side=side: ports(side), session) for side in (0, 1)]  # type: ignore[misc]
    try:
        intake, api = (
            f"{urlsplit(url).scheme}://127.0.0.1:{each.port}" for url, each in zip(urls[0], sides, strict=True)
        )
        yield intake, api
    finally:
        for each in sides:
            with suppress(trio.RunFinishedError):
                each.close()
