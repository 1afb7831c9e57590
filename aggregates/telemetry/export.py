"""An export, cut into records, becomes commands; what single records cannot be used for is counted, not raised."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

import msgspec

from aggregates.records.record import LABEL_CHARACTERS_MAX, OF_SUB_AGENT, Point
from aggregates.telemetry import claude_code, codex, gemini, otlp, spans
from aggregates.telemetry.batches import Batches, ExportContext, Part, PreparedCommand, metrics_command, records_command
from aggregates.telemetry.draft import Reader, RecordDraft, SourceEvent
from aggregates.telemetry.envelope import (
    Agent,
    Rest,
    Section,
    SectionContext,
    Signal,
    context_of,
    without_rest,
)
from aggregates.telemetry.points import decoded_point, made_point
from aggregates.times import parse_instant

# Which vocabulary an event or span is in, and whose session it belongs to.


class _Vocabulary(NamedTuple):
    prefix: str  # what the names of its log events begin with
    readers: dict[str, Reader]  # what they mean, by their names without the prefix
    prompt: str | None  # the attribute that names the prompt; None: the trace does
    sessions: tuple[str, ...]  # what names the agent session, the first that is there


_OWN: dict[str, Reader] = {
    "session_start": lambda event: event.only("session_start", **event.told(source="source", model="model")),
    "session_end": lambda event: event.only("session_end", **event.told(source="reason")),
    "tool_result": claude_code.tool_result,
    "interruption": lambda event: event.only("interruption"),
    "stop_failure": lambda event: event.error(
        otlp.text(event.attributes, "error.message", "error"),
        claude_code.STATUSES.get(otlp.text(event.attributes, "error") or ""),
    ),
}
"""What `svc hook` reports: how a session began and ended, what stopped an answer, and tool details that an agent's own
telemetry lacks."""
_SPOKEN: dict[Agent, _Vocabulary] = {
    "claude-code": _Vocabulary(claude_code.PREFIX, claude_code.READERS, "prompt.id", ("session.id",)),
    "codex": _Vocabulary("codex.", codex.READERS, None, ("conversation.id",)),
    "gemini": _Vocabulary("gemini_cli.", gemini.READERS, "prompt_id", ("session.id", "gen_ai.conversation.id")),
    "svc": _Vocabulary("svc.", _OWN, "prompt.id", ("session.id",)),
    "copilot": _Vocabulary("copilot_chat.", {}, None, ("gen_ai.conversation.id", "session.id")),
    "opencode": _Vocabulary("opencode.", {}, None, ("session.id", spans.SDK_SESSION)),
}
_UNKNOWN = _Vocabulary("", {}, None, ("session.id", "gen_ai.conversation.id", "conversation.id", spans.SDK_SESSION))


def _agent_of_log(context: SectionContext, *names: str | None) -> Agent:
    """By the prefix of the event's name, wherever it stands, which is the agent's own; else by who sends."""
    for each in filter(None, names):
        for agent, spoken in _SPOKEN.items():
            if each.startswith(spoken.prefix):
                return agent
    return context.agent


def _agent_of_span(context: SectionContext, attributes: otlp.Attributes) -> Agent:
    """By who sends; a service of another name is Copilot where it says so in its attributes."""
    if context.agent == "unknown" and any(key.startswith(("github.copilot.", "copilot_chat.")) for key in attributes):
        return "copilot"
    return context.agent


def _follows_conventions(agent: Agent, attributes: otlp.Attributes) -> bool:
    """Whether a span is read by the conventions for generative AI: Copilot's, or that of an agent without logs."""
    return agent == "copilot" or (agent == "unknown" and spans.operation(attributes) in spans.OPERATIONS)


def _span_reader(agent: Agent, attributes: otlp.Attributes) -> Callable[[SourceEvent], list[RecordDraft]] | None:
    """None: the span is kept only. The logs of agents that send them are the truth."""
    if agent in ("opencode", "unknown") and spans.of_sdk(attributes):
        return spans.ai_sdk
    return spans.gen_ai if _follows_conventions(agent, attributes) else None


def _session_of(agent: Agent, attributes: otlp.Attributes, resource: otlp.Attributes) -> str | None:
    """The agent session that a record names, else its resource. Raises `Fault` where it cannot be one."""
    # VS Code's resource names a window, which is no session.
    for place in (attributes,) if agent == "copilot" else (attributes, resource):
        for key in _SPOKEN.get(agent, _UNKNOWN).sessions:
            value = place.get(key)
            if not isinstance(value, str) or not value or value.isspace():
                continue
            if len(value) > LABEL_CHARACTERS_MAX:
                at_most = f"an agent session's id has at most {LABEL_CHARACTERS_MAX}"
                raise otlp.Fault(f"{key} has {len(value)} characters; {at_most}")
            if "\0" in value or otlp.CUT_CHARACTER in value:
                raise otlp.Fault(f"{key} holds a NUL or half a character; an agent session's id has neither")
            return value
    return None


