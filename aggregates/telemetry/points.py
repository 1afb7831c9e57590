"""Metric points: their numbers as OTLP has them, and what the counters that we know count.

Codex's and Gemini's input counters include what was cached; such counts are shown as their agents count them and never
added to those of requests.
"""

import math
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

import msgspec

from aggregates.records.record import Point, PointKind, PointMeaning
from aggregates.telemetry.envelope import Context, Metric
from aggregates.telemetry.otlp import (
    NANOS_PER_US,
    Attributes,
    Double,
    Fixed64,
    Int64,
    KeyValue,
    UInt32,
    attributes_of,
    name,
    text,
    typed,
)

_NO_RECORDED_VALUE = 1
_TEMPORALITIES: dict[int | None, Literal["delta", "cumulative"]] = {1: "delta", 2: "cumulative"}


class _Point(msgspec.Struct, rename="camel"):
    attributes: list[KeyValue] | None = None
    start_time_unix_nano: Fixed64 | None = None
    time_unix_nano: Fixed64 | None = None
    flags: UInt32 | None = None
    exemplars: list[msgspec.Raw] | None = None

    def number(self) -> float | None:
        """The one value of the point; None of a distribution."""
        return None


class _Number(_Point):
    as_double: Double | None = None
    as_int: Int64 | None = None

    def number(self) -> float | None:
        value = self.as_double if self.as_int is None else self.as_int
        return None if value is None else float(value)


class _Distribution(_Point):
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


_TYPES: dict[str, tuple[type[_Point], PointKind]] = {
    "gauge": (_Number, "gauge"),
    "sum": (_Number, "sum"),
    "histogram": (_Histogram, "histogram"),
    "exponentialHistogram": (_ExponentialHistogram, "exponential_histogram"),
    "summary": (_Summary, "summary"),
}
_DECODERS = {container: msgspec.json.Decoder(point, dec_hook=typed) for container, (point, _) in _TYPES.items()}


class Read(msgspec.Struct, frozen=True):
    """A point that was read, before it has its place in a batch."""

    point: _Point
    attributes: Attributes
    value: float | None


def read_point(data: bytes, metric: Metric) -> Read:
    """Raises `Fault`, or `msgspec.ValidationError` where a member is not what OTLP says it is."""
    point = _DECODERS[metric.kind].decode(data)
    value = point.number()
    absent = (point.flags or 0) & _NO_RECORDED_VALUE or value is None or not math.isfinite(value)
    return Read(point, attributes_of(point.attributes), None if absent else value)


def made_point(read: Read, context: Context, metric: Metric, record_id: str, origin: int, received_us: int) -> Point:
    start_us = (read.point.start_time_unix_nano or 0) // NANOS_PER_US
    at_us = (read.point.time_unix_nano or 0) // NANOS_PER_US
    return Point(
        record_id=record_id,
        at_us=at_us or start_us or received_us,
        name=metric.name,
        kind=_TYPES[metric.kind][1],
        origin=origin,
        unit=metric.unit,
        temporality=_TEMPORALITIES.get(metric.temporality),
        monotonic=metric.monotonic if metric.kind == "sum" else None,
        start_us=start_us or None,
        value=read.value,
        series=_series(context, read.attributes),
        meaning=_meaning(context, metric.name, read.attributes),
        model=name(read.attributes, "model", "gen_ai.response.model", "gen_ai.request.model"),
    )


def _series(context: Context, attributes: Attributes) -> str:
    own = msgspec.json.encode(attributes, order="sorted")
    return sha256(context.series + b"," + own).hexdigest()[:32]


_Meanings = dict[str, PointMeaning]


def _by(key: str, meanings: _Meanings) -> Callable[[Attributes], PointMeaning | None]:
    return lambda attributes: meanings.get(text(attributes, key) or "")


_LINES: _Meanings = {"added": "lines_added", "removed": "lines_removed"}
_MEANINGS: dict[str, Callable[[Attributes], PointMeaning | None]] = {
    "claude_code.token.usage": _by(
        "type",
        {
            "input": "input_tokens",
            "output": "output_tokens",
            "cacheRead": "cache_read_tokens",
            "cacheCreation": "cache_write_tokens",
        },
    ),
    "claude_code.cost.usage": lambda _: "cost_usd",
    "claude_code.lines_of_code.count": _by("type", _LINES),
    "claude_code.commit.count": lambda _: "commits",
    "claude_code.pull_request.count": lambda _: "pull_requests",
    "gemini_cli.token.usage": _by(
        "type", {"input": "input_tokens", "output": "output_tokens", "cache": "cache_read_tokens"}
    ),
    "gemini_cli.lines.changed": _by("type", _LINES),
    "codex.turn.token_usage": _by(
        "token_type",
        {
            "input": "input_tokens",
            "output": "output_tokens",
            "cached_input": "cache_read_tokens",
            "cache_write_input": "cache_write_tokens",
        },
    ),
    "github.copilot.code.lines_added": lambda _: "lines_added",
    "github.copilot.code.lines_removed": lambda _: "lines_removed",
}
_COPILOT_TOKENS = _by("gen_ai.token.type", {"input": "input_tokens", "output": "output_tokens"})


def _meaning(context: Context, metric: str, attributes: Attributes) -> PointMeaning | None:
    """Gemini sends the conventions' token histogram and its own counter; Copilot sends only the histogram."""
    if metric == "gen_ai.client.token.usage":
        return _COPILOT_TOKENS(attributes) if context.agent == "copilot" else None
    known = _MEANINGS.get(metric)
    return None if known is None else known(attributes)
