"""What stands above a record: who sends, by which part, and all that is worked out once for every record below."""

from typing import Literal

import msgspec

from aggregates.telemetry.envelope import CONTAINERS, LEVELS, Branch, Head, RawRedactor, Section, Signal
from aggregates.telemetry.otlp import RESOURCE, SCOPE, Plain, attributes_of
from aggregates.telemetry.source_ids import Fault, SourceIds, canonical

Agent = Literal["claude-code", "codex", "gemini", "copilot", "svc", "unknown"]
"""Who speaks: one vocabulary each."""
_NULL = b"null"


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
        resource = RESOURCE.decode(data or _NULL)
        return attributes_of(resource.attributes) if resource else {}
    except (msgspec.ValidationError, RecursionError) as error:
        raise Fault(f"its resource does not fit: {error}") from error


def _scope(data: bytes | None) -> str:
    try:
        scope = SCOPE.decode(data or _NULL)
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
