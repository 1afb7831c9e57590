"""What every fact and every wish has: the bases of all events and commands, and the answer to a command."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from hashlib import blake2b
from struct import pack, unpack
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, TypeVar
from uuid import UUID

import msgspec

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=msgspec.Struct)


class Mendable(Exception):
    """The base of errors that a person can do something about: the message says what, in a sentence."""


class Unavailable(Mendable):
    """The service cannot take or answer this now. Answered as 503, Retry-After 5."""

    @property
    def told(self) -> str:
        """What clients hear: the message, unless it holds what is the operator's alone."""
        return str(self)


class Newest(OrderedDict[K, V]):
    """So many that were put in last; the others are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every fact. `received_at_us`: microseconds since 1970, UTC, when the server took it."""

    TOPIC: ClassVar[str]
    VERSION: ClassVar[int] = 1

    received_at_us: int


class NewEvent(msgspec.Struct, frozen=True):
    """An event for the log."""

    stream_id: UUID
    version: int  # from 1, that it is to have in the stream
    event: Event

    @property
    def originator_id(self) -> UUID:
        """As the library of the log calls it."""
        return self.stream_id

    @property
    def originator_version(self) -> int:
        return self.version


class RecordedEvent(NewEvent, frozen=True):
    position: int  # in the log: from 1, growing, gaps allowed


class DeveloperEvent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A fact within one developer's scope; its words are sealed under that developer's key."""

    organization_id: UUID
    developer_id: UUID

    @property
    def scope(self) -> "Scope":
        return Scope(self.organization_id, self.developer_id)


class SentEvent(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """A fact that is sent as it is to be kept: a command and its event in one. Its sender leaves out the time."""

    received_at_us: int = 0


def events_of(module: ModuleType) -> list[type[Event]]:
    """The facts that a module defines or imports, each known by a topic of its own."""
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Event)]
    return [event for event in found if "TOPIC" in vars(event)]


class Words(msgspec.Struct, frozen=True):
    """A redacted text, sealed under its developer's data key when stored; None once that key is destroyed."""

    text: str | None


class Redacted(NamedTuple):
    """A text with `[REDACTED:kind]` for each secret, and how many of each kind there were."""

    text: str
    counts: dict[str, int]


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A half-open range of characters [start, end) in a `Words` value of the same event."""

    start: int
    end: int


def cut(words: Words, span: Span | None) -> str | None:
    """The text a span points at, or None where there is no span or the words are gone."""
    if span is None or words.text is None:
        return None
    return words.text[span.start : span.end]


class Scope(msgspec.Struct, frozen=True):
    """One developer within one organization: every personal query names it."""

    organization_id: UUID
    developer_id: UUID


_WORDS_REMEMBERED = 8_000
_WORD_CHARS_MAX = 200
"""Words and paths repeat; digesting those of a prompt anew takes a tenth of the time that reading it takes."""


class Digester:
    """Digests under one developer's key, without which nobody can tell which word gave a number."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, int] = {}
        """Looked up for each word of each text: a plain dictionary takes half of the time of `lru_cache`."""

    def number(self, text: str) -> int:
        """A 63-bit number that fits an SQLite integer."""
        known = self._known.get(text)
        return self._number(text) if known is None else known

    def _number(self, text: str) -> int:
        number = int.from_bytes(self.digest(text)[:8], "big") >> 1
        if len(text) <= _WORD_CHARS_MAX:
            if len(self._known) >= _WORDS_REMEMBERED:
                self._known.clear()
            self._known[text] = number
        return number

    def numbers(self, texts: Iterable[str]) -> list[int]:
        known, new = self._known.get, self._number
        return [new(text) if (number := known(text)) is None else number for text in texts]

    def digest(self, text: str) -> bytes:
        """16 bytes; decides whether two texts as received are the same."""
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._key).digest()


def packed(numbers: Sequence[int]) -> bytes:
    """A digester's numbers as bytes, which cost nothing to read back until they are used."""
    return pack(f"<{len(numbers)}q", *numbers)


def unpacked(data: bytes) -> tuple[int, ...]:
    return unpack(f"<{len(data) // 8}q", data)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A wish of one developer; it may be refused."""

    organization_id: UUID
    developer_id: UUID

    @property
    def scope(self) -> Scope:
        return Scope(self.organization_id, self.developer_id)


def origin(command: "Command | DeveloperEvent", now_us: int) -> dict[str, Any]:
    """What each event tells of the command that it comes from."""
    return {"received_at_us": now_us, "organization_id": command.organization_id, "developer_id": command.developer_id}


def shaped(kind: type[S], *sources: object, **told: object) -> S:
    """A value whose fields are those of the same names of its sources, of the first that has each; the rest is told."""
    for name, place in _alike(kind, *map(type, sources)):
        if name not in told:
            told[name] = getattr(sources[place], name)
    return kind(**told)


@cache  # captures and records are made so: to ask each source for each name took a tenth of a millisecond
def _alike(kind: type[msgspec.Struct], *sources: type) -> Sequence[tuple[str, int]]:
    """The fields that a source has, each with the place of the first that does."""
    places = {name: [hasattr(each, name) for each in sources] for name in kind.__struct_fields__}
    return [(name, has.index(True)) for name, has in places.items() if any(has)]


class Reason(Enum):
    NOT_FOUND = "not found"
    CONFLICT = "conflict"
    FOREIGN_SESSION = "foreign session"
    INVALID = "invalid"
    WITHHELD = "withheld"


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A command that was not carried out, and the sentence for the person who sent it."""

    reason: Reason
    message: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    """A command that is on disk. `created` is False where it had been carried out before."""

    created: bool
    id: UUID | None = None
    corrected: bool = False  # whether it counts in place of what an import had told before


Reply = Done | Refused


class Decision(msgspec.Struct, frozen=True):
    """What to append, and what to answer once it is on disk."""

    events: tuple[tuple[UUID, Event], ...]
    reply: Reply


def refused(reason: Reason, message: str, *events: tuple[UUID, Event]) -> Decision:
    return Decision(events, Refused(reason, message))


class Context(msgspec.Struct, frozen=True):
    """What enters from outside: the time of receipt, the developer's digester, whether secrets are taken out."""

    now_us: int
    digester: Digester
    redaction: bool


class Exists(msgspec.Struct, frozen=True):
    """A stream of which only its existence matters."""


Streams = Mapping[UUID, object]
"""Stream id → its state. A decision asks for the kind of state that it knows, so no slice needs the others' types."""