def _log_drafts(agent: Agent, event: SourceEvent) -> list[RecordDraft]:
    spoken = _SPOKEN.get(agent, _UNKNOWN)
    if not spoken.readers:
        return event.other()
    event.prompt_id = event.trace_id if spoken.prompt is None else otlp.identifier(event.attributes, spoken.prompt)
    reader = spoken.readers.get((event.name or "").removeprefix(spoken.prefix))
    return event.other() if reader is None else reader(event)


def _sub_agent(event: SourceEvent) -> list[RecordDraft]:
    """The session that a call started is an agent's, told in that session."""
    start = event.record("session_start", suffix="#child", source=OF_SUB_AGENT)
    return [RecordDraft(msgspec.structs.replace(start, origin=None, prompt_id=None))]


T = TypeVar("T")
RECORD_BYTES_MAX = 3 * 1024 * 1024  # a larger record is refused: it must fit into one event together with its texts
_SOURCE_POSITION = "event "  # so begins an event's name that is a place in Codex's own source, and no name
_ERROR_CODE = 2
SENDERS_MAX = 8  # so many of one export are told apart
UNKNOWN_SENDER = "unknown agent"


class Faults:
    """The records that were not taken, and the first reason."""

    def __init__(self) -> None:
        self.records = 0
        self.message: str | None = None

    def add(self, place: str, error: Exception | str, records: int = 1) -> None:
        self.records += records
        if self.message is None:
            hint = _HINT if isinstance(error, msgspec.ValidationError) else ""
            self.message = f"{place}: {error}{hint}"


_HINT = "; in OTLP JSON enums are integers, 64-bit integers numbers or decimal strings, and names lowerCamelCase"


class _Raw(NamedTuple):
    context: SectionContext
    place: str
    data: bytes


_UNUSABLE = (otlp.Fault, msgspec.ValidationError, RecursionError)  # what is wrong with a single record


