"""An export, cut into records, becomes commands; what single records cannot be used for is counted, not raised."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from aggregates import REVIEW_MARK
from aggregates.capture import events
from aggregates.capture.events import DECODER_VERSION, MetricsCaptured, RecordsCaptured, Telemetry
from aggregates.event import Digester
from aggregates.records.record import OF_SUB_AGENT, Point, PointKind, PointMeaning, Record
from aggregates.telemetry import otlp, spans
from aggregates.telemetry.agents import CLAUDE_PREFIX, Agent, agent_of_log, log_drafts, session_of, spawned
from aggregates.telemetry.batches import Batches, ExportContext, Part, PreparedCommand, command_of
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent
from aggregates.telemetry.envelope import (
    Metric,
    NoOtlp,
    Rest,
    Section,
    SectionContext,
    Signal,
    context_of,
    split,
    without_rest,
)
from aggregates.telemetry.outcomes import VOCABULARY
from aggregates.times import parse_instant

RECORD_BYTES_MAX = 3 * 1024 * 1024  # a larger record is refused: it must fit into one event together with its texts
SENDERS_MAX = 8  # so many of one export are told apart
UNKNOWN_SENDER = "unknown agent"
_SOURCE_POSITION = "event "  # so begins an event's name that is a place in Codex's own source, and no name
_NO_RECORDED_VALUE = 1
_HINT = "; in OTLP JSON ids are hexadecimal digits and not base64, and names lowerCamelCase"
_LOST = "it is no number that can be used, and counts as not told"
_UNKNOWN = "it is no value that OTLP names, and counts as not told"
_UNUSABLE = (otlp.Fault, msgspec.ValidationError, RecursionError)  # what is wrong with a single record
_TEMPORALITIES: dict[str, Literal["delta", "cumulative"]] = VOCABULARY["temporalities"]
_SPAN_STATUSES: dict[str, Literal["error"]] = VOCABULARY["span_statuses"]
_KINDS: dict[str, PointKind] = VOCABULARY["kinds"]
_COUNTERS: dict[str, PointMeaning | dict[str, dict[str, PointMeaning]]] = VOCABULARY["counters"]


class Faults:
    def __init__(self) -> None:
        self.records = 0
        self.message: str | None = None

    def add(self, place: str, error: Exception | str, records: int = 1) -> None:
        """No records: they are kept, and something is said about them unless others are lost."""
        if self.message is None or (records and not self.records):
            hint = _HINT if isinstance(error, msgspec.ValidationError) else ""
            self.message = f"{place}: {error}{hint}"
        self.records += records


class _Raw(NamedTuple):
    context: SectionContext
    place: str
    data: bytes


class Export:
    def __init__(self, signal: Signal, means: ExportContext, rest: Rest = without_rest) -> None:
        self.faults = Faults()
        self.senders: set[str] = set()
        """Who sent it: the agents that are known, and others by the names of their services."""
        self.signal = signal
        self.rest = rest
        self._means = means

    def commands(self, sections: Sequence[Section]) -> list[PreparedCommand]:
        """The commands, in an order that is the same every time; what cannot be used is counted in `faults`."""
        records, means = list(self._records(sections)), self._means
        # What stands above several sections was sent once.
        heads = {id(head): head for section in sections for head in section.heads}.values()
        size_bytes = sum(len(value) for head in heads for value in head.values())
        size_bytes += sum(len(bytes(item)) for section in sections for item in section.items)
        batches, reader = Batches(size_bytes), self._log
        if self.signal == "metrics":
            reader = self._point
        elif self.signal == "traces":
            links: dict[str, spans.SpanLink] = {}
            for record in records:
                with suppress(*_UNUSABLE):  # is told when it is read
                    links[record.place] = _link(record)
            reader = partial(self._span, spans.SpanTree(links.values()), links)
        for record in records:
            self.rest()
            try:
                reader(batches, record)
            except _UNUSABLE as error:
                self.faults.add(record.place, error)
        parts = batches.parts()
        prompts = [
            (part.session, each.text or "") for part in parts for each in part.drafts if each.record.kind == "prompt"
        ]
        own = {session for session, text in prompts if text.startswith(REVIEW_MARK)} - {None}
        commands = list[PreparedCommand]()
        for part in parts:
            self.rest()
            if part.session not in own:
                commands.append(command_of(part, means, self.signal))
        return commands

    def _records(self, sections: Iterable[Section]) -> Iterator[_Raw]:
        for section in sections:
            heads = tuple(tuple(head.items()) for head in section.heads)
            try:
                context = context_of(heads, section.container, self.signal, redaction=self._means.redaction)
            except otlp.Fault as fault:
                self.faults.add(section.place, fault, len(section.items))
                continue
            for index, data in enumerate(section.items):
                self.rest()
                place = f"{section.place}[{index}]"
                try:
                    if len(record := bytes(data)) > RECORD_BYTES_MAX:
                        long = f"it has {len(record)} bytes, and a single record may have {RECORD_BYTES_MAX}"
                        raise otlp.Fault(f"{long}; send shorter texts")
                    yield _Raw(context, place, otlp.canonical(record))
                except otlp.Fault as fault:
                    self.faults.add(place, fault)

    def _log(self, batches: Batches, raw: _Raw) -> None:
        context = raw.context
        record = otlp.LOG_RECORD.decode(raw.data)
        attributes, body = self._attributes(raw, record), otlp.plain(record.body)
        # The attribute first; Claude Code's body names the event too, and a source position is no name.
        event_name = otlp.text(attributes, "event.name")
        if event_name is None and isinstance(body, str) and body.startswith(CLAUDE_PREFIX):
            event_name = body
        if event_name is None and not (record.event_name or "").startswith(_SOURCE_POSITION):
            event_name = record.event_name
        event_name = otlp.cut_name(event_name)
        agent = agent_of_log(context.agent, event_name, body if isinstance(body, str) else None)
        part = batches.room(session_of(agent, attributes, context.resource), agent, context, len(raw.data))
        at_us = self._us(raw, "timeUnixNano", record.time_unix_nano)
        at_us = at_us or self._us(raw, "observedTimeUnixNano", record.observed_time_unix_nano)
        if not at_us:
            with suppress(ValueError):
                at_us = parse_instant(otlp.text(attributes, "event.timestamp") or "")
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=len(part.raws),
            at_us=at_us or self._means.received_us,
            name=event_name,
            attributes=attributes,
            resource=context.resource,
            trace_id=(record.trace_id or "").lower() or None,
        )
        started = spawned(attributes) if agent == "codex" else None
        self._heard(agent, context)
        _keep(batches, raw, part, event, partial(log_drafts, agent), started)

    def _span(self, tree: spans.SpanTree, links: dict[str, spans.SpanLink], batches: Batches, raw: _Raw) -> None:
        context = raw.context
        span = otlp.SPAN.decode(raw.data)
        attributes, link = self._attributes(raw, span), links.get(raw.place) or _link(raw)
        agent = spans.agent_of_span(context.agent, attributes)
        part = batches.room(tree.session_of(link), agent, context, len(raw.data))
        start_us = self._us(raw, "startTimeUnixNano", span.start_time_unix_nano)
        end_us = self._us(raw, "endTimeUnixNano", span.end_time_unix_nano)
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=len(part.raws),
            at_us=start_us or end_us or self._means.received_us,
            name=otlp.cut_name(span.name or ""),
            attributes=attributes,
            resource=context.resource,
            trace_id=link.trace_id,
            end_us=end_us or None,
            failed=self._one_of(_SPAN_STATUSES, raw, "status.code", span.status and span.status.code) == "error",
            root=link.parent_id is None,
            leaf=tree.is_leaf(link),
            message=span.status.message if span.status is not None else None,
        )
        reader = spans.span_reader(agent, attributes)
        started = spans.helped_in(attributes) if reader is spans.ai_sdk else None
        self._heard(agent, context, follows=reader is not None)
        _keep(batches, raw, part, event, reader or SourceEvent.other, started)

    def _point(self, batches: Batches, raw: _Raw) -> None:
        context = raw.context
        point = otlp.POINT.decode(raw.data)
        attributes = self._attributes(raw, point)
        metric = context.metric or Metric()
        agent = agent_of_log(context.agent, metric.name)
        part = batches.room(session_of(agent, attributes, context.resource), agent, context, len(raw.data))
        self._heard(agent, context)
        start_us = self._us(raw, "startTimeUnixNano", point.start_time_unix_nano)
        at_us = self._us(raw, "timeUnixNano", point.time_unix_nano)
        value: float | None = None
        if context.container in ("gauge", "sum") and not (otlp.whole(point.flags) or 0) & _NO_RECORDED_VALUE:
            told = point.as_double if point.as_int is None else point.as_int
            value = otlp.real(point.as_double) if point.as_int is None else otlp.whole(point.as_int, *otlp.INT64)
            if value is None and told is not None:
                self.faults.add(raw.place, _LOST, 0)
        series = context.series + b"," + msgspec.json.encode(attributes, order="sorted")
        made = Point(
            record_id=context.ids.of(raw.data),
            at_us=at_us or start_us or self._means.received_us,
            name=otlp.cut_name(metric.name) or "",
            kind=_KINDS[context.container],
            origin=len(part.raws),
            unit=otlp.cut_name(metric.unit),
            temporality=self._one_of(_TEMPORALITIES, raw, "aggregationTemporality", metric.aggregation_temporality),
            monotonic=metric.is_monotonic if context.container == "sum" else None,
            start_us=start_us or None,
            value=float(value) if value is not None and math.isfinite(value) else None,
            series=sha256(series).hexdigest()[:32],
            meaning=_meaning(context.agent, metric.name or "", attributes),
            model=otlp.name(attributes, "model", "gen_ai.response.model", "gen_ai.request.model"),
        )
        part.raws.append((context, raw.data))
        part.points.append(made)

    def _attributes(self, raw: _Raw, record: otlp.Attributed) -> otlp.Attributes:
        def lost(key: str) -> None:
            self.faults.add(f"{raw.place}, attribute {otlp.cut_name(key)}", _LOST, 0)

        return otlp.attributes_of(record.attributes, lost=lost)

    def _us(self, raw: _Raw, name: str, told: object) -> int:
        """A time in microseconds; 0 where it is not told."""
        if (nanos := otlp.whole(told)) is None and told is not None:
            self.faults.add(f"{raw.place}.{name}", _LOST, 0)
        return (nanos or 0) // otlp.NANOS_PER_US

    def _one_of(self, known: dict[str, otlp.T], raw: _Raw, name: str, told: object) -> otlp.T | None:
        """What a number or a name of an enumeration stands for; None where that is nothing."""
        number = otlp.whole(told)
        key = str(told if number is None else number)
        if told is not None and key not in known:
            self.faults.add(f"{raw.place}, {name}", _UNKNOWN, 0)
        return known.get(key) or None

    def _heard(self, agent: Agent, context: SectionContext, *, follows: bool = False) -> None:
        if agent not in self.senders and len(self.senders) < SENDERS_MAX:
            name = otlp.name(context.resource, "service.name") or "without a name"
            self.senders.add(agent if agent != "unknown" else name if follows else f"{UNKNOWN_SENDER} {name}")


def _keep(batches: Batches, raw: _Raw, part: Part, event: SourceEvent, reader: Reader, started: str | None) -> None:
    """Add a record to its part. The session that a call `started` is an agent's, which is told in that session."""
    child = None if started is None else batches.room(started, part.agent, raw.context, len(raw.data))
    part.drafts += reader(event)
    part.raws.append((raw.context, raw.data))
    if child is not None:
        start = event.record("session_start", suffix="#child", source=OF_SUB_AGENT)
        child.drafts.append(RecordDraft(replace(start, origin=None, prompt_id=None)))
        child.raws.append((raw.context, raw.data))


