"""Events come back from bytes as they were, and bytes that are not what was written are refused; words are sealed under
one developer's key, and are gone once it is destroyed."""

import stat
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, ClassVar
from uuid import UUID

import msgpack
import msgspec
import pytest
from eventsourcing.persistence import Notification
from hypothesis import given, strategies as st
from msgspec import inspect

from aggregates.decide import TOPICS, UPCASTS, TimePassed
from aggregates.event import DeveloperEvent, Event, NewEvent, RecordedEvent, Words
from aggregates.prices.catalog import Snapshot
from svc.log.codec import Codec, CorruptEvent, UnstorableEvent, rough_bytes
from svc.log.vault import FileKeys, Keys, Vault, VaultError
from tests.fuzz.odd import examples, values
from tests.support.basics import ANA, BEN, MemoryKeys, named, new, passed, prompt
from tests.support.catalogs import changing_lookup, list_rate, lookup, snapshot
from tests.support.tables import each_of

_LEAVES: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
    inspect.BoolType: st.booleans(),
    inspect.BytesType: st.binary(max_size=40),
    inspect.FloatType: st.floats(allow_nan=False),
    inspect.IntType: st.integers(-(2**63), 2**63 - 1),
    inspect.NoneType: st.none(),
    inspect.StrType: st.text(max_size=40),
    inspect.UUIDType: st.uuids(),
}


_NOBODY = {"status": "unknown"}
_SNAPSHOTS = (
    snapshot(),
    snapshot(changing_lookup(), lookup("b", list_rates=[list_rate(unpriced_reason="withdrawn")]), revision=7),
    snapshot(lookup("c", model=_NOBODY, provider={"status": "ambiguous"}, list_rates=[]), revision=2**31 - 1),
)
"""A catalog has rules that hold between its fields."""


def _leaf(kind: inspect.Type, _name: str) -> st.SearchStrategy[Any] | None:
    if isinstance(kind, inspect.StructType) and kind.cls is Snapshot:
        return st.sampled_from(_SNAPSHOTS)
    return _LEAVES.get(type(kind))


@cache
def _events(topic: str) -> st.SearchStrategy[Any]:
    """Made once: each of its parts is checked when it is used for the first time."""
    return values(inspect.type_info(TOPICS[topic]), _leaf)


def _codec(**changes: Any) -> Codec:
    return Codec(Vault(MemoryKeys()), **changes)


def _stored(codec: Codec, event: NewEvent, position: int = 7) -> Notification:
    stored = codec.to_stored_event(event)
    return Notification(stored.originator_id, stored.originator_version, stored.topic, stored.state, id=position)


@pytest.mark.parametrize("topic", TOPICS)
@given(data=st.data(), version=st.integers(1, 2**40), stream_id=st.uuids(), position=st.integers(1, 2**62))
@examples(6)
def test_every_event_comes_back_as_it_was(
    topic: str, data: st.DataObject, version: int, stream_id: UUID, position: int
) -> None:
    """Whatever the types of its class allow survives the log, words included."""
    codec = _codec()
    event = data.draw(_events(topic))
    stored = _stored(codec, NewEvent(stream_id, version, event), position)
    assert codec.to_domain_event(stored) == RecordedEvent(stream_id, version, event, position)
    # A head, a checksum and one or two values that plain msgpack reads, with no byte between or after them.
    length = int.from_bytes(stored.state[18:22], "little")
    fact, words = stored.state[22 : 22 + length], stored.state[22 + length :]
    sealed = msgpack.unpackb(words) if words else {}
    digests = {name: blake2b(text, digest_size=16).digest() for name, text in sealed.items()}
    assert [*msgpack.unpackb(fact)] == [*msgspec.msgpack.decode(fact)]
    assert msgpack.unpackb(fact)[1] == digests


def test_only_the_wanted_words_are_opened() -> None:
    """Whoever needs one or none is spared the rest, and what was done to the rest."""
    codec = _codec()
    event = msgspec.structs.replace(prompt("hello"), cwd=Words("/home/ana"))
    stored = _stored(codec, new("s", event=event))
    spoiled = replace(stored, state=stored.state[:-1] + b"?")
    read = codec.to_domain_event(spoiled, open_words=frozenset({"prompt"})).event
    assert read == msgspec.structs.replace(event, cwd=Words(None))
    closed = codec.to_domain_event(spoiled, open_words=False).event
    assert closed == msgspec.structs.replace(event, prompt=Words(None), cwd=Words(None))


