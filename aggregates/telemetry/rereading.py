"""Telemetry that an older decoder took in is read anew from its export: a mended reader mends the past."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from aggregates.capture.events import DECODER_VERSION, MetricsCaptured, RecordsCaptured, Telemetry, TracesCaptured
from aggregates.event import Digester, Span, Words
from aggregates.records.record import Point, Record, TextPool
from aggregates.telemetry.batches import ExportContext, Part, captured_records
from aggregates.telemetry.draft import RecordDraft
from aggregates.telemetry.envelope import NoOtlp, Rest, Signal, split, without_rest
from aggregates.telemetry.export import Export
from aggregates.telemetry.otlp import Fault

_T = TypeVar("_T", Record, Point)


def reread(event: Telemetry, digester: Digester, rest: Rest = without_rest) -> Telemetry:
    """What today's decoder reads in the same export; as it was read where the export is gone.

    Whose session it is stays, for that was decided when it came; so do ids, which were made before secrets were taken
    out. Texts stand where they stood, new ones behind them.
    """
    signal: Signal = "metrics" if isinstance(event, MetricsCaptured) else "logs"
    signal = "traces" if isinstance(event, TracesCaptured) else signal
    means = ExportContext(event.scope, event.received_at_us, digester, redaction=False)
    export = Export(signal, means, rest)
    try:
        sections = split(((event.raw and event.raw.text) or "").encode(), signal)
        if isinstance(event, RecordsCaptured):
            sums = {each.origin for each in event.records if each.kind == "other"}
            return _records(event, list(export.each(sections, sums)), means)
        points = [replace(part.points[0], origin=at) for at, (part, *_) in enumerate(export.each(sections, ()))]
        if len(points) != len(event.points):
            return event
        named = _named(points, event.points, event.received_at_us)
        return replace(event, points=named, decoder_version=DECODER_VERSION)
    except (NoOtlp, Fault, msgspec.ValidationError, RecursionError):
        return event


def _records(event: RecordsCaptured, read: Sequence[list[Part]], means: ExportContext) -> RecordsCaptured:
    told = {record.origin for record in event.records}
    if any(origin is not None and origin >= len(read) for origin in told):
        return event
    drafts: list[RecordDraft] = []
    for place, (own, *started) in enumerate(read):
        if place in told:
            drafts += [replace(each, record=replace(each.record, origin=place)) for each in own.drafts]
        else:  # it stands here only because it started this session
            drafts += [each for part in started for each in part.drafts]
    pool = TextPool(redaction=bool(event.redactions), words=event.words.text or "", spans=_spans(event.records))
    made = captured_records(drafts, event.agent_session_id, event.source, means, pool=pool)
    records = _named(made.records, event.records, event.received_at_us)
    digests = {each.record_id: each.input_digest for each in event.records if each.input_digest is not None}
    records = tuple(replace(each, input_digest=digests.get(each.record_id, each.input_digest)) for each in records)
    return replace(event, records=records, words=Words(made.words), decoder_version=DECODER_VERSION)


def _spans(records: Iterable[Record]) -> Iterator[Span]:
    for each in records:
        spans = (each.text, each.path, each.command, *(file.path for file in each.more_files))
        yield from (span for span in spans if span is not None)


def _named(read: Iterable[_T], known: Iterable[_T], received_us: int) -> tuple[_T, ...]:
    """By the ids that they had; without a time of its own at the time that it had."""
    before: dict[int | None, _T] = {}
    for each in known:
        before.setdefault(each.origin, each)
    found: list[_T] = []
    for each in read:
        if each.origin is not None and (had := before.get(each.origin)) is not None:
            name, mark, suffix = each.record_id.partition("#")
            name = had.record_id.partition("#")[0]
            at_us = had.at_us if each.at_us == received_us else each.at_us
            each = replace(each, record_id=name + mark + suffix, at_us=at_us)
        found.append(each)
    return tuple(found)
