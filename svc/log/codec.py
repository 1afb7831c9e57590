"""Events to bytes and back: explicit topics, versions, sealed words, a checksum.

The state of a stored event is: format (1 byte), version of the event class (1), checksum (16), length of the
fact (4, little-endian), the fact, and the words. The fact is msgpack of `[event, digests]`: in `event` every
`Words` is empty, `digests` maps the name of each such field to the digest of its sealed text. The words are msgpack
of the same names with the texts, sealed under the developer's key. So an event is decoded straight into its class,
and whoever needs no words does not even touch them. The checksum covers the stream, the version in it, the topic and
the fact, and through the digests the texts, of which each may be taken away.
"""

from collections.abc import Collection, Mapping
from functools import cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgpack
import msgspec
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, Notification, StoredEvent, Transcoder
from msgspec.structs import astuple, fields, replace

from aggregates.decide import TOPICS, UPCASTS, Upcast, upcast
from aggregates.event import DeveloperEvent, Event, NewEvent, RecordedEvent, Unavailable, Words
from svc.log.vault import Vault, VaultError

_FORMAT = 2
_CHECKSUM_BYTES = 16
_DIGEST_BYTES = 16
_LENGTH_BYTES = 4
_HEADER_BYTES = 2 + _CHECKSUM_BYTES
_DOES_NOT_FIT = "the checksum does not fit what is stored"
_NO_WORDS = Words(None)
_Body = tuple[Event, dict[str, bytes]]  # an event and, by the name of each field of words, the digest of its text
OpenWords = bool | frozenset[str]  # which words of events are opened: all, none, or those of the fields of these names


class CorruptEvent(Unavailable):
    """A stored event was changed, or was written by a program that this one does not know."""

    def __init__(self, stored: StoredEvent, reason: str) -> None:
        assert isinstance(stored.originator_id, UUID)
        self.position: int = getattr(stored, "id", 0)
        self.topic = stored.topic
        self.stream_id, self.version = stored.originator_id, stored.originator_version
        place = f"stream {self.stream_id}, version {self.version}, topic {self.topic!r}"
        self.what = f"event at position {self.position} ({place}): {reason}"
        super().__init__(f"{self.what}; run `svc verify`, and restore the newest backup that verifies")

    @property
    def told(self) -> str:
        return f"what this rests on is damaged in the log: {self}"


class UnstorableEvent(Exception):
    """An event holds a value that its class would refuse when read back; it was not stored."""


class Msgpack(Transcoder):
    _encoder = msgspec.msgpack.Encoder(uuid_format="bytes")

    def encode(self, obj: Any) -> bytes:
        return self._encoder.encode(obj)

    def decode(self, data: bytes) -> Any:
        return msgpack.unpackb(data)


