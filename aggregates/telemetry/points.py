"""Metric points: their numbers as OTLP has them, and what the counters that we know count.

Codex's and Gemini's input counters include what was cached; such counts are shown as their agents count them and never
added to those of requests.
"""

import math
from hashlib import sha256
from typing import Literal

import msgspec

from aggregates.records.record import Point, PointKind, PointMeaning
from aggregates.telemetry.envelope import Context, Metric
from aggregates.telemetry.otlp import (
    NANOS_PER_US,
    Attributed,
    Attributes,
    Double,
    Fixed64,
    Int64,
    UInt32,
    attributes_of,
    name,
    text,
    typed,
)

_NO_RECORDED_VALUE = 1
_TEMPORALITIES: dict[int | None, Literal["delta", "cumulative"]] = {1: "delta", 2: "cumulative"}


class WirePoint(Attributed):
    start_time_unix_nano: Fixed64 | None = None
    time_unix_nano: Fixed64 | None = None
    flags: UInt32 | None = None
    exemplars: list[msgspec.Raw] | None = None


class _Number(WirePoint):
    as_double: Double | None = None
    as_int: Int64 | None = None


class _Distribution(WirePoint):
    count: Fixed64 | None = None
    sum: Double | None = None
    min: Double | None = None
    max: Double | None = None


class _Histogram(_Distribution):
    bucket_counts: list[Fixed64 | None] | None = None
    explicit_bounds: list[Double | None] | None = None


class _Buckets(msgspec.Struct, rename="camel"):
    offset: Int64 | None = None
    bucket_counts: list[Fixed64 | None] | None = None


class _ExponentialHistogram(_Distribution):
    scale: Int64 | None = None
    zero_count: Fixed64 | None = None
    zero_threshold: Double | None = None
    positive: _Buckets | None = None
    negative: _Buckets | None = None


class _Quantile(msgspec.Struct, rename="camel"):
    quantile: Double | None = None
    value: Double | None = None


class _Summary(_Distribution):
    quantile_values: list[_Quantile] | None = None


_TYPES: dict[str, tuple[type[WirePoint], PointKind]] = {
    "gauge": (_Number, "gauge"),
    "sum": (_Number, "sum"),
    "histogram": (_Histogram, "histogram"),
    "exponentialHistogram": (_ExponentialHistogram, "exponential_histogram"),
    "summary": (_Summary, "summary"),
}
_DECODERS = {container: msgspec.json.Decoder(point, dec_hook=typed) for container, (point, _) in _TYPES.items()}


def read_point(data: bytes, container: str) -> tuple[WirePoint, Attributes]:
    """Raises `Fault`, or `msgspec.ValidationError` where a member is not what OTLP says it is."""
    point = _DECODERS[container].decode(data)
    return point, attributes_of(point.attributes)


def made_point(
    point: WirePoint, attributes: Attributes, context: Context, metric: Metric, record_id: str, origin: int, now_us: int
) -> Point:
    start_us = (point.start_time_unix_nano or 0) // NANOS_PER_US
    at_us = (point.time_unix_nano or 0) // NANOS_PER_US
    value: float | None = None
    if isinstance(point, _Number) and not (point.flags or 0) & _NO_RECORDED_VALUE:
        value = point.as_double if point.as_int is None else point.as_int
    series = context.series + b"," + msgspec.json.encode(attributes, order="sorted")
    return Point(
        record_id=record_id,
        at_us=at_us or start_us or now_us,
        name=metric.name or "",
        kind=_TYPES[context.container][1],
        origin=origin,
        unit=metric.unit or None,
        temporality=_TEMPORALITIES.get(metric.aggregation_temporality),
        monotonic=metric.is_monotonic if context.container == "sum" else None,
        start_us=start_us or None,
        value=float(value) if value is not None and math.isfinite(value) else None,
        series=sha256(series).hexdigest()[:32],
        meaning=_meaning(context, metric.name or "", attributes),
        model=name(attributes, "model", "gen_ai.response.model", "gen_ai.request.model"),
    )


_Meanings = dict[str, PointMeaning]
_LINES: _Meanings = {"added": "lines_added", "removed": "lines_removed"}
_MEANINGS: dict[str, PointMeaning | tuple[str, _Meanings]] = {
    "claude_code.token.usage": (
        "type",
        {
            "input": "input_tokens",
            "output": "output_tokens",
            "cacheRead": "cache_read_tokens",
            "cacheCreation": "cache_write_tokens",
        },
    ),
    "claude_code.cost.usage": "cost_usd",
    "claude_code.lines_of_code.count": ("type", _LINES),
    "claude_code.commit.count": "commits",
    "claude_code.pull_request.count": "pull_requests",
    "gemini_cli.token.usage": (
        "type",
        {"input": "input_tokens", "output": "output_tokens", "cache": "cache_read_tokens"},
    ),
    "gemini_cli.lines.changed": ("type", _LINES),
    "codex.turn.token_usage": (
        "token_type",
        {
            "input": "input_tokens",
            "output": "output_tokens",
            "cached_input": "cache_read_tokens",
            "cache_write_input": "cache_write_tokens",
        },
    ),
    "github.copilot.code.lines_added": "lines_added",
    "github.copilot.code.lines_removed": "lines_removed",
    "gen_ai.client.token.usage": ("gen_ai.token.type", {"input": "input_tokens", "output": "output_tokens"}),
}
"""What a counter counts, or the attribute that says it."""


def _meaning(context: Context, metric: str, attributes: Attributes) -> PointMeaning | None:
    """Gemini sends the conventions' token histogram and its own counter; Copilot sends only the histogram."""
    if metric.startswith("gen_ai.") and context.agent != "copilot":
        return None
    known = _MEANINGS.get(metric)
    return known[1].get(text(attributes, known[0]) or "") if isinstance(known, tuple) else known
