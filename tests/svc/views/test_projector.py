"""Who goes first while one process does everything, and what the derivation reads again from a damaged log."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from aggregates.capture.events import PromptCaptured, SessionClaimed
from aggregates.event import Event, Words
from projections.apply import Overtaken, apply, bookmark
from projections.derive.integrity import TextsUnavailable
from svc.log.codec import Codec, CorruptEvent
from svc.log.journal import Journal
from svc.log.opening import open_log
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import Vault
from svc.views.projector import REST_SECONDS, SLICE_SECONDS, Pace, Projector
from svc.views.views import ViewsWriter, new_file, open_writer
from tests.support import facts
from tests.support.basics import MemoryKeys, MemoryRecorder, named, new, open_memory_store
from tests.support.facts import ANA, MONDAY, SECOND, empty_views

FACTS = 400


def claim(session: str) -> SessionClaimed:
    return SessionClaimed(
        received_at_us=MONDAY,
        organization_id=ANA.organization_id,
        developer_id=ANA.developer_id,
        agent_session_id=session,
    )


class Log:
    """A folder with a log that grows when the test says so, and an empty views file."""

    def __init__(self, var: Path) -> None:
        self.store = open_log(var)
        self.views = new_file(var)

    def grow(self, *sessions: str) -> int:
        """One more fact of each session; the last one's position."""
        self.store.append([new(session, event=claim(session)) for session in sessions])
        return self.store.head()

    def at_one_instant(self, session: str, count: int) -> None:
        """So many prompts more, all of one time."""
        story, begun = facts.Log(ANA), self.store.head()
        for number in range(count):
            story.prompt(session, f"go on with part {begun + number}", MONDAY)
        self.store.append(
            [new(f"{session}-{begun + number}", event=each.event) for number, each in enumerate(story.facts[1:])]
        )

    def sessions(self) -> list[str]:
        with closing(open_writer(self.views)) as db:
            return [row[0] for row in db.execute("SELECT agent_session_id FROM sessions ORDER BY 1")]


class Place(Log):
    """A log of some facts, views that hold none of them, and a journal that writes nothing, so what it takes waits."""

    def __init__(self, var: Path) -> None:
        super().__init__(var)
        self.grow(*(f"s{number}" for number in range(FACTS)))
        open_writer(self.views).close()
        self.journal = Journal(self.store)
        self.rests = 0
        self.at_rest: Callable[[], None] = lambda: None
        self.projector = Projector(self.views, self.journal, self.store, pace_for=self._pace)

    def _pace(self, captures_first: Callable[[], bool]) -> Pace:
        looks = count()
        return Pace(captures_first, lambda: next(looks) / 1_000, self._rest)

    def _rest(self, _seconds: float) -> None:
        self.rests += 1
        self.at_rest()

    async def capture(self) -> None:
        await self.journal.append([new("another", event=claim("another"))])


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    with closing(made.store), closing(made.projector):
        yield made


async def projected(place: Place, nursery: trio.Nursery) -> None:
    nursery.start_soon(place.projector.run)
    while place.projector.position < FACTS:
        await place.projector.moved(place.projector.steps)


async def test_a_reader_that_waits_ends_the_rests(place: Place) -> None:
    """From the slice on in which it came, and until it is served."""
    async with trio.open_nursery() as nursery:

        def reader_comes() -> None:
            nursery.start_soon(place.projector.wait_for, FACTS)

        def third_rest() -> None:
            if place.rests == 3:
                trio.from_thread.run_sync(reader_comes)
                while not place.projector.waiting:
                    trio.from_thread.run(trio.lowlevel.checkpoint)

        place.at_rest = third_rest
        nursery.start_soon(place.capture)
        with trio.fail_after(30):
            await projected(place, nursery)
        nursery.cancel_scope.cancel()
    assert place.rests == 3


async def test_views_that_are_far_behind_are_brought_up_without_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many captures come, the lag has a bound."""
    monkeypatch.setattr("svc.views.projector.LAG_EVENTS_MAX", FACTS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.capture)
        await trio.testing.wait_all_tasks_blocked()
        assert place.journal.busy
        assert not place.projector.gives_way()
        monkeypatch.setattr("svc.views.projector.LAG_EVENTS_MAX", FACTS + 1)
        assert place.projector.gives_way()
        nursery.cancel_scope.cancel()


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    made = Log(tmp_path)
    with closing(made.store):
        yield made


async def test_who_takes_longer_to_derive_than_usual_is_charged(log: Log) -> None:
    """Prompts of one instant stand in an order that each further one may change, so all of them are looked at again."""
    with closing(open_writer(log.views)) as db:
        writer = ViewsWriter(db, log.store)
        log.grow("s1")
        assert writer.step(500).costs == [], "three small facts"
        log.grow("s2")
        log.at_one_instant("s2", 300)
        costs = [*writer.step(500).costs]
        log.at_one_instant("s2", 1)
        costs += writer.step(500).costs
    assert [developer_id for developer_id, _ in costs] == [ANA.developer_id]
    assert 0 < costs[0][1] < 60


class Shift:
    """A thread's work under a clock that moves by a millisecond at each look, and whoever counts its rests."""

    def __init__(self, *, captures_wait: bool) -> None:
        self.captures_wait = captures_wait
        self.looks = 0
        self.rests: list[float] = []
        self.pace = Pace(lambda: self.captures_wait, self._now, self.rests.append)

    def _now(self) -> float:
        self.looks += 1
        return self.looks / 1_000