class Codec(Mapper[UUID]):
    """Maps `NewEvent` to the library's `StoredEvent`, and `Notification` to `RecordedEvent`; for any thread."""

    def __init__(
        self,
        vault: Vault,
        topics: Mapping[str, type[Event]] = TOPICS,
        upcasts: Mapping[tuple[str, int], Upcast] = UPCASTS,
    ) -> None:
        super().__init__(Msgpack())
        self.vault = vault
        self._upcasts = upcasts
        self._kinds = {topic: _kind(topic, cls) for topic, cls in topics.items()}

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Raises UnstorableEvent where a field breaks its type, OSError where a new key could not be kept."""
        assert isinstance(domain_event, NewEvent)
        event, sealed = domain_event.event, dict[str, bytes]()
        kind = self._kinds[event.TOPIC]
        if kind.words:
            assert isinstance(event, DeveloperEvent)
            texts = {name: words.text for name in kind.words if (words := getattr(event, name)) is not None}
            for name, text in texts.items():
                if text is not None:
                    sealed[name] = self.vault.seal(event.developer_id, text)
            event = replace(event, **dict.fromkeys(texts, _NO_WORDS))
        try:
            fact = self.transcoder.encode((event, _digests(sealed)))
            kind.decoder.decode(fact)
        except (msgspec.MsgspecError, OverflowError, UnicodeEncodeError, TypeError) as error:
            raise UnstorableEvent(f"{kind.topic}: {error}") from error
        place = (domain_event.stream_id, domain_event.version, kind.topic)
        return StoredEvent(*place, _state(_checksum(*place, kind.head, fact), kind.head, fact, sealed))

    def to_domain_event(self, stored_event: StoredEvent, *, open_words: OpenWords = True) -> RecordedEvent:
        """Decode an event; words that are not wanted stay empty. Raises CorruptEvent."""
        assert isinstance(stored_event, Notification), "only what stands in the log has a position"
        kind = self._kinds.get(stored_event.topic)
        if kind is None:
            raise CorruptEvent(stored_event, "unknown topic; was it written by a newer program?")
        _, head, fact, words = _verified(stored_event)
        try:
            if head[1] == kind.version:
                event, digests = kind.decoder.decode(fact)
            else:
                written, digests = self.transcoder.decode(fact)
                written = upcast(kind.topic, written, written=head[1], wanted=kind.version, steps=self._upcasts)
                event, digests = msgspec.convert((written, digests), kind.shape)
            if digests and open_words:
                event = replace(event, **self._opened(digests, _sealed_words(words), open_words))
        except (msgspec.MsgspecError, ValueError, VaultError, KeyError) as error:
            raise CorruptEvent(stored_event, str(error)) from error
        stream_id = stored_event.originator_id
        assert isinstance(stream_id, UUID)
        return RecordedEvent(stream_id, stored_event.originator_version, event, stored_event.id)

    def _opened(
        self, digests: Mapping[str, bytes], sealed: Mapping[str, bytes], wanted: OpenWords
    ) -> Mapping[str, Words]:
        """The texts of the fields that are wanted; None where one was taken away."""
        names = digests if wanted is True else [name for name in digests if wanted and name in wanted]
        there = {name: sealed[name] for name in names if name in sealed}
        if not sealed.keys() <= digests.keys() or _digests(there) != {name: digests[name] for name in there}:
            raise VaultError(_DOES_NOT_FIT)
        return {name: Words(self.vault.open(there[name]) if name in there else None) for name in names}

    def without_words(self, stored: Notification, keep: Collection[str]) -> bytes | None:
        """The state without its texts except those kept; None where nothing changes. Raises CorruptEvent."""
        checksum, head, fact, words = _verified(stored)
        try:
            kept = {name: text for name, text in _sealed_words(words).items() if name in keep} if keep else {}
        except (msgspec.MsgspecError, ValueError):
            return None  # nobody can tell them apart
        state = _state(checksum, head, fact, kept)
        return None if len(state) == len(stored.state) else state


class _Kind:
    def __init__(self, topic: str, cls: type[Event]) -> None:
        assert topic == cls.TOPIC, f"{cls.__name__} stands under a topic that is not its own"
        self.topic = topic
        self.version = cls.VERSION
        self.head = bytes((_FORMAT, cls.VERSION))
        self.words = tuple(field.name for field in fields(cls) if field.type in (Words, Words | None))
        self.shape: type[_Body] = tuple[cls, dict[str, bytes]]  # type: ignore[valid-type]
        self.decoder = msgspec.msgpack.Decoder(self.shape)
        assert not self.words or issubclass(cls, DeveloperEvent), f"nobody's key seals {topic}"
        # Deeper words would be stored in the clear.
        mentioned = str(msgspec.json.schema(cls)).count(f"$defs/{Words.__name__}'")
        assert mentioned == len(self.words), f"{cls.__name__} holds words below its own fields"


_kind = cache(_Kind)  # looking at a class takes a while, and every codec of a process looks at the same ones


def _state(checksum: bytes, head: bytes, fact: bytes, sealed: Mapping[str, bytes]) -> bytes:
    words = msgpack.packb(sealed) if sealed else b""
    return b"".join((head, checksum, len(fact).to_bytes(_LENGTH_BYTES, "little"), fact, words))


def _digests(sealed: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: blake2b(text, digest_size=_DIGEST_BYTES).digest() for name, text in sealed.items()}


def _sealed_words(words: bytes) -> dict[str, bytes]:
    return msgspec.convert(msgpack.unpackb(words), dict[str, bytes]) if words else {}


def _checksum(stream_id: UUID, version: int, topic: str, head: bytes, fact: bytes) -> bytes:
    place = b"%b%d %b\n%b" % (stream_id.bytes, version, topic.encode(), head)
    return blake2b(place + fact, digest_size=_CHECKSUM_BYTES).digest()


def _verified(stored: StoredEvent) -> tuple[bytes, bytes, bytes, bytes]:
    """Its checksum, head, fact and words."""
    state, stream_id = stored.state, stored.originator_id
    head, checksum, rest = state[:2], state[2:_HEADER_BYTES], state[_HEADER_BYTES:]
    end = _LENGTH_BYTES + int.from_bytes(rest[:_LENGTH_BYTES], "little")
    fact, words = rest[_LENGTH_BYTES:end], rest[end:]
    assert isinstance(stream_id, UUID)
    fits = checksum == _checksum(stream_id, stored.originator_version, stored.topic, head, fact)
    if head[:1] != bytes((_FORMAT,)) or not fits:
        raise CorruptEvent(stored, _DOES_NOT_FIT)
    return checksum, head, fact, words


_BYTES_EACH: dict[type, int] = {str: 2, bytes: 1, tuple: 250, **dict.fromkeys((UUID, int, bool, float, type(None)), 0)}
"""Of a character, an item."""


def rough_bytes(held: msgspec.Struct) -> int:
    """About how much memory a command or an event takes: cheap, and never far too low for large ones."""
    size_bytes = 400
    for value in astuple(held):
        if each := _BYTES_EACH.get(type(value)):
            size_bytes += each * len(value)
        elif each is None and isinstance(value, msgspec.Struct):
            size_bytes += rough_bytes(value)
    return size_bytes
