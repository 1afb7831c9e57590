"""Cutting an export into single records.

An export is a tree: resources hold scopes, scopes hold records (or metrics, which hold points). A section is what lies
under one innermost branch; the members beside the branch, on every level, are its heads.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec

from aggregates.redaction.redaction import Redacted, redact_among
from aggregates.telemetry.otlp import RESOURCE, SCOPE, Fault, Plain, SourceIds, attributes_of, canonical, repaired

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
#
# Everything here is canonical JSON as `source_ids` makes it. That is why a text can be found, and replaced, by its
# bytes between two quotes: those stand nowhere else but where a text begins and ends, or inside a text behind a
# backslash, where replacing them does no harm either.

_BACKSLASH, _QUOTE = b"\x01", b"\x02"
"""Stand in for their escaped forms; JSON has no bare control characters."""
_FEW = 8
"""So many secrets are looked for in every text; of more, only those that a text is known to hold."""


class RawRedactor:
    """Takes secrets out of JSON texts and counts them."""

    def __init__(self, *, redaction: bool) -> None:
        self._redaction = redaction
        self.redactions: dict[str, int] = {}

    def clean(self, texts: Sequence[bytes]) -> Sequence[bytes]:
        """The texts without secrets. All strings are looked through at once, and only those with a find singly."""
        if not self._redaction:
            return texts
        dirty = self._dirty(list(_strings(texts)))
        return [self._without(text, dirty) for text in texts] if dirty else texts

    def _dirty(self, escaped: Sequence[bytes]) -> "dict[bytes, _Cleaned]":
        """Those strings that hold secrets."""
        found = redact_among(_unescaped(escaped))
        return {escaped[index]: _cleaned(escaped[index], redacted) for index, redacted in found.items()}

    def _without(self, text: bytes, dirty: "dict[bytes, _Cleaned]") -> bytes:
        own = dirty.values() if len(dirty) <= _FEW else [dirty[each] for each in _strings((text,)) & dirty.keys()]
        # The longest first: a string may end in what is, behind an escaped quote, another one from end to end.
        for cleaned in sorted(own, key=lambda each: -len(each.literal)):
            if cleaned.literal in text:
                text = text.replace(cleaned.literal, cleaned.replacement)
                for kind, count in cleaned.counts.items():
                    self.redactions[kind] = self.redactions.get(kind, 0) + count
        return text


class _Cleaned(msgspec.Struct, frozen=True):
    literal: bytes
    replacement: bytes
    counts: dict[str, int]


_ENCODE = msgspec.json.Encoder().encode


def _cleaned(escaped: bytes, redacted: Redacted) -> _Cleaned:
    return _Cleaned(_literal(escaped), _ENCODE(redacted.text), redacted.counts)


_ATTRIBUTE = b'{"key":'
"""How an attribute begins, outside any string: within one, its quotes would stand behind a backslash."""


def _strings(texts: Iterable[bytes]) -> set[bytes]:
    """All strings of canonical JSON texts, the names of their members too but for `key`, still escaped.

    Most attributes of a batch repeat, so each is looked at once.
    """
    attributes = set(b"\n".join(map(_without_escapes, texts)).split(_ATTRIBUTE))
    return set(b"\n".join(attributes).split(b'"')[1::2])


def _without_escapes(text: bytes) -> bytes:
    """Whatever a quote follows or precedes, it begins or ends a string."""
    return text.replace(b"\\\\", _BACKSLASH).replace(b'\\"', _QUOTE) if b"\\" in text else text


def _literal(escaped: bytes) -> bytes:
    return b'"' + escaped.replace(_QUOTE, b'\\"').replace(_BACKSLASH, b"\\\\") + b'"'


def _unescaped(strings: Sequence[bytes]) -> list[str]:
    """The texts themselves, all read at once."""
    if not strings:
        return []
    return msgspec.json.decode(b"[" + _literal(b'","'.join(strings)) + b"]", type=list[str])


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


# What stands above a record: who sends, by which part, and all that is worked out once for every record below.

Agent = Literal["claude-code", "codex", "gemini", "copilot", "svc", "unknown"]
"""Who speaks: one vocabulary each."""
_NULL_BYTES = b"null"


class Metric(msgspec.Struct, frozen=True):
    """A metric without its points."""

    name: str
    unit: str | None
    kind: str
    """The name of its container."""
    temporality: int | None
    monotonic: bool | None


class Context(msgspec.Struct, frozen=True):
    """Everything above a record."""

    agent: Agent
    """As far as the resource and the scope tell."""
    resource: dict[str, Plain]
    scope: str
    ids: SourceIds
    branch: Branch
    metric: Metric | None
    series: bytes
    """What tells the series of a metric apart from others, but for the point's own attributes."""


