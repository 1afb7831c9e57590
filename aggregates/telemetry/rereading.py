"""Telemetry that an older decoder took in is read anew from its export: a mended reader mends the past."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec.structs import replace

from aggregates.capture import events
from aggregates.capture.events import DECODER_VERSION, MetricsCaptured, RecordsCaptured, Telemetry
from aggregates.event import Digester, Words
from aggregates.records.record import Point, Record
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import NoOtlp, Rest, Signal, split, without_rest
from aggregates.telemetry.export import Export

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
        case MetricsCaptured(), [events.CaptureMetrics() as read]:
            points = tuple(_named(read.points, event.points, event.received_at_us))
            return replace(event, points=points, decoder_version=DECODER_VERSION)
        case RecordsCaptured(), [events.CaptureRecords() as read]:
            digests = {each.record_id: each.input_digest for each in event.records if each.input_digest is not None}
            records = _named(read.records, event.records, event.received_at_us)
            records = [replace(each, input_digest=digests.get(each.record_id, each.input_digest)) for each in records]
            return replace(event, records=tuple(records), words=Words(read.words), decoder_version=DECODER_VERSION)
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
