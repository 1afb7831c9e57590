"""Exports as real agents send them, small ones; and what becomes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aggregates.capture.events import MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Words, cut
from aggregates.records.record import Point, Record
from aggregates.telemetry.batches import ExportContext
from aggregates.telemetry.envelope import Section, Signal, split
from aggregates.telemetry.export import Export, Faults
from tests.support.facts import ANA, DIGESTER, Log

NOW_US = 1_780_000_000_000_000
NOW_NANO = str(NOW_US * 1_000)
TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"

MEANS = ExportContext(ANA, NOW_US, DIGESTER, redaction=True)
Attributes = Mapping[str, object]


def value(plain: object) -> dict[str, Any]:
    """An AnyValue; a mapping is taken as one already."""
    match plain:
        case dict():
            return plain
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": plain}
        case float():
            return {"doubleValue": plain}
        case _:
            return {"stringValue": plain}


def pairs(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(plain)} for key, plain in attributes.items()]


def log(attributes: Attributes, /, **members: Any) -> dict[str, Any]:
    return {"timeUnixNano": NOW_NANO, "attributes": pairs(attributes), **members}


def claude(event: str, attributes: Attributes | None = None, /, **members: Any) -> dict[str, Any]:
    """A log record of Claude Code's session `s1`."""
    usual = {"session.id": "s1", "prompt.id": "p1", "event.name": event}
    return log({**usual, **(attributes or {})}, **({"body": {"stringValue": f"claude_code.{event}"}} | members))


def span(name: str, attributes: Attributes, /, **members: Any) -> dict[str, Any]:
    usual = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": NOW_NANO,
        "endTimeUnixNano": str((NOW_US + 1_000_000) * 1_000),
    }
    return {**usual, "attributes": pairs(attributes), **members}


def logs(*records: object, service: str = "claude-code", resource: Attributes | None = None) -> dict[str, Any]:
    return _export("resourceLogs", "scopeLogs", "logRecords", records, service, resource)


def traces(*spans: object, service: str = "vs-copilot") -> dict[str, Any]:
    return _export("resourceSpans", "scopeSpans", "spans", spans, service, None)


def metrics(*each: object, service: str = "claude-code", resource: Attributes | None = None) -> dict[str, Any]:
    return _export("resourceMetrics", "scopeMetrics", "metrics", each, service, resource)


def _export(
    top: str, inner: str, last: str, each: Sequence[object], service: str, resource: Attributes | None
) -> dict[str, Any]:
    attributes = pairs({"service.name": service, **(resource or {})})
    return {top: [{"resource": {"attributes": attributes}, inner: [{"scope": {"name": "scope"}, last: list(each)}]}]}


def counter(name: str, point: Attributes, attributes: Attributes | None = None) -> dict[str, Any]:
    made = {"timeUnixNano": NOW_NANO, "attributes": pairs(attributes or {}), **point}
    return {"name": name, "sum": {"aggregationTemporality": 1, "isMonotonic": True, "dataPoints": [made]}}


class Taken(msgspec.Struct):
    """What an export became."""

    commands: list[RecordsCaptured | MetricsCaptured]
    faults: Faults

    @property
    def records(self) -> list[Record]:
        return [record for each in self.commands if isinstance(each, RecordsCaptured) for record in each.records]

    @property
    def points(self) -> list[Point]:
        return [point for each in self.commands if isinstance(each, MetricsCaptured) for point in each.points]

    @property
    def kinds(self) -> list[str]:
        return [record.kind for record in self.records]

    @property
    def only(self) -> Record:
        (record,) = self.records
        return record

    @property
    def shown(self) -> list[str]:
        """Each record on one line: what it is, and what is told of it."""
        commands = [each for each in self.commands if isinstance(each, RecordsCaptured)]
        return [_shown(record, command.words) for command in commands for record in command.records]

    def text(self, field: str = "text") -> str | None:
        """What the one record's text, path or command says."""
        (command,) = self.commands
        assert isinstance(command, RecordsCaptured)
        return cut(command.words, getattr(self.only, field))


