"""Telemetry as received, newest first; attributes are read from the log, and so are forgotten with it."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from math import isfinite
from typing import Any, Generic, TypeVar

import msgspec

from aggregates.event import Scope
from aggregates.records.record import PointKind
from aggregates.telemetry import otlp
from aggregates.telemetry.envelope import NoOtlp, Signal, split
from aggregates.times import Window, iso
from projections.prices import NANO
from projections.reader import Reader, bound, sql

PAGE_CHARACTERS_MAX = 16 * 1024 * 1024  # a page ends early once its attributes come to more than this
_ATTRIBUTED = msgspec.json.Decoder(otlp.Attributed)
_UNREADABLE = (otlp.Fault, msgspec.DecodeError, RecursionError)


class Buckets(msgspec.Struct, frozen=True):
    offset: int
    bucket_counts: list[int]


class Quantile(msgspec.Struct, frozen=True):
    """The value below which that share, 0-1, of what was measured lies."""

    quantile: float
    value: float


class PointDistribution(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a histogram or summary; None where the point does not tell."""

    count: int | None
    sum: float | None
    min: float | None
    max: float | None
    bucket_counts: list[int] | None = None
    explicit_bounds: list[float] | None = None  # of a histogram: the upper bounds of all buckets but the last
    scale: int | None = None
    zero_count: int | None = None
    positive: Buckets | None = None
    negative: Buckets | None = None  # those with a scale are of an exponential histogram
    quantiles: list[Quantile] | None = None


class TelemetryRow(msgspec.Struct, frozen=True, kw_only=True):
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


class LogRow(TelemetryRow, frozen=True, kw_only=True):
    event_name: str | None


class SpanRow(TelemetryRow, frozen=True, kw_only=True):
    name: str | None


class MetricPoint(TelemetryRow, frozen=True, kw_only=True):
    """One metric point. A distribution's numbers stand beside a null value."""

    name: str
    kind: PointKind
    unit: str | None
    temporality: str | None
    value: float | None
    distribution: PointDistribution | None


_R = TypeVar("_R", bound=TelemetryRow)


class Page(msgspec.Struct, Generic[_R], frozen=True):
    """Some of the records; the next page begins after them."""

    records: list[_R]
    has_more: bool


KINDS: dict[Signal, type[TelemetryRow]] = {"logs": LogRow, "metrics": MetricPoint, "traces": SpanRow}


def page(
    reader: Reader, scope: Scope, signal: Signal, window: Window, limit: int, offset: int, session_id: str | None = None
) -> Page[Any]:
    """Each as received: points of a cumulative counter are not differenced."""
    # The plus keeps the narrower index, that over sessions, in use.
    of_session = "t.agent_session_id = :session AND +" if session_id is not None else ""
    owner = f"{of_session}t.developer_id = :developer AND t.organization_id = :organization"
    query = sql("points_received" if signal == "metrics" else "received", owner=owner)
    page = bound(scope, window, signal=signal, session=session_id, limit=limit + 1, offset=offset)
    found = reader.db.execute(query, page)
    names = [column[0] for column in found.description]
    rows = [dict(zip(names, row, strict=True)) for row in found]
    whole = _with_details(reader, rows[:limit], signal)
    shown = []
    for row in whole:
        nano = row.get("cost_usd_nano")
        row |= {"timestamp": iso(row["at_us"]), "cost_usd": None if nano is None else nano / NANO}
        values: dict[str, Any] = {name: row.get(name) for name in KINDS[signal].__struct_fields__}
        shown.append(KINDS[signal](**values))
    return Page(shown, has_more=len(whole) < len(rows))


def _with_details(reader: Reader, rows: Sequence[dict[str, Any]], signal: Signal) -> Sequence[dict[str, Any]]:
    """The first rows, each with what only its export tells; the later ones are missing where these fill a page."""
    by_position: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_position[row["position"]].append(row)
    characters = 0
    for position, here in by_position.items():
        if characters > PAGE_CHARACTERS_MAX:
            break
        records = records_of(reader.export(position) or "null", signal)
        for row in here:
            record = records[row["origin"]] if 0 <= row["origin"] < len(records) else b"null"
            row["attributes_json"] = attributes_json(record)
            row["distribution"] = distribution(record) if row.get("kind") not in (None, "gauge", "sum") else None
            characters += len(row["attributes_json"] or "")
    return list(takewhile(lambda row: "attributes_json" in row, rows))


# What was stored had been accepted once, perhaps by an older decoder: what cannot be read is shown as absent.


def records_of(export: str, signal: Signal) -> list[bytes]:
    """In the order in which they stand there."""
    try:
        return [bytes(item) for section in split(export.encode(), signal) for item in section.items]
    except NoOtlp:
        return []


def attributes_json(record: bytes) -> str | None:
    """The attributes as one JSON object, their values without OTLP's wrapping; of a key that comes twice, the later."""
    try:
        pairs = _ATTRIBUTED.decode(record).attributes
        return msgspec.json.encode(otlp.attributes_of(pairs, with_bytes=True)).decode()
    except _UNREADABLE:
        return None


def distribution(record: bytes) -> PointDistribution | None:
    """A default may be left out on the wire: the lowest quantile is 0. Infinities have no form in JSON."""
    try:
        point = otlp.POINT.decode(record)
    except _UNREADABLE:
        return None
    bounds, counts, quantiles = point.explicit_bounds, point.bucket_counts, point.quantile_values
    return PointDistribution(
        count=otlp.whole(point.count),
        sum=_finite(point.sum),
        min=_finite(point.min),
        max=_finite(point.max),
        bucket_counts=None if counts is None else [otlp.whole(each) or 0 for each in counts],
        explicit_bounds=None if bounds is None else [_finite(each) or 0.0 for each in bounds],
        scale=otlp.whole(point.scale, *otlp.INT64),
        zero_count=otlp.whole(point.zero_count),
        positive=_buckets(point.positive),
        negative=_buckets(point.negative),
        quantiles=None
        if quantiles is None
        else [Quantile(_finite(each.quantile) or 0.0, _finite(each.value) or 0.0) for each in quantiles],
    )


def _buckets(told: otlp.WireBuckets | None) -> Buckets | None:
    counts = [] if told is None else [otlp.whole(each) or 0 for each in told.bucket_counts or ()]
    return None if told is None else Buckets(otlp.whole(told.offset, *otlp.INT64) or 0, counts)


def _finite(told: object) -> float | None:
    number = otlp.real(told)
    return None if number is None or not isfinite(number) else number
