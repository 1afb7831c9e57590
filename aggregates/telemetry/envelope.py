"""Cutting an export into single records.

An export is a tree: resources hold scopes, scopes hold records (or metrics, which hold points). A section is what lies
under one innermost branch; the members beside the branch, on every level, are its heads.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple, TypeVar

import msgspec

from aggregates.telemetry.otlp import RESOURCE, SCOPE, Fault, Plain, SourceIds, attributes_of, canonical, repaired

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

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_NULL = msgspec.Raw(b"null")


Rest = Callable[[], object]  # is called between pieces of work, so that whoever waits for the interpreter may go first


def without_rest() -> None:
    """Nobody waits, or the work is short."""


class NoOtlp(Exception):
    """The body is no OTLP JSON at all; the message says why and where."""


class Section(NamedTuple):
    place: str  # the list they stand in, like `resourceLogs[0].scopeLogs[0].logRecords`.
    heads: tuple[Head, ...]  # from the outermost object under the top to the innermost
    branch: str  # the name of the member by which the innermost but one level was gone into: for points the container's
    items: list[msgspec.Raw]


_PIECE_BYTES = 64 * 1024
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


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


def split(data: bytes, signal: Signal, rest: Rest = without_rest) -> list[Section]:
    """The sections of an export in their order. Raises `NoOtlp`.

    Each look through the data holds every other thread up, some 12 ms for 16 MiB: so there is a rest after each.
    """
    try:
        data.decode()
        rest()
        members = _OBJECT.decode(repaired(data))
    except RecursionError as error:
        raise NoOtlp("the request body is nested too deeply") from error
    except msgspec.ValidationError as error:
        raise NoOtlp("the request body must be a JSON object") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoOtlp(f"the request body is not JSON in UTF-8: {error}") from error
    return list(_descend(members, LEVELS[signal], "", (), "", rest))


def _descend(
    members: dict[str, msgspec.Raw], levels: Levels, at: str, heads: tuple[Head, ...], branch: str, rest: Rest
) -> Iterator[Section]:
    names, deeper = levels[0], levels[1:]
    rest()
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
            yield from _descend(_decoded(_OBJECT, value, place, "an object"), deeper, place, heads, name, rest)
        else:
            objects = _decoded(_OBJECTS, value, place, "a list of objects")
            for index, each in enumerate(objects):
                if each is not None:
                    yield from _descend(each, deeper, f"{place}[{index}]", heads, "", rest)


def _decoded(decoder: msgspec.json.Decoder[T], value: msgspec.Raw, place: str, expected: str) -> T:
    try:
        return decoder.decode(value)
    except msgspec.DecodeError as error:
        raise NoOtlp(f"{place} must be {expected}") from error


# The part of an export that is kept: OTLP JSON again, with the secrets taken out of every text in it.
#
# All of it is canonical JSON. That is why a text can be found, and replaced, by its bytes between two quotes: those
# stand nowhere else but where a text begins and ends, or inside a text behind a backslash, where it does no harm.

_BACKSLASH, _QUOTE = b"\x01", b"\x02"  # stand in for their escaped forms; JSON has no bare control characters


class RawRedactor:
    """Takes secrets out of JSON texts and counts them."""

    def __init__(self, *, redaction: bool) -> None:
        self._redaction = redaction
        self.redactions: Counter[str] = Counter()

    def clean(self, texts: Sequence[bytes]) -> Sequence[bytes]:
        """The texts without secrets; each string of all of them is looked through once."""
        if not self._redaction:
            return texts
        from aggregates.redaction.redaction import redact_among  # late: loaded with the first text

        strings = list({string for text in texts for string in _cut_at_quotes(text)[1::2]})
        plain = msgspec.json.decode(_joined([b"[", b'","'.join(strings), b"]"]), type=list[str]) if strings else []
        found = redact_among(plain)
        dirty = {strings[index]: (msgspec.json.encode(text)[1:-1], counts) for index, (text, counts) in found.items()}
        return [self._without(dirty, text) for text in texts] if dirty else texts

    def _without(self, dirty: Mapping[bytes, tuple[bytes, dict[str, int]]], text: bytes) -> bytes:
        """A text with its dirty strings replaced; one that repeats in it counts once."""
        pieces = _cut_at_quotes(text)
        found = dirty.keys() & set(pieces[1::2])
        for each in found:
            self.redactions.update(dirty[each][1])
        pieces[1::2] = [dirty[each][0] if each in found else each for each in pieces[1::2]]
        return _joined(pieces) if found else text


def _cut_at_quotes(text: bytes) -> list[bytes]:
    """Canonical JSON text in pieces: every second one is a string, members' names too, still escaped."""
    escapes = b"\\" in text
    return (text.replace(b"\\\\", _BACKSLASH).replace(b'\\"', _QUOTE) if escapes else text).split(b'"')


def _joined(pieces: Sequence[bytes]) -> bytes:
    return b'"'.join(pieces).replace(_QUOTE, b'\\"').replace(_BACKSLASH, b"\\\\")


class Branch(msgspec.Struct, frozen=True):
    """How the JSON opens and closes around the records under one branch, from the outside in."""

    opens: tuple[bytes, ...]
    closes: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.opens))


