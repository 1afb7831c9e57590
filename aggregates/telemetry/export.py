"""An export, cut into records, becomes commands; what single records cannot be used for is counted, not raised."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec

from aggregates.event import Digester, Scope
from aggregates.records.record import Point
from aggregates.telemetry.batches import Batches, Part, PreparedCommand, metrics_command, records_command
from aggregates.telemetry.claude_code import PREFIX as CLAUDE_CODE_PREFIX
from aggregates.telemetry.copilot import REQUESTS, operation
from aggregates.telemetry.draft import RecordDraft, SourceEvent
from aggregates.telemetry.envelope import Context, Contexts, RawRedactor, Section, Signal
from aggregates.telemetry.otlp import (
    LOG_RECORD,
    NANOS_PER_US,
    SPAN,
    Attributes,
    Fault,
    LogRecord,
    Plain,
    Span,
    attributes_of,
    canonical,
    check_depth,
    cut_name,
    plain,
    text,
)
from aggregates.telemetry.points import made_point, read_point
from aggregates.telemetry.vocabulary import agent_of_log, agent_of_span, log_drafts, session_of, span_drafts
from aggregates.times import parse_instant

STEPS_MAX = 64
"""How far up a span's parents are followed."""


class SpanLink(msgspec.Struct, frozen=True):
    """How a span hangs together with others of its export."""

    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    session: str | None
    operation: str | None


class SpanTree:
    """The spans of one export, by their traces."""

    def __init__(self, spans: Iterable[SpanLink]) -> None:
        self._spans: dict[tuple[str | None, str], SpanLink] = {}
        self._sessions: dict[str, set[str]] = {}
        self._outer: set[tuple[str | None, str]] = set()
        """Requests that another request is a part of."""
        for span in spans:
            if span.span_id is not None:
                self._spans[span.trace_id, span.span_id] = span
            if span.trace_id is not None and span.session is not None:
                self._sessions.setdefault(span.trace_id, set()).add(span.session)
            if span.operation in REQUESTS and span.parent_id is not None:
                self._outer.add((span.trace_id, span.parent_id))

    def is_leaf(self, span: SpanLink) -> bool:
        """Whether no other request is directly a part of this one."""
        return span.span_id is None or (span.trace_id, span.span_id) not in self._outer

    def session_of(self, span: SpanLink) -> str | None:
        """Its own, else that of its nearest parent here, else the only one of its trace."""
        each: SpanLink | None = span
        for _ in range(STEPS_MAX):
            if each is None:
                break
            if each.session is not None:
                return each.session
            each = None if each.parent_id is None else self._spans.get((each.trace_id, each.parent_id))
        known = self._sessions.get(span.trace_id or "", set())
        return next(iter(known)) if len(known) == 1 else None


T = TypeVar("T")
RECORD_BYTES_MAX = 3 * 1024 * 1024
"""A larger record is refused: it must fit into one event together with its texts."""
_SOURCE_POSITION = "event "
"""So begins an event's name that is a place in Codex's own source, and no name."""
_ERROR_CODE = 2


class ExportContext(msgspec.Struct, frozen=True):
    """What enters from outside: whose export it is, when it came, how texts are treated."""

    scope: Scope
    received_us: int
    digester: Digester
    redaction: bool


class Faults:
    """The records that were not taken, and the first reason."""

    def __init__(self) -> None:
        self.records = 0
        self.message: str | None = None

    def add(self, place: str, error: Exception | str, records: int = 1) -> None:
        """These records cannot be used."""
        self.records += records
        if self.message is None:
            hint = _HINT if isinstance(error, msgspec.ValidationError) else ""
            self.message = f"{place}: {error}{hint}"


_HINT = "; in OTLP JSON enums are integers, 64-bit integers numbers or decimal strings, and names lowerCamelCase"


class _Raw(NamedTuple):
    context: Context
    place: str
    data: bytes


_UNUSABLE = (Fault, msgspec.ValidationError, RecursionError)
"""What is wrong with a single record."""


