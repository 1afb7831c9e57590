"""Torn or foreign events are named and skipped, and every replay gives the same tables."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid5

import pytest
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import StoredEvent
from hypothesis import given, strategies as st

from aggregates.event import Event, NewEvent
from svc.log import codec
from svc.log.codec import Codec, CorruptEvent
from svc.log.store import EventStore
from svc.log.vault import Vault
from tests.fuzz.mill import replayed
from tests.fuzz.odd import damaged, examples
from tests.support.basics import MemoryKeys, MemoryRecorder, open_memory_store
from tests.support.facts import MINUTE, MONDAY, NAMESPACE, Log, edit, request, shell


def _history() -> list[Event]:
    """A little of every kind of fact about work."""
    log = Log()
    log.claim("s1")
    first = log.prompt("s1", "Fix the crash in src/app.py and run pytest", MONDAY, host_prompt_id="p1", cwd_digest=7)
    log.answer("s1", first, "Done. All tests pass.", MONDAY + MINUTE, input_tokens=5)
    log.records("s1", request(MONDAY + MINUTE, prompt_id="p1"), edit(MONDAY + 2 * MINUTE))
    log.records(
        "s1", shell(MONDAY + 3 * MINUTE, "pytest -q"), request(MONDAY + 4 * MINUTE, model="m", cost_usd_nano=None)
    )
    second = log.prompt("s1", "no, that is still wrong", MONDAY + 5 * MINUTE, cwd_digest=7)
    log.lines("s1", MONDAY + 6 * MINUTE, 12)
    log.publishes(1, model="m").corrects_gap("s1", second, True).corrects_goal("s1", first, True)
    log.renames(first, "Mine").reprices(1)
    log.prompt("s2", "thanks, now write the docs", MONDAY + 9 * MINUTE, cwd_digest=7)
    return [fact.event for fact in log.passes(MONDAY + 60 * MINUTE).facts]


HISTORY = _history()


class Other(Codec):
    """A program that writes some facts otherwise, and vouches for them."""

    changes: Mapping[str, Any] = {}

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        stored = super().to_stored_event(domain_event)
        _, head, fact, words = codec._verified(stored)
        fields, kept = self.transcoder.decode(fact)
        fact = self.transcoder.encode((fields | self.changes, kept))
        place = (domain_event.originator_id, domain_event.originator_version, stored.topic)
        checksum = codec._checksum(*place, head, fact)
        return StoredEvent(*place, codec._state(checksum, head, fact, codec._sealed_words(words)))


VAULT = Vault(MemoryKeys())
CODEC, OTHER = Codec(VAULT), Other(VAULT)


def stored(recorder: MemoryRecorder, codec: Codec, events: list[Event]) -> None:
    """Each in a stream of its own."""
    store, known = EventStore(recorder, codec), recorder.max_notification_id() or 0
    for number, event in enumerate(events, known):
        store.append([NewEvent(uuid5(NAMESPACE, str(number)), 1, event)])


@examples(8)
@given(st.data())
def test_torn_events_are_named_and_the_others_count(data: st.DataObject) -> None:
    """A byte lost, changed or added anywhere, in some of the events."""
    recorder = MemoryRecorder()
    stored(recorder, CODEC, HISTORY)
    states = {each.id: each.state for each in recorder.select_after(0, 1_000, 10**9)}
    torn = {
        position: data.draw(damaged(states[position]))
        for position in data.draw(st.lists(st.sampled_from(sorted(states)), max_size=4))
    }
    recorder.replace_states(torn)
    store = open_memory_store(CODEC, recorder)
    whole = replayed(store, 1_000)
    assert {position for position, _ in whole[1]} <= {
        position for position in torn if torn[position] != states[position]
    }
    assert all(reason == "CorruptEvent" for _, reason in whole[1])
    assert replayed(store, data.draw(st.sampled_from((1, 2, 5)))) == whole


_ODD: list[Any] = [
    None, True, -1, 0, 2**53, 2**63 - 1, -(2**63), 1.5, float("nan"), "", "x", "s1", "\0", b"", b"x" * 16, [], {},
    [None], [{}], {"text": "x"}, {"text": None}, "00000000-0000-4000-8000-000000000001",
]  # fmt: skip
_NAMES = sorted({name for event in HISTORY for name in event.__struct_fields__} | {"unknown", "type", ""})


@examples(12)
@given(st.data())
def test_facts_of_another_program_break_no_replay(data: st.DataObject) -> None:
    """Fields that are unknown, of another type or out of bounds, under a checksum that fits: derived or passed over,
    and in any batches alike."""
    recorder = MemoryRecorder()
    for event in HISTORY:
        changed = data.draw(st.integers(0, 3)) == 0
        changes = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_ODD), max_size=2)
        OTHER.changes = data.draw(changes) if changed else {}
        stored(recorder, OTHER, [event])
    store = open_memory_store(CODEC, recorder)
    whole = replayed(store, 1_000)
    assert replayed(store, data.draw(st.sampled_from((1, 2, 5)))) == whole


@examples(30)
@given(data=st.data(), version=st.integers(0, 255), shape=st.integers(0, 255))
def test_any_state_is_an_event_or_a_corrupt_one(data: st.DataObject, version: int, shape: int) -> None:
    """Whatever lies in the place of a fact, also of a version or in a form that there never was."""
    recorder = MemoryRecorder()
    stored(recorder, CODEC, [data.draw(st.sampled_from(HISTORY))])
    (row,) = recorder.select_after(0, 1, 10**9)
    raw = data.draw(damaged(row.state) | st.binary(max_size=60))
    recorder.replace_states({1: bytes((shape, version)) + raw[2:] if data.draw(st.booleans()) else raw})
    with suppress(CorruptEvent):
        store = open_memory_store(CODEC, recorder)
        (read,), (wordless,) = store.read_after(0, 1), store.read_after(0, 1, open_words=False)
        # Cut just behind the fact, it is what retention leaves.
        assert read.event in HISTORY or read == wordless


@pytest.mark.parametrize("batch_events", [1, 2, 1_000])
def test_a_fact_that_no_table_takes_keeps_no_other_from_its_own(batch_events: int) -> None:
    """An integer of 64 bits without a sign can be stored in the log; the views hold everything else."""
    log = Log()
    log.claim("s1")
    log.prompt("s1", "Fix the crash in src/app.py and run pytest", MONDAY, cwd_digest=7)
    log.records("s1", request(MONDAY + MINUTE, input_tokens=2**63), edit(MONDAY + 2 * MINUTE))
    log.records("s1", shell(MONDAY + 3 * MINUTE, "pytest -q"))
    recorder = MemoryRecorder()
    stored(recorder, CODEC, [fact.event for fact in log.facts])
    tables, failed = replayed(open_memory_store(CODEC, recorder), batch_events)
    assert [(position, reason.split()[0]) for position, reason in failed] == [(3, "OverflowError")]
    none, without = MemoryRecorder(), MemoryRecorder()
    stored(without, CODEC, [fact.event for fact in log.facts if fact.position != 3])
    for table in ("turns", "sub_sessions"):
        assert tables[table] != replayed(open_memory_store(CODEC, none), 1)[0][table]
    assert tables["turns"] == replayed(open_memory_store(CODEC, without), batch_events)[0]["turns"]