def _meaning(sender: Agent, metric: str, attributes: otlp.Attributes) -> PointMeaning | None:
    """Gemini sends the conventions' token histogram and its own counter; Copilot sends only the histogram."""
    known = None if metric.startswith("gen_ai.") and sender != "copilot" else _COUNTERS.get(metric)
    if not isinstance(known, dict):
        return known
    ((key, meanings),) = known.items()
    return meanings.get(otlp.text(attributes, key) or "")


def _link(raw: _Raw) -> spans.SpanLink:
    span = otlp.SPAN.decode(raw.data)
    attributes = otlp.attributes_of(span.attributes)
    agent = spans.agent_of_span(raw.context.agent, attributes)
    follows = spans.follows_conventions(agent, attributes)
    operation = otlp.text(attributes, spans.OPERATION) if follows else None
    trace_id, own_id, parent_id = (
        (each or "").lower() or None for each in (span.trace_id, span.span_id, span.parent_span_id)
    )
    return spans.SpanLink(trace_id, own_id, parent_id, session_of(agent, attributes, raw.context.resource), operation)


# Telemetry that an older decoder took in is read anew from its export: a mended reader mends the past.

_T = TypeVar("_T", Record, Point)


def reread(event: Telemetry, digester: Digester, rest: Rest = without_rest) -> Telemetry:
    """What today's decoder reads in the same export, of the same session; as it was read where that is gone."""
    signal: Signal = "metrics" if isinstance(event, MetricsCaptured) else "logs"
    signal = "traces" if isinstance(event, events.TracesCaptured) else signal
    means = ExportContext(event.scope, event.received_at_us, digester, redaction=bool(event.redactions))
    try:
        made = Export(signal, means, rest).commands(split(((event.raw and event.raw.text) or "").encode(), signal))
    except NoOtlp:
        return event
    # The record that started this session may stand here, which tells the rest in another one.
    commands = [each.command for each in made if each.command.agent_session_id == event.agent_session_id]
    match event, commands:
        case MetricsCaptured(), [MetricsCaptured() as read]:
            points = tuple(_named(read.points, event.points, event.received_at_us))
            return replace(event, points=points, decoder_version=DECODER_VERSION)
        case RecordsCaptured(), [RecordsCaptured() as read]:
            digests = {each.record_id: each.input_digest for each in event.records if each.input_digest is not None}
            records = _named(read.records, event.records, event.received_at_us)
            records = [replace(each, input_digest=digests.get(each.record_id, each.input_digest)) for each in records]
            return replace(event, records=tuple(records), words=read.words, decoder_version=DECODER_VERSION)
    return event


def _named(read: Iterable[_T], known: Iterable[_T], received_us: int) -> list[_T]:
    """By the ids from before secrets were taken out; without a time of its own at the time that it had."""
    before = {each.origin: each for each in reversed([*known]) if each.origin is not None}
    found = []
    for each in read:
        had, (_, mark, suffix) = before.get(each.origin or 0, each), each.record_id.partition("#")
        if each.origin is not None:
            at_us = had.at_us if each.at_us == received_us else each.at_us
            each = replace(each, record_id=had.record_id.partition("#")[0] + mark + suffix, at_us=at_us)
        found.append(each)
    return found
