"""The contract of every store: what is appended is there once, whole, in order, and for good.

A further database runs it by one more parameter of `home`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from msgspec.structs import replace

from aggregates.event import Words
from svc.log.codec import Codec, CorruptEvent, NewEvent
from svc.log.postgres import open_recorder
from svc.log.store import Conflict, EventStore
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
        return EventStore(recorder, self._codec, recorder)

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
    assert store.read_topics(wanted, found[0].position, 1) == found[1:2]
    assert store.read_topics(wanted, found[-1].position, 9) == store.read_topics([]) == []


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
