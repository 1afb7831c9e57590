"""The contract of every store: what is appended is there once, whole, in order, and for good. A further database runs
it by one more parameter of `home`."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from eventsourcing.sqlite import SQLiteConnection
from msgspec.structs import replace

from aggregates.event import NewEvent, Words
from svc.log.codec import Codec, CorruptEvent
from svc.log.postgres import open_recorder
from svc.log.sqlite import WRITER_PRAGMAS, SplitDatastore, SqliteRecorder
from svc.log.store import Conflict, EventStore, StoreUnavailable
from svc.log.vault import Vault
from tests.support.basics import MemoryKeys, SqliteHome, created, named, new, prompt


class Home(Protocol):
    """A place for one log, which can be opened more than once, and damaged."""

    def open(self) -> EventStore: ...

    def damage(self, position: int) -> None: ...


@pytest.fixture
def codec() -> Codec:
    """One vault for the whole test, as var/keys outlives the process."""
    return Codec(Vault(MemoryKeys()))


class PostgresHome:
    def __init__(self, codec: Codec, url: str) -> None:
        self._codec = codec
        self._url = url

    def open(self) -> EventStore:
        recorder = open_recorder(self._url)
        return EventStore(recorder, self._codec)

    def damage(self, position: int) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute("UPDATE stored_events SET state = '\\x0102' WHERE notification_id = %s", [position])


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, codec: Codec, tmp_path: Path) -> Home:
    match request.param:
        case "sqlite":
            return SqliteHome(codec, tmp_path / "events.db")
        case _:
            return PostgresHome(codec, request.getfixturevalue("shared_store"))


@pytest.fixture
def store(home: Home) -> Iterator[EventStore]:
    with closing(home.open()) as store:
        yield store


def test_an_empty_log_has_nothing(store: EventStore) -> None:
    assert store.head() == 0
    assert store.read_after(0) == []
    assert store.read_stream(named("nobody")) == []
    assert store.read_positions([1, 2]) == {}
    assert store.read_topics(["developer.created"]) == []


def test_a_stream_is_read_by_version_and_backwards(store: EventStore) -> None:
    store.append([new("s", 2), new("t"), new("s", 1)])
    assert [recorded.version for recorded in store.read_stream(named("s"))] == [1, 2]
    newest = store.read_newest(named("s"))
    assert newest is not None
    before = store.read_newest(named("s"), newest.version)
    assert before is not None
    assert (newest.version, before.version) == (2, 1)
    assert store.read_newest(named("s"), before.version) is None


@pytest.mark.parametrize(
    "refused",
    [[new("s", event=created("ben"))], [new("t"), new("t")], [new("t"), new("u"), new("s")]],
    ids=["a version that is taken", "a version twice", "a conflict at the end"],
)
def test_an_append_lands_whole_or_not_at_all(store: EventStore, refused: list[NewEvent]) -> None:
    """What was there stays as it is, and the log is written on."""
    store.append([new("s", event=created("ana"))])
    with pytest.raises(Conflict):
        store.append(refused)
    assert [recorded.event for recorded in store.read_after(0)] == [created("ana")]
    store.append([new("s", 2)])
    assert [recorded.version for recorded in store.read_stream(named("s"))] == [1, 2]


def test_several_groups_go_into_one_transaction(store: EventStore) -> None:
    groups = [store.encode([new("a"), new("a", 2)]), store.encode([new("b")])]
    (first, second), (third,) = store.insert(groups)
    assert [recorded.position for recorded in store.read_after(0)] == [first, second, third]


def test_a_read_is_bounded_in_bytes(store: EventStore) -> None:
    """It stops before the event that would exceed the bound; a single larger one is returned all the same."""
    store.append([new(text[:1], event=prompt(text)) for text in ("a", "b", "c" * 50)])
    two_small = 2 * 350
    assert [recorded.version for recorded in store.read_after(0, limit_bytes=1)] == [1]
    assert len(store.read_after(0, limit_bytes=two_small)) == 2
    assert len(store.read_after(0)) == 3


def test_events_are_fetched_by_position(store: EventStore) -> None:
    positions = store.append([new("s", version) for version in range(1, 1_203)])
    found = store.read_positions([*reversed(positions), positions[0], positions[-1] + 1, 0, -1])
    assert sorted(found) == positions
    assert all(found[position].version == version for version, position in enumerate(positions, 1))


def test_events_are_found_by_topic(store: EventStore) -> None:
    store.append([new("a", event=created("a")), new("t"), new("p", event=prompt("x")), new("b", 1, created("b"))])
    wanted = ["developer.created", "prompt.captured", "developer.created"]
    found = store.read_topics(wanted)
    assert [recorded.event.TOPIC for recorded in found] == wanted
    pieces = store.pieces(found[0].position, topics=wanted, most=1, open_words=True)
    assert [piece.events for piece in pieces] == [found[1:2], found[2:]]
    assert [*store.pieces(found[-1].position, topics=wanted), *store.read_topics([])] == []


def test_words_can_be_left_closed_in_every_read(store: EventStore) -> None:
    (position,) = store.append([new("p", event=prompt("hello"))])
    reads = [
        store.read_stream(named("p"), open_words=False),
        store.read_after(0, open_words=False),
        list(store.read_positions([position], open_words=False).values()),
        store.read_topics(["prompt.captured"], open_words=False),
    ]
    for (recorded,) in reads:
        assert recorded.event == replace(prompt("hello"), prompt=Words(None))


def test_a_log_opened_again_holds_what_it_held(home: Home) -> None:
    with closing(home.open()) as first:
        (position,) = first.append([new("s", event=prompt("hello"))])
    with closing(home.open()) as second:
        second.check_writable()
        assert [recorded.event for recorded in second.read_after(0)] == [prompt("hello")]
        assert second.append([new("s", 2)]) > [position]


def test_a_damaged_event_is_named_by_every_read(home: Home, store: EventStore) -> None:
    positions = store.append([new("s"), new("t"), new("u")])
    home.damage(positions[1])
    reads: tuple[Callable[[], object], ...] = (
        lambda: store.read_after(0),
        lambda: store.read_stream(named("t")),
        lambda: store.read_positions(positions),
    )
    for read in reads:
        with pytest.raises(CorruptEvent) as caught:
            read()
        assert caught.value.position == positions[1]
    assert len(store.read_after(positions[1])) == 1


def test_texts_are_deleted_and_all_else_stays(store: EventStore) -> None:
    """Other events keep theirs; deleting twice finds nothing."""
    first, second = store.append([new("p", event=prompt("a")), new("q", event=prompt("b"))])
    before = store.fingerprint(first)
    assert store.take_words({first: ()}) == 1
    assert store.take_words({first: (), second: ("prompt",)}) == 0
    assert [each.event for each in store.read_after(0)] == [replace(prompt("a"), prompt=Words(None)), prompt("b")]
    assert store.fingerprint(first) == before
    assert store.sweep()


def test_a_fingerprint_tells_an_event_from_any_other(store: EventStore) -> None:
    positions = store.append([new("s"), new("s", 2), new("t")])
    prints = [store.fingerprint(position) for position in (*positions, positions[-1] + 1)]
    assert len(set(prints)) == 4
    assert prints[-1] == b""


def test_readers_see_whole_appends_in_the_order_of_their_positions(store: EventStore) -> None:
    """Also while several threads write: nothing appears before a position that was seen already."""
    names = [f"{writer}-{number}" for writer in range(4) for number in range(20)]
    seen: list[int] = []
    with ThreadPoolExecutor(4) as writers:
        waiting = [writers.submit(store.append, [new(name), new(name, 2)]) for name in names]
        while not all(each.done() for each in waiting):
            seen += [each.position for each in store.read_after(seen[-1] if seen else 0)]
        seen += [each.position for each in store.read_after(seen[-1] if seen else 0)]
    assert seen == sorted(position for each in waiting for position in each.result())


@pytest.fixture
def sqlite_home(codec: Codec, tmp_path: Path) -> SqliteHome:
    return SqliteHome(codec, tmp_path / "events.db")


def test_a_position_is_never_used_twice(sqlite_home: SqliteHome) -> None:
    """Not even after the end of the log was cut off: views may still hold those positions."""
    with closing(sqlite_home.open()) as store:
        positions = store.append([new("s"), new("t"), new("u")])
    sqlite_home.execute(f"DELETE FROM stored_events WHERE rowid > {positions[0]}")
    with closing(sqlite_home.open()) as store:
        assert store.head() == positions[0]
        assert store.append([new("v")]) > [positions[-1]]


def test_a_locked_file_is_unavailable_until_it_is_let_go(
    sqlite_home: SqliteHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appends and checks are refused, reads go on, and nothing has to be opened again."""
    monkeypatch.setattr("svc.log.sqlite._BUSY_TIMEOUT", "PRAGMA busy_timeout = 0")
    with closing(sqlite_home.open()) as store:
        store.append([new("s")])
        with closing(sqlite3.connect(sqlite_home.path, isolation_level=None)) as shell:
            shell.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked"):
                store.append([new("t")])
            with pytest.raises(StoreUnavailable, match="locked"):
                store.check_writable()
            assert len(store.read_after(0)) == 1
            shell.execute("ROLLBACK")
        store.check_writable()
        store.append([new("t")])
        assert len(store.read_after(0)) == 2


