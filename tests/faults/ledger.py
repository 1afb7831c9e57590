"""Compare what was acknowledged with the log file itself, without asking the server."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import UUID

import msgspec
from eventsourcing.persistence import Notification

from aggregates.capture.events import OperationClaimed, PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import Event
from svc.log.codec import Codec
from svc.log.sqlite import EVENTS_FILE, KEYS_FOLDER
from svc.log.vault import FileKeys, Vault

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
