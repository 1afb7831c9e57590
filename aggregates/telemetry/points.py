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
from aggregates.telemetry.contexts import Context, Metric
from aggregates.telemetry.otlp import (
    NANOS_PER_US,
    Attributes,
    Double,
    Integer,
    KeyValue,
    attributes_of,
    double,
    fixed64,
    int64,
    name,
    text,
    uint32,
)
from aggregates.telemetry.source_ids import Fault

_NO_RECORDED_VALUE = 1
_KINDS: dict[str, PointKind] = {
    "gauge": "gauge",
    "sum": "sum",
    "histogram": "histogram",
    "exponentialHistogram": "exponential_histogram",
    "summary": "summary",
}
_TEMPORALITIES: dict[int | None, Literal["delta", "cumulative"]] = {1: "delta", 2: "cumulative"}


class _Point(msgspec.Struct, rename="camel"):
    """What points of all kinds have."""

    attributes: list[KeyValue] | None = None
    start_time_unix_nano: Integer = None
    time_unix_nano: Integer = None
    flags: Integer = None
    exemplars: list[msgspec.Raw] | None = None

    def check(self) -> None:
        """Raises `Fault` where a number cannot be what OTLP says it is."""
        fixed64(self.start_time_unix_nano, "startTimeUnixNano")
        fixed64(self.time_unix_nano, "timeUnixNano")
        uint32(self.flags, "flags")

    def number(self) -> float | None:
        """The one value of the point; None of a distribution."""
        return None


class _Number(_Point, rename="camel"):
    as_double: Double = None
    as_int: Integer = None

    def number(self) -> float | None:
        if self.as_int is not None:
            return float(int64(self.as_int, "asInt"))
        return double(self.as_double, "asDouble")


class _Distribution(_Point, rename="camel"):
    count: Integer = None
    sum: Double = None
    min: Double = None
    max: Double = None

    def check(self) -> None:
        super().check()
        fixed64(self.count, "count")
        for value, place in ((self.sum, "sum"), (self.min, "min"), (self.max, "max")):
            double(value, place)


class _Histogram(_Distribution, rename="camel"):
    bucket_counts: list[Integer] | None = None
    explicit_bounds: list[Double] | None = None

    def check(self) -> None:
        super().check()
        _check_counts(self.bucket_counts, "bucketCounts")
        for index, bound in enumerate(self.explicit_bounds or ()):
            double(bound, f"explicitBounds[{index}]")


class _Buckets(msgspec.Struct, rename="camel"):
    offset: Integer = None
    bucket_counts: list[Integer] | None = None


class _ExponentialHistogram(_Distribution, rename="camel"):
    scale: Integer = None
    zero_count: Integer = None
    zero_threshold: Double = None
    positive: _Buckets | None = None
    negative: _Buckets | None = None

    def check(self) -> None:
        super().check()
        int64(self.scale, "scale")
        fixed64(self.zero_count, "zeroCount")
        double(self.zero_threshold, "zeroThreshold")
        for buckets, place in ((self.positive, "positive"), (self.negative, "negative")):
            if buckets is not None:
                int64(buckets.offset, f"{place}.offset")
                _check_counts(buckets.bucket_counts, f"{place}.bucketCounts")


class _Quantile(msgspec.Struct, rename="camel"):
    quantile: Double = None
    value: Double = None


class _Summary(_Distribution, rename="camel"):
    quantile_values: list[_Quantile] | None = None

    def check(self) -> None:
        super().check()
        for index, each in enumerate(self.quantile_values or ()):
            double(each.quantile, f"quantileValues[{index}].quantile")
            double(each.value, f"quantileValues[{index}].value")


def _check_counts(counts: list[Integer] | None, place: str) -> None:
    for index, count in enumerate(counts or ()):
        fixed64(count, f"{place}[{index}]")


_DECODERS: dict[str, "msgspec.json.Decoder[_Point]"] = {
    "gauge": msgspec.json.Decoder(_Number),
    "sum": msgspec.json.Decoder(_Number),
    "histogram": msgspec.json.Decoder(_Histogram),
    "exponentialHistogram": msgspec.json.Decoder(_ExponentialHistogram),
    "summary": msgspec.json.Decoder(_Summary),
}


class Read(msgspec.Struct, frozen=True):
    """A point that was read, before it has its place in a batch."""

    point: _Point
    attributes: Attributes
    value: float | None


def read_point(data: bytes, metric: Metric) -> Read:
    """Raises `Fault`, or `msgspec.ValidationError` where a member has the wrong JSON type."""
    point = _DECODERS[metric.kind].decode(data)
    point.check()
    value = point.number()
    absent = uint32(point.flags, "flags") & _NO_RECORDED_VALUE or value is None or not math.isfinite(value)
    return Read(point, attributes_of(point.attributes), None if absent else value)


def made_point(read: Read, context: Context, record_id: str, origin: int, received_us: int) -> Point:
    """The point as it is kept."""
    metric = context.metric
    if metric is None:
        raise Fault("a point stands in a metric")
    start_us = fixed64(read.point.start_time_unix_nano, "startTimeUnixNano") // NANOS_PER_US
    at_us = fixed64(read.point.time_unix_nano, "timeUnixNano") // NANOS_PER_US
    return Point(
        record_id=record_id,
        at_us=at_us or start_us or received_us,
        name=metric.name,
        kind=_KINDS[metric.kind],
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


# --- what counters count --------------------------------------------------------------------------------------

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
    """Gemini sends the conventions' token histogram beside its own counter; of Copilot it is the only one."""
    if metric == "gen_ai.client.token.usage":
        return _COPILOT_TOKENS(attributes) if context.agent == "copilot" else None
    known = _MEANINGS.get(metric)
    return None if known is None else known(attributes)
