"""Events and an empty log for tests of the store, the codec and the journal."""

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid5

from aggregates.capture.events import PromptCaptured
from aggregates.decide import TimePassed
from aggregates.event import Event, Words
from aggregates.people.acts import CreateDeveloper
from svc.log.codec import Codec, NewEvent
from svc.log.sqlite import open_sqlite_store
from svc.log.store import EventStore

_NAMES = UUID("00000000-0000-5000-8000-000000000000")


def named(name: str) -> UUID:
    """The same id for the same name."""
    return uuid5(_NAMES, name)


ANA = named("ana")
BEN = named("ben")


def passed(at_us: int = 1) -> TimePassed:
    return TimePassed(received_at_us=at_us)


def created(name: str) -> CreateDeveloper:
    return CreateDeveloper(received_at_us=1, developer_id=named(name), display_name=name)


def prompt(text: str, developer_id: UUID = ANA) -> PromptCaptured:
    return PromptCaptured(
        received_at_us=1,
        organization_id=named("acme"),
        developer_id=developer_id,
        prompt_id=named(text),
        agent_session_id="session-1",
        source="claude-code",
        prompt=Words(text),
        prompt_digest=b"digest",
    )


def new(stream: str, version: int = 1, event: Event | None = None) -> NewEvent:
    """An event for the stream of that name."""
    return NewEvent(named(stream), version, event or passed())


class SqliteHome:
    """A file."""

    def __init__(self, codec: Codec, path: Path) -> None:
        self._codec = codec
        self.path = path

    def open(self) -> EventStore:
        return open_sqlite_store(self.path, self._codec)

    def damage(self, position: int) -> None:
        self.execute(f"UPDATE stored_events SET state = x'0102' WHERE rowid = {position}")

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Runs a statement as an operator would, with a shell."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement).fetchall()
