"""Telemetry as it was received: log records, spans and metric points of one developer, newest first.

A row says where its record stands in the log; its attributes are read from there, so what has been forgotten there is
forgotten here, too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec

from aggregates.event import Scope
from aggregates.records.record import PointKind
from aggregates.times import Window, iso
from projections.reader import Reader

# Single records out of the part of an OTLP export that a fact carries, as they are shown.
#
# What was stored had been accepted once, perhaps by an older decoder: whatever makes no sense here is shown as
# absent.

_LEVELS = {
    "resourceLogs": ("scopeLogs", "logRecords"),
    "resourceSpans": ("scopeSpans", "spans"),
    "resourceMetrics": ("scopeMetrics", "metrics"),
}


_CONTAINERS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
"""A metric holds its points in one of these."""


_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64 - 1


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a histogram or summary; None where the point does not tell."""

    count: int | None
    sum: float | None
    min: float | None
    max: float | None
    bucket_counts: list[int] | None = None
    explicit_bounds: list[float] | None = None
    """Of a histogram: the upper bounds of all buckets but the last."""
    scale: int | None = None
    zero_count: int | None = None
    positive: "Buckets | None" = None
    negative: "Buckets | None" = None
    """Of an exponential histogram."""
    quantiles: "list[Quantile] | None" = None
    """Of a summary."""


class Buckets(msgspec.Struct, frozen=True):
    """The buckets of one sign of an exponential histogram."""

    offset: int
    bucket_counts: list[int]


class Quantile(msgspec.Struct, frozen=True):
    """The value below which that share, 0-1, of what was measured lies."""

    quantile: float
    value: float


def records_of(export: str) -> list[dict[str, Any]]:
    """The log records, spans or metric points in the order in which they stand there."""
    try:
        document = msgspec.json.decode(export)
    except (msgspec.DecodeError, RecursionError):
        return []
    return [record for top, levels in _LEVELS.items() for record in _below(_object(document), (top, *levels))]


