"""Metric points: their numbers as OTLP has them, and what the counters that we know count.

Codex's and Gemini's input counters include what was cached; such counts are shown as their agents count them and never
added to those of requests.
"""

import math
from hashlib import sha256
from typing import Literal

import msgspec

from aggregates.records.record import Point, PointKind, PointMeaning
from aggregates.telemetry import otlp
from aggregates.telemetry.envelope import Metric, SectionContext

_NO_RECORDED_VALUE = 1
_TEMPORALITIES: dict[int | None, Literal["delta", "cumulative"]] = {1: "delta", 2: "cumulative"}


class WirePoint(otlp.Attributed):
    """A point of any kind: by its kind some of these."""

    start_time_unix_nano: otlp.Fixed64 | None = None
    time_unix_nano: otlp.Fixed64 | None = None
    flags: otlp.UInt32 | None = None
    exemplars: list[msgspec.Raw] | None = None


class WireNumber(WirePoint):
    as_double: otlp.Double | None = None
    as_int: otlp.Int64 | None = None


class WireBuckets(msgspec.Struct, rename="camel"):
    offset: otlp.Int64 | None = None
    bucket_counts: list[otlp.Fixed64 | None] | None = None


class WireQuantile(msgspec.Struct, rename="camel"):
    quantile: otlp.Double | None = None
    value: otlp.Double | None = None


class WireDistribution(WirePoint):
    """A histogram, exponential or not, or a summary."""

    count: otlp.Fixed64 | None = None
    sum: otlp.Double | None = None
    min: otlp.Double | None = None
    max: otlp.Double | None = None
    bucket_counts: list[otlp.Fixed64 | None] | None = None
    explicit_bounds: list[otlp.Double | None] | None = None
    scale: otlp.Int64 | None = None
    zero_count: otlp.Fixed64 | None = None
    zero_threshold: otlp.Double | None = None
    positive: WireBuckets | None = None
    negative: WireBuckets | None = None
    quantile_values: list[WireQuantile] | None = None


_NUMBER = msgspec.json.Decoder(WireNumber, dec_hook=otlp.typed)
DISTRIBUTION = msgspec.json.Decoder(WireDistribution, dec_hook=otlp.typed)
_KINDS: dict[str, PointKind] = {
    "gauge": "gauge",
    "sum": "sum",
    "histogram": "histogram",
    "exponentialHistogram": "exponential_histogram",
    "summary": "summary",
}
"""By the names of their containers."""


def decoded_point(data: bytes, container: str) -> WireNumber | WireDistribution:
    """Raises `msgspec.ValidationError` where a member is not what OTLP says it is."""
    return (_NUMBER if container in ("gauge", "sum") else DISTRIBUTION).decode(data)


def made_point(
    point: WirePoint, attributes: otlp.Attributes, context: SectionContext, record_id: str, origin: int, now_us: int
) -> Point:
    metric = context.metric or Metric()
    start_us = (point.start_time_unix_nano or 0) // otlp.NANOS_PER_US
    at_us = (point.time_unix_nano or 0) // otlp.NANOS_PER_US
    value: float | None = None
    if isinstance(point, WireNumber) and not (point.flags or 0) & _NO_RECORDED_VALUE:
        value = point.as_double if point.as_int is None else point.as_int
    series = context.series + b"," + msgspec.json.encode(attributes, order="sorted")
    return Point(
        record_id=record_id,
        at_us=at_us or start_us or now_us,
        name=otlp.cut_name(metric.name) or "",
        kind=_KINDS[context.container],
        origin=origin,
        unit=otlp.cut_name(metric.unit),
        temporality=_TEMPORALITIES.get(metric.aggregation_temporality),
        monotonic=metric.is_monotonic if context.container == "sum" else None,
        start_us=start_us or None,
        value=float(value) if value is not None and math.isfinite(value) else None,
        series=sha256(series).hexdigest()[:32],
        meaning=_meaning(context, metric.name or "", attributes),
        model=otlp.name(attributes, "model", "gen_ai.response.model", "gen_ai.request.model"),
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


def _meaning(context: SectionContext, metric: str, attributes: otlp.Attributes) -> PointMeaning | None:
    """Gemini sends the conventions' token histogram and its own counter; Copilot sends only the histogram."""
    if metric.startswith("gen_ai.") and context.agent != "copilot":
        return None
    known = _MEANINGS.get(metric)
    return known[1].get(otlp.text(attributes, known[0]) or "") if isinstance(known, tuple) else known
