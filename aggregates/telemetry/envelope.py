"""Cutting an export into single records, reading what stands above them, and putting what is kept together again.

An export is a tree: resources hold scopes, scopes hold records (or metrics, which hold points in a container). A
section is what lies in one innermost list; the members beside the way there, on every level, are its heads.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, takewhile
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from aggregates.event import Redacted
from aggregates.telemetry.agents import Agent, agent_of_sender
from aggregates.telemetry.otlp import RESOURCE, SCOPE, Fault, Plain, SourceIds, attributes_of, canonical, decoded

T = TypeVar("T")
Signal = Literal["logs", "metrics", "traces"]
Head = dict[str, bytes]  # members of an object by name, as JSON; without the one that was gone into
CONTAINERS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")  # where a metric keeps its points
Levels = tuple[tuple[str, ...], ...]
LEVELS: dict[Signal, Levels] = {
    "logs": (("resourceLogs",), ("scopeLogs",), ("logRecords",)),
    "traces": (("resourceSpans",), ("scopeSpans",), ("spans",)),
    "metrics": (("resourceMetrics",), ("scopeMetrics",), ("metrics",), CONTAINERS, ("dataPoints",)),
}
"""What is gone into, from the outside in: lists of objects, but for a metric's one container, which is an object."""
HEADS_BYTES_MAX = 256 * 1024
"""What stands above a record is kept with every part of an export; Gemini's resource has a few kilobytes."""
CONTEXTS_KEPT = 32  # an agent sends the same in every export; at most some 20 MiB
RESOURCE_TEXT_BYTES_MAX = 4 * 1024  # a longer text is cut: Gemini tells its command line there, with the whole prompt
_PIECE_BYTES = 64 * 1024
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_SORTED = msgspec.json.Encoder(order="sorted")
Rest = Callable[[], object]  # is called between pieces of work, so that whoever waits for the interpreter may go first


def without_rest() -> None:
    """Nobody waits, or the work is short."""


class NoOtlp(Exception):
    """The body is no OTLP JSON at all; the message says why and where."""


class Section(NamedTuple):
    place: str  # the list they stand in, like `resourceLogs[0].scopeLogs[0].logRecords`
    heads: tuple[Head, ...]  # from the outermost object under the top to the innermost
    container: str  # of points
    items: list[msgspec.Raw]


def values_in(data: bytes, enough: int) -> int:
    """About how many values JSON text holds, or a little more than `enough`; none of them is built.

    In pieces: a search through all of it at once would hold up every other thread.
    """
    if (count := data.count(b",")) <= enough:
        return count
    count = place = 0
    while place < len(data) and count <= enough:
        until = min(place + _PIECE_BYTES, len(data))
        quote = data.find(b'"', place, until)
        count += data.count(b",", place, until if quote < 0 else quote)
        text = None if quote < 0 else _TEXT.match(data, quote)
        place = until if quote < 0 else len(data) if text is None else text.end()
    return count


def _level(name: str, within: str, kind: Any) -> type[msgspec.Struct]:
    """An object above records. Members that OTLP does not name mean nothing there, and are not kept."""
    fields = [(each, msgspec.Raw, msgspec.Raw()) for each in ("head", "schemaUrl")]
    names = {"head": name, "within": within}
    return msgspec.defstruct("Level", [*fields, ("within", list[kind] | None, None)], rename=names, gc=False)


_BODIES: dict[Signal, msgspec.json.Decoder[Any]] = {}
for _signal, ((_top,), (_middle,), (_inner,), *_deeper) in LEVELS.items():
    _scope = _level("scope", _inner, dict[str, msgspec.Raw] | None if _deeper else msgspec.Raw)
    _BODIES[_signal] = msgspec.json.Decoder(_level("", _top, _level("resource", _middle, _scope | None) | None))


