"""A mixed load over a few connections that goes on while the server fails, as agents do.

A request without an acknowledgement is sent again later, unchanged, or never: both happen.
"""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.faults.captures import Capture, Writer
from tests.faults.ledger import Ledger
from tests.faults.program import Owner, Server

TIMEOUT_SECONDS = 300.0
"""For an answer: a shared machine may stand still for a minute."""
PAUSE_SECONDS = 0.002
"""Between two captures of one connection, so that a round's log stays small."""
WAIT_SECONDS = 30.0
AWAY_SECONDS = 0.1
"""After a send that broke off: who starts a server needs the machine for it."""
_AGAIN = 0.3
"""How likely what was not acknowledged is sent again, at each turn."""
_BROKEN = (OSError, http.client.HTTPException)


class Client(threading.Thread):
    """One connection that sends while the gate is open."""

    def __init__(self, load: "Load", owner: Owner, name: str, seed: str) -> None:
        super().__init__(daemon=True)
        self._load = load
        self._writer = Writer(name, owner.key, seed)
        self._random = random.Random(seed)
        self._unsure: list[Capture] = []
        self._connection: http.client.HTTPConnection | None = None
        self.idle = threading.Event()

    def run(self) -> None:
        """Send until the load ends."""
        while self._load.waits_for_turn(self):
            sent = self._send(self._next())
            time.sleep(PAUSE_SECONDS if sent else AWAY_SECONDS)

    def _next(self) -> Capture:
        if self._unsure and self._random.random() < _AGAIN:
            return self._unsure.pop(self._random.randrange(len(self._unsure)))
        capture = self._writer.next()
        self._load.ledger.note(capture)
        return capture

    def _send(self, capture: Capture) -> bool:
        """Whether there was an answer, whatever it said."""
        try:
            status, body = self._answer(capture)
        except _BROKEN:
            self._connection = None
            self._load.statuses["broken off"] += 1
            self._unsure.append(capture)
            return False
        self._load.statuses[str(status)] += 1
        if status not in (200, 201, 204):
            self._unsure.append(capture)
            return True
        if capture.path == "/v1/prompts":
            capture.answer_id = json.loads(body)["id"]
        capture.acknowledged_at = min(capture.acknowledged_at, time.time())
        self._load.acknowledged += 1
        self._writer.taken(capture)
        return True

    def _answer(self, capture: Capture) -> tuple[int, bytes]:
        if self._connection is None or self._connection.port != self._load.port:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._load.port, timeout=TIMEOUT_SECONDS)
        return post(self._connection, capture)


class Load:
    """Two clients for each developer, all at once."""

    def __init__(self, owners: Sequence[Owner], seed: str) -> None:
        self.ledger = Ledger()
        self.statuses: Counter[str] = Counter()
        """Answers by status, and sends that broke off."""
        self.acknowledged = 0
        self.port = 0
        self._open = threading.Event()
        self._ended = False
        self._clients = [
            Client(self, owners[number % len(owners)], f"c{number}", f"{seed}-{number}")
            for number in range(2 * len(owners))
        ]
        for client in self._clients:
            client.start()

    def waits_for_turn(self, client: Client) -> bool:
        """Wait until a client may send; False once all is over."""
        if not self._open.is_set():
            client.idle.set()
            self._open.wait()
            client.idle.clear()
        return not self._ended

    def resume(self, server: Server) -> None:
        """Send to this server from now on."""
        self.port = server.intake
        for client in self._clients:
            client.idle.clear()
        self._open.set()

    def pause(self) -> None:
        """Return once nothing is on its way any more."""
        self._open.clear()
        for client in self._clients:
            client.idle.wait()

    def wait_for(self, captures: int) -> None:
        """Return once so many more were acknowledged, or after a while: a blow may come down in any case."""
        until, end = self.acknowledged + captures, time.monotonic() + WAIT_SECONDS
        while self.acknowledged < until and time.monotonic() < end:
            time.sleep(PAUSE_SECONDS)

    def end(self) -> None:
        """Let the clients go."""
        self._ended = True
        self._open.set()
        for client in self._clients:
            client.join()


@contextmanager
def load_of(owners: Sequence[Owner], seed: str) -> Iterator[Load]:
    """A load that ends with the block; it has not begun yet."""
    load = Load(owners, seed)
    try:
        yield load
    finally:
        load.end()


def post(connection: http.client.HTTPConnection, capture: Capture) -> tuple[int, bytes]:
    """Send a capture; status and body of the answer. Raises `OSError`, `HTTPException`."""
    headers = {"Authorization": f"Bearer {capture.key}", "Content-Type": "application/json"}
    connection.request("POST", capture.path, capture.body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def get(port: int, path: str, owner: Owner) -> tuple[int, bytes]:
    """Ask a server for something; status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {owner.key}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