def assembled(signal: Signal, branches: Iterable[Branch], records: Iterable[bytes]) -> str:
    """One export with these records in this order; neighbours under the same branch share it."""
    pieces: list[bytes] = []
    current = Branch((), ())
    for branch, record in zip(branches, records, strict=True):
        shared = len(branch.opens)
        if branch is not current:
            levels = zip(current.opens, branch.opens, strict=False)
            shared = len(list(takewhile(lambda level: level[0] == level[1], levels)))
            pieces += reversed(current.closes[shared:])
        if pieces:
            pieces.append(b",")
        pieces += (*branch.opens[shared:], record)
        current = branch
    pieces += reversed(current.closes)
    return f'{{"{LEVELS[signal][0][0]}":[{b"".join(pieces).decode()}]}}'


# What stands above a record: who sends, by which part, and all that is worked out once for every record below.

Agent = Literal["claude-code", "codex", "gemini", "copilot", "opencode", "svc", "unknown"]
"""Who speaks: one vocabulary each."""


class Metric(msgspec.Struct, frozen=True, rename="camel"):
    """A metric without its points, and of these what stands for all."""

    name: str | None = None
    description: str | None = None
    unit: str | None = None
    aggregation_temporality: int | None = None
    is_monotonic: bool | None = None


_METRIC = msgspec.json.Decoder(Metric)


class SectionContext(msgspec.Struct, frozen=True):
    agent: Agent  # as far as the resource and the scope tell
    resource: dict[str, Plain]
    ids: SourceIds
    branch: Branch
    metric: Metric | None
    container: str  # the name of a metric's container
    series: bytes  # what tells the series of a metric apart from others, but for the point's own attributes


class SectionContexts:
    """Makes contexts, and remembers those it made: an export repeats them."""

    def __init__(self, signal: Signal, redactor: RawRedactor) -> None:
        self._signal = signal
        self._redactor = redactor
        self._known: dict[tuple[object, ...], SectionContext] = {}

    def of(self, section: Section) -> SectionContext:
        """The context of a section. Raises `Fault` where its heads are not what OTLP says."""
        key = (section.branch, *(tuple(head.items()) for head in section.heads))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._made(section)
        return known

    def _made(self, section: Section) -> SectionContext:
        size_bytes = sum(len(value) for head in section.heads for value in head.values())
        if size_bytes > HEADS_BYTES_MAX:
            raise Fault(f"its resource, scope and metric have {size_bytes} bytes, and may have {HEADS_BYTES_MAX}")
        heads = [{name: canonical(value) for name, value in head.items()} for head in section.heads]
        resource, schema_url = heads[0].get("resource"), heads[0].get("schemaUrl")
        scope = heads[1].get("scope")
        attributes = attributes_of(_fitting(RESOURCE, resource, "resource").attributes)
        known_scope = _fitting(SCOPE, scope, "scope")
        attributes_of(known_scope.attributes)
        above = [resource, schema_url, scope, heads[1].get("schemaUrl")]
        metric = None
        series = b""
        if self._signal == "metrics":
            alone, container = heads[2], heads[3]
            for_all = {name: container[name] for name in _FOR_ALL if name in container}
            own = {name: value for name, value in alone.items() if name not in _FOR_ALL}
            metric = _fitting(_METRIC, _whole(own | for_all), "metric")
            series = b",".join([resource or b"", scope or b"", msgspec.json.encode(metric.name or "")])
            above.append(canonical(_whole(alone | {section.branch: _whole(container)})))
        return SectionContext(
            agent=_agent(attributes, known_scope.name or ""),
            resource=attributes,
            ids=SourceIds(above),
            branch=self._branch(heads, section.branch),
            metric=metric,
            container=section.branch,
            series=series,
        )

    def _branch(self, heads: list[Head], container: str) -> Branch:
        lists = [b'"%s":[' % names[0].encode() for names in LEVELS[self._signal][1:] if names is not CONTAINERS]
        closes = [b"]}"] * len(lists)
        if self._signal == "metrics":
            *heads, inner = heads
            lists[-1] = b'"%s":%s' % (container.encode(), _opening(inner, lists[-1]))
            closes[-1] = b"]}}"
        # An opening is no whole JSON text, but its strings stand between quotes like those of one.
        opens = self._redactor.clean([_opening(head, name) for head, name in zip(heads, lists, strict=True)])
        return Branch(tuple(opens), tuple(closes))


HEADS_BYTES_MAX = 256 * 1024
"""What stands above a record is kept with every part of an export; Gemini's resource has a few kilobytes."""
_FOR_ALL = ("aggregationTemporality", "isMonotonic")
"""Members of a metric's container that say something about every point."""


def _whole(head: Head) -> bytes:
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in head.items()})


def _opening(head: Head, last: bytes) -> bytes:
    members = [b"%s:%s" % (msgspec.json.encode(name), value) for name, value in sorted(head.items())]
    return b"{" + b",".join([*members, last])


def _fitting(decoder: msgspec.json.Decoder[T], data: bytes | None, what: str) -> T:
    try:
        return decoder.decode(b"{}" if data in (None, b"null") else data)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its {what} does not fit: {error}") from error


_SERVICES: dict[str, Agent] = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini-cli": "gemini",
    "opencode": "opencode",
}


def _agent(resource: dict[str, Plain], scope: str) -> Agent:
    """By the name of the service, else by that of the scope; an unknown one may still be known by its events."""
    service = resource.get("service.name")
    name = service.lower() if isinstance(service, str) else ""
    for start, agent in _SERVICES.items():
        if name.startswith(start):
            return agent
    if scope.startswith("com.anthropic.claude_code"):
        return "claude-code"
    if scope.startswith("codex_otel"):
        return "codex"
    if "copilot" in name or "copilot" in scope.lower():
        return "copilot"
    return "svc" if name == "svc" else "unknown"