def test_a_full_disk_is_unavailable_until_there_is_room(sqlite_home: SqliteHome, codec: Codec) -> None:
    """SQLite's own error for a full database; the log is whole before, during and after."""
    sqlite_home.open().close()
    small_disk = SplitDatastore(sqlite_home.path, (*WRITER_PRAGMAS, "PRAGMA max_page_count = 8"))
    with closing(EventStore(SqliteRecorder(small_disk), codec)) as store:
        store.append([new("s")])
        with pytest.raises(StoreUnavailable, match="full"):
            store.append([new("t", event=prompt("".join(map(chr, range(33, 40_000)))))])
        assert len(store.read_after(0)) == 1
        store.append([new("t")])
        assert len(store.read_after(0)) == 2


def test_a_file_that_is_no_database_is_unavailable(sqlite_home: SqliteHome) -> None:
    sqlite_home.path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(StoreUnavailable, match=r"events\.db"):
        sqlite_home.open()
    assert sqlite_home.path.read_bytes().startswith(b"not a database")


def test_the_file_is_written_as_the_house_asks(sqlite_home: SqliteHome) -> None:
    """WAL, and a writing connection that says itself that every commit is synced."""
    with closing(SplitDatastore(sqlite_home.path)) as datastore:
        SqliteRecorder(datastore).create_table()
        with datastore.get_connection(commit=True) as writer:
            cursor = writer.cursor()
            cursor.execute("PRAGMA synchronous")
            assert cursor.fetchone()[0] == 2
            cursor.execute("PRAGMA journal_mode")
            assert cursor.fetchone()[0] == "wal"
        with datastore.get_connection(commit=False) as reader, pytest.raises(sqlite3.OperationalError):
            reader.cursor().execute("DELETE FROM stored_events")


