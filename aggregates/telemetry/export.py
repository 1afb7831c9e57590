"""An export, cut into records, becomes commands; what single records cannot be used for is counted, not raised."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from aggregates.event import Digester, Scope
from aggregates.records.record import Point
from aggregates.telemetry.batches import Batches, Made, Part, metrics_command, records_command
from aggregates.telemetry.claude_code import PREFIX as CLAUDE_CODE_PREFIX
from aggregates.telemetry.contexts import Context, Contexts
from aggregates.telemetry.copilot import REQUESTS, operation
from aggregates.telemetry.draft import Draft, Happening
from aggregates.telemetry.envelope import RawRedactor, Section, Signal
from aggregates.telemetry.otlp import (
    LOG_RECORD,
    NAME_CHARACTERS_MAX,
    NANOS_PER_US,
    SPAN,
    AnyValue,
    Attributes,
    LogRecord,
    Plain,
    Span,
    attributes_of,
    check_log,
    check_span,
    fixed64,
    plain,
    span_id,
    text,
    trace_id,
)
from aggregates.telemetry.points import made_point, read_point
from aggregates.telemetry.source_ids import Fault, canonical
from aggregates.telemetry.vocabulary import agent_of_log, agent_of_span, log_drafts, session_of, span_drafts
from aggregates.times import parse_instant

# How the spans of one export hang together: whose session a span without one is of, and which spans are innermost.

STEPS_MAX = 64
"""How far up a span's parents are followed."""


SPANS_MAX = 200_000
"""Spans whose kin is remembered; an export with more of them is read without it from there on."""


class Kin(msgspec.Struct, frozen=True):
    """What others must know of a span."""

    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    session: str | None
    operation: str | None


class Families:
    """The spans of one export, by their traces."""

    def __init__(self, spans: Iterable[Kin] = ()) -> None:
        self._spans: dict[tuple[str | None, str], Kin] = {}
        self._sessions: dict[str, set[str]] = {}
        self._outer: set[tuple[str | None, str]] = set()
        """Requests that another request is a part of."""
        for span in spans:
            self.add(span)

    def add(self, span: Kin) -> None:
        """Remember a span."""
        if span.span_id is not None and len(self._spans) < SPANS_MAX:
            self._spans[span.trace_id, span.span_id] = span
        if span.trace_id is not None and span.session is not None:
            self._sessions.setdefault(span.trace_id, set()).add(span.session)
        if span.operation in REQUESTS and span.parent_id is not None:
            self._outer.add((span.trace_id, span.parent_id))

    def is_leaf(self, span: Kin) -> bool:
        """Whether no other request is directly a part of this one."""
        return span.span_id is None or (span.trace_id, span.span_id) not in self._outer

    def session_of(self, span: Kin) -> str | None:
        """Its own, else that of its nearest parent here, else the only one of its trace."""
        each: Kin | None = span
        for _ in range(STEPS_MAX):
            if each is None:
                break
            if each.session is not None:
                return each.session
            each = None if each.parent_id is None else self._spans.get((each.trace_id, each.parent_id))
        known = self._sessions.get(span.trace_id or "", set())
        return next(iter(known)) if len(known) == 1 else None


RECORD_BYTES_MAX = 3 * 1024 * 1024
"""A larger record is refused: with its texts beside it, it must fit into one event."""


_SOURCE_POSITION = "event "
"""So begins an event's name that is a place in Codex's own source, and no name."""


_ERROR_CODE = 2


class Means(msgspec.Struct, frozen=True):
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


