"""Single records out of the part of an OTLP export that a fact carries, as they are shown.

What was stored had been accepted once, perhaps by an older decoder: whatever makes no sense here is shown as absent.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

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