@pytest.mark.parametrize("taken", [False, True], ids=["whole", "after a text was taken away"])
def test_a_changed_byte_anywhere_is_noticed(taken: bool) -> None:
    """Format, version, checksum, fields and sealed words: none can change unseen."""
    codec = _codec()
    stored = _stored(codec, new("s", event=msgspec.structs.replace(prompt("hello"), cwd=Words("/home"))))
    whole = codec.without_words(stored, keep=("cwd",)) if taken else stored.state
    assert whole is not None
    for place in range(len(whole)):
        state = bytearray(whole)
        state[place] ^= 1
        with pytest.raises(CorruptEvent):
            codec.to_domain_event(replace(stored, state=bytes(state)))


@pytest.mark.parametrize(
    "move",
    [
        lambda stored: replace(stored, originator_id=named("another stream")),
        lambda stored: replace(stored, originator_version=2),
        lambda stored: replace(stored, topic="session.claimed"),
        lambda stored: replace(stored, state=stored.state[:-1]),
        lambda stored: replace(stored, state=b""),
    ],
    ids=["stream", "version", "topic", "cut", "empty"],
)
def test_an_event_that_was_moved_or_cut_is_noticed(move: Callable[[Notification], Notification]) -> None:
    """The checksum covers where an event stands, not only what it says."""
    codec = _codec()
    with pytest.raises(CorruptEvent, match="checksum"):
        codec.to_domain_event(move(_stored(codec, new("s"))))


def test_an_unknown_topic_is_named() -> None:
    stored = _stored(_codec(), new("s"))
    with pytest.raises(CorruptEvent, match=r"time\.passed.*newer"):
        _codec(topics={}).to_domain_event(stored)


@pytest.mark.parametrize(
    "event",
    [
        *map(passed, ("noon", 1.5, None, 2**64, -(2**64))),  # type: ignore[arg-type]
        msgspec.structs.replace(prompt("x"), source="\ud800"),
    ],
    ids=["text", "fraction", "nothing", "too large", "too small", "a lone surrogate outside words"],
)
def test_an_event_that_breaks_its_types_is_not_stored(event: Event) -> None:
    """What could not be read back is refused while somebody can still be told."""
    with pytest.raises(UnstorableEvent, match=event.TOPIC):
        _codec().to_stored_event(new("s", event=event))