class Export:
    """One export on its way to commands."""

    def __init__(self, signal: Signal, means: Means) -> None:
        self.faults = Faults()
        self.signal = signal
        self._means = means
        self._contexts = Contexts(signal, RawRedactor(redaction=means.redaction))

    def commands(self, sections: Iterable[Section]) -> Iterator[Made]:
        """The commands, in an order that is the same every time; `faults` is complete after the last one."""
        match self.signal:
            case "logs":
                yield from self._logs(sections)
            case "traces":
                yield from self._traces(list(sections))
            case "metrics":
                yield from self._metrics(sections)

    def _records(self, sections: Iterable[Section]) -> Iterator[tuple[Context, str, bytes]]:
        """Every record that can be read as JSON, in its canonical form, with its context and place."""
        for section in sections:
            try:
                context = self._contexts.of(section)
            except Fault as fault:
                self.faults.add(section.place, fault, len(section.items))
                continue
            for index, data in enumerate(section.items):
                place = f"{section.place}[{index}]"
                try:
                    yield context, place, _bounded(data)
                except Fault as fault:
                    self.faults.add(place, fault)

    # --- logs -------------------------------------------------------------------------------------------------

    def _logs(self, sections: Iterable[Section]) -> Iterator[Made]:
        batches: Batches[Draft] = Batches()
        for context, place, data in self._records(sections):
            try:
                self._log(batches, context, data)
            except (Fault, msgspec.ValidationError, RecursionError) as error:
                self.faults.add(place, error)
            yield from self._drafted(batches.full())
        yield from self._drafted(batches.rest())

    def _log(self, batches: Batches[Draft], context: Context, data: bytes) -> None:
        record = LOG_RECORD.decode(data)
        check_log(record)
        attributes = attributes_of(record.attributes)
        body = _body(record.body)
        name = _event_name(record, attributes, body)
        agent = agent_of_log(context, name, body if isinstance(body, str) else None)
        part = batches.room(session_of(agent, attributes, context.resource), agent, context, len(data))
        happening = Happening(
            record_id=context.ids.of(data),
            origin=part.origins,
            at_us=_time_of(record, attributes) or self._means.received_us,
            name=name,
            attributes=attributes,
            trace_id=trace_id(record.trace_id),
        )
        part.values.extend(log_drafts(agent, happening))
        part.raws.append((context, data))

    def _drafted(self, parts: Iterable[Part[Draft]]) -> Iterator[Made]:
        means = self._means
        for part in parts:
            yield records_command(part, means.scope, self.signal, means.digester, redaction=means.redaction)

    # --- spans ------------------------------------------------------------------------------------------------

    def _traces(self, sections: Sequence[Section]) -> Iterator[Made]:
        families = self._families(sections)
        batches: Batches[Draft] = Batches()
        for context, place, data in self._records(sections):
            try:
                self._span(batches, families, context, data)
            except (Fault, msgspec.ValidationError, RecursionError) as error:
                self.faults.add(place, error)
            yield from self._drafted(batches.full())
        yield from self._drafted(batches.rest())

    def _families(self, sections: Iterable[Section]) -> Families:
        """What the spans of the export are to each other; those that cannot be used are nobody's kin."""
        unheard = Export(self.signal, self._means)
        families = Families()
        for context, _, data in unheard._records(sections):
            try:
                span = SPAN.decode(data)
                families.add(_kin(span, attributes_of(span.attributes), context))
            except (Fault, msgspec.ValidationError, RecursionError):
                continue
        return families

    def _span(self, batches: Batches[Draft], families: Families, context: Context, data: bytes) -> None:
        span = SPAN.decode(data)
        check_span(span)
        attributes = attributes_of(span.attributes)
        agent = agent_of_span(context, attributes)
        kin = _kin(span, attributes, context)
        part = batches.room(families.session_of(kin), agent, context, len(data))
        start_us = fixed64(span.start_time_unix_nano, "startTimeUnixNano") // NANOS_PER_US
        end_us = fixed64(span.end_time_unix_nano, "endTimeUnixNano") // NANOS_PER_US
        happening = Happening(
            record_id=context.ids.of(data),
            origin=part.origins,
            at_us=start_us or end_us or self._means.received_us,
            name=(span.name or "")[:NAME_CHARACTERS_MAX].replace("\0", "") or None,
            attributes=attributes,
            trace_id=kin.trace_id,
            end_us=end_us or None,
            failed=span.status is not None and span.status.code == _ERROR_CODE,
            root=kin.parent_id is None,
            leaf=families.is_leaf(kin),
            message=span.status.message if span.status is not None else None,
        )
        part.values.extend(span_drafts(agent, happening))
        part.raws.append((context, data))

    # --- metrics ----------------------------------------------------------------------------------------------

    def _metrics(self, sections: Iterable[Section]) -> Iterator[Made]:
        batches: Batches[Point] = Batches()
        for context, place, data in self._records(sections):
            try:
                self._point(batches, context, data)
            except (Fault, msgspec.ValidationError, RecursionError) as error:
                self.faults.add(place, error)
            yield from self._pointed(batches.full())
        yield from self._pointed(batches.rest())

    def _point(self, batches: Batches[Point], context: Context, data: bytes) -> None:
        metric = context.metric
        assert metric is not None, "a point stands in a metric"
        read = read_point(data, metric)
        agent = agent_of_log(context, metric.name)
        part = batches.room(session_of(agent, read.attributes, context.resource), agent, context, len(data))
        point = made_point(read, context, context.ids.of(data), part.origins, self._means.received_us)
        part.values.append(point)
        part.raws.append((context, data))

    def _pointed(self, parts: Iterable[Part[Point]]) -> Iterator[Made]:
        for part in parts:
            yield metrics_command(part, self._means.scope, redaction=self._means.redaction)


def _bounded(data: bytes) -> bytes:
    if len(data) > RECORD_BYTES_MAX:
        raise Fault(f"it has {len(data)} bytes, and a single record may have {RECORD_BYTES_MAX}; send shorter texts")
    return canonical(data)


def _body(value: AnyValue | None) -> Plain:
    try:
        return plain(value)
    except Fault as fault:
        raise Fault(f"body.{fault}") from fault


def _event_name(record: LogRecord, attributes: Attributes, body: Plain) -> str | None:
    """The attribute first; Claude Code's body names the event too, and a source position is no name."""
    name = text(attributes, "event.name")
    if name is None and isinstance(body, str) and body.startswith(CLAUDE_CODE_PREFIX):
        name = body
    if name is None and record.event_name and not record.event_name.startswith(_SOURCE_POSITION):
        name = record.event_name
    return None if name is None else name[:NAME_CHARACTERS_MAX].replace("\0", "") or None


def _time_of(record: LogRecord, attributes: Attributes) -> int | None:
    """When it happened, else when it was observed, else what the event itself says."""
    nanos = fixed64(record.time_unix_nano, "timeUnixNano")
    nanos = nanos or fixed64(record.observed_time_unix_nano, "observedTimeUnixNano")
    if nanos:
        return nanos // NANOS_PER_US
    said = text(attributes, "event.timestamp")
    try:
        return None if said is None else parse_instant(said)
    except ValueError:
        return None


def _kin(span: Span, attributes: Attributes, context: Context) -> Kin:
    agent = agent_of_span(context, attributes)
    return Kin(
        trace_id=trace_id(span.trace_id),
        span_id=span_id(span.span_id, "spanId"),
        parent_id=span_id(span.parent_span_id, "parentSpanId"),
        session=session_of(agent, attributes, context.resource),
        operation=operation(attributes) if agent == "copilot" else None,
    )
