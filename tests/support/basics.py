"""What most tests begin with: a small company, ids, events, a log in memory or in a file, keys and a clock. Ana owns
Acme, Ben is a member, Eve belongs to Other."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from itertools import count
from pathlib import Path
from uuid import UUID, uuid5

from eventsourcing.sqlite import SQLiteDatastore

from aggregates.capture.events import PromptCaptured
from aggregates.decide import TimePassed
from aggregates.event import Event, NewEvent, Reason, Refused, Scope, Words
from aggregates.people.acts import CreateDeveloper, CreateOrganization, IssueKey, PeopleAct, StartMembership
from aggregates.people.decide import PeopleReply, decide_people
from aggregates.people.directory import Directory
from svc.actors.actors import Clock
from svc.log.codec import Codec
from svc.log.sqlite import SqliteRecorder, open_sqlite_store
from svc.log.store import EventStore
from svc.log.vault import Keys

NOW_US = 1_785_585_600_000_000  # 2026-08-01T12:00:00Z, a Saturday
_NAMES = UUID("00000000-0000-5000-8000-000000000000")


def named(name: str) -> UUID:
    """The same id for the same name."""
    return uuid5(_NAMES, name)


def key_of(name: str) -> str:
    """A well-formed key that is always the same for a name."""
    return "svc_" + sha256(name.encode()).hexdigest()[:43]


ACME, OTHER = named("acme"), named("other")
ANA, BEN, EVE = named("ana"), named("ben"), named("eve")
ANA_KEY, BEN_KEY, EVE_KEY = key_of("ana"), key_of("ben"), key_of("eve")
ANA_SCOPE = Scope(ACME, ANA)


def issue(key: str, organization_id: UUID, developer_id: UUID, expires_at_us: int | None = None) -> IssueKey:
    """The command that makes a key known; the key's id comes from its text."""
    return IssueKey(
        credential_id=named(key),
        organization_id=organization_id,
        developer_id=developer_id,
        key_digest=sha256(key.encode()).hexdigest(),
        key_start=key[:12],
        expires_at_us=expires_at_us,
    )


def carry_out(directory: Directory, command: PeopleAct, now_us: int = NOW_US, by: UUID | None = None) -> PeopleReply:
    events, reply = decide_people(command, directory, now_us, by)
    for new in events:
        directory.apply(new.stream_id, new.event)
    return reply


def why(reply: object) -> Reason:
    """Why it was refused, which it was."""
    assert isinstance(reply, Refused)
    return reply.reason


FOUNDING: tuple[PeopleAct, ...] = (
    CreateOrganization(organization_id=ACME, name="Acme"),
    CreateOrganization(organization_id=OTHER, name="Other"),
    CreateDeveloper(developer_id=ANA, display_name="Ana"),
    CreateDeveloper(developer_id=BEN, display_name="Ben", timezone="Europe/Berlin"),
    CreateDeveloper(developer_id=EVE, display_name="Eve"),
    StartMembership(organization_id=ACME, developer_id=ANA, role="owner"),
    StartMembership(organization_id=ACME, developer_id=BEN),
    StartMembership(organization_id=OTHER, developer_id=EVE, role="owner"),
    issue(ANA_KEY, ACME, ANA),
    issue(BEN_KEY, ACME, BEN),
    issue(EVE_KEY, OTHER, EVE),
)


def company() -> Directory:
    directory = Directory()
    for command in FOUNDING:
        assert not isinstance(carry_out(directory, command), Refused)
    return directory


# --- a log ---------------------------------------------------------------------------------------------------------


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


_NUMBERS = count()  # not by chance: where a simulation seeds it, its second run would find the first one's log


class MemoryRecorder(SqliteRecorder):
    """A database in memory that lives as long as this does: a new store over it reopens the log."""

    def __init__(self) -> None:
        super().__init__(SQLiteDatastore(f"file:log-{next(_NUMBERS)}?mode=memory&cache=shared"))
        self.create_table()

    def close(self) -> None:
        """The events stay."""


def open_memory_store(codec: Codec, recorder: MemoryRecorder | None = None) -> EventStore:
    """Open an empty log, or the one that a recorder holds."""
    return EventStore(recorder or MemoryRecorder(), codec)


class MemoryKeys(Keys):
    def __init__(self) -> None:
        self._keys: dict[UUID, bytes] = {}

    def load(self, developer_id: UUID) -> bytes | None:
        return self._keys.get(developer_id)

    def keep(self, developer_id: UUID, key: bytes) -> bytes:
        return self._keys.setdefault(developer_id, key)

    def destroy(self, developer_id: UUID) -> None:
        self._keys.pop(developer_id, None)

    def there(self) -> frozenset[UUID]:
        return frozenset(self._keys)

    def path_of(self, developer_id: UUID) -> Path:
        return Path(str(developer_id))


class FixedClock(Clock):
    """A clock for tests."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def advance(self, by_us: int) -> None:
        self._now_us += by_us