class _First(Event, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "thing.happened"
    minutes: int


class _Third(Event, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "thing.happened"
    VERSION: ClassVar[int] = 3
    duration_us: int
    owner: str


_STEPS = {
    ("thing.happened", 1): lambda fields: fields | {"seconds": fields.pop("minutes") * 60},
    ("thing.happened", 2): lambda fields: fields | {"duration_us": fields.pop("seconds") * 1_000_000, "owner": "x"},
}


def test_an_old_event_is_brought_up_step_by_step() -> None:
    """Version 1 in the log is version 3 in the program, through both steps."""
    written = _stored(_codec(topics={"thing.happened": _First}), new("s", event=_First(received_at_us=5, minutes=2)))
    read = _codec(topics={"thing.happened": _Third}, upcasts=_STEPS).to_domain_event(written)
    assert read.event == _Third(received_at_us=5, duration_us=120_000_000, owner="x")


def test_an_event_of_a_newer_version_is_named() -> None:
    """There is no way down; an older program says which version it met."""
    event = _Third(received_at_us=5, duration_us=1, owner="x")
    written = _stored(_codec(topics={"thing.happened": _Third}), new("s", event=event))
    with pytest.raises(CorruptEvent, match="version 3"):
        _codec(topics={"thing.happened": _First}).to_domain_event(written)


@each_of(TOPICS)
def test_every_version_can_be_reached_from_the_first(topic: str) -> None:
    """Whoever raises a VERSION writes the upcast with it."""
    assert all((topic, version) in UPCASTS for version in range(1, TOPICS[topic].VERSION))


class _Nested(DeveloperEvent, frozen=True, kw_only=True):
    TOPIC: ClassVar[str] = "nested.words"
    texts: tuple[Words, ...]


class _Ownerless(Event, frozen=True, kw_only=True):
    TOPIC: ClassVar[str] = "ownerless.words"
    text: Words


@pytest.mark.parametrize("cls", [_Nested, _Ownerless])
def test_words_that_would_lie_in_the_clear_are_refused_at_the_start(cls: type[Event]) -> None:
    """Words deeper than a field, or with nobody whose key could seal them, stop the program."""
    with pytest.raises(AssertionError, match=r"words|nobody"):
        _codec(topics={cls.TOPIC: cls})


def test_longer_texts_and_more_records_weigh_more() -> None:
    """The estimate that bounds what waits follows what really takes room."""
    small, large = rough_bytes(prompt("x")), rough_bytes(prompt("x" * 100_000))
    assert rough_bytes(TimePassed(received_at_us=1)) <= small < large - 90_000


def test_a_text_is_taken_away_without_touching_the_fact() -> None:
    """The checksum stays, the text is None, and nobody can read it, key or no key; a second time there is nothing."""
    codec = _codec()
    event = msgspec.structs.replace(prompt("hello"), cwd=Words("/home"))
    stored = _stored(codec, new("s", event=event))
    state = codec.without_words(stored, keep=("cwd",))
    assert state is not None
    taken = replace(stored, state=state)
    assert state[:32] == stored.state[:32]
    assert len(state) < len(stored.state)
    assert codec.to_domain_event(taken).event == msgspec.structs.replace(event, prompt=Words(None))
    assert codec.without_words(taken, keep=("cwd",)) is None


@pytest.fixture(params=["memory", "files"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> Keys:
    """The contract holds wherever the keys lie."""
    return MemoryKeys() if request.param == "memory" else FileKeys(tmp_path / "keys")


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_opens_to_itself(text: str) -> None:
    vault = Vault(MemoryKeys())
    for each in (text, text * 500):
        assert vault.open(vault.seal(ANA, each)) == each


def test_a_seal_shows_nothing_and_opens_by_the_key_alone(keys: Keys) -> None:
    """Another vault over the same keys opens it; equal texts have different seals, long ones take little room."""
    vault, text = Vault(keys), "secret plan " * 100
    one, two = vault.seal(ANA, text), vault.seal(ANA, text)
    assert Vault(keys).open(one) == vault.open(two) == text
    assert one != two
    assert b"plan" not in Vault(keys).seal(ANA, "plan")
    assert len(one) < 200


def test_words_are_gone_once_the_key_is_destroyed(keys: Keys) -> None:
    """Also for a vault that had it at hand and for a person who returns; others' words stay. Twice is as once."""
    vault = Vault(keys)
    old, others = vault.seal(ANA, "forget me"), vault.seal(BEN, "still here")
    for _ in range(2):
        vault.destroy(ANA)
    assert (vault.open(old), Vault(keys).open(old)) == (None, None)
    assert vault.open(vault.seal(ANA, "new")) == "new"
    assert (vault.open(old), vault.open(others)) == (None, "still here")


@pytest.mark.parametrize("place", [0, 25, 36, -1])
def test_a_changed_seal_is_an_error(place: int) -> None:
    """Version, nonce and ciphertext: a changed byte is never read as a text, nor is what is too short."""
    vault = Vault(MemoryKeys())
    sealed = bytearray(vault.seal(ANA, "as it was"))
    sealed[place] ^= 1
    for wrong in (bytes(sealed), b"", b"\x01", b"\x01" + b"x" * 30):
        with pytest.raises(VaultError):
            vault.open(wrong)


def test_digests_agree_for_one_developer_only(keys: Keys) -> None:
    """The same word gives Ana the same number in every vault, and Ben another one."""
    word = "login.py"
    ana = Vault(keys).digester(ANA).number(word)
    assert ana == Vault(keys).digester(ANA).number(word)
    assert ana != Vault(keys).digester(BEN).number(word)


def test_threads_that_need_a_key_at_once_get_the_same_one(keys: Keys) -> None:
    """The first seals of a developer race; every one of them can be opened."""
    vaults = [Vault(keys) for _ in range(4)]
    barrier = Barrier(len(vaults))
    sealed: list[bytes] = []

    def seal(vault: Vault) -> None:
        barrier.wait()
        sealed.append(vault.seal(ANA, "first"))

    threads = [Thread(target=seal, args=(vault,)) for vault in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [Vault(keys).open(each) for each in sealed] == ["first"] * len(vaults)


def test_key_files_are_for_the_server_alone(tmp_path: Path) -> None:
    """The folder has mode 700, each file 600, and nothing else is left behind."""
    folder = tmp_path / "keys"
    Vault(FileKeys(folder)).seal(ANA, "text")
    (key,) = folder.iterdir()
    assert key.name == f"{ANA}.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_torn_key_file_is_named(tmp_path: Path) -> None:
    (tmp_path / f"{ANA}.key").write_bytes(b"short")
    with pytest.raises(VaultError, match=str(ANA)):
        Vault(FileKeys(tmp_path)).seal(ANA, "text")


def test_a_key_that_cannot_be_kept_seals_nothing(tmp_path: Path) -> None:
    """No text is ever sealed under a key that exists in memory only."""
    folder = tmp_path / "keys"
    vault = Vault(FileKeys(folder))
    folder.rmdir()
    with pytest.raises(OSError, match="No such file"):
        vault.seal(ANA, "text")
    folder.mkdir()
    assert vault.open(vault.seal(ANA, "text")) == "text"
