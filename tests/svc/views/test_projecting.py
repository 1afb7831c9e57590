"""What the derivation reads again from the log: texts of prompts that may be alike, from a log that may be damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from aggregates.capture.events import PromptCaptured, SessionClaimed
from aggregates.event import Digester, Event, Words
from projections.apply import Overtaken, apply, bookmark
from projections.derive.integrity import TextsUnavailable
from svc.log.codec import Codec, CorruptEvent
from svc.log.store import EventStore, StoreUnavailable
from svc.log.vault import Vault
from svc.views.views import step
from tests.support.basics import MemoryKeys, MemoryRecorder, named, new, open_memory_store
from tests.support.facts import ANA, MONDAY, SECOND, empty_views

OWNER: dict[str, Any] = {"organization_id": ANA.organization_id, "developer_id": ANA.developer_id}
ASK = "Fix the crash in src/parser.py when the input is empty, please"


def _digester(_: UUID) -> Digester:
    return Digester(b"a key for tests")


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
        assert step(db, store, _digester, 1).position == position
    assert flags(db) == [("auto_retry_storm", 3)]


def test_a_text_that_is_corrupt_by_now_is_not_alike(
    store: EventStore, recorder: MemoryRecorder, db: sqlite3.Connection
) -> None:
    """It was read once, when it was whole; the prompt after it is applied all the same."""
    for _ in range(3):
        step(db, store, _digester, 1)
    recorder.replace_states({3: b"other bytes"})
    with pytest.raises(CorruptEvent):
        store.read_positions([3])
    assert step(db, store, _digester, 1).position == 4
    assert flags(db) == []
    assert db.execute("SELECT count(*) FROM failed").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM turns").fetchone() == (3,)


def test_a_log_that_cannot_be_read_puts_the_batch_off(
    store: EventStore, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is concluded, nothing is listed as failed; once it can be read, the flag is there."""
    for _ in range(3):
        step(db, store, _digester, 1)

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is away")

    with monkeypatch.context() as patched:
        patched.setattr(store, "read_positions", away)
        with pytest.raises(TextsUnavailable, match="the disk is away"):
            step(db, store, _digester, 1)
    assert bookmark(db).position == 3
    assert db.execute("SELECT count(*) FROM failed").fetchone() == (0,)
    assert step(db, store, _digester, 1).position == 4
    assert flags(db) == [("auto_retry_storm", 3)]


def test_two_writers_do_not_apply_a_fact_twice(store: EventStore) -> None:
    """One that read its facts before the other one's transaction changes nothing, and says so."""
    db = empty_views()
    facts = store.read_after(0, 10)
    step(db, store, _digester, 2)
    with pytest.raises(Overtaken):
        apply(db, facts, b"", _digester, lambda _: {}, after=0)
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
        step(db, store, _digester, 10, _failing_at(call))
    assert step(db, store, _digester, 10).position == 4
    assert db.execute("SELECT * FROM failed").fetchall() == []