@pytest.mark.parametrize("captures_wait", [True, False])
async def test_work_is_cut_into_slices_and_rests_between_them_while_captures_wait(
    log: Log, captures_wait: bool
) -> None:
    """One transaction, many slices: the views are as they are without any rest."""
    sessions = [f"s{number:03}" for number in range(200)]
    log.grow(*sessions)
    shift = Shift(captures_wait=captures_wait)
    with closing(open_writer(log.views)) as db:
        assert ViewsWriter(db, log.store, shift.pace).step(500).position == len(sessions)
    assert log.sessions() == sessions
    slices = shift.looks / (SLICE_SECONDS * 1_000)
    assert slices > 30
    assert len(shift.rests) > slices / 2 if captures_wait else shift.rests == []


async def test_a_rest_ends_nothing_of_a_slice(log: Log) -> None:
    shift = Shift(captures_wait=True)
    shift.pace()
    rests = len(shift.rests)
    assert 0 < sum(shift.rests) <= REST_SECONDS
    shift.captures_wait = False
    for _ in range(100):
        shift.pace()
    assert len(shift.rests) == rests


OWNER: dict[str, Any] = {"organization_id": ANA.organization_id, "developer_id": ANA.developer_id}
ASK = "Fix the crash in src/parser.py when the input is empty, please"


def asked(number: int) -> Event:
    """The prompts come half a minute after each other, and say nearly the same."""
    at_us = MONDAY + number * 30 * SECOND
    return PromptCaptured(
        received_at_us=at_us,
        **OWNER,
        prompt_id=named(f"prompt {number}"),
        agent_session_id="s1",
        source="claude-code",
        prompt=Words(f"{ASK} {number}"),
        prompt_digest=b"digest",
        submitted_at_us=at_us,
    )


@pytest.fixture
def recorder() -> MemoryRecorder:
    return MemoryRecorder()


@pytest.fixture
def store(recorder: MemoryRecorder) -> EventStore:
    """A claim at position 1, prompts at 2 to 4."""
    found = open_memory_store(Codec(Vault(MemoryKeys())), recorder)
    found.append([new("claim", event=SessionClaimed(received_at_us=MONDAY, **OWNER, agent_session_id="s1"))])
    for number in range(3):
        found.append([new(f"prompt {number}", event=asked(number))])
    return found


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(empty_views()) as db:
        yield db


def flags(db: sqlite3.Connection) -> list[tuple[str, int]]:
    return db.execute("SELECT kind, count FROM flags").fetchall()


def test_texts_of_earlier_batches_are_read_from_the_log(store: EventStore, db: sqlite3.Connection) -> None:
    """One fact at a time: the prompt before was applied long ago."""
    for position in range(1, 5):
        assert ViewsWriter(db, store).step(1).position == position
    assert flags(db) == [("auto_retry_storm", 3)]


def test_a_text_that_is_corrupt_by_now_is_not_alike(
    store: EventStore, recorder: MemoryRecorder, db: sqlite3.Connection
) -> None:
    """It was read once, when it was whole; the prompt after it is applied all the same."""
    for _ in range(3):
        ViewsWriter(db, store).step(1)
    recorder.replace_states({3: b"other bytes"})
    with pytest.raises(CorruptEvent):
        store.read_positions([3])
    assert ViewsWriter(db, store).step(1).position == 4
    assert flags(db) == []
    assert db.execute("SELECT count(*) FROM failed").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM turns").fetchone() == (3,)


def test_a_log_that_cannot_be_read_puts_the_batch_off(
    store: EventStore, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is concluded, nothing is listed as failed; once it can be read, the flag is there."""
    for _ in range(3):
        ViewsWriter(db, store).step(1)

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is away")

    with monkeypatch.context() as patched:
        patched.setattr(store, "read_positions", away)
        with pytest.raises(TextsUnavailable, match="the disk is away"):
            ViewsWriter(db, store).step(1)
    assert bookmark(db).position == 3
    assert db.execute("SELECT count(*) FROM failed").fetchone() == (0,)
    assert ViewsWriter(db, store).step(1).position == 4
    assert flags(db) == [("auto_retry_storm", 3)]


def test_two_writers_do_not_apply_a_fact_twice(store: EventStore) -> None:
    """One that read its facts before the other one's transaction changes nothing, and says so."""
    db = empty_views()
    facts = store.read_after(0, 10)
    ViewsWriter(db, store).step(2)
    with pytest.raises(Overtaken):
        apply(db, facts, b"", store.vault.known_digester, lambda _: {}, after=0)
    assert bookmark(db).position == 2


def _failing_at(call: int) -> Callable[[], None]:
    calls = count(1)

    def give_way() -> None:
        if next(calls) == call:
            raise OSError("no rest")

    return give_way


@pytest.mark.parametrize("call", range(20, 120, 4))
def test_a_statement_that_is_broken_off_is_no_facts_fault(
    store: EventStore, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Wherever the thread cannot rest once, the step is undone and taken again."""
    monkeypatch.setattr("svc.views.views.GIVE_WAY_SQLITE_STEPS", 20)
    with suppress(sqlite3.OperationalError, OSError):
        ViewsWriter(db, store, _failing_at(call)).step(10)
    assert ViewsWriter(db, store).step(10).position == 4
    assert db.execute("SELECT * FROM failed").fetchall() == []