def split(data: bytes, signal: Signal, rest: Rest = without_rest) -> list[Section]:
    """The sections of an export in their order. Raises `NoOtlp`.

    A look through the data holds every other thread up, some 12 ms for 16 MiB: so there is a rest after each.
    """
    try:
        data.decode()
        rest()
        body = decoded(_BODIES[signal], data)
    except RecursionError as error:
        raise NoOtlp("the request body is nested too deeply") from error
    except msgspec.ValidationError as error:
        raise NoOtlp(f"the request body does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoOtlp(f"the request body is not JSON in UTF-8: {error}") from error
    rest()
    return [section for section in _sections(body, signal, rest) if section.items]


def _sections(body: Any, signal: Signal, rest: Rest) -> Iterator[Section]:
    (top,), (middle,), (inner,) = LEVELS[signal][:3]
    for index, resource in enumerate(body.within or ()):
        rest()
        above = _head(resource, "resource")  # once, for it was sent once
        for at, scope in enumerate((resource and resource.within) or ()):
            place, items = f"{top}[{index}].{middle}[{at}].{inner}", (scope and scope.within) or []
            heads = above, _head(scope, "scope")
            if signal != "metrics":
                yield Section(place, heads, "", items)
            for number, metric in enumerate(items if signal == "metrics" else ()):
                yield from _points(metric or {}, heads, f"{place}[{number}]")


def _head(above: Any, name: str) -> Head:
    members = {} if above is None else {name: bytes(above.head), "schemaUrl": bytes(above.schemaUrl)}
    return {each: value for each, value in members.items() if value}


def _points(metric: dict[str, msgspec.Raw], heads: tuple[Head, ...], place: str) -> Iterator[Section]:
    alone = {name: bytes(value) for name, value in metric.items() if name not in CONTAINERS}
    for name in filter(metric.__contains__, CONTAINERS):
        try:
            container = _OBJECT.decode(metric[name]) or {}
            items = _ITEMS.decode(container.pop("dataPoints", b"null")) or []
        except msgspec.ValidationError as error:
            raise NoOtlp(f"{place}.{name} must be an object whose dataPoints are a list") from error
        beside = {each: bytes(value) for each, value in container.items()}
        yield Section(f"{place}.{name}.dataPoints", (*heads, alone, beside), name, items)


# What is kept of an export is OTLP JSON again, with the secrets taken out of every text in it. All of it is canonical
# JSON. That is why a text can be found, and replaced, by its bytes between two quotes: those stand nowhere else but
# where a text begins and ends, or inside a text behind a backslash, where it does no harm.

_STRINGS = msgspec.json.Decoder(list[str])
_BACKSLASH, _QUOTE = b"\x01", b"\x02"  # stand in for their escaped forms; JSON has no bare control characters
_APART, _RECORD = b"\x03", b"\x04"  # between two attributes; between two texts
_ATTRIBUTE = b'{"key":'  # so begins each, outside of any text
_SOUGHT_MAX = 8  # of more strings that hold secrets it is not sought in which attributes they stand


def without_secrets(texts: Sequence[bytes], beside: Iterable[str] = ()) -> tuple[list[bytes], dict[str, Redacted]]:
    """The texts, and what was found in each string in them, and in those `beside`, that held a secret."""
    from aggregates.reading.redaction import redact_among  # late: loaded with the first text

    # Records repeat most of their attributes, so each is looked through once.
    attributes = _RECORD.join(texts).split(_ATTRIBUTE)
    known = {each: each for each in attributes}
    whole = _APART.join(known).replace(b"\\\\", _BACKSLASH).replace(b'\\"', _QUOTE)
    # Every second piece is a string, members' names too, still escaped.
    written = dict.fromkeys(whole.split(b'"')[1::2])
    strings = _STRINGS.decode(_restored(b'["%s"]' % b'","'.join(written))) if written else []
    looked = [*dict.fromkeys(chain(strings, beside))]
    dirty = {looked[index]: found for index, found in redact_among(looked).items()}
    if not dirty:
        return list(texts), dirty
    held = {each: text for each, text in zip(written, strings, strict=True) if text in dirty}
    cleaned = {each: msgspec.json.encode(dirty[text].text)[1:-1] for each, text in held.items()}
    found_at = (accumulate(each.count(_APART) for each in whole.split(one)[:-1]) for one in held)
    places = range(len(known)) if len(held) > _SOUGHT_MAX else set(chain.from_iterable(found_at))
    distinct, masked = [*known], whole.split(_APART)
    for place in places:
        pieces = masked[place].split(b'"')
        pieces[1::2] = [cleaned.get(each, each) for each in pieces[1::2]]
        known[distinct[place]] = _restored(b'"'.join(pieces))
    return _ATTRIBUTE.join(map(known.__getitem__, attributes)).split(_RECORD), dirty


def _restored(text: bytes) -> bytes:
    return text.replace(_QUOTE, b'\\"').replace(_BACKSLASH, b"\\\\")


class Metric(msgspec.Struct, frozen=True, rename="camel"):
    """A metric without its points, and of its container what stands for all of them."""

    name: str | None = None
    unit: str | None = None
    aggregation_temporality: Any = None
    is_monotonic: bool | None = None


_METRIC = msgspec.json.Decoder(Metric)


class SectionContext(msgspec.Struct, frozen=True):
    """What stands above the records of a section, worked out once for all of them."""

    agent: Agent  # as far as the resource and the scope tell
    resource: dict[str, Plain]
    ids: SourceIds
    opens: tuple[bytes, ...]  # how the JSON opens and closes around its records, from the outside in
    closes: tuple[bytes, ...]
    head_bytes: int  # of what opens
    metric: Metric | None
    container: str  # the name of a metric's container
    series: bytes  # what tells the series of a metric apart from others, but for the point's own attributes


@lru_cache(CONTEXTS_KEPT)
def context_of(
    heads: tuple[tuple[tuple[str, bytes], ...], ...], container_name: str, signal: Signal, *, redaction: bool
) -> SectionContext:
    """Raises `Fault` where what stands above the records is not what OTLP says."""
    outer, inner, *rest = ({name: canonical(value) for name, value in head} for head in heads)
    resource, scope = outer.get("resource"), inner.get("scope")
    if resource is not None:
        outer["resource"] = _TEXT.sub(_shortened, resource)
    size_bytes = sum(len(value) for head in (outer, inner, *rest) for value in head.values())
    if size_bytes > HEADS_BYTES_MAX:
        raise Fault(f"its resource, scope and metric have {size_bytes} bytes, and may have {HEADS_BYTES_MAX}")
    attributes = attributes_of(_fitting(RESOURCE, resource, "resource").attributes)
    known_scope = _fitting(SCOPE, scope, "scope")
    attributes_of(known_scope.attributes)
    above = [resource, outer.get("schemaUrl"), scope, inner.get("schemaUrl")]
    lists = [b'"%s":[' % names[0].encode() for names in LEVELS[signal][1:] if names is not CONTAINERS]
    opens, closes = [_opening(outer, lists[0]), _opening(inner, lists[1])], [b"]}", b"]}"]
    metric, series = None, b""
    if signal == "metrics":
        alone, container = rest
        # Outside of the container these two mean nothing.
        for_all = {name: container.get(name, b"null") for name in ("aggregationTemporality", "isMonotonic")}
        metric = _fitting(_METRIC, _object(alone | for_all), "metric")
        series = b",".join([resource or b"", scope or b"", msgspec.json.encode(metric.name or "")])
        above.append(_object(alone | {container_name: _object(container)}))
        opens.append(_opening(alone, b'"%s":%s' % (container_name.encode(), _opening(container, lists[2]))))
        closes.append(b"]}}")
    if redaction:
        # An opening is no whole JSON text, but its strings stand between quotes like those of one.
        opens, _ = without_secrets(opens)
    return SectionContext(
        agent=agent_of_sender(attributes, known_scope.name or ""),
        resource=attributes,
        ids=SourceIds(above),
        opens=tuple(opens),
        closes=tuple(closes),
        head_bytes=sum(map(len, opens)),
        metric=metric,
        container=container_name,
        series=series,
    )


def _shortened(text: re.Match[bytes]) -> bytes:
    if len(text[0]) <= RESOURCE_TEXT_BYTES_MAX:
        return text[0]
    return msgspec.json.encode(msgspec.json.decode(text[0], type=str)[: RESOURCE_TEXT_BYTES_MAX // 4])


def _object(head: Head) -> bytes:
    return _SORTED.encode({name: msgspec.Raw(value) for name, value in head.items()})


def _opening(head: Head, last: bytes) -> bytes:
    return b"%s%s%s" % (_object(head)[:-1], b"," if head else b"", last)


def _fitting(decoder: msgspec.json.Decoder[T], data: bytes | None, what: str) -> T:
    try:
        return decoder.decode(b"{}" if data in (None, b"null") else data)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its {what} does not fit: {error}") from error


def assembled(top: str, contexts: Iterable[SectionContext], records: Iterable[bytes]) -> str:
    """One export with these records in this order; neighbours share what opens alike."""
    pieces: list[bytes] = []
    opens: tuple[bytes, ...] = ()
    closes: tuple[bytes, ...] = ()
    for context, record in zip(contexts, records, strict=True):
        shared = len(context.opens)
        if context.opens is not opens:
            levels = zip(opens, context.opens, strict=False)
            shared = len(list(takewhile(lambda level: level[0] == level[1], levels)))
            pieces += reversed(closes[shared:])
        if pieces:
            pieces.append(b",")
        pieces += (*context.opens[shared:], record)
        opens, closes = context.opens, context.closes
    pieces += reversed(closes)
    return f'{{"{top}":[{b"".join(pieces).decode()}]}}'