class Export:
    """One export on its way to commands."""

    def __init__(self, signal: Signal, means: ExportContext) -> None:
        self.faults = Faults()
        self.signal = signal
        self._means = means
        self._contexts = Contexts(signal, RawRedactor(redaction=means.redaction))

    def commands(self, sections: Iterable[Section]) -> list[PreparedCommand]:
        """The commands, in an order that is the same every time; what cannot be used is counted in `faults`."""
        records = list(self._records(sections))
        means = self._means
        if self.signal == "metrics":
            points = self._parts(records, self._point)
            return [metrics_command(part, means.scope, redaction=means.redaction) for part in points]
        reader = self._log if self.signal == "logs" else partial(self._span, SpanTree(_links(records)))
        drafts = self._parts(records, reader)
        return [
            records_command(part, means.scope, self.signal, means.digester, redaction=means.redaction)
            for part in drafts
        ]

    def _records(self, sections: Iterable[Section]) -> Iterator[_Raw]:
        for section in sections:
            try:
                context = self._contexts.of(section)
            except Fault as fault:
                self.faults.add(section.place, fault, len(section.items))
                continue
            for index, data in enumerate(section.items):
                place = f"{section.place}[{index}]"
                try:
                    yield _Raw(context, place, _bounded(bytes(data)))
                except Fault as fault:
                    self.faults.add(place, fault)

    def _parts(self, records: Iterable[_Raw], reader: Callable[[Batches[T], _Raw], None]) -> list[Part[T]]:
        batches: Batches[T] = Batches()
        for record in records:
            try:
                reader(batches, record)
            except _UNUSABLE as error:
                self.faults.add(record.place, error)
        return batches.parts()

    def _log(self, batches: Batches[RecordDraft], raw: _Raw) -> None:
        context = raw.context
        record = LOG_RECORD.decode(raw.data)
        attributes = attributes_of(record.attributes)
        body = plain(record.body)
        name = _event_name(record, attributes, body)
        agent = agent_of_log(context, name, body if isinstance(body, str) else None)
        part = batches.room(session_of(agent, attributes, context.resource), agent, context, len(raw.data))
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=part.origins,
            at_us=_time_of(record, attributes) or self._means.received_us,
            name=name,
            attributes=attributes,
            trace_id=_id(record.trace_id),
        )
        part.add(context, raw.data, log_drafts(agent, event))

    def _span(self, spans: SpanTree, batches: Batches[RecordDraft], raw: _Raw) -> None:
        context = raw.context
        span = SPAN.decode(raw.data)
        check_depth(span)
        attributes = attributes_of(span.attributes)
        agent = agent_of_span(context, attributes)
        link = _link(span, attributes, context)
        part = batches.room(spans.session_of(link), agent, context, len(raw.data))
        start_us = (span.start_time_unix_nano or 0) // NANOS_PER_US
        end_us = (span.end_time_unix_nano or 0) // NANOS_PER_US
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=part.origins,
            at_us=start_us or end_us or self._means.received_us,
            name=cut_name(span.name or ""),
            attributes=attributes,
            trace_id=link.trace_id,
            end_us=end_us or None,
            failed=span.status is not None and span.status.code == _ERROR_CODE,
            root=link.parent_id is None,
            leaf=spans.is_leaf(link),
            message=span.status.message if span.status is not None else None,
        )
        part.add(context, raw.data, span_drafts(agent, event))

    def _point(self, batches: Batches[Point], raw: _Raw) -> None:
        context = raw.context
        metric = context.metric
        assert metric is not None, "a point stands in a metric"
        read = read_point(raw.data, metric)
        agent = agent_of_log(context, metric.name)
        part = batches.room(session_of(agent, read.attributes, context.resource), agent, context, len(raw.data))
        point = made_point(read, context, metric, context.ids.of(raw.data), part.origins, self._means.received_us)
        part.add(context, raw.data, [point])


def _links(records: Iterable[_Raw]) -> Iterator[SpanLink]:
    """Those of the spans that can be used."""
    for record in records:
        with suppress(*_UNUSABLE):
            span = SPAN.decode(record.data)
            yield _link(span, attributes_of(span.attributes), record.context)


def _bounded(data: bytes) -> bytes:
    if len(data) > RECORD_BYTES_MAX:
        raise Fault(f"it has {len(data)} bytes, and a single record may have {RECORD_BYTES_MAX}; send shorter texts")
    return canonical(data)


def _event_name(record: LogRecord, attributes: Attributes, body: Plain) -> str | None:
    """The attribute first; Claude Code's body names the event too, and a source position is no name."""
    name = text(attributes, "event.name")
    if name is None and isinstance(body, str) and body.startswith(CLAUDE_CODE_PREFIX):
        name = body
    if name is None and record.event_name and not record.event_name.startswith(_SOURCE_POSITION):
        name = record.event_name
    return cut_name(name)


def _time_of(record: LogRecord, attributes: Attributes) -> int | None:
    nanos = record.time_unix_nano or record.observed_time_unix_nano
    if nanos:
        return nanos // NANOS_PER_US
    said = text(attributes, "event.timestamp")
    try:
        return None if said is None else parse_instant(said)
    except ValueError:
        return None


def _id(value: str | None) -> str | None:
    return str(value) if value else None


def _link(span: Span, attributes: Attributes, context: Context) -> SpanLink:
    agent = agent_of_span(context, attributes)
    return SpanLink(
        trace_id=_id(span.trace_id),
        span_id=_id(span.span_id),
        parent_id=_id(span.parent_span_id),
        session=session_of(agent, attributes, context.resource),
        operation=operation(attributes) if agent == "copilot" else None,
    )