class Export:
    def __init__(self, signal: Signal, means: ExportContext, rest: Rest = without_rest) -> None:
        self.faults = Faults()
        self.senders: set[str] = set()
        """Who sent it: the agents that are known, and others by the names of their services."""
        self.signal = signal
        self.rest = rest
        self._means = means
        self._contexts: dict[tuple[object, ...], SectionContext] = {}  # an export repeats them

    def commands(self, sections: Sequence[Section]) -> list[PreparedCommand]:
        """The commands, in an order that is the same every time; what cannot be used is counted in `faults`."""
        records, size_bytes = list(self._records(sections)), _size_bytes(sections)
        means = self._means
        if self.signal == "metrics":
            points: Batches[Point] = Batches(size_bytes)
            return [metrics_command(part, means) for part in self._parts(points, records, self._point)]
        reader = self._log if self.signal == "logs" else partial(self._span, spans.SpanTree(_links(records)))
        drafts: Batches[RecordDraft] = Batches(size_bytes)
        return [records_command(part, means, self.signal) for part in self._parts(drafts, records, reader)]

    def _records(self, sections: Iterable[Section]) -> Iterator[_Raw]:
        for section in sections:
            key = (section.container, *(tuple(head.items()) for head in section.heads))
            context = self._contexts.get(key)
            try:
                context = context or context_of(section, self.signal, redaction=self._means.redaction)
            except otlp.Fault as fault:
                self.faults.add(section.place, fault, len(section.items))
                continue
            self._contexts[key] = context
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

    def _parts(
        self, batches: Batches[T], records: Iterable[_Raw], reader: Callable[[Batches[T], _Raw], None]
    ) -> list[Part[T]]:
        for record in records:
            self.rest()
            try:
                reader(batches, record)
            except _UNUSABLE as error:
                self.faults.add(record.place, error)
        return batches.parts()

    def _log(self, batches: Batches[RecordDraft], raw: _Raw) -> None:
        context = raw.context
        record = otlp.LOG_RECORD.decode(raw.data)
        attributes = otlp.attributes_of(record.attributes)
        body = otlp.plain(record.body)
        event_name = _event_name(record, attributes, body)
        agent = _agent_of_log(context, event_name, body if isinstance(body, str) else None)
        part = batches.room(_session_of(agent, attributes, context.resource), agent, context, len(raw.data))
        named = codex.spawned(attributes) if agent == "codex" else None
        child = None if named is None else batches.room(named, agent, context, len(raw.data))
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=len(part.raws),
            at_us=_time_of(record, attributes) or self._means.received_us,
            name=event_name,
            attributes=attributes,
            trace_id=str(record.trace_id) if record.trace_id else None,
        )
        self._heard(agent, context)
        part.add(context, raw.data, _log_drafts(agent, event))
        if child is not None:
            child.add(context, raw.data, _sub_agent(event))

    def _span(self, tree: spans.SpanTree, batches: Batches[RecordDraft], raw: _Raw) -> None:
        context = raw.context
        span = otlp.SPAN.decode(raw.data)
        for each in span.events or ():
            otlp.attributes_of(each.attributes)  # of an event only the depth is looked at
        attributes = otlp.attributes_of(span.attributes)
        agent = _agent_of_span(context, attributes)
        link = _link(span, attributes, context)
        part = batches.room(tree.session_of(link), agent, context, len(raw.data))
        start_us = (span.start_time_unix_nano or 0) // otlp.NANOS_PER_US
        end_us = (span.end_time_unix_nano or 0) // otlp.NANOS_PER_US
        event = SourceEvent(
            record_id=context.ids.of(raw.data),
            origin=len(part.raws),
            at_us=start_us or end_us or self._means.received_us,
            name=otlp.cut_name(span.name or ""),
            attributes=attributes,
            trace_id=link.trace_id,
            end_us=end_us or None,
            failed=span.status is not None and span.status.code == _ERROR_CODE,
            root=link.parent_id is None,
            leaf=tree.is_leaf(link),
            message=span.status.message if span.status is not None else None,
        )
        reader = _span_reader(agent, attributes)
        helped = spans.helped_in(attributes) if reader is spans.ai_sdk else None
        child = None if helped is None else batches.room(helped, agent, context, len(raw.data))
        self._heard(agent, context, follows=reader is not None)
        part.add(context, raw.data, reader(event) if reader else event.other(duration_ms=event.span_ms))
        if child is not None:
            child.add(context, raw.data, _sub_agent(event))

    def _heard(self, agent: Agent, context: SectionContext, *, follows: bool = False) -> None:
        if len(self.senders) < SENDERS_MAX:
            name = otlp.name(context.resource, "service.name") or "without a name"
            self.senders.add(agent if agent != "unknown" else name if follows else f"{UNKNOWN_SENDER} {name}")

    def _point(self, batches: Batches[Point], raw: _Raw) -> None:
        context = raw.context
        point = decoded_point(raw.data, context.container)
        attributes = otlp.attributes_of(point.attributes)
        agent = _agent_of_log(context, context.metric.name if context.metric else None)
        part = batches.room(_session_of(agent, attributes, context.resource), agent, context, len(raw.data))
        self._heard(agent, context)
        record_id, now_us = context.ids.of(raw.data), self._means.received_us
        part.add(context, raw.data, [made_point(point, attributes, context, record_id, len(part.raws), now_us)])


def _size_bytes(sections: Sequence[Section]) -> int:
    """The bytes that were sent; what stands above several sections was sent once."""
    heads = {id(head): head for section in sections for head in section.heads}.values()
    return sum(len(value) for head in heads for value in head.values()) + sum(
        len(bytes(item)) for section in sections for item in section.items
    )


def _links(records: Iterable[_Raw]) -> Iterator[spans.SpanLink]:
    for record in records:
        with suppress(*_UNUSABLE):
            span = otlp.SPAN.decode(record.data)
            yield _link(span, otlp.attributes_of(span.attributes), record.context)


def _event_name(record: otlp.LogRecord, attributes: otlp.Attributes, body: otlp.Plain) -> str | None:
    """The attribute first; Claude Code's body names the event too, and a source position is no name."""
    told = otlp.text(attributes, "event.name")
    if told is None and isinstance(body, str) and body.startswith(claude_code.PREFIX):
        told = body
    if told is None and record.event_name and not record.event_name.startswith(_SOURCE_POSITION):
        told = record.event_name
    return otlp.cut_name(told)


def _time_of(record: otlp.LogRecord, attributes: otlp.Attributes) -> int | None:
    nanos = record.time_unix_nano or record.observed_time_unix_nano
    if nanos:
        return nanos // otlp.NANOS_PER_US
    said = otlp.text(attributes, "event.timestamp")
    try:
        return None if said is None else parse_instant(said)
    except ValueError:
        return None


def _link(span: otlp.OtlpSpan, attributes: otlp.Attributes, context: SectionContext) -> spans.SpanLink:
    agent = _agent_of_span(context, attributes)
    return spans.SpanLink(
        trace_id=str(span.trace_id) if span.trace_id else None,
        span_id=str(span.span_id) if span.span_id else None,
        parent_id=str(span.parent_span_id) if span.parent_span_id else None,
        session=_session_of(agent, attributes, context.resource),
        operation=spans.operation(attributes) if _follows_conventions(agent, attributes) else None,
    )