def test_a_check_writes_to_the_disk(sqlite_home: SqliteHome) -> None:
    """The probe is a real write: the write-ahead log grows."""
    with closing(sqlite_home.open()) as store:
        store.append([new("s")])
        log = sqlite_home.path.with_name("events.db-wal")
        before_bytes = log.stat().st_size
        store.check_writable()
        assert log.stat().st_size > before_bytes


CAPTURES = 40


class Counting(SplitDatastore):
    """Counts the steps of SQLite's machine, reads and writes alike."""

    steps = 0

    @contextmanager
    def get_connection(self, *, commit: bool) -> Iterator[SQLiteConnection]:
        with super().get_connection(commit=commit) as connection:
            raw: sqlite3.Connection = connection._sqlite_conn
            raw.set_progress_handler(self._step, 1)
            yield connection

    def _step(self) -> None:
        self.steps += 1


def work_of_captures(folder: Path, before: int) -> tuple[int, int]:
    """(steps, bytes written) of captures after so many events, each by an actor that knows nothing yet."""
    datastore = Counting(folder / "events.db")
    recorder = SqliteRecorder(datastore)
    recorder.create_table()
    with closing(EventStore(recorder, Codec(Vault(MemoryKeys())))) as store:
        store.append([new(f"old {number}", event=prompt("Fix the crash in src/app.py")) for number in range(before)])
        assert store.sweep()
        datastore.steps = 0
        for number in range(CAPTURES):
            assert store.read_stream(named(f"new {number}")) == []
            store.append([new(f"new {number}", event=prompt("Fix the crash in src/app.py")), new(f"claim {number}")])
        return datastore.steps, (folder / "events.db-wal").stat().st_size


def test_a_capture_costs_an_old_log_what_it_costs_a_new_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sixty times as many events lie before it; it takes as many steps and pages."""
    (new_steps, new_bytes), (old_steps, old_bytes) = (
        work_of_captures(tmp_path_factory.mktemp("log"), before) for before in (200, 12_000)
    )
    assert new_steps > CAPTURES
    assert old_steps == new_steps
    assert old_bytes <= new_bytes * 1.3