class Contexts:
    """Makes contexts, and remembers those it made: an export repeats them."""

    def __init__(self, signal: Signal, redactor: RawRedactor) -> None:
        self._signal = signal
        self._redactor = redactor
        self._known: dict[tuple[object, ...], Context] = {}

    def of(self, section: Section) -> Context:
        """The context of a section. Raises `Fault` where its heads are not what OTLP says."""
        key = (section.branch, *(tuple(head.items()) for head in section.heads))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._made(section)
        return known

    def _made(self, section: Section) -> Context:
        size_bytes = sum(len(value) for head in section.heads for value in head.values())
        if size_bytes > HEADS_BYTES_MAX:
            raise Fault(f"its resource, scope and metric have {size_bytes} bytes, and may have {HEADS_BYTES_MAX}")
        heads = [{name: canonical(value) for name, value in head.items()} for head in section.heads]
        resource = _resource(heads[0].get("resource"))
        scope = _scope(heads[1].get("scope"))
        above = [heads[0].get("resource"), heads[0].get("schemaUrl"), heads[1].get("scope"), heads[1].get("schemaUrl")]
        metric = None
        series = b""
        if self._signal == "metrics":
            metric = _metric(heads[2], heads[3], section.branch)
            series = b",".join([above[0] or b"", above[2] or b"", msgspec.json.encode(metric.name)])
            above.append(_metric_alone(heads[2], heads[3], section.branch))
        return Context(
            agent=_agent(resource, scope),
            resource=resource,
            scope=scope,
            ids=SourceIds(above),
            branch=self._branch(heads, section.branch),
            metric=metric,
            series=series,
        )

    def _branch(self, heads: list[Head], container: str) -> Branch:
        lists = [names[0] for names in LEVELS[self._signal][1:] if names is not CONTAINERS]
        closes = [b"]}"] * len(lists)
        if self._signal == "metrics":
            *outer, alone, inner = heads
            opened = _opening(inner, b'"dataPoints":[')
            opens = [_opening(head, b'"%s":[' % name.encode()) for head, name in zip(outer, lists[:2], strict=True)]
            opens.append(_opening(alone, b'"%s":%s' % (container.encode(), opened)))
            closes[-1] = b"]}}"
        else:
            opens = [_opening(head, b'"%s":[' % name.encode()) for head, name in zip(heads, lists, strict=True)]
        # An opening is no whole JSON text, but its strings stand between quotes like those of one.
        return Branch(tuple(self._redactor.clean(opens)), tuple(closes))


HEADS_BYTES_MAX = 256 * 1024
"""What stands above a record is kept with every part of an export; Gemini's resource has a few kilobytes."""


def _opening(head: Head, last: bytes) -> bytes:
    return b"{" + b",".join([*_members(head), last])


def _members(head: Head) -> list[bytes]:
    return [b"%s:%s" % (msgspec.json.encode(name), value) for name, value in sorted(head.items())]


def _resource(data: bytes | None) -> dict[str, Plain]:
    try:
        resource = RESOURCE.decode(data or _NULL_BYTES)
        return attributes_of(resource.attributes) if resource else {}
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its resource does not fit: {error}") from error


def _scope(data: bytes | None) -> str:
    try:
        scope = SCOPE.decode(data or _NULL_BYTES)
        attributes_of(scope.attributes if scope else None)
        return (scope.name if scope else None) or ""
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its scope does not fit: {error}") from error


class _MetricHead(msgspec.Struct, rename="camel"):
    name: str | None = None
    description: str | None = None
    unit: str | None = None
    aggregation_temporality: int | None = None
    is_monotonic: bool | None = None


def _metric(head: Head, container: Head, kind: str) -> Metric:
    named = ("aggregationTemporality", "isMonotonic")
    members = {name: msgspec.Raw(value) for name, value in head.items() if name not in named}
    members |= {name: msgspec.Raw(container[name]) for name in named if name in container}
    try:
        known = msgspec.json.decode(msgspec.json.encode(members), type=_MetricHead)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its metric does not fit: {error}") from error
    return Metric(known.name or "", known.unit or None, kind, known.aggregation_temporality, known.is_monotonic)


def _metric_alone(head: Head, container: Head, kind: str) -> bytes:
    members = {**head, kind: b"{" + b",".join(_members(container)) + b"}"}
    return canonical(b"{" + b",".join(_members(members)) + b"}")


_SERVICES: tuple[tuple[str, Agent], ...] = (
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("gemini-cli", "gemini"),
)


def _agent(resource: dict[str, Plain], scope: str) -> Agent:
    """By the name of the service, else by that of the scope; an unknown one may still be known by its events."""
    service = resource.get("service.name")
    name = service.lower() if isinstance(service, str) else ""
    for start, agent in _SERVICES:
        if name.startswith(start):
            return agent
    if scope.startswith("com.anthropic.claude_code"):
        return "claude-code"
    if scope.startswith("codex_otel"):
        return "codex"
    if "copilot" in name or "copilot" in scope.lower():
        return "copilot"
    return "svc" if name == "svc" else "unknown"