def _shown(record: Record, words: Words) -> str:
    tokens = (record.input_tokens, record.cache_read_tokens, record.output_tokens)
    lines = (record.lines_added, record.lines_removed)
    told = [
        record.kind,
        record.tool,
        None if record.ok is None else "ok" if record.ok else "failed",
        f"{tokens[0]}+{tokens[1]} > {tokens[2]}" if record.kind == "request" else None,
        None if record.cost_usd_nano is None else f"nano-dollars {record.cost_usd_nano}",
        record.status_code,
        None if record.retry_after_ms is None else f"wait {record.retry_after_ms}",
        record.source,
        cut(words, record.path),
        None if lines == (None, None) else f"+{lines[0]} -{lines[1]}",
        cut(words, record.command),
        None if record.text is None else repr(cut(words, record.text)),
        "beside" if record.sidechain else None,
    ]
    return " ".join(str(each) for each in told if each is not None)


def taken(export: Mapping[str, Any] | bytes, *, signal: Signal | None = None, redaction: bool = True) -> Taken:
    known: dict[str, Signal] = {"resourceSpans": "traces", "resourceMetrics": "metrics"}
    top = next(iter(export), "") if isinstance(export, Mapping) else ""
    found = signal or known.get(top, "logs")
    data = export if isinstance(export, bytes) else msgspec.json.encode(export)
    return taken_of(split(data, found), found, redaction=redaction)


def taken_of(sections: Sequence[Section], signal: Signal, *, redaction: bool = True) -> Taken:
    export = Export(signal, msgspec.structs.replace(MEANS, redaction=redaction))
    commands = [made.command for made in export.commands(sections)]
    return Taken(commands, export.faults)


# --- telemetry facts with the export they came from, for tests of what is read back ------------------------------


def add_logs(log: Log, session: str | None, *drafts: dict[str, Any], forgotten: bool = False) -> Log:
    """Log records; `attributes` of a draft stand in the export alone."""
    bodies = [{"attributes": pairs(draft.pop("attributes", {}))} for draft in drafts]
    raw = {"resourceLogs": [{"scopeLogs": [{"logRecords": bodies}]}]}
    return _add(log, RecordsCaptured, session, drafts, raw, forgotten)


def add_spans(log: Log, session: str | None, *drafts: dict[str, Any]) -> Log:
    bodies = [{"attributes": pairs(draft.pop("attributes", {}))} for draft in drafts]
    raw = {"resourceSpans": [{"scopeSpans": [{"spans": bodies}]}]}
    return _add(log, TracesCaptured, session, drafts, raw, False)


def add_points(log: Log, session: str | None, *drafts: dict[str, Any]) -> Log:
    """Metric points, each in a metric of its own; `body` of a draft is the point as it was sent."""
    containers = {"exponential_histogram": "exponentialHistogram"}
    metrics = []
    points = []
    for origin, draft in enumerate(drafts):
        kind = draft.setdefault("kind", "sum")
        body = {"attributes": pairs(draft.pop("attributes", {})), **draft.pop("body", {})}
        metrics.append({"name": "m", containers.get(kind, kind): {"dataPoints": [body]}})
        named: dict[str, Any] = {"name": "tokens", "record_id": f"p-{draft['at_us']}-{draft.get('series')}-{origin}"}
        points.append(Point(origin=origin, **(named | draft)))
    raw = {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}
    at_us = max(point.at_us for point in points)
    return log._add(MetricsCaptured, at_us, **_common(session, raw), points=tuple(points))


def _add(
    log: Log,
    kind: type[RecordsCaptured],
    session: str | None,
    drafts: tuple[dict[str, Any], ...],
    raw: dict[str, Any],
    forgotten: bool,
) -> Log:
    letter = "t" if kind is TracesCaptured else "r"
    records = []
    for origin, draft in enumerate(drafts):
        usual: dict[str, Any] = {"record_id": f"{letter}-{draft['at_us']}-{origin}", "kind": "other", "origin": origin}
        records.append(Record(**(usual | draft)))
    common = _common(session, None if forgotten else raw)
    return log._add(kind, max(record.at_us for record in records), **common, records=tuple(records), words=Words(""))


def _common(session: str | None, raw: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "agent_session_id": session,
        "source": "claude-code",
        "decoder_version": 1,
        "raw": Words(None if raw is None else msgspec.json.encode(raw).decode()),
    }
