"""Cutting an export into single records.

An export is a tree: resources hold scopes, scopes hold records (or metrics, which hold points). A section is what lies
under one innermost branch; the members beside the branch, on every level, are its heads.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec

from aggregates.redaction.redaction import redact_among
from aggregates.telemetry.source_ids import repaired

T = TypeVar("T")
Signal = Literal["logs", "metrics", "traces"]
Head = dict[str, bytes]
"""Members of an object by name, as JSON; without the one that was gone into."""
CONTAINERS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
"""Where a metric keeps its points."""
Levels = tuple[tuple[str, ...], ...]
LEVELS: dict[Signal, Levels] = {
    "logs": (("resourceLogs",), ("scopeLogs",), ("logRecords",)),
    "traces": (("resourceSpans",), ("scopeSpans",), ("spans",)),
    "metrics": (("resourceMetrics",), ("scopeMetrics",), ("metrics",), CONTAINERS, ("dataPoints",)),
}
"""What is gone into, from the outside in: lists of objects, but for a metric's one container, which is an object."""
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_NULL = msgspec.Raw(b"null")


class NoOtlp(Exception):
    """The body is no OTLP JSON at all; the message says why and where."""


class Section(NamedTuple):
    """Records under one branch."""

    place: str
    """The list they stand in, like `resourceLogs[0].scopeLogs[0].logRecords`."""
    heads: tuple[Head, ...]
    """From the outermost object under the top to the innermost."""
    branch: str
    """The name of the member by which the innermost but one level was gone into: for points the container's."""
    items: list[msgspec.Raw]


def split(data: bytes, signal: Signal) -> list[Section]:
    """The sections of an export in their order. Raises `NoOtlp`."""
    try:
        data.decode()
        members = _OBJECT.decode(repaired(data))
    except RecursionError as error:
        raise NoOtlp("the request body is nested too deeply") from error
    except msgspec.ValidationError as error:
        raise NoOtlp("the request body must be a JSON object") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoOtlp(f"the request body is not JSON in UTF-8: {error}") from error
    return list(_descend(members, LEVELS[signal], "", (), ""))


def _descend(
    members: dict[str, msgspec.Raw], levels: Levels, at: str, heads: tuple[Head, ...], branch: str
) -> Iterator[Section]:
    names, deeper = levels[0], levels[1:]
    if at:
        heads = (*heads, {name: bytes(value) for name, value in members.items() if name not in names})
    for name in names:
        value = members.get(name)
        if value is None or value == _NULL:
            continue
        place = f"{at}.{name}" if at else name
        if not deeper:
            items = _decoded(_ITEMS, value, place, "a list")
            if items:
                yield Section(place, heads, branch, items)
        elif names is CONTAINERS:
            yield from _descend(_decoded(_OBJECT, value, place, "an object"), deeper, place, heads, name)
        else:
            objects = _decoded(_OBJECTS, value, place, "a list of objects")
            for index, each in enumerate(objects):
                if each is not None:
                    yield from _descend(each, deeper, f"{place}[{index}]", heads, "")


def _decoded(decoder: msgspec.json.Decoder[T], value: msgspec.Raw, place: str, expected: str) -> T:
    try:
        return decoder.decode(value)
    except msgspec.DecodeError as error:
        raise NoOtlp(f"{place} must be {expected}") from error


# The part of an export that is kept: OTLP JSON again, with the secrets taken out of every text in it.


_FEW = 8
"""So many secrets are looked for in every text; of more, only those that a text is known to hold."""


class RawRedactor:
    """Takes secrets out of canonical JSON texts and counts them."""

    def __init__(self, *, redaction: bool) -> None:
        self._redaction = redaction
        self.redactions: dict[str, int] = {}

    def clean(self, texts: Sequence[bytes], whole: bytes | None = None) -> Sequence[bytes]:
        """The texts without secrets; `whole` is the JSON that they are pieces of, where they are none themselves."""
        if not self._redaction:
            return texts
        strings = list(_strings(map(_DECODE, texts if whole is None else (whole,))))
        dirty = {
            strings[at]: _Replacement(_ENCODE(strings[at]), *redacted) for at, redacted in redact_among(strings).items()
        }
        if whole is not None or len(dirty) <= _FEW:
            return [self._without(text, dirty.values()) for text in texts]
        return [
            self._without(each, [dirty[name] for name in _strings([_DECODE(each)]) & dirty.keys()]) for each in texts
        ]

    def _without(self, text: bytes, dirty: "Iterable[_Replacement]") -> bytes:
        # A literal stands where a text begins and ends, or behind a backslash inside one, where this does no harm.
        # The longest first: a string may end in what is, behind an escaped quote, another one from end to end.
        for each in sorted(dirty, key=lambda each: -len(each.literal)):
            if each.literal in text:
                text = text.replace(each.literal, _ENCODE(each.text))
                for kind, count in each.counts.items():
                    self.redactions[kind] = self.redactions.get(kind, 0) + count
        return text


class _Replacement(NamedTuple):
    literal: bytes
    text: str
    counts: dict[str, int]


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


def _strings(values: Iterable[object]) -> set[str]:
    """All strings of JSON values, the names of members too; most of a batch repeat, so each is looked at once."""
    found: set[str] = set()
    rest = list(values)
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, dict):
            found.update(value)
            rest += value.values()
    return found


class Branch(msgspec.Struct, frozen=True):
    """How the JSON opens and closes around the records under one branch, from the outside in."""

    opens: tuple[bytes, ...]
    closes: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        """What stands around the records."""
        return sum(map(len, self.opens))


def assembled(top: str, records: Iterable[tuple[Branch, bytes]]) -> str:
    """One export with these records in this order; neighbours under the same branch share it."""
    pieces: list[bytes] = []
    current: Branch | None = None
    for branch, record in records:
        if current is None:
            pieces.extend(branch.opens)
        elif branch is current:
            pieces.append(b",")
        else:
            pieces.extend(_over(current, branch))
        pieces.append(record)
        current = branch
    if current is not None:
        pieces.extend(reversed(current.closes))
    return f'{{"{top}":[{b"".join(pieces).decode()}]}}'


def _over(left: Branch, entered: Branch) -> Iterable[bytes]:
    shared = 0
    while shared < len(left.opens) and left.opens[: shared + 1] == entered.opens[: shared + 1]:
        shared += 1
    yield from reversed(left.closes[shared:])
    yield b","
    yield from entered.opens[shared:]
