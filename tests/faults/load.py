"""A mixed load over a few connections that goes on while the server fails, as agents do, and what it must leave behind.

A request without an acknowledgement is sent again later, unchanged, or never: both happen.
"""

import hashlib
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from tests.faults.ledger import Capture, Ledger
from tests.support.driver import BROKEN, Answer, Driver, until
from tests.support.process import Person, Server
from tests.support.work import api_request, export, prompt, prompt_text, record, response, tool_result

PAUSE_SECONDS = 0.002  # between two captures of one connection, so that a round's log stays small
WAIT_SECONDS = 30.0
AWAY_SECONDS = 0.1  # after a send that broke off: who starts a server needs the machine for it
_AGAIN = 0.3  # how likely what was not acknowledged is sent again, at each turn
_BATCHES = (1, 5, 20, 60)  # records in an export; the larger ones take another way through the intake


def _source_ids(body: dict[str, Any]) -> Iterator[str]:
    """What names records, as docs/wire.md has it; computed here, so that the program's own way is tested, too."""
    (sent,) = body["resourceLogs"]
    (scoped,) = sent["scopeLogs"]
    for each in scoped["logRecords"]:
        content = [sent["resource"], None, scoped["scope"], None, each]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        yield f"record {hashlib.sha256(text.encode()).hexdigest()}"


class Client(threading.Thread):
    """One connection that sends while the gate is open; a seed makes up the same each time, but for the times."""

    def __init__(self, load: "Load", owner: Person, number: int, seed: str) -> None:
        super().__init__(daemon=True)
        self._load, self._key, self._name = load, owner.key, f"c{number}"
        self._random = random.Random(seed)
        self._number = 0
        self._answerable: list[str] = []
        self._unsure: list[Capture] = []
        self._driver = Driver(0)
        self.idle = threading.Event()

    def run(self) -> None:
        while self._load.waits_for_turn(self):
            sent = self._send(self._next())
            time.sleep(PAUSE_SECONDS if sent else AWAY_SECONDS)
        self._driver.close()

    def _next(self) -> Capture:
        """What is not sure, or a new prompt, the response to one that was acknowledged, an export of log records."""
        if self._unsure and self._random.random() < _AGAIN:
            return self._unsure.pop(self._random.randrange(len(self._unsure)))
        self._number += 1
        chance = self._random.random()
        session = f"{self._name}-{self._number // 40}-{self._random.randrange(2)}"  # some forty captures long
        if chance < 0.3 and self._answerable:
            event_id = self._answerable.pop()
            body = response(event_id, f"Done, {self._number}; all tests pass.")
            path, marks = "/v1/prompts/response", {f"answer op-{event_id}", f"claim op-{event_id}"}
        elif chance < 0.75:
            named = uuid.UUID(int=self._random.getrandbits(128))
            text = prompt_text(self._random.randrange(90), self._number, self._random.choice((20, 80, 200)))
            path, body, marks = "/v1/prompts", prompt(text, session, named), {f"prompt {named}"}
        else:
            records = (self._record(session, each) for each in range(self._random.choice(_BATCHES)))
            logs = export(records, self._name)
            path, body, marks = "/v1/logs", msgspec.json.encode(logs), set(_source_ids(logs))
        capture = Capture(path, self._key, body, frozenset(marks))
        self._load.ledger.note(capture)
        return capture

    def _record(self, session: str, number: int) -> dict[str, Any]:
        call = int(f"{self._name[1:]}{self._number:06}{number:03}")
        name = self._random.choice(("api_request", "tool_result"))
        told = api_request(call) if name == "api_request" else tool_result(call, "Edit", {"file_path": "a.py"})
        return record(name, time.time_ns() // 1_000, {"session.id": session, "event.sequence": call, **told})

    def _send(self, capture: Capture) -> bool:
        """Whether there was an answer, whatever it said."""
        if self._driver.port != self._load.port:
            self._driver.close()
            self._driver = Driver(self._load.port)
        try:
            answer = sent(self._driver, capture)
        except BROKEN:
            self._load.statuses["broken off"] += 1
            self._unsure.append(capture)
            return False
        self._load.statuses[str(answer.status)] += 1
        if answer.status not in (200, 201, 204):
            self._unsure.append(capture)
            return True
        capture.acknowledged_at = min(capture.acknowledged_at, time.time())
        self._load.acknowledged += 1
        if capture.path == "/v1/prompts":  # which may be answered now
            capture.answer_id = answer.json["id"]
            self._answerable.append(json.loads(capture.body)["client_event_id"])
        return True


class Load:
    """Two clients for each developer, all at once."""

    def __init__(self, owners: Sequence[Person], seed: str) -> None:
        self.ledger = Ledger()
        self.statuses: Counter[str] = Counter()  # answers by status, and sends that broke off
        self.acknowledged = self.port = 0
        self._open = threading.Event()
        self._ended = False
        numbers = range(2 * len(owners))
        self._clients = [Client(self, owners[each % len(owners)], each, f"{seed}-{each}") for each in numbers]
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
        self.port = server.intake_port
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
        wanted = self.acknowledged + captures
        until(lambda: self.acknowledged >= wanted, WAIT_SECONDS, PAUSE_SECONDS)

    def end(self) -> None:
        self._ended = True
        self._open.set()
        for client in self._clients:
            client.join()


@contextmanager
def load_of(owners: Sequence[Person], seed: str) -> Iterator[Load]:
    load = Load(owners, seed)
    try:
        yield load
    finally:
        load.end()


def sent(driver: Driver, capture: Capture) -> Answer:
    return driver.call("POST", capture.path, capture.body, Authorization=f"Bearer {capture.key}")
