"""Telemetry facts with the export they came from, for tests of what is read back."""

from typing import Any

import msgspec

from aggregates.capture.events import MetricsCaptured, RecordsCaptured, TracesCaptured
from aggregates.event import Words
from aggregates.records.record import Point, Record
from tests.support.facts import Log
from tests.support.otlp import pairs


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