def _below(parent: dict[str, Any], names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    name, *rest = names
    for child in _list(parent.get(name)):
        if rest:
            yield from _below(_object(child), tuple(rest))
        elif name == "metrics":
            yield from _points(_object(child))
        else:
            yield _object(child)


def _points(metric: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for container in _CONTAINERS:
        yield from map(_object, _list(_object(metric.get(container)).get("dataPoints")))


def attributes_json(record: Mapping[str, Any]) -> str:
    """The attributes as one JSON object, their values without OTLP's wrapping; of a key that comes twice, the later."""
    return msgspec.json.encode(_pairs(record.get("attributes"))).decode()


def _pairs(pairs: object) -> dict[str, Any]:
    listed = [_object(pair) for pair in _list(pairs)]
    return {str(pair.get("key") or ""): _plain(pair.get("value")) for pair in listed}


def _plain(value: object) -> Any:
    for name, inner in _object(value).items():
        match name, inner:
            case _, None:
                continue
            case "intValue", _:
                return _integer(inner)
            case (("stringValue" | "boolValue" | "doubleValue" | "bytesValue"), _):
                return inner
            case "arrayValue", _:
                return [_plain(each) for each in _list(_object(inner).get("values"))]
            case "kvlistValue", _:
                return _pairs(_object(inner).get("values"))
    return None


def distribution(point: Mapping[str, Any]) -> Distribution:
    """The numbers of a histogram's, an exponential histogram's or a summary's point."""
    quantiles = point.get("quantileValues")
    counts, bounds = point.get("bucketCounts"), point.get("explicitBounds")
    return Distribution(
        count=_integer(point.get("count")),
        sum=_number(point.get("sum")),
        min=_number(point.get("min")),
        max=_number(point.get("max")),
        bucket_counts=None if counts is None else _integers(counts),
        explicit_bounds=None if bounds is None else [_number(each) or 0.0 for each in _list(bounds)],
        scale=_integer(point.get("scale")),
        zero_count=_integer(point.get("zeroCount")),
        positive=_buckets(point.get("positive")),
        negative=_buckets(point.get("negative")),
        quantiles=None if quantiles is None else [_quantile(_object(each)) for each in _list(quantiles)],
    )


def _buckets(value: object) -> Buckets | None:
    if value is None:
        return None
    buckets = _object(value)
    return Buckets(_integer(buckets.get("offset")) or 0, _integers(buckets.get("bucketCounts")))


def _quantile(value: dict[str, Any]) -> Quantile:
    """A default may be left out on the wire: the lowest quantile is 0."""
    return Quantile(_number(value.get("quantile")) or 0.0, _number(value.get("value")) or 0.0)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _integers(values: object) -> list[int]:
    return [_integer(each) or 0 for each in _list(values)]


def _integer(value: object) -> int | None:
    """64-bit integers come as numbers or as decimal strings."""
    try:
        integer = int(value) if isinstance(value, int | str | float) else None
    except (ValueError, OverflowError):
        return None
    return integer if integer is not None and _INTEGER_MIN <= integer <= _INTEGER_MAX else None


def _number(value: object) -> float | None:
    """Infinities and what is no number come as strings, and have no form in JSON."""
    return float(value) if isinstance(value, int | float) else None


PAGE_CHARACTERS_MAX = 16 * 1024 * 1024
"""A page ends early once its attributes come to more than this."""


_NANO = 1_000_000_000


Signal = Literal["logs", "traces", "metrics"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which records of a developer."""

    window: Window
    session_id: str | None = None
    """Those of one agent session; None for all."""
    limit: int
    offset: int = 0


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What every record tells. Tokens and cost are those of the model request that it reported."""

    timestamp: str
    source_event_id: str
    session_id: str | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_creation_tokens: int | None
    cost_usd: float | None
    cost_kind: str | None
    duration_ms: int | None
    attributes_json: str | None


class LogRecord(Shown, frozen=True, kw_only=True):
    """One log record."""

    event_name: str | None


class Span(Shown, frozen=True, kw_only=True):
    """One span."""

    name: str | None


class MetricPoint(Shown, frozen=True, kw_only=True):
    """One metric point. A distribution's numbers stand beside a null value."""

    name: str
    kind: PointKind
    unit: str | None
    temporality: str | None
    value: float | None
    distribution: Distribution | None


_R = TypeVar("_R", bound=Shown)


class Page(msgspec.Struct, Generic[_R], frozen=True):
    """Some of the records; the next page begins after as many as these."""

    records: list[_R]
    has_more: bool


class _Details(msgspec.Struct, frozen=True):
    """What only the export tells."""

    attributes_json: str | None = None
    distribution: Distribution | None = None


_Row = Mapping[str, Any]


_Show = Callable[[_Row, _Details], _R]


_RECORDS = (
    "SELECT t.at_us, t.record_id, t.name, t.agent_session_id, coalesce(t.model, r.model) AS model, t.duration_ms, "
    "t.position, t.origin, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens, "
    "r.cost_usd_nano, r.cost_kind FROM telemetry_records t LEFT JOIN requests r "
    "ON r.developer_id = t.developer_id AND r.at_us = t.at_us AND r.record_id = t.record_id WHERE t.signal = :signal "
)


_POINTS = (
    "SELECT t.at_us, t.record_id, t.name, t.agent_session_id, t.model, t.position, t.origin, t.kind, t.unit, "
    "t.temporality, t.value FROM metric_points t WHERE :signal = 'metrics' "
)


_OF_ALL = "AND t.developer_id = :developer AND t.organization_id = :organization "


_OF_SESSION = (
    "AND t.agent_session_id = :session AND +t.developer_id = :developer AND t.organization_id = :organization "
)
"""The plus keeps the narrower index, that over sessions, in use."""


_NEWEST_FIRST = (
    "AND t.at_us >= :start AND t.at_us < :end ORDER BY t.at_us DESC, t.record_id DESC LIMIT :limit OFFSET :offset"
)


def logs(reader: Reader, scope: Scope, asked: Asked) -> Page[LogRecord]:
    """Log records."""
    return _page(reader, _rows(reader, scope, asked, "logs"), asked.limit, _log_record)


def traces(reader: Reader, scope: Scope, asked: Asked) -> Page[Span]:
    """Spans."""
    return _page(reader, _rows(reader, scope, asked, "traces"), asked.limit, _span)


def metrics(reader: Reader, scope: Scope, asked: Asked) -> Page[MetricPoint]:
    """Metric points, each as received: those of a cumulative counter are not differenced."""
    return _page(reader, _rows(reader, scope, asked, "metrics"), asked.limit, _metric_point)


def _rows(reader: Reader, scope: Scope, asked: Asked, signal: Signal) -> list[_Row]:
    """One more than were asked for, where there are so many."""
    select = _POINTS if signal == "metrics" else _RECORDS
    owner = _OF_ALL if asked.session_id is None else _OF_SESSION
    bound = {
        "organization": str(scope.organization_id),
        "developer": str(scope.developer_id),
        "signal": signal,
        "session": asked.session_id,
        "start": asked.window.start_us,
        "end": asked.window.end_us,
        "limit": asked.limit + 1,
        "offset": asked.offset,
    }
    found = reader.db.execute(select + owner + _NEWEST_FIRST, bound)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def _page(reader: Reader, found: Sequence[_Row], limit: int, show: _Show[_R]) -> Page[_R]:
    rows = found[:limit]
    details = _details(reader, rows)
    whole = next((index for index, row in enumerate(rows) if _place(row) not in details), len(rows))
    return Page([show(row, details[_place(row)]) for row in rows[:whole]], has_more=whole < len(found))


def _place(row: _Row) -> tuple[int, int]:
    return row["position"], row["origin"]


def _details(reader: Reader, rows: Iterable[_Row]) -> dict[tuple[int, int], _Details]:
    """By place; those of later rows are missing where the first ones fill a page."""
    wanted: defaultdict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        wanted[row["position"]].append(row)
    found: dict[tuple[int, int], _Details] = {}
    characters = 0
    for position, here in wanted.items():
        if characters > PAGE_CHARACTERS_MAX:
            break
        records = records_of(reader.export(position) or "null")
        found |= {_place(row): _details_of(row, records) for row in here}
        characters += sum(len(found[_place(row)].attributes_json or "") for row in here)
    return found


def _details_of(row: _Row, records: Sequence[Mapping[str, Any]]) -> _Details:
    if not 0 <= row["origin"] < len(records):
        return _Details()
    record = records[row["origin"]]
    is_distribution = row.get("kind") not in (None, "gauge", "sum")
    return _Details(attributes_json(record), distribution(record) if is_distribution else None)


def _shown(row: _Row, details: _Details) -> dict[str, Any]:
    cost_usd_nano = row.get("cost_usd_nano")
    return {
        "timestamp": iso(row["at_us"]),
        "source_event_id": row["record_id"],
        "session_id": row["agent_session_id"],
        "model": row["model"],
        "input_tokens": row.get("input_tokens"),
        "output_tokens": row.get("output_tokens"),
        "cache_read_tokens": row.get("cache_read_tokens"),
        "cache_creation_tokens": row.get("cache_write_tokens"),
        "cost_usd": None if cost_usd_nano is None else cost_usd_nano / _NANO,
        "cost_kind": row.get("cost_kind"),
        "duration_ms": row.get("duration_ms"),
        "attributes_json": details.attributes_json,
    }


def _log_record(row: _Row, details: _Details) -> LogRecord:
    return LogRecord(event_name=row["name"], **_shown(row, details))


def _span(row: _Row, details: _Details) -> Span:
    return Span(name=row["name"], **_shown(row, details))


def _metric_point(row: _Row, details: _Details) -> MetricPoint:
    return MetricPoint(
        name=row["name"],
        kind=row["kind"],
        unit=row["unit"],
        temporality=row["temporality"],
        value=row["value"],
        distribution=details.distribution,
        **_shown(row, details),
    )
