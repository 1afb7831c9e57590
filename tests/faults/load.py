"""A mixed load over a few connections that goes on while the server fails, as agents do: what is not acknowledged is
sent again later, or never. What was acknowledged is compared with the log file itself."""

import hashlib
import json
import random
import sqlite3
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from eventsourcing.persistence import Notification

from aggregates.capture.events import OperationClaimed, PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Event
from svc.log.codec import Codec
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.log.vault import FileKeys, Vault
from tests.support.driver import BROKEN, Answer, Driver, until
from tests.support.process import Person, Server
from tests.support.work import api_request, export, prompt, prompt_text, record, response, tool_result

_SHOWN_MAX = 3
NEVER = float("inf")


class Capture(msgspec.Struct):
    """One request, and what of it must stand in the log once it was acknowledged: each mark once, all or none."""

    path: str
    key: str  # of the developer who sends it
    body: bytes
    marks: frozenset[str]
    acknowledged_at: float = NEVER  # when the first answer said that it is stored, in seconds since 1970
    answer_id: str | None = None  # the prompt's id, as the first answer told it


class Found(NamedTuple):
    """One look at the log: captures that were acknowledged by then, and those of them that stand there whole."""

    acknowledged: int
    found: int
    flaws: list[str]


class Ledger:
    """Everything that was sent over a folder, by all clients; for any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sent: list[Capture] = []

    def note(self, capture: Capture) -> None:
        with self._lock:
            self._sent.append(capture)

    def sent(self) -> list[Capture]:
        with self._lock:
            return list(self._sent)

    def acknowledged(self, by: float = NEVER) -> list[Capture]:
        return [capture for capture in self.sent() if capture.acknowledged_at <= by and capture.acknowledged_at < NEVER]

    def compare(self, marks: Counter[str], by: float = NEVER) -> Found:
        """Hold what was acknowledged by some moment against what the log holds. Nothing may be on its way meanwhile."""
        sent, acknowledged = self.sent(), self.acknowledged(by)
        whole = [all(marks[mark] == 1 for mark in capture.marks) for capture in acknowledged]
        lost = [mark for capture in acknowledged for mark in capture.marks if not marks[mark]]
        half = [each.path for each in sent if 0 < sum(mark in marks for mark in each.marks) < len(each.marks)]
        doubled = [mark for mark, times in marks.items() if times > 1]
        foreign = marks.keys() - {mark for capture in sent for mark in capture.marks}
        flaws = _flaw("acknowledged and not in the log", lost) + _flaw("in the log more than once", doubled)
        flaws += _flaw("only half in the log", half) + _flaw("in the log and never sent", sorted(foreign))
        return Found(len(acknowledged), sum(whole), flaws)


def _flaw(what: str, which: list[str]) -> list[str]:
    return [f"{len(which)} {what}: {', '.join(which[:_SHOWN_MAX])}"] if which else []


class LogReader:
    """Reads a folder's log beside its server, forward from where it last was; it writes nothing."""

    def __init__(self, var: Path) -> None:
        self._path = var / EVENTS_FILE
        self._codec = Codec(Vault(FileKeys(var / KEYS_FOLDER)))
        self.position = 0
        self.marks: Counter[str] = Counter()

    def read_on(self) -> Counter[str]:
        """How often each mark stands in the log by now. Raises `CorruptEvent`, `sqlite3.Error`."""
        query = "SELECT originator_id, originator_version, topic, state, rowid FROM stored_events WHERE rowid > ?"
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as db:
            for stream, version, topic, state, position in db.execute(f"{query} ORDER BY rowid", (self.position,)):
                stored = Notification(UUID(stream), version, topic, state, position)
                self.marks.update(marks_of(self._codec.to_domain_event(stored).event))
                self.position = position
        return self.marks


def marks_of(event: Event) -> set[str]:
    """By what a fact is known that a load has sent."""
    match event:
        case PromptCaptured():
            return {f"prompt {event.client_event_id}"}
        case PromptAnswered():
            return {f"answer {event.response_operation_id}"}
        case OperationClaimed():
            return {f"claim {event.response_operation_id}"}
        case RecordsCaptured():
            return {f"record {record.record_id}" for record in event.records}
        case _:
            return set()


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

    def close(self) -> None:
        self._ended = True
        self._open.set()
        for client in self._clients:
            client.join()


def sent(driver: Driver, capture: Capture) -> Answer:
    return driver.call("POST", capture.path, capture.body, Authorization=f"Bearer {capture.key}")
